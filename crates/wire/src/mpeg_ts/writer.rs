//! Packets of a program as they are written: continuity counters, tables, and when the clock was last written.

use framewire_units::Duration;

use super::adaptation::AdaptationRepr;
use super::clock::SYSTEM_CLOCK;
use super::packet::{ASSOCIATION_PID, PACKET_LENGTH, PacketRepr, Payload};
use super::settings::{REFERENCE_INTERVAL, TABLE_INTERVAL};
use super::tables::Program;

/// Packets of the two tables.
pub(super) const TABLE_PACKETS: usize = 2;

/// Limits in ticks of the system clock.
pub(super) const REFERENCE_TICKS: u64 = ticks(REFERENCE_INTERVAL);
pub(super) const TABLE_TICKS: u64 = ticks(TABLE_INTERVAL);

/// A duration of the settings in ticks of the system clock.
pub(super) const fn ticks(duration: Duration) -> u64 {
    duration.as_micros() as u64 * (SYSTEM_CLOCK / 1_000_000)
}

/// Writes packets, and remembers what the next ones depend on.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    /// Both tables behind their pointer fields, by packet identifier.
    tables: [(u16, Vec<u8>); TABLE_PACKETS],
    table_counter: u8,
    clock_pid: u16,
    /// The next counter of each track.
    counters: Vec<(u16, u8)>,
    /// When the clock, and the tables, were written last; in ticks of the system clock.
    reference_at: Option<u64>,
    tables_at: Option<u64>,
}

impl Writer {
    pub(super) fn new(program: &Program) -> Self {
        let behind_pointer = |section: Vec<u8>| [&[0][..], &section].concat();
        let tables = [
            (ASSOCIATION_PID, behind_pointer(program.association())),
            (program.map_pid, behind_pointer(program.map())),
        ];
        let counters = program.tracks.iter().map(|track| (track.pid, 0)).collect();
        let clock_pid = program.clock_pid;
        Self { tables, table_counter: 0, clock_pid, counters, reference_at: None, tables_at: None }
    }

    /// Whether the clock has to be written so that it is not older than the limit at `next`.
    pub(super) fn wants_reference(&self, next: u64) -> bool {
        is_due(self.reference_at, next, REFERENCE_TICKS)
    }

    /// The same of the tables.
    pub(super) fn wants_tables(&self, next: u64) -> bool {
        is_due(self.tables_at, next, TABLE_TICKS)
    }

    /// When the clock was written last.
    pub(super) fn reference_at(&self) -> Option<u64> {
        self.reference_at
    }

    /// Writes both tables, a packet each.
    pub(super) fn put_tables(&mut self, now: u64, out: &mut Vec<u8>) {
        for (pid, section) in &self.tables {
            let packet = PacketRepr {
                unit_start: true,
                pid: *pid,
                continuity_counter: self.table_counter,
                adaptation: AdaptationRepr::default(),
            };
            // Sections are followed by bytes FF to the end of the packet (2.4.4).
            let mut filled = [0xFF; PACKET_LENGTH - 4];
            filled[..section.len()].copy_from_slice(section);
            packet.emit(&mut Payload { head: &filled, body: &[] }, out);
        }
        self.table_counter = self.table_counter.wrapping_add(1) & 0x0F;
        self.tables_at = Some(now);
    }

    /// Writes a packet of a track with as much of `payload` as fits, and with the clock where `adaptation` has it.
    pub(super) fn put(
        &mut self,
        track: usize,
        unit_start: bool,
        adaptation: AdaptationRepr<'_>,
        payload: &mut Payload<'_>,
        out: &mut Vec<u8>,
    ) {
        let (pid, counter) = &mut self.counters[track];
        if *pid == self.clock_pid {
            self.reference_at = adaptation.reference.or(self.reference_at);
        }
        PacketRepr { unit_start, pid: *pid, continuity_counter: *counter, adaptation }.emit(payload, out);
        *counter = counter.wrapping_add(1) & 0x0F;
    }

    /// When the clock has to be written at the latest.
    pub(super) fn reference_due(&self) -> Option<u64> {
        self.reference_at.map(|last| last + REFERENCE_TICKS)
    }

    /// The same of the tables.
    pub(super) fn tables_due(&self) -> Option<u64> {
        self.tables_at.map(|last| last + TABLE_TICKS)
    }

    /// Writes packets of a track with nothing but payload: up to `most`, and all but the last of those that the payload fills.
    /// Returns how many that were.
    pub(super) fn put_full(&mut self, track: usize, most: u64, payload: &mut Payload<'_>, out: &mut Vec<u8>) -> u64 {
        let (pid, counter) = &mut self.counters[track];
        let pid = *pid;
        let packet = |counter| PacketRepr {
            unit_start: false,
            pid,
            continuity_counter: counter,
            adaptation: AdaptationRepr::default(),
        };
        let (written, next) = payload.emit_full(most, *counter, packet, out);
        *counter = next;
        written
    }

    /// Writes the clock in a packet without payload, which does not count (2.4.3.3).
    pub(super) fn put_reference(&mut self, now: u64, out: &mut Vec<u8>) {
        self.reference_at = Some(now);
        let last = self.counters[0].1.wrapping_sub(1) & 0x0F;
        let adaptation = AdaptationRepr { reference: Some(now), ..AdaptationRepr::default() };
        let packet = PacketRepr { unit_start: false, pid: self.clock_pid, continuity_counter: last, adaptation };
        packet.emit(&mut Payload::default(), out);
    }
}

fn is_due(last: Option<u64>, next: u64, interval: u64) -> bool {
    last.is_none_or(|last| next.saturating_sub(last) > interval)
}
