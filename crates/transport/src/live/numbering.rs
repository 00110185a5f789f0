//! Which number a frame has.

/// Unit numbers of the reader, which begin with the stream, as frame ids, which go on from stream to stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering {
    next_id: u32,
    first_id: u32,
    first_unit: u64,
}

/// From here on ids may begin again: at the first key frame that finds the queue empty. It takes 2 years at 30 frames a
/// second to come here.
const RENUMBER_FROM: u32 = 1 << 31;

impl Numbering {
    /// Of a new stream, whose reader counts its units from 0: ids go on from those of the stream before it.
    pub fn after(before: Option<&Self>) -> Self {
        let next_id = before.map_or(0, |before| before.next_id);
        Self { next_id, first_id: next_id, first_unit: 0 }
    }

    /// Whether so many units have an id that ids should [begin again](Self::begin_again) as soon as nothing waits.
    pub fn is_long(self) -> bool {
        self.next_id >= RENUMBER_FROM
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_on_from_stream_to_stream_and_units_begin_again() {
        let mut first = Numbering::default();
        assert_eq!([first.take(), first.take()], [0, 1]);
        assert_eq!([first.id_of(0), first.id_of(1)], [Some(0), Some(1)]);
        let mut second = Numbering::after(Some(&first));
        assert_eq!((second.take(), second.id_of(0)), (2, Some(2)));
    }

    #[test]
    fn what_came_before_ids_began_again_has_none() {
        let mut numbering = Numbering { next_id: RENUMBER_FROM - 1, ..Numbering::default() };
        assert!(!numbering.is_long());
        numbering.take();
        assert!(numbering.is_long());
        numbering.begin_again();
        let unit = u64::from(RENUMBER_FROM);
        assert_eq!((numbering.take(), numbering.id_of(unit - 1), numbering.id_of(unit)), (0, None, Some(0)));
    }
}
