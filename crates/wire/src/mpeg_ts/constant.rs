//! A stream of constant rate: every packet has its time by its place (2.4.2.2), and packets without content fill what
//! nothing else does.

use framewire_units::{Bitrate, DataSize, Duration};

use super::clock::SYSTEM_CLOCK;
use super::multiplexer::{Prepared, UnitError};
use super::packet::{BODY_LENGTH, PACKET_LENGTH, emit_null};
use super::writer::{TABLE_PACKETS, Writer};

/// The byte of a packet at which its clock reference is due: the one with the last bit of the base (2.4.3.5), behind the
/// packet's header, length and flags of the adaptation field.
const REFERENCE_BYTE: u64 = 10;

/// Bytes of an adaptation field with a clock reference.
const REFERENCE_FIELD: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct ConstantRate {
    rate: Bitrate,
    /// Packets written.
    packets: u64,
    /// When the first byte of the stream is due, in ticks of the system clock.
    origin: Option<u64>,
}

impl ConstantRate {
    pub(super) fn new(rate: Bitrate) -> Self {
        Self { rate, packets: 0, origin: None }
    }

    /// Appends the packets of a unit behind those that fill the time before it. It has `delay` until it is decoded.
    pub(super) fn put(
        &mut self,
        unit: &Prepared<'_>,
        delay: u64,
        writer: &mut Writer,
        out: &mut Vec<u8>,
    ) -> Result<(), UnitError> {
        let origin = self.origin.unwrap_or(unit.start);
        self.check(unit, origin, delay)?;
        self.origin = Some(origin);
        while self.begin(self.packets) < unit.start {
            self.fill(writer, out);
        }
        if unit.track == 0 && unit.random_access {
            self.put_tables(writer, out);
        }
        let mut payload = unit.payload;
        let mut first = true;
        while payload.len() > 0 {
            if writer.wants_tables(self.begin(self.packets + 1 + TABLE_PACKETS as u64)) {
                self.put_tables(writer, out);
            }
            let is_clock = unit.track == 0;
            let has_reference = is_clock && (first && unit.random_access || self.wants_reference(writer));
            let reference = has_reference.then(|| self.reference());
            if !is_clock && self.wants_reference(writer) {
                self.put_reference(writer, out);
            }
            writer.put(unit.track, first, unit.adaptation(first, reference), &mut payload, out);
            self.packets += 1;
            first = false;
        }
        Ok(())
    }

    /// Whether the unit comes in time, with all the tables and clock references that may come in between.
    fn check(&self, unit: &Prepared<'_>, origin: u64, delay: u64) -> Result<(), UnitError> {
        let (own, size) = (unit.payload.len() / (BODY_LENGTH - REFERENCE_FIELD) + 2, unit.payload.len());
        // At the smallest rate the tables are due every 13 packets.
        let tables = TABLE_PACKETS * (2 + own / 8);
        let begin = match self.begin_from(origin, self.packets) {
            begin if begin < unit.start => unit.start + self.span(1),
            begin => begin,
        };
        let end = begin + self.span((own + tables) as u64);
        let late = end.saturating_sub(unit.start + delay);
        if late == 0 {
            return Ok(());
        }
        let late = Duration::from_nanos((u128::from(late) * 1_000_000_000 / u128::from(SYSTEM_CLOCK)) as u64);
        Err(UnitError::TooLate { size: DataSize::from_bytes(size as u64), late })
    }

    fn fill(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        if self.wants_reference(writer) {
            self.put_reference(writer, out);
        } else if writer.wants_tables(self.begin(self.packets + 1 + TABLE_PACKETS as u64)) {
            self.put_tables(writer, out);
        } else {
            emit_null(out);
            self.packets += 1;
        }
    }

    fn put_tables(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        writer.put_tables(self.begin(self.packets), out);
        self.packets += TABLE_PACKETS as u64;
    }

    fn put_reference(&mut self, writer: &mut Writer, out: &mut Vec<u8>) {
        writer.put_reference(self.reference(), out);
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
