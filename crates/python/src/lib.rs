//! Python bindings, conversion only: `framewire._native`.
//!
//! Nothing is decided here: scenarios are read by `framewire-scenario`, movies by `framewire-media`, runs in virtual time
//! made by `framewire-sim`, streams served and received by `framewire-endpoint` and
//! `framewire-real`, and their errors become Python exceptions
//! with the same text. Beside that it sees to it that Python goes on while a simulation runs, and can interrupt it.
//! `python/framewire/_native.pyi` holds the signatures.
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a simulation runs on a thread of its own, so that signals can be looked at meanwhile"
)]

use pyo3::prelude::*;

mod endpoint;
mod frame_columns;
mod host_events;
mod interruption;
mod ladder;
mod luma;
mod movie;
mod numbers;
mod playout;
mod progress;
mod real;
mod scenario;
mod serving;
mod simulation;
mod viewing;

/// The compiled half of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__sources__", env!("FRAMEWIRE_SOURCES"))?;
    scenario::register(module)?;
    movie::register(module)?;
    ladder::register(module)?;
    luma::register(module)?;
    playout::register(module)?;
    endpoint::register(module)?;
    real::register(module)?;
    serving::register(module)?;
    simulation::register(module)
}
