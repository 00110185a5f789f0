//! What was given to a stream of constant rate and has not left to its end.

use std::collections::BTreeMap;

/// Frames and packets of sound that are in the stream, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Given(BTreeMap<u32, State>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Something of it has left.
    begun: bool,
    /// Something of it was lost here, and it was reported as given up.
    doomed: bool,
}

impl Given {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// It is in the stream.
    pub(super) fn take(&mut self, number: u32) {
        self.0.insert(number, State::default());
    }

    /// Something of it leaves: whether it is the first.
    pub(super) fn begin(&mut self, number: u32) -> bool {
        self.0.get_mut(&number).is_some_and(|state| !std::mem::replace(&mut state.begun, true))
    }

    /// Something of it was lost here: whether it is the first.
    pub(super) fn doom(&mut self, number: u32) -> bool {
        self.0.get_mut(&number).is_some_and(|state| !std::mem::replace(&mut state.doomed, true))
    }

    /// It has left to its end: whether all of it has.
    pub(super) fn end(&mut self, number: u32) -> bool {
        self.0.remove(&number).is_some_and(|state| !state.doomed)
    }

    /// Nothing more leaves: what is to be reported as given up.
    pub(super) fn abort(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.0).into_iter().filter(|(_, state)| !state.doomed).map(|(number, _)| number)
    }
}
