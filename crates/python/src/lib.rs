//! Python bindings, conversion only: `framewire._native`.
//!
//! Nothing is decided here: scenarios are read by `framewire-scenario`, movies by `framewire-media`, and their errors
//! become Python exceptions with the same text. `python/framewire/_native.pyi` holds the signatures.

use pyo3::prelude::*;

mod movie;
mod scenario;

/// The compiled half of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    scenario::register(module)?;
    movie::register(module)
}
