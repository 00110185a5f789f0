//! What a session sends of a plan: all of it once, again and again, or from a place in it on.

use framewire_transport::OutgoingSound;
use framewire_transport::frame::OutgoingFrame;
use framewire_units::{Duration, Timestamp};
use framewire_wire::{rtp, rtp_payload};

use crate::half::Track;
use crate::plan::SendingPlan;

/// A plan as one session sends it. Frames and packets of sound are numbered over all times that it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Programme {
    plan: SendingPlan,
    /// How often it is sent.
    times: u32,
    /// How much sooner all of it is due; what would be due before the start is due then.
    sooner: Duration,
    /// Where it ends, counted as frames are decoded and sound is played; `None`: with the movie.
    until: Option<Duration>,
    /// By how much the time stamps of a stream are later than those of the movie, in nanoseconds: they go on where another place in it is
    /// gone to (RFC 2326, appendix B).
    moved: i64,
    /// The packets of sound that begin before the first frame is shown: they are sent the first time only, because in the
    /// others the end of the movie is there.
    lead: u32,
}

/// Where something of a number stands: in which turn, and its number in the plan.
struct Place {
    turn: u32,
    number: u32,
}

impl Programme {
    /// All of a plan, once.
    pub(super) fn new(plan: SendingPlan) -> Self {
        let lead = plan.sound().map_or(0, |sound| (0..sound.len()).take_while(|&number| sound.at(number) < 0).count());
        Self { plan, times: 1, sooner: Duration::ZERO, until: None, moved: 0, lead: lead as u32 }
    }

    /// The same as often as its numbers reach, some four billion.
    pub(super) fn without_end(self) -> Self {
        let in_turn = self.plan.len() + self.plan.sound().map_or(0, |sound| sound.len());
        Self { times: u32::MAX / in_turn.max(1), ..self }
    }

    /// The same, due sooner by a time.
    pub(super) fn sooner(self, by: Duration) -> Self {
        Self { sooner: self.sooner + by, ..self }
    }

    /// The same from another start on.
    pub(super) fn starting_at(&self, start: Timestamp) -> Self {
        Self { plan: self.plan.starting_at(start), ..self.clone() }
    }

    /// The same from a frame on, which is due now or by so much sooner, up to a place. `next` is the frame that was due next.
    pub(super) fn beginning_at(
        &self,
        frame: u32,
        now: Timestamp,
        ahead: Duration,
        until: Option<Duration>,
        next: u32,
    ) -> Self {
        let place = |frame: u32| match frame < self.plan.len() {
            true => self.plan.due(frame).saturating_since(self.plan.start()),
            false => self.plan.length(),
        };
        let moved = self.moved + nanos(place(next)) - nanos(place(frame));
        Self { plan: self.plan.starting_at(now), sooner: place(frame) + ahead, until, moved, ..self.clone() }
    }

    /// The same, due later by a time.
    pub(super) fn later(&self, by: Duration) -> Self {
        Self { plan: self.plan.starting_at(self.plan.start() + by), ..self.clone() }
    }

    /// The frame with which decoding can begin to show what is shown at a time: the last one at or before it; else the first.
    pub(super) fn random_access(&self, at: Duration) -> u32 {
        let frames = self.plan.movie().index.frames.iter().zip(0..);
        let before = frames.filter(|(frame, _)| frame.key.is_some() && frame.display_time <= at);
        before.map(|(_, number)| number).last().unwrap_or(0)
    }

    /// The first packet of sound that begins to play at a time or later.
    pub(super) fn sound_from(&self, at: Duration) -> u32 {
        let Some(sound) = self.plan.sound() else { return 0 };
        (0..sound.len()).take_while(|&number| sound.at(number) < nanos(at)).count() as u32
    }

    /// The time stamp of a place in the movie, in a clock of so many hertz.
    pub(super) fn timestamp(&self, at: Duration, clock_rate: u32) -> u32 {
        rtp::timestamp(at, clock_rate).wrapping_add(ticks(self.moved, clock_rate))
    }

    pub(super) fn plan(&self) -> &SendingPlan {
        &self.plan
    }

    pub(super) fn tracks(&self) -> Vec<Track> {
        self.plan.tracks()
    }

