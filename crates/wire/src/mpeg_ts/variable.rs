//! A stream of variable rate: every unit is sent from its decoding time on, earlier than that by the delay, within its
//! duration. Between two clock references the rate is constant (2.4.2.2), and what it is follows from the unit's size.

use framewire_units::Duration;

use super::multiplexer::Prepared;
use super::packet::{BODY_LENGTH, PACKET_LENGTH};
use super::settings::{Layout, REFERENCE_INTERVAL};
use super::writer::{TABLE_PACKETS, Writer, ticks};

/// The longest time that is spanned by packets with nothing but the clock: 25 of them.
const LONGEST_SPAN: Duration = Duration::from_secs(1);

/// Bytes of an adaptation field with a clock reference.
const REFERENCE_FIELD: usize = 8;

/// Packets of a unit that are not full: the first one, with its description, and the last one.
const FIRST_AND_LAST: usize = 2;

#[derive(Debug)]
pub(super) struct VariableRate {
    layout: Layout,
    /// The earliest time of the next packet with the clock.
    free_at: u64,
}

impl VariableRate {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, free_at: 0 }
    }

    /// Appends the packets of a unit.
    pub(super) fn put(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
        if unit.track == 0 { self.put_video(unit, writer, out) } else { put_other(unit, writer, out) }
    }

    fn put_video(&mut self, unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
        let start = unit.start.max(self.free_at);
        let end = start + unit.duration.min(ticks(LONGEST_SPAN)).max(1);
        let mut payload = unit.payload;
        // Every packet is taken for one with a reference, so that the clock does not pass the end.
        let most = (payload.len() / (BODY_LENGTH - REFERENCE_FIELD) + FIRST_AND_LAST) as u64;
        let begin = out.len();
        out.reserve((most as usize + TABLE_PACKETS) * PACKET_LENGTH);
        let written = |out: &Vec<u8>| (out.len() - begin) / PACKET_LENGTH;
        let at = |packet: u64| start + (end - start) * packet.min(most) / most;
        if unit.random_access || writer.wants_tables(end) {
            writer.put_tables(start, out);
        }
        // Packets of the unit so far: tables in between take no time, and are a little early for that.
        let (mut count, mut datagram) = (0, 0);
        while payload.len() > 0 {
            if count > 0 && writer.wants_tables(at(count + 1 + TABLE_PACKETS as u64)) {
                writer.put_tables(at(count), out);
            }
            let first = count == 0;
            let next = if payload.len() <= BODY_LENGTH { end } else { at(count + 1) };
            let begins = self.begins_datagram(written(out), &mut datagram);
            let reference = (first || begins || writer.wants_reference(next)).then(|| at(count));
            writer.put(0, first, unit.adaptation(first, reference), &mut payload, out);
            count += 1;
        }
        self.span(written(out), start, end, writer, out);
        self.free_at = end;
    }

    /// Whether this packet of a unit is in another datagram than `last`, the last one that began.
    fn begins_datagram(&self, packet: usize, last: &mut usize) -> bool {
        match self.layout {
            Layout::Continuous => false,
            Layout::Datagrams(packets) => {
                let this = packet / usize::from(packets);
                std::mem::replace(last, this) != this
            }
        }
    }

    /// Appends packets with nothing but the clock, and tables, until the next unit begins; of datagrams as many as the last
    /// one has room for, so that none is without something of a unit.
    fn span(&self, mut written: usize, start: u64, end: u64, writer: &mut Writer, out: &mut Vec<u8>) {
        while writer.wants_reference(end) {
            let next = writer.reference_at().map_or(start, |last| last + ticks(REFERENCE_INTERVAL));
            let has_tables = writer.wants_tables(end.min(next + ticks(REFERENCE_INTERVAL)));
            let count = 1 + if has_tables { TABLE_PACKETS } else { 0 };
            if let Layout::Datagrams(packets) = self.layout
                && (written + count).div_ceil(packets.into()) > written.div_ceil(packets.into())
            {
                return;
            }
            if has_tables {
                writer.put_tables(next, out);
            }
            writer.put_reference(next, out);
            written += count;
        }
    }
}

/// Appends a unit of a track without the clock: its packets come where they stand.
fn put_other(unit: &Prepared<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
    let mut payload = unit.payload;
    let mut first = true;
    while payload.len() > 0 {
        writer.put(unit.track, first, unit.adaptation(first, None), &mut payload, out);
        first = false;
    }
}
