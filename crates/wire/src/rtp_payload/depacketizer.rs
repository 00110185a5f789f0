//! From RTP datagrams, whatever arrives, to access units.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use framewire_units::{DataSize, Timestamp};

use super::assembler::Assembler;
use super::first_packet::FirstPacket;
use super::held::{Doubt, HeldPacket, Probation};
use super::numbering::{LARGEST_JUMP, NoNumber, Numbering, Stamps};
use super::received::{Fragment, ReceivedFrame};
use super::rejected::RejectReason;
use super::units::Units;
use super::{LARGEST_FRAME, PayloadFormat, Reading, StreamDescription};
use crate::mpeg_ts::depacketizer::{self, Frames};
use crate::mpeg_ts::{self, Program};
use crate::rtp::RtpHeader;

/// What bounds the memory of a [`Depacketizer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A missing packet is given up when one that many sequence numbers later has arrived; 1 means that packets must
    /// come in order. Up to that many packets, less one, are held.
    pub reorder_window: u16,
    /// A frame that grows larger than this is discarded.
    pub largest_frame: DataSize,
}

impl Default for Limits {
    /// A window of 64 packets (at most about one frame at the rates of the lab), and [`LARGEST_FRAME`].
    fn default() -> Self {
        Self { reorder_window: 64, largest_frame: DataSize::from_bytes(LARGEST_FRAME as u64) }
    }
}

/// Which stream a receiver expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOrigin {
    /// Synchronisation source.
    pub ssrc: u32,
    /// Sequence number of the first packet sent.
    pub initial_sequence: u16,
}

/// What became of a datagram that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived.
    pub at: Timestamp,
    /// Size of the UDP payload.
    pub size: DataSize,
    /// Its sequence number, extended to 64 bits from the first packet of the stream as 0; or why it was refused in
    /// the end: it is then as if it had not arrived.
    pub outcome: Result<u64, RejectReason>,
}

/// Puts access units together from the packets of one stream, discarding those that are not whole.
///
/// # How to drive it
/// Hand in every datagram with [`handle_datagram`](Self::handle_datagram), and after each one drain
/// [`poll_arrival`](Self::poll_arrival) and [`poll_frame`](Self::poll_frame) until there is nothing left. At the end
/// of the stream call [`flush`](Self::flush) and drain both once more. It has no timeouts: a missing packet is given up
/// by the packets that come after it.
///
/// # What is accepted
/// Every datagram has one outcome: refused by `handle_datagram`, or one [`Arrival`], in order of arrival. A packet
/// more than 3,000 ahead waits for its outcome until another one no further from it than the reorder window confirms
/// the jump; it is refused when the next packet contradicts it. So does one between which and the last one, by the time
/// stamp and twice the rate so far, 65,536 packets or more may have been sent: its time stamp leapt, or there was an outage, and
/// the next packet confirms it by a time stamp of the same clock. Behind an outage that long by when packets came, too,
/// numbers go on from a multiple of 2^32, as how many are missing is not known.
///
/// # What comes out
/// Frames come in the order in which they were sent. A frame is ready with its last packet (the one with the
/// marker), once everything before it is there or given up. It is complete, and its bytes are what was sent, when
/// its first packet can be a beginning, nothing is missing inside, and nothing that is missing beside it may belong to
/// it. Otherwise it comes out without its bytes. A frame of which no packet arrived does not come out.
///
/// So a frame within the limits all of whose packets were accepted is complete, but for one case that packets cannot
/// tell: the frame comes directly after a loss of more than the end of the frame before it, and by the habit of the
/// sender a packet of the frame may have been before its first one. What that looks like in each format is said there
/// ([`mpeg_video`](super::mpeg_video), [`h264`](super::h264)). It is rare.
///
/// Memory is bounded by [`Limits`] and the size of a datagram, whatever arrives, as long as both queues are drained.
#[derive(Debug)]
pub struct Depacketizer {
    payload_type: u8,
    limits: Limits,
    origin: Option<StreamOrigin>,
    /// As the sender says it.
    first: Option<FirstPacket>,
    numbering: Numbering,
    /// The first number that has neither been handed on nor given up.
    next: u64,
    /// The first of the numbers up to `next` that were given up.
    lost_from: Option<u64>,
    held: BTreeMap<u64, HeldPacket>,
    probation: Option<Probation>,
    assembly: Assembly,
    arrivals: VecDeque<Arrival>,
    ready: VecDeque<ReceivedFrame>,
}

