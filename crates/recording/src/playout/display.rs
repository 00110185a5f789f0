//! What stands on a screen while a player shows a flow.

use framewire_units::{Duration, PlayoutPolicy, Timestamp};

use super::Player;

/// What stands on a screen: the movie has a slot for every frame, in display order, and in each stands the picture that was
/// shown last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Display {
    /// Of each slot, when its own frame was shown.
    shown: Vec<Option<Timestamp>>,
}

impl Display {
    /// Plays a flow: of each frame, in display order, its display time, and when it is there; `None` for one that the player
    /// does not show whenever it comes.
    pub fn play(player: Player, frames: impl IntoIterator<Item = (Duration, Option<Timestamp>)>) -> Self {
        match player.playout.policy {
            PlayoutPolicy::Live => frames.into_iter().map(|(at, ready)| player.shown_live(at, ready?)).collect(),
            PlayoutPolicy::Stall => Self::with_pauses(player, &frames.into_iter().collect::<Vec<_>>()),
        }
    }

    fn with_pauses(player: Player, frames: &[(Duration, Option<Timestamp>)]) -> Self {
        let shown = frames.iter().filter_map(|&(display_time, ready)| Some((display_time, ready?)));
        let mut pauses = player.pauses(shown).peekable();
        let mut stood = Duration::ZERO;
        let mut show = |display_time: Duration, ready: Timestamp| {
            while let Some(pause) = pauses.next_if(|pause| pause.position < display_time) {
                stood += pause.length();
            }
            let due = player.due(display_time) + stood;
            // Where the player pauses at the very time of a frame, it shows that before if it is there.
            if ready > due { pauses.peek().map(|pause| pause.until) } else { Some(due) }
        };
        frames.iter().map(|&(display_time, ready)| show(display_time, ready?)).collect()
    }

    /// When the frame of each slot was shown; `None` where another picture stands.
    pub fn shown(&self) -> &[Option<Timestamp>] {
        &self.shown
    }

    /// The slot whose picture stands in each; `None` before the first.
    pub fn sources(&self) -> impl Iterator<Item = Option<usize>> {
        self.shown.iter().enumerate().scan(None, |last, (slot, shown)| {
            *last = shown.map_or(*last, |_| Some(slot));
            Some(*last)
        })
    }

    /// For how many slots the picture in each has stood longer than its own: 0 for a frame that is shown in its turn. Before
    /// the first picture every slot counts.
    pub fn frozen(&self) -> impl Iterator<Item = usize> {
        self.sources().enumerate().map(|(slot, source)| source.map_or(slot + 1, |source| slot - source))
    }

    /// The lengths, in slots, of the freezes: of each the slots in a row that show no picture of their own.
    pub fn freezes(&self) -> impl Iterator<Item = usize> {
        let next = self.frozen().skip(1).chain([0]);
        self.frozen().zip(next).filter(|&(frozen, next)| frozen > 0 && next == 0).map(|(frozen, _)| frozen)
    }
}

impl FromIterator<Option<Timestamp>> for Display {
    fn from_iter<I: IntoIterator<Item = Option<Timestamp>>>(shown: I) -> Self {
        Self { shown: shown.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use framewire_units::{BufferMarks, Playout};

    use super::*;
    use crate::testing::{INTERVAL, ms};

    const STARTUP: Duration = Duration::from_millis(100);

    /// Plays frames 40 ms apart, of which the first bytes came after 10 ms; each is there after so many milliseconds.
    fn played(playout: Playout, ready_ms: &[Option<u64>]) -> Vec<Option<Timestamp>> {
        let frames = (0u32..).zip(ready_ms).map(|(slot, ready)| (INTERVAL * slot, ready.map(ms)));
        Display::play(Player::new(playout, ms(10)), frames).shown().to_vec()
    }

    #[test]
    fn a_live_player_shows_what_is_there_when_it_is_due_and_goes_on() {
        let ready = [Some(110), Some(151), None, Some(5), Some(270)];
        assert_eq!(played(Playout::live(STARTUP), &ready), [Some(ms(110)), None, None, Some(ms(230)), Some(ms(270))]);
    }

    #[test]
    fn a_player_that_waits_is_behind_from_then_on_and_waits_for_no_frame_that_never_comes() {
        let ready = [Some(110), Some(171), None, Some(5), Some(292)];
        let shown = [Some(ms(110)), Some(ms(171)), None, Some(ms(251)), Some(ms(292))];
        assert_eq!(played(Playout::waiting(STARTUP), &ready), shown);
    }

    #[test]
    fn a_player_that_pauses_early_shows_what_it_has_before_it_does() {
        let marks = BufferMarks { low: INTERVAL, high: 2 * INTERVAL };
        let playout = Playout { marks, ..Playout::waiting(STARTUP) };
        // At the time of frame 1, 150 ms, frame 2 is not there: until frame 3 is, nothing but frame 1 is seen.
        let shown = [Some(ms(110)), Some(ms(150)), Some(ms(240)), Some(ms(280))];
        assert_eq!(played(playout, &[Some(110), Some(110), Some(151), Some(200)]), shown);
    }

    #[test]
    fn a_slot_without_a_picture_of_its_own_has_that_of_the_last_that_was_shown() {
        let display: Display = [None, Some(ms(1)), None, None, Some(ms(4)), None].into_iter().collect();
        let sources: Vec<_> = display.sources().collect();
        assert_eq!(sources, [None, Some(1), Some(1), Some(1), Some(4), Some(4)]);
        assert_eq!(display.frozen().collect::<Vec<_>>(), [1, 0, 1, 2, 0, 1]);
        assert_eq!(display.freezes().collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(Display::default().freezes().count(), 0);
    }

    proptest! {
        #[test]
        fn every_slot_is_its_own_picture_or_in_one_freeze(
            ready in prop::collection::vec(prop::option::of(0u64..3_000), 0..60),
            waits: bool,
            low in 0u32..4,
            more in 0u32..9,
        ) {
            let marks = BufferMarks { low: INTERVAL * low, high: INTERVAL * (low + more) };
            let playout = if waits { Playout::waiting(STARTUP) } else { Playout::live(STARTUP) };
            let frames = (0u32..).zip(&ready).map(|(slot, ready)| (INTERVAL * slot, ready.map(ms)));
            let display = Display::play(Player::new(Playout { marks, ..playout }, ms(10)), frames);
            let own = display.shown().iter().flatten().count();
            prop_assert_eq!(own + display.freezes().sum::<usize>(), ready.len());
            prop_assert!(display.shown().iter().flatten().is_sorted());
            for (shown, ready) in display.shown().iter().zip(&ready) {
                prop_assert!(shown.is_none_or(|shown| ready.map(ms) <= Some(shown)), "nothing is shown before it is there");
                prop_assert!(!waits || shown.is_some() == ready.is_some());
            }
        }
    }
}
