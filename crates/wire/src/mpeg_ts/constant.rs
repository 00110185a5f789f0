//! A stream of constant rate: every packet has its time by its place (2.4.2.2), and packets without content fill what
//! nothing else does.
//!
//! Units wait here and are sent when a decoder has room for them, by the buffers of the standard's model: sound, which is small,
//! shortly before it is decoded, and between the packets of large frames. Where a unit would come too late otherwise it is sent
//! whatever the buffers hold.

use std::collections::VecDeque;

use framewire_units::{Bitrate, DataSize, Duration};

use super::adaptation::AdaptationRepr;
use super::buffers::Buffers;
use super::clock::SYSTEM_CLOCK;
use super::multiplexer::{Prepared, UnitError};
use super::packet::{BODY_LENGTH, PACKET_LENGTH, Payload, emit_null};
use super::stream_type::StreamType;
use super::writer::{REFERENCE_TICKS, TABLE_PACKETS, TABLE_TICKS, Writer, ticks};

/// The byte of a packet at which its clock reference is due: the one with the last bit of the base (2.4.3.5), behind the
/// packet's header, length and flags of the adaptation field.
const REFERENCE_BYTE: u64 = 10;

/// Bytes of an adaptation field with a clock reference and private data (2.4.3.4), but for those.
pub(super) const ADAPTATION: usize = 9;

/// Tables before a unit where decoding can begin stand there only if the last ones are so old: the system buffer is emptied at
/// 80 kbit/s, if the whole has no more than 5 Mbit/s (Rbx_sys, 2.4.2.3), and the two packets are 3,008 bits.
const TABLE_PAUSE: u64 = ticks(Duration::from_millis(40));

#[derive(Clone, Debug)]
pub(super) struct ConstantRate {
    rate: Bitrate,
    /// How long a unit has until it is decoded.
    delay: u64,
    /// Packets written.
    packets: u64,
    /// When the first byte of the stream is due, in ticks of the system clock.
    origin: Option<u64>,
    lanes: Vec<Lane>,
    /// When units are sent whatever the buffers of a decoder hold, so that none comes too late; `None` where it has to be
    /// computed anew.
    urgent_at: Option<u64>,
}

/// What waits of a track.
#[derive(Clone, Debug)]
struct Lane {
    units: VecDeque<Waiting>,
    buffers: Buffers,
}

/// A unit that waits, or what is left of it.
#[derive(Clone, Debug)]
struct Waiting {
    random_access: bool,
    /// Whether the tables come before it.
    has_tables: bool,
    private: Vec<u8>,
    bytes: Vec<u8>,
    /// How many of these are before the unit itself.
    head: usize,
    taken: usize,
    /// When it is sent at the earliest.
    start: u64,
    /// When it is decoded.
    due: u64,
    /// By which its caller knows it.
    number: u32,
}

/// Packets that leave together, in one datagram or as one piece of a stream: at most one unit has something in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub part: Option<Part>,
    /// Packets without content.
    pub null: usize,
}

/// What a group has of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub track: usize,
    pub number: u32,
    /// Bytes of the unit itself.
    pub bytes: usize,
    /// Behind which packet of the group the unit ends, where it does.
    pub end: Option<usize>,
}

impl Waiting {
    /// How many packets are left of it, with tables before it.
    fn packets(&self) -> u64 {
        let left = self.bytes.len() - self.taken;
        let begins = self.taken == 0;
        let first = if begins { ADAPTATION + self.private.len() } else { 0 };
        let tables = if begins && self.has_tables { TABLE_PACKETS } else { 0 };
        ((left + first).div_ceil(BODY_LENGTH) + tables) as u64
    }

    fn adaptation(&self, reference: Option<u64>) -> AdaptationRepr<'_> {
        match self.taken {
            0 => AdaptationRepr {
                random_access: self.random_access,
                reference,
                private: &self.private,
                ..AdaptationRepr::default()
            },
            _ => AdaptationRepr { reference, ..AdaptationRepr::default() },
        }
    }
}

impl ConstantRate {
    pub(super) fn new(rate: Bitrate, delay: u64, tracks: impl Iterator<Item = StreamType>) -> Self {
        let lane = |stream_type| Lane { units: VecDeque::new(), buffers: Buffers::new(stream_type) };
        Self { rate, delay, packets: 0, origin: None, lanes: tracks.map(lane).collect(), urgent_at: None }
    }

    /// Takes a unit, and appends the packets before its time: what waits, and what fills.
    pub(super) fn put(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) -> Result<(), UnitError> {
        let origin = self.origin.unwrap_or(unit.start);
        let waiting = self.waiting_of(unit, 0);
        self.check(&waiting, unit.start, origin)?;
        self.origin = Some(origin);
        while self.begin(self.packets) < unit.start {
            self.write(writer, out);
        }
        self.wait(unit, waiting);
        Ok(())
    }

    /// Takes a unit, and writes nothing: its packets are asked for by [`group`](Self::group).
    pub(super) fn take(&mut self, unit: &Prepared<'_>, number: u32) {
        self.origin.get_or_insert(unit.start);
        self.wait(unit, self.waiting_of(unit, number));
    }