/// What puts frames together from packets in order.
#[derive(Debug)]
enum Assembly {
    /// Payloads that carry a part of one frame each.
    Frames(Assembler),
    /// Payloads of whole access units, or of a part of one.
    Units(Units),
    /// Packets of a transport stream, which says itself where frames begin and end.
    TransportStream(Box<Frames>),
}

impl Assembly {
    /// What of a payload is of use; or, in words, why it is none.
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        match self {
            Self::Frames(assembler) => assembler.open(payload),
            Self::Units(units) => units.open(payload),
            Self::TransportStream(_) => depacketizer::check(payload).map(|()| payload),
        }
    }

    /// Adds the next packet; `lost` are the sequence numbers directly before it that were given up.
    fn add(
        &mut self,
        sequence: u64,
        fragment: &Fragment<'_>,
        lost: Option<RangeInclusive<u64>>,
        ready: &mut VecDeque<ReceivedFrame>,
    ) {
        match self {
            Self::Frames(assembler) => assembler.add(sequence, fragment, lost, ready),
            Self::Units(units) => units.add(sequence, fragment, lost, ready),
            Self::TransportStream(frames) => {
                frames.add(sequence, fragment.arrived_at, fragment.media, lost.is_some(), fragment.timestamp, ready);
            }
        }
    }

    /// Ends the open frame, if there is one, without having seen its end.
    fn end(&mut self, ready: &mut VecDeque<ReceivedFrame>) {
        match self {
            Self::Frames(assembler) => ready.extend(assembler.abandon()),
            Self::Units(units) => ready.extend(units.abandon(None)),
            Self::TransportStream(frames) => frames.flush(0, ready),
        }
    }
}

impl Depacketizer {
    /// A receiver for packets of a format of video. Without an `origin` the first packet that arrives sets it; packets that
    /// were sent before that one are then refused, and whether its frame was whole is not known.
    ///
    /// # Panics
    /// When the format is of sound, which has to be [described](Self::of_described).
    pub fn new(format: &PayloadFormat, origin: Option<StreamOrigin>, limits: Limits) -> Self {
        let received = Self::of_described(format, &StreamDescription::of_video(None), origin, limits);
        received.expect("invariant: a format of video needs no description")
    }

    /// The same for packets of any format, of a stream that was described so.
    ///
    /// # Errors
    /// When the description lacks what a receiver must know, or says what is not received; in words.
    pub fn of_described(
        format: &PayloadFormat,
        description: &StreamDescription,
        origin: Option<StreamOrigin>,
        limits: Limits,
    ) -> Result<Self, String> {
        let assembly = match format.reading {
            Reading::Frames(joiner) => {
                Assembly::Frames(Assembler::new(joiner(), limits.largest_frame, origin.is_some()))
            }
            Reading::Units(reader) => Assembly::Units(Units::new(reader(description)?, limits.largest_frame)),
        };
        Ok(Self::with_assembly(assembly, format.payload_type, origin, limits))
    }

    /// The same for packets of a transport stream (RFC 2250, section 2) with a program that is known.
    pub fn of_transport_stream(program: Program, origin: Option<StreamOrigin>, limits: Limits) -> Self {
        Self::with_frames(Some(program), origin, limits)
    }

    /// The same of the stream of another multiplexer, whose tables say what it holds, from the source that is heard first.
    pub fn of_any_transport_stream(limits: Limits) -> Self {
        Self::with_frames(None, None, limits)
    }

