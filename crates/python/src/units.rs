//! Quantities with units, as the scenario file writes them.

use framewire_units::{Bitrate, parse_duration};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bits_per_second, module)?)?;
    module.add_function(wrap_pyfunction!(seconds, module)?)
}

/// Reads a rate such as `"6 Mbit/s"`.
#[pyfunction]
fn bits_per_second(text: &str) -> PyResult<u64> {
    let rate: Bitrate =
        text.parse().map_err(|error: framewire_units::UnitError| PyValueError::new_err(error.to_string()))?;
    Ok(rate.as_bps())
}

/// Reads a duration such as `"40 ms"`.
#[pyfunction]
fn seconds(text: &str) -> PyResult<f64> {
    let duration = parse_duration(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(duration.as_secs_f64())
}
