//! Which number a frame has.

/// Unit numbers of the reader, which begin with the stream, as frame ids, which go on from stream to stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    pub next_id: u32,
    pub first_id: u32,
    pub first_unit: u64,
}

/// From here on ids may begin again: at the first key frame that finds the queue empty. It takes 2 years at 30 frames a
/// second to come here.
pub(super) const RENUMBER_FROM: u32 = 1 << 31;

impl Numbering {
    /// Every unit has an id, also one that is no frame: so the two counts stay in step.
    pub fn take(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        id
    }

    /// The id of a unit that was read earlier; `None` for one from before the ids began again.
    pub fn id_of(self, unit: u64) -> Option<u32> {
        let since = u32::try_from(unit.checked_sub(self.first_unit)?).ok()?;
        self.first_id.checked_add(since)
    }

    /// Lets the ids begin again with the next unit.
    pub fn begin_again(&mut self) {
        self.first_unit += u64::from(self.next_id - self.first_id);
        (self.first_id, self.next_id) = (0, 0);
    }
}