    fn with_frames(program: Option<Program>, origin: Option<StreamOrigin>, limits: Limits) -> Self {
        let frames = Assembly::TransportStream(Box::new(Frames::new(program, limits.largest_frame)));
        Self::with_assembly(frames, mpeg_ts::PAYLOAD_TYPE, origin, limits)
    }

    fn with_assembly(assembly: Assembly, payload_type: u8, origin: Option<StreamOrigin>, limits: Limits) -> Self {
        Self {
            payload_type,
            limits: Limits { reorder_window: limits.reorder_window.max(1), ..limits },
            origin,
            first: None,
            numbering: Numbering::default(),
            next: 0,
            lost_from: None,
            held: BTreeMap::new(),
            probation: None,
            assembly,
            arrivals: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// The same for a receiver that has listened since before the stream began: the first packet that it hears is taken for
    /// the first one that was sent.
    #[must_use]
    pub fn listening_before(mut self) -> Self {
        if let Assembly::Frames(assembler) = &mut self.assembly {
            assembler.begin_with_first_packet();
        }
        self
    }

    /// The same for packets of another payload type than the format's own.
    #[must_use]
    pub fn with_payload_type(self, payload_type: u8) -> Self {
        Self { payload_type, ..self }
    }

    /// The sender says which packet it sends first. To be told before the first datagram: of a receiver without an origin numbers
    /// count from that packet then, so that the loss of the very first ones is seen, where what is heard first can be of such a stream.
    pub fn handle_first_packet(&mut self, first: FirstPacket) {
        self.first = Some(first);
    }

    /// Takes a datagram that arrived at `now`. What becomes of it comes with [`poll_arrival`](Self::poll_arrival).
    ///
    /// # Errors
    /// When it is not a packet of this stream, not one that is still waited for, or cannot be numbered. It is then as
    /// if it had not arrived.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) -> Result<(), RejectReason> {
        let (header, payload) = RtpHeader::parse(datagram).map_err(|error| RejectReason::Rtp(error.to_string()))?;
        if header.payload_type != self.payload_type {
            return Err(RejectReason::PayloadType { received: header.payload_type, expected: self.payload_type });
        }
        let media = self.assembly.open(payload).map_err(RejectReason::Payload)?;
        let said = self.first.filter(|first| first.leads_to(&header));
        let initial_sequence = said.map_or(header.sequence_number, |first| first.sequence_number);
        let first = StreamOrigin { ssrc: header.ssrc, initial_sequence };
        let origin = *self.origin.get_or_insert(first);
        if header.ssrc != origin.ssrc {
            return Err(RejectReason::Source { received: header.ssrc, expected: origin.ssrc });
        }
        let RtpHeader { sequence_number, timestamp, marker, .. } = header;
        let stamps = Stamps { sequence_number, timestamp, arrived_at: now };
        let (sequence, doubt) = match self.numbering.number(stamps, origin.initial_sequence) {
            Ok(sequence) if sequence <= self.numbering.highest() + LARGEST_JUMP => (sequence, None),
            Ok(sequence) => (sequence, Some(Doubt::Jump)),
            Err(NoNumber::MayHaveWrapped { ticks, if_confirmed }) => (if_confirmed, Some(Doubt::Leap { ticks })),
            Err(NoNumber::BeforeFirst) => return Err(RejectReason::BeforeFirst),
        };
        let fragment = Fragment { timestamp, marker, arrived_at: now, media };
        let size = DataSize::from_bytes(datagram.len() as u64);
        if self.is_old(sequence) {
            return Err(RejectReason::Old { sequence });
        }
        match doubt {
            Some(doubt) => self.admit(sequence, doubt, size, &fragment),
            None => {
                self.accept(sequence, size, &fragment, false);
                Ok(())
            }
        }
    }

    /// The next outcome of a datagram that was taken.
    pub fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// The next frame that is ready, whole or not.
    pub fn poll_frame(&mut self) -> Option<ReceivedFrame> {
        self.ready.pop_front()
    }

    /// Gives up everything that is still missing, as at the end of the stream. A frame whose last packet has not
    /// arrived comes out incomplete.
    pub fn flush(&mut self) {
        self.refuse_unconfirmed();
        while self.give_up_missing(u64::MAX) {}
        self.assembly.end(&mut self.ready);
    }

    /// Takes a packet in doubt, or holds it until another one confirms it.
    fn admit(
        &mut self,
        sequence: u64,
        doubt: Doubt,
        size: DataSize,
        fragment: &Fragment<'_>,
    ) -> Result<(), RejectReason> {
        let is_one_clock = |held: &Probation| self.numbering.is_one_clock(held.packet.timestamp, fragment.timestamp);
        let agrees = |held: &mut Probation| match (held.doubt, doubt) {
            (Doubt::Jump, Doubt::Jump) => true,
            (Doubt::Leap { .. }, Doubt::Leap { .. }) => is_one_clock(held),
            _ => false,
        };
        let window = self.limits.reorder_window;
        match self.probation.take_if(|held| agrees(held) && held.is_near(sequence, window)) {
            Some(held) if held.sequence == sequence => {
                self.probation = Some(held);
                return Err(RejectReason::Old { sequence });
            }
            Some(held) => {
                self.accept(held.sequence, held.size, &held.packet.fragment(), doubt != Doubt::Jump);
                if self.is_old(sequence) {
                    return Err(RejectReason::Old { sequence });
                }
                self.accept(sequence, size, fragment, false);
            }
            None => {
                self.refuse_unconfirmed();
                self.probation = Some(Probation { doubt, sequence, size, packet: HeldPacket::new(fragment) });
            }
        }
        Ok(())
    }

    fn refuse_unconfirmed(&mut self) {
        if let Some(held) = self.probation.take() {
            let outcome = Err(held.refusal());
            self.arrivals.push_back(Arrival { at: held.packet.arrived_at, size: held.size, outcome });
        }
    }

    /// Whether a packet is there already, or was given up.
    fn is_old(&self, sequence: u64) -> bool {
        sequence < self.next || self.held.contains_key(&sequence)
    }

    /// Takes a packet that is not old; `leapt`: its time stamp says nothing of the time since the one before it.
    fn accept(&mut self, sequence: u64, size: DataSize, fragment: &Fragment<'_>, leapt: bool) {
        self.refuse_unconfirmed();
        self.arrivals.push_back(Arrival { at: fragment.arrived_at, size, outcome: Ok(sequence) });
        self.numbering.note_accepted(sequence, fragment.timestamp, fragment.arrived_at, leapt);
        if sequence == self.next {
            self.hand_on(sequence, fragment);
            self.hand_on_held();
        } else {
            self.held.insert(sequence, HeldPacket::new(fragment));
            let still_awaited = (self.numbering.highest() + 1).saturating_sub(u64::from(self.limits.reorder_window));
            while self.next < still_awaited && self.give_up_missing(still_awaited) {}
        }
    }

    /// Gives up what is missing before `end` and before the first packet held; false when none is held.
    fn give_up_missing(&mut self, end: u64) -> bool {
        let Some((&first_held, _)) = self.held.first_key_value() else { return false };
        self.lost_from.get_or_insert(self.next);
        self.next = first_held.min(end);
        self.hand_on_held();
        true
    }

    fn hand_on_held(&mut self) {
        while let Some(packet) = self.held.remove(&self.next) {
            self.hand_on(self.next, &packet.fragment());
        }
    }

    fn hand_on(&mut self, sequence: u64, fragment: &Fragment<'_>) {
        let lost = self.lost_from.take().map(|from| from..=sequence - 1);
        self.next = sequence + 1;
        self.assembly.add(sequence, fragment, lost, &mut self.ready);
    }
}