    fn waiting_of(&self, unit: &Prepared<'_>, number: u32) -> Waiting {
        Waiting {
            random_access: unit.random_access,
            has_tables: unit.track == 0 && unit.random_access,
            private: unit.private.to_vec(),
            bytes: [unit.payload.head, unit.payload.body].concat(),
            head: unit.payload.head.len(),
            taken: 0,
            start: unit.start,
            due: unit.start + self.delay,
            number,
        }
    }

    fn wait(&mut self, unit: &Prepared<'_>, waiting: Waiting) {
        let lane = &mut self.lanes[unit.track];
        if unit.random_access || unit.track != 0 {
            lane.buffers.learn(unit.payload.body);
        }
        lane.units.push_back(waiting);
        self.urgent_at = None;
    }

    /// Bytes of units that wait.
    pub(super) fn bytes_waiting(&self) -> u64 {
        self.waiting().map(|unit| (unit.bytes.len() - unit.taken) as u64).sum()
    }

    /// When the next packet is due, from the first unit's time on, in ticks of the system clock; `None` before that.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.origin.map(|_| self.span(self.packets))
    }

    /// The clock at the first byte of the next packet.
    pub(super) fn clock(&self) -> u64 {
        self.begin(self.packets)
    }

    /// Appends the packets that leave together next, up to `most`: fewer where a unit ends and another one can begin. Where it is
    /// `numbered` the first one that can have it has a clock reference, by which the group can be known.
    pub(super) fn group(&mut self, most: usize, numbered: bool, writer: &mut Writer, out: &mut Vec<u8>) -> Group {
        let (begin, mut group, mut wants_number) = (self.packets, Group::default(), numbered);
        let end = begin + most as u64;
        while self.packets < end {
            let room = end - self.packets;
            let has_room = room > TABLE_PACKETS as u64;
            if has_room && writer.wants_tables(self.begin(end + 1 + TABLE_PACKETS as u64)) {
                self.put_tables(writer, out);
                continue;
            }
            // A unit whose time comes in the middle begins with the next one, whether it is known already or not.
            let chosen = self.choose(self.begin(begin));
            match (chosen, group.part) {
                (Some(track), Some(part)) if part.end.is_some() || part.track != track => return group,
                (Some(track), part) => {
                    let front = self.lanes[track].units.front().expect("invariant: what was chosen waits");
                    let begins = front.taken == 0 && front.has_tables;
                    let now = self.begin(self.packets);
                    if begins && writer.wants_tables(now + TABLE_TICKS - TABLE_PAUSE) {
                        if !has_room {
                            // The next group begins with them.
                            self.fill(&mut wants_number, &mut group, writer, out);
                        } else {
                            self.put_tables(writer, out);
                        }
                        continue;
                    }
                    let wants_reference = self.wants_reference(writer);
                    if track != 0 && wants_reference {
                        self.put_reference(writer, out);
                        wants_number = false;
                        continue;
                    }
                    let has_reference = begins || wants_reference || wants_number;
                    let reference = has_reference.then(|| self.reference());
                    let part = part.unwrap_or(Part { track, number: front.number, bytes: 0, end: None });
                    let (bytes, ends) = self.put_packet(track, now, reference, writer, out);
                    let end = ends.then_some((self.packets - begin) as usize);
                    group.part = Some(Part { bytes: part.bytes + bytes, end, ..part });
                    wants_number &= !has_reference;
                }
                (None, _) => self.fill(&mut wants_number, &mut group, writer, out),
            }
        }
        group
    }

    /// Appends a packet without anything of a unit: the clock where it is due, else nothing.
    fn fill(&mut self, wants_number: &mut bool, group: &mut Group, writer: &mut Writer, out: &mut Vec<u8>) {
        if std::mem::take(wants_number) || self.wants_reference(writer) {
            return self.put_reference(writer, out);
        }
        self.put_null(out);
        group.null += 1;
    }

    fn put_null(&mut self, out: &mut Vec<u8>) {
        emit_null(out);
        self.packets += 1;
    }

    /// Appends what waits.
    pub(super) fn finish(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        while self.waiting().next().is_some() {
            self.write(writer, out);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.lanes.iter().flat_map(|lane| &lane.units)
    }

    /// Whether the unit comes in time behind all that waits.
    fn check(&self, unit: &Waiting, start: u64, origin: u64) -> Result<(), UnitError> {
        // Behind all that waits, and not before its own time.
        let begin = self.begin_from(origin, self.packets);
        let before: u64 = self.waiting().map(Waiting::packets).sum();
        let end = (begin + self.span(self.with_tables(before + unit.packets())))
            .max(start + self.span(1 + self.with_tables(unit.packets())));
        let late = end.saturating_sub(unit.due);
        if late == 0 {
            return Ok(());
        }
        let late = Duration::from_nanos((u128::from(late) * 1_000_000_000 / u128::from(SYSTEM_CLOCK)) as u64);
        Err(UnitError::TooLate { size: DataSize::from_bytes(unit.bytes.len() as u64), late })
    }

    /// So many packets with the tables and clock references that may come in between, each of which is written up to three
    /// packets before it is due.
    fn with_tables(&self, packets: u64) -> u64 {
        let packet = self.span(1);
        let share = |count: u64, interval: u64| count * packet * 1_000_000 / (interval - 3 * packet);
        let taken = share(TABLE_PACKETS as u64, TABLE_TICKS) + share(1, REFERENCE_TICKS);
        packets * 1_000_000 / (1_000_000 - taken) + TABLE_PACKETS as u64 + 2
    }

    /// When all has to be sent that can be, so that no unit comes too late.
    fn urgent_at(&self) -> u64 {
        let mut units: Vec<_> = self.waiting().map(|unit| (unit.due, unit.packets())).collect();
        units.sort_unstable();
        let mut before = 0;
        let latest = units.into_iter().map(|(due, packets)| {
            before += packets;
            due.saturating_sub(self.span(self.with_tables(before)))
        });
        latest.min().unwrap_or(u64::MAX)
    }

    /// The track whose packet is the next: of those with room in a decoder's buffers the one that is decoded first.
    /// Of those that may be sent from `opened` on.
    fn choose(&mut self, opened: u64) -> Option<usize> {
        let now = self.begin(self.packets);
        let urgent_at = self.urgent_at.unwrap_or_else(|| self.urgent_at());
        self.urgent_at = Some(urgent_at);
        let ready = self.lanes.iter_mut().enumerate().filter_map(|(track, lane)| {
            let &Waiting { start, due, .. } = lane.units.front()?;
            let may_go = start <= opened && (urgent_at <= now || lane.buffers.has_room(now, due));
            may_go.then_some((due, std::cmp::Reverse(track)))
        });
        ready.min().map(|(_, track)| track.0)
    }

    /// Appends the next packet, or the tables.
    fn write(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        if writer.wants_tables(self.begin(self.packets + 1 + TABLE_PACKETS as u64)) {
            return self.put_tables(writer, out);
        }
        let Some(track) = self.choose(self.begin(self.packets)) else {
            if self.wants_reference(writer) {
                return self.put_reference(writer, out);
            }
            return self.put_null(out);
        };
        let front = self.lanes[track].units.front();
        let begins = front.is_some_and(|unit| unit.taken == 0 && unit.has_tables);
        let now = self.begin(self.packets);
        if begins && writer.wants_tables(now + TABLE_TICKS - TABLE_PAUSE) {
            return self.put_tables(writer, out);
        }
        let wants_reference = self.wants_reference(writer);
        if track != 0 && wants_reference {
            return self.put_reference(writer, out);
        }
        let reference = (begins || wants_reference).then(|| self.reference());
        self.put_packet(track, now, reference, writer, out);
    }

    /// Appends a packet of the unit that waits first. Returns how many bytes of the unit itself are in it, and whether it is the last one.
    fn put_packet(
        &mut self,
        track: usize,
        now: u64,
        reference: Option<u64>,
        writer: &mut Writer,
        out: &mut Vec<u8>,
    ) -> (usize, bool) {
        let Lane { units, buffers } = &mut self.lanes[track];
        let unit = units.front_mut().expect("invariant: a track with something that waits was chosen");
        let left = unit.bytes.len() - unit.taken;
        let mut payload = Payload { head: &[], body: &unit.bytes[unit.taken..] };
        writer.put(track, unit.taken == 0, unit.adaptation(reference), &mut payload, out);
        let rest = payload.len();
        buffers.send(now, unit.due, (left - rest) as u64);
        let before = unit.taken.max(unit.head);
        unit.taken += left - rest;
        let own = unit.taken.max(unit.head) - before;
        if rest == 0 {
            units.pop_front();
        }
        self.packets += 1;
        self.urgent_at = None;
        (own, rest == 0)
    }

    fn put_tables(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        writer.put_tables(self.begin(self.packets), out);
        self.packets += TABLE_PACKETS as u64;
    }

    fn put_reference(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        let now = self.begin(self.packets);
        writer.put_reference(self.reference(), out);
        self.lanes[0].buffers.send(now, now, 0);
        self.packets += 1;
    }

    /// Whether the next packet has to have the clock: tables may come between it and the one after it.
    fn wants_reference(&self, writer: &Writer) -> bool {
        writer.wants_reference(self.reference() + self.span(1 + TABLE_PACKETS as u64))
    }

    /// The clock in the next packet.
    fn reference(&self) -> u64 {
        self.begin(self.packets) + self.bytes(REFERENCE_BYTE)
    }

    /// When a packet begins, by its place.
    fn begin(&self, packet: u64) -> u64 {
        self.begin_from(self.origin.unwrap_or(0), packet)
    }

    fn begin_from(&self, origin: u64, packet: u64) -> u64 {
        origin + self.span(packet)
    }

    fn span(&self, packets: u64) -> u64 {
        self.bytes(packets * PACKET_LENGTH as u64)
    }

    /// How long so many bytes take, from the begin of the stream, so that roundings do not add up.
    fn bytes(&self, count: u64) -> u64 {
        let ticks = u128::from(count) * 8 * u128::from(SYSTEM_CLOCK) / u128::from(self.rate.as_bps());
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}
