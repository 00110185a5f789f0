//! What a player does with frames: when each is due by its clock, whether it comes in time, how long is waited for it, and
//! which picture stands in each slot of the movie.
//!
//! There is one: the deadlines and fates of the ledger, the stalls of the summary, and what reports and studies say was on
//! a screen, also of players with another start-up delay, are made of it.

use framewire_units::{Duration, PlayoutPolicy, Timestamp};

/// A player's clock. It starts at the first arrival of the flow plus the start-up delay; a frame is due at its display time
/// on it.
///
/// A player of the policy `live` never waits: its clock runs evenly, so that it may be asked of frames in any order. One of
/// the policy `stall` is to be given the frames that it shows in display order: where one is not there when it is due, the
/// player stands still until it is, and its clock with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    policy: PlayoutPolicy,
    /// When a frame is due whose display time is zero.
    start: Timestamp,
    waits: u32,
    waited: Duration,
}

impl Player {
    /// A player of a flow whose first datagram, or first bytes, came at `first_arrival`.
    pub fn new(policy: PlayoutPolicy, startup: Duration, first_arrival: Timestamp) -> Self {
        Self { policy, start: first_arrival + startup, waits: 0, waited: Duration::ZERO }
    }

    /// When a frame is due, by the clock as it runs now.
    pub(crate) fn due(&self, display_time: Duration) -> Timestamp {
        self.start + self.waited + display_time
    }

    /// Shows a frame that is there from `ready` on: when. `None` where that is too late for a live player; a frame that comes
    /// at the very moment when it is due is in time.
    pub(crate) fn show(&mut self, display_time: Duration, ready: Timestamp) -> Option<Timestamp> {
        let due = self.due(display_time);
        let wait = ready.saturating_since(due);
        if wait.is_zero() {
            return Some(due);
        }
        if self.policy == PlayoutPolicy::Live {
            return None;
        }
        self.waits += 1;
        self.waited += wait;
        Some(ready)
    }

    /// Frames that it had to wait for.
    pub(crate) fn waits(&self) -> u32 {
        self.waits
    }

    /// How long it stood still in all.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }
}

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
    pub fn play(mut player: Player, frames: impl IntoIterator<Item = (Duration, Option<Timestamp>)>) -> Self {
        frames.into_iter().map(|(display_time, ready)| player.show(display_time, ready?)).collect()
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

    use super::*;
    use crate::testing::{INTERVAL, ms};

    const STARTUP: Duration = Duration::from_millis(100);

    /// Plays frames 40 ms apart, of which the first bytes came after 10 ms; each is there after so many milliseconds.
    fn played(policy: PlayoutPolicy, ready_ms: &[Option<u64>]) -> Vec<Option<Timestamp>> {
        let frames = (0u32..).zip(ready_ms).map(|(slot, ready)| (INTERVAL * slot, ready.map(ms)));
        Display::play(Player::new(policy, STARTUP, ms(10)), frames).shown().to_vec()
    }

    #[test]
    fn a_live_player_shows_what_is_there_when_it_is_due_and_goes_on() {
        let ready = [Some(110), Some(151), None, Some(5), Some(270)];
        assert_eq!(played(PlayoutPolicy::Live, &ready), [Some(ms(110)), None, None, Some(ms(230)), Some(ms(270))]);
    }

    #[test]
    fn a_player_that_waits_is_behind_from_then_on_and_waits_for_no_frame_that_never_comes() {
        let ready = [Some(110), Some(171), None, Some(5), Some(292)];
        let shown = [Some(ms(110)), Some(ms(171)), None, Some(ms(251)), Some(ms(292))];
        assert_eq!(played(PlayoutPolicy::Stall, &ready), shown);
        let mut player = Player::new(PlayoutPolicy::Stall, STARTUP, ms(10));
        (0u32..).zip(ready).for_each(|(slot, ready)| {
            ready.map(|ready| player.show(INTERVAL * slot, ms(ready)));
        });
        assert_eq!((player.waits(), player.waited()), (2, Duration::from_millis(21 + 1)));
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
        ) {
            let policy = if waits { PlayoutPolicy::Stall } else { PlayoutPolicy::Live };
            let frames = (0u32..).zip(&ready).map(|(slot, ready)| (INTERVAL * slot, ready.map(ms)));
            let display = Display::play(Player::new(policy, STARTUP, ms(10)), frames);
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