    /// Number of frames.
    pub(super) fn len(&self) -> u32 {
        self.plan.len() * self.times
    }

    /// Number of frames that are sent, where it ends before the movie does.
    pub(super) fn end(&self) -> u32 {
        let frames = &self.plan.movie().index.frames;
        let until = |until| frames.partition_point(|frame| frame.decode_time < until) as u32;
        self.until.map_or(self.len(), until)
    }

    /// When a frame is offered.
    pub(super) fn due(&self, frame: u32) -> Timestamp {
        self.sooner_than(self.place(frame))
    }

    /// When a packet of sound is offered; `None` where there is no such packet.
    pub(super) fn sound_due(&self, number: u32) -> Option<Timestamp> {
        self.sound_place(number).map(|place| self.sooner_than(place))
    }

    /// When a frame would be offered were nothing sooner: by this, what is due at once has its order.
    pub(super) fn place(&self, frame: u32) -> Timestamp {
        let place = self.frame(frame);
        self.plan.due(place.number) + self.plan.length() * place.turn
    }

    /// The same of a packet of sound.
    pub(super) fn sound_place(&self, number: u32) -> Option<Timestamp> {
        let place = self.sound(number)?;
        let is_behind = |until| self.plan.sound().is_some_and(|sound| sound.time(place.number) >= until);
        if self.until.is_some_and(is_behind) {
            return None;
        }
        Some(self.plan.sound_due(place.number)? + self.plan.length() * place.turn)
    }

    /// The frame as a sending half takes it.
    pub(super) fn outgoing(&self, frame: u32) -> OutgoingFrame {
        let Place { turn, number } = self.frame(frame);
        let mut outgoing = self.plan.outgoing(number);
        if turn > 0 {
            let later = rtp::timestamp(self.plan.length() * turn, rtp_payload::CLOCK_RATE);
            let before = turn * self.plan.len();
            outgoing.id += before;
            outgoing.rtp_timestamp = outgoing.rtp_timestamp.wrapping_add(later);
            outgoing.decode_timestamp = outgoing.decode_timestamp.wrapping_add(later);
            let numbers = &mut outgoing.dependencies;
            numbers.references.iter_mut().flatten().chain(&mut numbers.recovers_from).for_each(|one| *one += before);
        }
        if self.moved != 0 {
            let later = ticks(self.moved, rtp_payload::CLOCK_RATE);
            outgoing.rtp_timestamp = outgoing.rtp_timestamp.wrapping_add(later);
            outgoing.decode_timestamp = outgoing.decode_timestamp.wrapping_add(later);
        }
        outgoing
    }

    /// The packet of sound as a sending half takes it, numbered behind all frames.
    pub(super) fn outgoing_sound(&self, number: u32) -> OutgoingSound {
        let place = self.sound(number).expect("invariant: a packet that is due is there");
        let sound = self.plan.outgoing_sound(place.number);
        let later = i64::try_from((self.plan.length() * place.turn).as_nanos()).unwrap_or(i64::MAX);
        OutgoingSound {
            id: self.len() + number,
            at: sound.at.saturating_add(later).saturating_add(self.moved),
            ..sound
        }
    }

    fn frame(&self, frame: u32) -> Place {
        Place { turn: frame / self.plan.len(), number: frame % self.plan.len() }
    }

    fn sound(&self, number: u32) -> Option<Place> {
        let count = self.plan.sound()?.len();
        if number < count {
            return Some(Place { turn: 0, number });
        }
        let (in_turn, behind) = (count - self.lead, number - count);
        let turn = 1 + behind.checked_div(in_turn)?;
        (turn < self.times).then(|| Place { turn, number: self.lead + behind % in_turn })
    }

    fn sooner_than(&self, due: Timestamp) -> Timestamp {
        let start = self.plan.start();
        start + due.saturating_since(start).saturating_sub(self.sooner)
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Nanoseconds in ticks of a clock of so many hertz, modulo 2^32.
fn ticks(nanos: i64, clock_rate: u32) -> u32 {
    (i128::from(nanos) * i128::from(clock_rate)).div_euclid(1_000_000_000) as u32
}
