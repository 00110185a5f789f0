//! What a player shows of a flow, for Python: the model is `recording`'s.

use framewire_recording::playout::{Display, Pause, Player};
use framewire_units::{BufferMarks, Duration, Playout, Timestamp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::numbers::{bytes, column};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PlayedDisplay>()
}

/// What stands on a screen, slot by slot. Columns are bytes of whole numbers of 64 bits in the machine's order; a number
/// below zero stands for nothing.
#[pyclass(frozen, name = "Display", module = "framewire._native")]
struct PlayedDisplay(Display);

#[pymethods]
impl PlayedDisplay {
    /// Plays frames in display order: when each is to be shown, counted from the first, and when it is there. `None` for
    /// `first_arrival_ns`: nothing came.
    #[staticmethod]
    #[pyo3(signature = (display_ns, ready_ns, *, waits, startup_ns, first_arrival_ns, marks_ns))]
    fn play(
        display_ns: &[u8],
        ready_ns: &[u8],
        waits: bool,
        startup_ns: u64,
        first_arrival_ns: Option<u64>,
        marks_ns: (u64, u64),
    ) -> PyResult<Self> {
        let frames = frames(display_ns, ready_ns)?;
        let Some(first_arrival) = first_arrival_ns else {
            return Ok(Self(frames.map(|_| None).collect()));
        };
        Ok(Self(Display::play(player(waits, startup_ns, first_arrival, marks_ns), frames)))
    }

    /// When a player that waits for these frames stands still: of each pause the position in the movie, its beginning and
    /// its end.
    #[staticmethod]
    #[pyo3(signature = (display_ns, ready_ns, *, startup_ns, first_arrival_ns, marks_ns))]
    fn pauses(
        display_ns: &[u8],
        ready_ns: &[u8],
        startup_ns: u64,
        first_arrival_ns: u64,
        marks_ns: (u64, u64),
    ) -> PyResult<Vec<(u64, u64, u64)>> {
        let shown = frames(display_ns, ready_ns)?.filter_map(|(display_time, ready)| Some((display_time, ready?)));
        let pauses = player(true, startup_ns, first_arrival_ns, marks_ns).pauses(shown);
        let numbers = |Pause { position, from, until }| (position.as_nanos() as u64, from.as_nanos(), until.as_nanos());
        Ok(pauses.map(numbers).collect())
    }

    /// Of frames of which only that is known: whether each was shown.
    #[staticmethod]
    fn of_shown(shown: Vec<bool>) -> Self {
        Self(shown.into_iter().map(|shown| shown.then_some(Timestamp::ZERO)).collect())
    }

    fn __len__(&self) -> usize {
        self.0.shown().len()
    }

    /// When the frame of each slot was shown.
    fn shown_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, self.0.shown().iter().map(|shown| shown.map(Timestamp::as_nanos)))
    }

    /// The slot whose picture stands in each.
    fn sources<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, self.0.sources().map(|source| source.map(|source| source as u64)))
    }

    /// For how many slots the picture in each has stood longer than its own.
    fn frozen<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, self.0.frozen().map(|frozen| Some(frozen as u64)))
    }

    /// How many slots in a row show no picture of their own, freeze by freeze.
    fn freezes(&self) -> Vec<usize> {
        self.0.freezes().collect()
    }
}

fn player(waits: bool, startup_ns: u64, first_arrival_ns: u64, marks_ns: (u64, u64)) -> Player {
    let startup = Duration::from_nanos(startup_ns);
    let (low, high) = (Duration::from_nanos(marks_ns.0), Duration::from_nanos(marks_ns.1));
    let playout = if waits { Playout::waiting(startup) } else { Playout::live(startup) };
    Player::new(Playout { marks: BufferMarks { low, high }, ..playout }, Timestamp::from_nanos(first_arrival_ns))
}

/// Display times, and when each frame is there.
fn frames<'a>(
    display_ns: &'a [u8],
    ready_ns: &'a [u8],
) -> PyResult<impl Iterator<Item = (Duration, Option<Timestamp>)> + 'a> {
    let (display, ready) = (column(display_ns)?, column(ready_ns)?);
    if display.len() != ready.len() {
        return Err(PyValueError::new_err("columns of one length are needed"));
    }
    let display = display.map(|display| Duration::from_nanos(display.unwrap_or_default()));
    Ok(display.zip(ready.map(|ready| ready.map(Timestamp::from_nanos))))
}
