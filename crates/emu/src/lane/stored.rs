//! A packet's log as it is kept on the disk.

use framewire_link::{DropCause, Hop, HopRecord, NodeId, Outcome, PacketId, Rates};
use framewire_recording::spool::{Input, Output, Spooled};
use framewire_units::{Bitrate, DataSize};

use super::headers::{Headers, Protocol};
use super::log::{PacketLog, Release};

/// Values as numbers. A value that is not listed does not compile.
macro_rules! numbered {
    ($number_of:ident, $of_number:ident: $kind:ty { $($value:path => $number:literal),* $(,)? }) => {
        fn $number_of(value: $kind) -> u8 {
            match value {
                $($value => $number),*
            }
        }

        fn $of_number(number: u8) -> $kind {
            match number {
                $($number => $value,)*
                _ => unreachable!("invariant: only numbers of values are written"),
            }
        }
    };
}

/// Links of a graph have the numbers after those of the others.
const FIRST_LINK: u16 = 4;

fn number_of_hop(hop: Hop) -> u16 {
    match hop {
        Hop::SenderDevice => 0,
        Hop::AccessPoint => 1,
        Hop::Bottleneck => 2,
        Hop::Wire => 3,
        Hop::Link(number) => FIRST_LINK + number,
    }
}

fn hop_of_number(number: u16) -> Hop {
    match number {
        0 => Hop::SenderDevice,
        1 => Hop::AccessPoint,
        2 => Hop::Bottleneck,
        3 => Hop::Wire,
        link => Hop::Link(link - FIRST_LINK),
    }
}

numbered!(number_of_cause, cause_of_number: DropCause {
    DropCause::QueueFull => 0,
    DropCause::RetryLimit => 1,
    DropCause::RandomLoss => 2,
    DropCause::Outage => 3,
    DropCause::ActiveQueueManagement => 4,
    DropCause::Policed => 5,
});

/// Numbers beyond those of IP protocols, which are bytes.
const UDP: u16 = 256;
const TCP: u16 = 257;

impl Spooled for Release {
    fn write(&self, output: &mut Output<'_>) {
        let Self { intended, actual } = *self;
        (intended, actual).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (intended, actual) = Spooled::read(input);
        Self { intended, actual }
    }
}

impl Spooled for Headers {
    fn write(&self, output: &mut Output<'_>) {
        let Self {
            protocol,
            source_port,
            destination_port,
            payload,
            rtp_sequence,
            video_sequence,
            clock_reference,
            tcp_sequence,
        } = *self;
        let protocol = match protocol {
            Protocol::Udp => UDP,
            Protocol::Tcp => TCP,
            Protocol::Other(number) => number.into(),
        };
        protocol.write(output);
        (source_port, destination_port).write(output);
        payload.write(output);
        rtp_sequence.write(output);
        (video_sequence, tcp_sequence).write(output);
        clock_reference.write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        let protocol = match u16::read(input) {
            UDP => Protocol::Udp,
            TCP => Protocol::Tcp,
            other => Protocol::Other(other as u8),
        };
        let (source_port, destination_port) = Spooled::read(input);
        let (payload, rtp_sequence) = (u32::read(input), Spooled::read(input));
        let (video_sequence, tcp_sequence) = Spooled::read(input);
        let clock_reference = Spooled::read(input);
        Self {
            protocol,
            source_port,
            destination_port,
            payload,
            rtp_sequence,
            video_sequence,
            clock_reference,
            tcp_sequence,
        }
    }
}

impl Spooled for PacketLog {
    fn write(&self, output: &mut Output<'_>) {
        let Self { id, from, arrived, size, headers, hops, delivered, released, sniffed } = self;
        (id.0, from.0).write(output);
        (*arrived, *size).write(output);
        headers.write(output);
        (*delivered, *released).write(output);
        sniffed.write(output);
        (hops.len() as u32).write(output);
        hops.iter().for_each(|hop| write_hop(hop, output));
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (id, from) = Spooled::read(input);
        let (id, from) = (PacketId(id), NodeId(from));
        let (arrived, size) = Spooled::read(input);
        let headers = Headers::read(input);
        let (delivered, released) = Spooled::read(input);
        let sniffed = u16::read(input);
        let hops = (0..u32::read(input)).map(|_| read_hop(id, input)).collect();
        Self { id, from, arrived, size, headers, hops, delivered, released, sniffed }
    }
}

