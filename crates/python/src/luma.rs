//! Pictures against each other, for Python: the sums are those of `media`.

use framewire_media::FreezeSums;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::numbers::{bytes, column};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(squared_difference, module)?)?;
    module.add_class::<Freezes>()
}

/// The sum of the squared differences of two pictures of one size, 8 bits a sample: exact.
#[pyfunction]
fn squared_difference(py: Python<'_>, one: &[u8], other: &[u8]) -> PyResult<u64> {
    if one.len() != other.len() {
        return Err(PyValueError::new_err("pictures of one size are needed"));
    }
    Ok(py.detach(|| framewire_media::squared_difference(one, other)))
}

/// What freezes cost, in one walk through a movie. Columns are bytes of whole numbers of 64 bits in the machine's order.
#[pyclass(name = "FreezeSums", module = "framewire._native")]
struct Freezes {
    sums: FreezeSums,
    pixels: usize,
}

#[pymethods]
impl Freezes {
    /// For pictures of so many pixels, and pairs of a slot and the slot of the picture that stands there; a number below
    /// zero stands for an empty screen, of the luma `empty`.
    #[new]
    fn new(pixels: usize, empty: u8, slots: &[u8], sources: &[u8]) -> PyResult<Self> {
        let (slots, sources) = (column(slots)?, column(sources)?);
        if pixels == 0 || slots.len() != sources.len() {
            return Err(PyValueError::new_err("pictures with pixels and columns of one length are needed"));
        }
        let pairs = slots
            .zip(sources)
            .map(|(slot, source)| Ok((number(slot.unwrap_or(u64::MAX))?, source.map(number).transpose()?)))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self { sums: FreezeSums::new(pixels, empty, pairs), pixels })
    }

    /// Takes the next pictures, one behind the other: those of these slots.
    fn take(&mut self, py: Python<'_>, slots: &[u8], pictures: &[u8]) -> PyResult<()> {
        let slots = column(slots)?.map(|slot| number(slot.unwrap_or(u64::MAX))).collect::<PyResult<Vec<_>>>()?;
        if pictures.len() != slots.len() * self.pixels {
            return Err(PyValueError::new_err("a whole picture for each slot is needed"));
        }
        py.detach(|| {
            for (slot, picture) in slots.into_iter().zip(pictures.chunks_exact(self.pixels)) {
                self.sums.take(slot, picture);
            }
        });
        Ok(())
    }

    /// The sum of each pair; below zero where one of the two pictures did not come.
    fn sums<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, self.sums.sums().iter().copied())
    }
}

fn number(slot: u64) -> PyResult<u32> {
    u32::try_from(slot).map_err(|_| PyValueError::new_err("a slot is a number of 32 bits"))
}
