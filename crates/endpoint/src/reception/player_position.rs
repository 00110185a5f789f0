//! Which moment of the movie the player shows.

use std::time::{Duration, Instant};

/// Where the player is, by the running time of the pipeline: what is reported to the server, so that it knows what a
/// packet that it sends again comes in time for.
///
/// Before anything went downstream there is nothing to report: the receiver assumes that the first frame is shown when
/// the start-up delay is over.
#[derive(Debug, Default)]
pub struct PlayerPosition {
    /// Media time of what went downstream first: the first to be shown.
    first: Option<Duration>,
    /// The pipeline plays.
    plays: bool,
    /// By how much the running time is ahead of what is shown. A pipeline whose time ran before there was anything to
    /// show shows everything so much later.
    offset: Option<Duration>,
    /// A moment, and what was shown then.
    known: Option<(Instant, Duration)>,
}

impl PlayerPosition {
    /// Something of the movie goes downstream.
    pub fn begin(&mut self, now: Instant, media_time: Duration) {
        if self.first.is_none() {
            self.first = Some(media_time);
            self.known = Some((now, media_time));
        }
    }

    /// The pipeline plays from now on.
    pub fn play(&mut self, now: Instant, running: Option<Duration>) {
        self.pause(now);
        self.plays = true;
        self.correct(now, running);
    }

    /// The running time of a pipeline that plays: its clock is not that of this host. None without a clock.
    pub fn correct(&mut self, now: Instant, running: Option<Duration>) {
        let (true, Some(first), Some(running)) = (self.plays, self.first, running) else { return };
        let offset = *self.offset.get_or_insert(running.saturating_sub(first));
        self.known = Some((now, running.saturating_sub(offset)));
    }

    /// What is shown stands still from now on.
    pub fn pause(&mut self, now: Instant) {
        self.known = self.shown(now).map(|shown| (now, shown));
        self.plays = false;
    }

    /// Media time that is shown; `None` before it is known.
    pub fn shown(&self, now: Instant) -> Option<Duration> {
        let (at, shown) = self.known?;
        Some(if self.plays { shown.saturating_add(now.saturating_duration_since(at)) } else { shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_position_stands_from_the_first_frame_to_playing_and_in_every_pause() {
        let (mut position, start) = (PlayerPosition::default(), Instant::now());
        let at = |millis| start + ms(millis);
        assert_eq!(position.shown(at(0)), None);
        position.begin(at(1_000), ms(40));
        assert_eq!(
            [1_000, 1_500].map(|now| position.shown(at(now))),
            [Some(ms(40)); 2],
            "it is the picture of the preroll"
        );
        position.correct(at(1_500), Some(ms(900)));
        assert_eq!(position.shown(at(1_500)), Some(ms(40)), "the clock goes on, the pipeline does not");
        position.play(at(2_000), Some(ms(5)));
        position.begin(at(2_000), ms(80));
        assert_eq!([2_000, 2_300].map(|now| position.shown(at(now))), [5, 305].map(|shown| Some(ms(shown))));
        // The clock of the pipeline is slower.
        position.correct(at(2_300), Some(ms(300)));
        assert_eq!(position.shown(at(2_400)), Some(ms(400)));
        position.pause(at(2_400));
        assert_eq!(position.shown(at(9_000)), Some(ms(400)));
        position.play(at(9_000), Some(ms(400)));
        assert_eq!(position.shown(at(9_100)), Some(ms(500)));
    }

    /// As in a pipeline with a live source, which has no preroll.
    #[test]
    fn time_before_the_first_frame_is_not_of_the_movie() {
        let (mut position, start) = (PlayerPosition::default(), Instant::now());
        let at = |millis| start + ms(millis);
        position.play(at(0), Some(ms(10)));
        position.correct(at(500), Some(ms(510)));
        assert_eq!(position.shown(at(500)), None);
        position.begin(at(1_200), ms(0));
        position.correct(at(1_200), Some(ms(1_210)));
        assert_eq!([1_200, 1_300].map(|now| position.shown(at(now))), [0, 100].map(|shown| Some(ms(shown))));
        position.pause(at(1_300));
        position.play(at(5_000), Some(ms(1_310)));
        assert_eq!(position.shown(at(5_050)), Some(ms(150)));
    }

    #[test]
    fn without_a_clock_the_time_of_this_host_counts_while_it_plays() {
        let (mut position, start) = (PlayerPosition::default(), Instant::now());
        let at = |millis| start + ms(millis);
        position.begin(at(0), ms(0));
        position.play(at(100), None);
        assert_eq!(position.shown(at(300)), Some(ms(200)));
        position.pause(at(300));
        assert_eq!(position.shown(at(800)), Some(ms(200)));
        position.play(at(800), None);
        assert_eq!(position.shown(at(900)), Some(ms(300)));
    }
}
