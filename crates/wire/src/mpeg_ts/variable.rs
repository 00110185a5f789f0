//! A stream of variable rate: every unit is sent from its decoding time on, earlier than that by the delay, within its
//! duration. Between two clock references the rate is constant (2.4.2.2), and what it is follows from the unit's size.

use framewire_units::Duration;

use super::multiplexer::Prepared;
use super::packet::{BODY_LENGTH, PACKET_LENGTH};
use super::settings::Layout;
use super::writer::{REFERENCE_TICKS, TABLE_PACKETS, Writer, ticks};

/// The longest time that is spanned by packets with nothing but the clock: 25 of them.
const LONGEST_SPAN: Duration = Duration::from_secs(1);

/// Bytes of an adaptation field with a clock reference.
pub(super) const REFERENCE_FIELD: usize = 8;

/// Bits behind the point of the time from packet to packet, in ticks of the system clock.
const FRACTION: u32 = 16;

/// Packets of a unit that are not full: the first one, with its description, and the last one.
const FIRST_AND_LAST: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct VariableRate {
    layout: Layout,
    /// The earliest time of the next packet with the clock.
    free_at: u64,
    /// The last time in a packet of another track, by which its datagram is known.
    other_at: Option<u64>,
}

impl VariableRate {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, free_at: 0, other_at: None }
    }

    /// Appends the packets of a unit.
    pub(super) fn put(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
        if unit.track == 0 { self.put_video(unit, writer, out) } else { self.put_other(unit, writer, out) }
    }

    fn put_video(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
        let start = unit.start.max(self.free_at);
        let mut payload = unit.payload;
        // Every packet is taken for one with a reference, so that the clock does not pass the end.
        let most = payload.len() / (BODY_LENGTH - REFERENCE_FIELD) + FIRST_AND_LAST;
        // Each packet has a time of its own.
        let end = start + unit.duration.min(ticks(LONGEST_SPAN)).max(most as u64);
        out.reserve((most + TABLE_PACKETS) * PACKET_LENGTH);
        let step = ((end - start) << FRACTION) / most as u64;
        let at = |packet: u64| start + ((step * packet) >> FRACTION);
        let mut room = Room::new(self.layout);
        if unit.random_access || writer.wants_tables(end) {
            writer.put_tables(start, out);
            room.take(TABLE_PACKETS);
        }
        // Packets of the unit so far: tables in between take no time, and are a little early for that.
        let mut count = 0;
        while payload.len() > 0 {
            if count > 0 {
                // Most packets of a frame carry nothing but the frame.
                let until = |time: Option<u64>| {
                    ((time.unwrap_or(0).saturating_sub(start) << FRACTION) / step).saturating_sub(count)
                };
                let before_tables = until(writer.tables_due()).saturating_sub(TABLE_PACKETS as u64);
                let plain = until(writer.reference_due()).min(before_tables).min(room.plain());
                let written = writer.put_full(0, plain, &mut payload, out);
                room.take(written as usize);
                count += written;
            }
            if count > 0 && writer.wants_tables(at(count + 1 + TABLE_PACKETS as u64)) {
                writer.put_tables(at(count), out);
                room.take(TABLE_PACKETS);
            }
            let first = count == 0;
            let next = if payload.len() <= BODY_LENGTH { end } else { at(count + 1) };
            let wants_reference = first | room.begins_datagram() || writer.wants_reference(next);
            let reference = wants_reference.then(|| at(count));
            writer.put(0, first, unit.adaptation(first, reference), &mut payload, out);
            room.take(1);
            count += 1;
        }
        span(room, start, end, writer, out);
        self.free_at = end;
    }

    /// Appends a unit of a track without the clock: its packets come where they stand. In datagrams of its own each begins with
    /// a time, a tick after the last one.
    fn put_other(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
        let mut payload = unit.payload;
        let mut room = Room::new(self.layout);
        // Nothing is received of a stream before its tables (2.4.4.3, 2.4.4.8), also where it begins with sound.
        if writer.tables_due().is_none() {
            // Sound may begin before the video, and so before the time of any packet.
            writer.put_tables(self.free_at, out);
            room.take(TABLE_PACKETS);
        }
        let mut first = true;
        while payload.len() > 0 {
            let reference = room.begins_datagram().then(|| self.next_time(writer));
            writer.put(unit.track, first, unit.adaptation(first, reference), &mut payload, out);
            room.take(1);
            first = false;
        }
    }

    fn next_time(&mut self, writer: &Writer) -> u64 {
        let at = writer.reference_at().max(self.other_at).map_or(0, |last| last + 1);
        self.other_at = Some(at);
        self.free_at = self.free_at.max(at + 1);
        at
    }
}

/// Packets until the datagram is full.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Packets of a datagram; `None` where there are none.
    packets: Option<usize>,
    left: usize,
    /// No clock reference was written in this datagram.
    begins: bool,
}

impl Room {
    fn new(layout: Layout) -> Self {
        let packets = match layout {
            Layout::Continuous => None,
            Layout::Datagrams(packets) => Some(usize::from(packets)),
        };
        Self { packets, left: packets.unwrap_or(usize::MAX), begins: packets.is_some() }
    }

    /// Packets that may be written before one has to have a clock reference.
    fn plain(&self) -> u64 {
        if self.begins { 0 } else { self.left as u64 }
    }

    /// So many packets were written, no more than there is room for; of a datagram that is full the next one begins.
    fn take(&mut self, count: usize) {
        match self.packets {
            Some(packets) if self.left <= count => {
                self.left += packets - count;
                self.begins = true;
            }
            Some(_) => self.left -= count,
            None => {}
        }
    }

    /// Whether the next packet is the first with a clock reference.
    fn begins_datagram(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }
}

/// Appends packets with nothing but the clock, and tables, until the next unit begins; of datagrams as many as the last one
/// has room for, so that none is without something of a unit.
fn span(mut room: Room, start: u64, end: u64, writer: &mut Writer, out: &mut Vec<u8>) {
    while writer.wants_reference(end) {
        let next = writer.reference_at().map_or(start, |last| last + REFERENCE_TICKS);
        let has_tables = writer.wants_tables(end.min(next + REFERENCE_TICKS));
        let count = 1 + if has_tables { TABLE_PACKETS } else { 0 };
        // A datagram that would begin is one more.
        if room.packets.is_some() && (room.begins || count > room.left) {
            return;
        }
        if has_tables {
            writer.put_tables(next, out);
        }
        writer.put_reference(next, out);
        room.take(count);
    }
}
