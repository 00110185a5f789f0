//! Records as bytes: field by field, little-endian. The bytes are read by the process that wrote them and no other.

use framewire_units::{Bitrate, Duration, Timestamp};

use crate::record::{FlowSample, PacketRecord, Place, ReleaseRecord};

/// What can be kept in a [`Spool`](super::Spool).
pub trait Spooled: Sized {
    /// Appends it.
    fn write(&self, output: &mut Output<'_>);

    /// Takes one, as [`write`](Self::write) wrote it, from the front.
    fn read(input: &mut Input<'_>) -> Self;
}

/// Bytes in the making. Texts of the program's own are written as numbers.
#[derive(Debug)]
pub struct Output<'a> {
    bytes: Vec<u8>,
    names: &'a mut Vec<&'static str>,
}

impl<'a> Output<'a> {
    pub(super) fn new(names: &'a mut Vec<&'static str>) -> Self {
        Self { bytes: Vec::new(), names }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes to be read.
#[derive(Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    names: &'a [&'static str],
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], names: &'a [&'static str]) -> Self {
        Self { bytes, names }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.bytes.split_first_chunk().expect("invariant: a block holds whole records");
        self.bytes = rest;
        *taken
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Spooled for $number {
            fn write(&self, output: &mut Output<'_>) {
                output.bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn read(input: &mut Input<'_>) -> Self {
                Self::from_le_bytes(input.take())
            }
        }
    )* };
}

numbers!(u8, u16, u32, u64);

impl Spooled for bool {
    fn write(&self, output: &mut Output<'_>) {
        u8::from(*self).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        u8::read(input) != 0
    }
}

impl Spooled for Timestamp {
    fn write(&self, output: &mut Output<'_>) {
        self.as_nanos().write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::from_nanos(u64::read(input))
    }
}

impl Spooled for Duration {
    fn write(&self, output: &mut Output<'_>) {
        (self.as_secs(), self.subsec_nanos()).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (seconds, nanos) = Spooled::read(input);
        Self::new(seconds, nanos)
    }
}

impl Spooled for Bitrate {
    fn write(&self, output: &mut Output<'_>) {
        self.as_bps().write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::from_bps(u64::read(input))
    }
}

/// There are a dozen of them: protocols, hops, causes.
impl Spooled for &'static str {
    fn write(&self, output: &mut Output<'_>) {
        let known = output.names.iter().position(|name| name == self);
        let number = known.unwrap_or_else(|| {
            output.names.push(self);
            output.names.len() - 1
        });
        u16::try_from(number).expect("invariant: the program has few names").write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        input.names[usize::from(u16::read(input))]
    }
}

impl Spooled for Place {
    fn write(&self, output: &mut Output<'_>) {
        let number = Self::ALL.iter().position(|place| place == self).expect("invariant: all are listed");
        (number as u8).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::ALL[usize::from(u8::read(input))]
    }
}

impl<T: Spooled> Spooled for Option<T> {
    fn write(&self, output: &mut Output<'_>) {
        self.is_some().write(output);
        if let Some(value) = self {
            value.write(output);
        }
    }

    fn read(input: &mut Input<'_>) -> Self {
        bool::read(input).then(|| T::read(input))
    }
}

impl<T: Spooled> Spooled for Vec<T> {
    fn write(&self, output: &mut Output<'_>) {
        (self.len() as u32).write(output);
        self.iter().for_each(|value| value.write(output));
    }

    fn read(input: &mut Input<'_>) -> Self {
        (0..u32::read(input)).map(|_| T::read(input)).collect()
    }
}

impl<A: Spooled, B: Spooled> Spooled for (A, B) {
    fn write(&self, output: &mut Output<'_>) {
        self.0.write(output);
        self.1.write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        (A::read(input), B::read(input))
    }
}

/// A record is its fields, in this order.
macro_rules! records {
    ($($record:ident { $($field:ident),* $(,)? })*) => { $(
        impl Spooled for $record {
            fn write(&self, output: &mut Output<'_>) {
                // Without `..`: a new field that is not listed here does not compile.
                let Self { $($field),* } = self;
                $($field.write(output);)*
            }
            fn read(input: &mut Input<'_>) -> Self {
                Self { $($field: Spooled::read(input)),* }
            }
        }
    )* };
}

records! {
    PacketRecord {
        packet, forward, protocol, size, sequence, payload, hop, enqueued, started, finished, transmissions, dropped,
        clamped, sniffed,
    }
    FlowSample {
        at, connection, cwnd_packets, ssthresh_packets, srtt, rttvar, in_flight_packets, unsent_bytes, queued_bytes,
        delivery_rate, retransmissions, timeouts, received_bytes, sending_rate, estimate, level,
    }
    ReleaseRecord { packet, intended, actual }
}
