//! What a scenario streams, and its player, for Python.

use framewire_scenario as scenario;
use framewire_units as units;
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Movie>()?;
    module.add_class::<Playout>()
}

/// What is streamed. Equal ones ask for the same files.
#[pyclass(frozen, eq, hash, module = "framewire._native")]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Movie(pub(super) scenario::Movie);

#[pymethods]
impl Movie {
    /// `lab`, or the path of a file.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// The name of a ladder of the lab's, or the path of a streaming file.
    #[getter]
    fn ladder(&self) -> Option<&str> {
        self.0.ladder.as_deref()
    }

    #[getter]
    fn codec(&self) -> Option<&'static str> {
        self.0.codec.map(|codec| codec.as_str())
    }

    #[getter]
    fn bitrate_bps(&self) -> Option<u64> {
        self.0.bitrate.map(|rate| rate.as_bps())
    }

    /// Width and height.
    #[getter]
    fn size(&self) -> Option<(u16, u16)> {
        self.0.size.map(|size| (size.width, size.height))
    }

    /// Numerator and denominator.
    #[getter]
    fn frame_rate(&self) -> Option<(u32, u32)> {
        self.0.frame_rate.map(|rate| (rate.numerator, rate.denominator))
    }

    #[getter]
    fn duration_s(&self) -> Option<f64> {
        self.0.duration.map(|duration| duration.as_secs_f64())
    }

    #[getter]
    fn sound(&self) -> bool {
        self.0.sound
    }

    #[getter]
    fn sound_track(&self) -> Option<u8> {
        self.0.sound_track
    }
}

/// The player at the receiver.
#[pyclass(frozen, module = "framewire._native")]
pub(super) struct Playout(pub(super) units::Playout);

#[pymethods]
impl Playout {
    #[getter]
    fn policy(&self) -> &'static str {
        self.0.policy.as_str()
    }

    #[getter]
    fn startup_s(&self) -> f64 {
        self.0.startup.as_secs_f64()
    }

    #[getter]
    fn low_mark_s(&self) -> f64 {
        self.0.marks.low.as_secs_f64()
    }

    #[getter]
    fn high_mark_s(&self) -> f64 {
        self.0.marks.high.as_secs_f64()
    }
}
