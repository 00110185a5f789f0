use std::ops::Range;

use framewire_units::Timestamp;
use framewire_wire::vtp::{Features, Missing, VideoHeader};

use super::agreement::Agreement;
use super::gaps::Gaps;

/// What the client asks for beyond the paper: features of the session, and packets that did not arrive.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    session: u64,
    agreement: Agreement,
    gaps: Gaps,
    /// Number of the next list.
    report: u32,
    /// Of the server's repeats.
    repeated: u64,
}

impl Requests {
    pub(super) fn new(session: u64, offered: Features) -> Self {
        Self { session, agreement: Agreement::new(offered), gaps: Gaps::default(), report: 0, repeated: 0 }
    }

    /// The server's answer to an offer; `false` when none is awaited.
    pub(super) fn handle_answer(&mut self, features: Features) -> bool {
        self.agreement.handle_answer(features)
    }

    /// Whether the server repeats what is named.
    pub(super) fn has_repeats(&self) -> bool {
        self.agreement.has(Features::REPEATS)
    }

    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// A packet arrived that was not here before, and was refused for want of room or not; see [`Gaps::handle_packet`].
    pub(super) fn handle_packet(
        &mut self,
        now: Timestamp,
        number: u64,
        skipped: Range<u64>,
        header: &VideoHeader,
        refused: bool,
    ) {
        // What is lost before the server answers is missing too.
        if self.agreement.may_have(Features::REPEATS) {
            self.gaps.set_round_trip(header.round_trip);
            self.gaps.handle_packet(now, number, skipped, header.repeats, refused);
            self.repeated += u64::from(header.repeats.is_some());
        }
    }

    /// The movie is over for the server: it is to know how far it came here.
    pub(super) fn tell_newest(&mut self) {
        self.gaps.force();
    }

    /// The offer that goes beside a start.
    pub(super) fn beside_start(&mut self, now: Timestamp, out: &mut Vec<u8>) {
        if let Some(offer) = self.agreement.beside_start(now, self.session) {
            offer.emit(out);
        }
    }

    /// What is to be asked for now; `shown` is the media time that the player shows, `room` the packets there is room for.
    pub(super) fn poll(&mut self, now: Timestamp, shown: Option<i64>, room: impl FnOnce() -> usize, out: &mut Vec<u8>) {
        if let Some(offer) = self.agreement.poll(now, self.session) {
            offer.emit(out);
        } else if let (true, Some(shown)) = (self.has_repeats(), shown)
            && let Some((next, ranges)) = self.gaps.poll(now, room())
        {
            Missing { session: self.session, report: self.report, next, shown, ranges }.emit(out);
            self.report = self.report.wrapping_add(1);
        }
    }

    /// When there may be something to ask for; `room` is asked for only where packets are repeated.
    pub(super) fn next_timeout(&self, room: impl FnOnce() -> usize) -> Option<Timestamp> {
        let gaps = if self.has_repeats() { self.gaps.next_timeout(room()) } else { None };
        match (self.agreement.next_timeout(), gaps) {
            (Some(offer), Some(gap)) => Some(offer.min(gap)),
            (offer, gap) => offer.or(gap),
        }
    }
}
