//! Columns for Python: bytes of whole numbers of 64 bits in the machine's order, of which one below zero stands for nothing.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A column; `None` is a number below zero.
pub(crate) type Numbers<'a> = Box<dyn ExactSizeIterator<Item = Option<u64>> + 'a>;

/// Reads a column; refuses what is not whole numbers.
pub(crate) fn column(bytes: &[u8]) -> PyResult<Numbers<'_>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("whole numbers of 64 bits are needed"));
    }
    Ok(Box::new(numbers.iter().map(|number| u64::try_from(i64::from_ne_bytes(*number)).ok())))
}

/// Writes a column.
pub(crate) fn bytes<'py>(py: Python<'py>, numbers: impl Iterator<Item = Option<u64>>) -> Bound<'py, PyBytes> {
    let number = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1);
    PyBytes::new(py, &numbers.flat_map(|one| number(one).to_ne_bytes()).collect::<Vec<u8>>())
}
