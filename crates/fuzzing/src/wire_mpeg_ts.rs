//! Hostile transport streams: packets with any fields, sections and PES packets with any lengths, bytes without packets; and
//! frames through a network that loses packets, of which what is told complete is what was sent.

use framewire_units::{Bitrate, DataSize, Timestamp};
use framewire_wire::mpeg_ts::{
    Demultiplexer, Layout, Multiplexer, PACKET_LENGTH, Program, Rate, ReceivedUnit, SYNC_BYTE, Settings, StreamType, Unit,
};

const LARGEST: usize = 3_000;

/// Packets of units that are whole or not, and of what is wrong, that one call may give for each packet it is given.
const MOST_PER_PACKET: usize = 4;

pub(crate) fn run(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => take_bytes(rest),
        1 => take_packets(rest, false),
        2 => take_packets(rest, true),
        _ => lose_packets(choice / 4, rest),
    }
}

fn demultiplexer(known: bool) -> Demultiplexer {
    let largest = DataSize::from_bytes(LARGEST as u64);
    let program = Program::of_video(StreamType::Mpeg2Video).with_track(StreamType::AacAdts);
    if known { Demultiplexer::of_program(program, largest) } else { Demultiplexer::new(None, largest) }
}

/// Takes what came out, which has bounds.
fn drain(demultiplexer: &mut Demultiplexer, packets: usize) -> Vec<ReceivedUnit> {
    let units: Vec<_> = std::iter::from_fn(|| demultiplexer.poll_unit()).collect();
    let faults = std::iter::from_fn(|| demultiplexer.poll_fault()).count();
    // A map of 16 tracks may go, and end a unit of each.
    assert!(units.len() <= MOST_PER_PACKET * packets + 16, "{} units of {packets} packets", units.len());
    // A packet may be full of sections of 12 bytes.
    assert!(faults <= 16 * packets + 2, "{faults} faults of {packets} packets");
    for unit in &units {
        assert!(unit.bytes.len() <= LARGEST && (unit.complete || unit.bytes.is_empty()));
    }
    units
}

/// A stream of bytes as it is.
fn take_bytes(data: &[u8]) {
    let mut demultiplexer = demultiplexer(false);
    for bytes in data.chunks(300) {
        demultiplexer.handle_bytes(Timestamp::ZERO, bytes);
        drain(&mut demultiplexer, bytes.len() / PACKET_LENGTH + 4);
    }
    demultiplexer.finish(Timestamp::ZERO);
    drain(&mut demultiplexer, 4);
}

/// Packets whose headers are led, so that they reach further: each with a few bytes of the data, and stuffing.
fn take_packets(data: &[u8], known: bool) {
    const PIDS: [u16; 8] = [0, 0x100, 0x100, 0x101, 0x1000, 0x1000, 0x1FFF, 0x200];
    let mut demultiplexer = demultiplexer(known);
    let mut counters = [0u8; PIDS.len()];
    let mut rest = data;
    while let [place, flags, length, tail @ ..] = rest {
        let place = usize::from(*place) % PIDS.len();
        let (content, next) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = next;
        // Mostly the next counter, and mostly payload only.
        counters[place] = counters[place].wrapping_add(if flags & 0x0F == 0x0F { 3 } else { 1 }) & 0x0F;
        let control = [0x10, 0x10, 0x30, 0x20][usize::from(flags >> 4 & 3)];
        let [pid_high, pid_low] = PIDS[place].to_be_bytes();
        let mut packet = [0xFF; PACKET_LENGTH];
        packet[..4].copy_from_slice(&[SYNC_BYTE, flags & 0x40 | pid_high, pid_low, flags & 0x80 | control | counters[place]]);
        let taken = content.len().min(PACKET_LENGTH - 4);
        packet[4..4 + taken].copy_from_slice(&content[..taken]);
        demultiplexer.handle_datagram(Timestamp::ZERO, &packet);
        drain(&mut demultiplexer, 1);
    }
    demultiplexer.flush();
    drain(&mut demultiplexer, 4);
}

/// The data as frames, whose packets are lost as the data says.
fn lose_packets(choice: u8, data: &[u8]) {
    let stream_type = StreamType::ALL[usize::from(choice) % StreamType::ALL.len()];
    let layout = if choice & 8 == 0 { Layout::Continuous } else { Layout::Datagrams(7) };
    let mut settings = Settings::new(Program::of_video(stream_type), layout);
    if choice & 16 != 0 {
        settings.rate = Rate::Constant(Bitrate::from_mbps(4));
    }
    let Ok(mut multiplexer) = Multiplexer::new(settings) else { return };
    let mut demultiplexer = demultiplexer(false);
    let mut frames = Vec::new();
    let mut rest = data;
    while let [size, lost, repeat, tail @ ..] = rest {
        let (frame, next) = tail.split_at(tail.len().min(usize::from(*size)));
        rest = next;
        let frame = [&[0, 0, 1][..], &frame.repeat(1 + usize::from(repeat & 7))].concat();
        let time = 3_600 * frames.len() as u64;
        let random_access = repeat & 0x80 != 0;
        let unit = Unit { track: 0, bytes: &frame, presentation: time, decode: time, duration: 3_600, random_access };
        let mut packets = Vec::new();
        if multiplexer.put(&unit, &mut packets).is_err() {
            continue;
        }
        frames.push(frame);
        for (place, packet) in packets.chunks(PACKET_LENGTH).enumerate() {
            if lost >> (place % 8) & 1 == 0 {
                demultiplexer.handle_datagram(Timestamp::ZERO, packet);
            }
        }
        assert_same(&drain(&mut demultiplexer, packets.len() / PACKET_LENGTH), &frames);
    }
    let mut packets = Vec::new();
    multiplexer.finish(&mut packets);
    for packet in packets.chunks(PACKET_LENGTH) {
        demultiplexer.handle_datagram(Timestamp::ZERO, packet);
    }
    assert_same(&drain(&mut demultiplexer, packets.len() / PACKET_LENGTH), &frames);
}

/// Units that are whole are the frames that were put in.
fn assert_same(units: &[ReceivedUnit], frames: &[Vec<u8>]) {
    for unit in units.iter().filter(|unit| unit.complete) {
        let number = (unit.decode.expect("a unit that is whole has its times") - 63_000) / 3_600;
        assert_eq!(unit.bytes, frames[number as usize]);
    }
}