/// The number that a hop has of its packet is in the packet's log.
fn write_hop(record: &HopRecord, output: &mut Output<'_>) {
    let HopRecord { packet: _, hop, size, enqueued, clamped, started, finished, transmissions, marked, outcome } =
        record;
    let dropped = match outcome {
        Outcome::Delivered => None,
        Outcome::Dropped(cause) => Some(number_of_cause(*cause)),
    };
    number_of_hop(*hop).write(output);
    size.as_bytes().write(output);
    (*enqueued, *clamped, *marked).write(output);
    (*started, *finished).write(output);
    (transmissions.len() as u32).write(output);
    transmissions.iter().for_each(|rate| rate.write(output));
    dropped.write(output);
}

fn read_hop(packet: PacketId, input: &mut Input<'_>) -> HopRecord {
    let (hop, size) = (hop_of_number(u16::read(input)), DataSize::from_bytes(u64::read(input)));
    let (enqueued, clamped, marked) = Spooled::read(input);
    let (started, finished) = Spooled::read(input);
    let transmissions: Rates = (0..u32::read(input)).map(|_| Bitrate::read(input)).collect();
    let outcome = match Option::<u8>::read(input) {
        None => Outcome::Delivered,
        Some(cause) => Outcome::Dropped(cause_of_number(cause)),
    };
    HopRecord { packet, hop, size, enqueued, clamped, started, finished, transmissions, marked, outcome }
}

#[cfg(test)]
mod tests {
    use framewire_recording::spool::Spool;
    use framewire_units::Timestamp;

    use super::*;
    use crate::lane::log::tests::{hop, packet};

    const HOPS: [Hop; 5] = [Hop::SenderDevice, Hop::AccessPoint, Hop::Bottleneck, Hop::Wire, Hop::Link(7)];
    const OUTCOMES: [Outcome; 7] = [
        Outcome::Delivered,
        Outcome::Dropped(DropCause::QueueFull),
        Outcome::Dropped(DropCause::RetryLimit),
        Outcome::Dropped(DropCause::RandomLoss),
        Outcome::Dropped(DropCause::Outage),
        Outcome::Dropped(DropCause::ActiveQueueManagement),
        Outcome::Dropped(DropCause::Policed),
    ];

    /// A log whose fields differ from those of the next in all that can differ.
    fn varied(number: u64) -> PacketLog {
        let from = if number.is_multiple_of(2) { NodeId::SENDER } else { NodeId::RECEIVER };
        let release = |every: u64| {
            let release = Release { intended: Timestamp::from_nanos(number), actual: Timestamp::MAX };
            number.is_multiple_of(every).then_some(release)
        };
        let verdict = |place: u64| HopRecord {
            hop: HOPS[(number + place) as usize % HOPS.len()],
            clamped: number.is_multiple_of(7),
            marked: number.is_multiple_of(11),
            started: number.is_multiple_of(3).then(|| Timestamp::from_micros(number)),
            transmissions: [Bitrate::from_kbps(5_500), Bitrate::from_mbps(1)]
                .into_iter()
                .take(number as usize % 3)
                .collect(),
            outcome: OUTCOMES[number as usize % 7],
            ..hop(number)
        };
        PacketLog {
            from,
            arrived: Timestamp::from_nanos(u64::MAX - number),
            headers: Headers {
                protocol: [Protocol::Udp, Protocol::Tcp, Protocol::Other(0), Protocol::Other(255)][number as usize % 4],
                source_port: 40_000,
                destination_port: number as u16,
                payload: 1_000,
                rtp_sequence: number.is_multiple_of(3).then_some(u16::MAX),
                video_sequence: number.is_multiple_of(5).then_some(u32::MAX),
                clock_reference: number.is_multiple_of(7).then_some(u64::MAX),
                tcp_sequence: number.is_multiple_of(4).then_some(7),
            },
            hops: (0..number % 4).map(verdict).collect(),
            delivered: release(3),
            released: release(2),
            sniffed: number as u16,
            ..packet(number)
        }
    }

    #[test]
    fn every_field_comes_back_from_the_disk() {
        let logs: Vec<PacketLog> = (0..1_000).map(varied).collect();
        let mut spool = Spool::default().holding(10);
        spool.extend(logs.clone());
        assert!(spool.to_vec() == logs);
        assert!(spool.failure().is_none());
    }
}
