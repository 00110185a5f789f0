//! A stream of H.264 into packets and back, as a program to be timed beside others: `python benches/carriage.py` does that.
//!
//! `carriage rtp FILE` cuts a file into RTP packets (RFC 6184), `carriage unrtp FILE` makes access units of packets that are
//! framed by RFC 4571; `carriage ts FILE` makes a transport stream, `carriage unts FILE` access units of one. Each prints how many
//! bytes of media it read or made.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};

use framewire_media::Movie;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_ts::{Demultiplexer, Layout, Multiplexer, Program, Settings, StreamType, Unit};
use framewire_wire::rfc4571::PacketReader;
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin, h264};

/// That of Ethernet.
const MTU: DataSize = DataSize::from_bytes(1_500);

/// Bytes that are read from a file at a time, as `filesrc` has it by `blocksize`.
const BLOCK: usize = 65_536;

/// Ticks of 90 kHz in a nanosecond.
const TICKS: f64 = 90e-6;

type Outcome = Result<u64, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, path] = &arguments[..] else { return Err("carriage rtp|unrtp|ts|unts FILE".into()) };
    let file = File::open(path)?;
    let bytes = match way.as_str() {
        "rtp" => rtp(file),
        "unrtp" => unrtp(file),
        "ts" => ts(file),
        "unts" => unts(file),
        other => Err(format!("{other}: rtp, unrtp, ts or unts is wanted").into()),
    }?;
    println!("{bytes}");
    Ok(())
}

/// Start codes are found, access units cut out and copied into packets.
fn rtp(file: File) -> Outcome {
    let movie = Movie::open(file)?;
    let origin = StreamOrigin { ssrc: 1, initial_sequence: 0 };
    let mut packetizer = Packetizer::new(&h264::FORMAT, PacketRule::Slices, MTU, origin)?;
    let mut bytes = 0;
    for number in 0..movie.index.frames.len() {
        let ticks = ticks(movie.index.frames[number].display_time.as_nanos());
        for packet in packetizer.packetize(&movie.frame_bytes(number), ticks as u32)? {
            bytes += packet.bytes.len() as u64 - u64::from(packet.headers);
            black_box(&packet.bytes);
        }
    }
    Ok(bytes)
}

fn unrtp(file: File) -> Outcome {
    let mut reader = PacketReader::default();
    let mut depacketizer = Depacketizer::new(&h264::FORMAT, None, Limits::default()).listening_before();
    let mut bytes = 0;
    let mut take = |depacketizer: &mut Depacketizer| {
        while depacketizer.poll_arrival().is_some() {}
        while let Some(frame) = depacketizer.poll_frame() {
            bytes += black_box(&frame.bytes).len() as u64;
        }
    };
    blocks(file, |block| {
        reader.feed(block);
        while let Some(packet) = reader.poll_packet() {
            depacketizer.handle_datagram(Timestamp::ZERO, &packet)?;
            take(&mut depacketizer);
        }
        Ok(())
    })?;
    depacketizer.flush();
    take(&mut depacketizer);
    Ok(bytes)
}

/// To nowhere, as FFmpeg's output.
fn ts(file: File) -> Outcome {
    let movie = Movie::open(file)?;
    let mut multiplexer = Multiplexer::new(Settings::new(Program::of_video(StreamType::H264), Layout::Continuous))?;
    let (mut nowhere, mut packets, mut bytes) = (File::create("/dev/null")?, Vec::new(), 0);
    for (number, frame) in movie.index.frames.iter().enumerate() {
        let unit = movie.frame_bytes(number);
        bytes += unit.len() as u64;
        let unit = Unit {
            track: 0,
            bytes: &unit,
            presentation: ticks(frame.display_time.as_nanos()),
            decode: ticks(frame.decode_time.as_nanos()),
            duration: 0,
            random_access: frame.key.is_some(),
        };
        multiplexer.put(&unit, &mut packets)?;
        nowhere.write_all(&packets)?;
        packets.clear();
    }
    Ok(bytes)
}

fn unts(file: File) -> Outcome {
    let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(64 << 20));
    let (mut nowhere, mut bytes) = (File::create("/dev/null")?, 0);
    let mut take = |demultiplexer: &mut Demultiplexer| -> std::io::Result<()> {
        while let Some(unit) = demultiplexer.poll_unit() {
            bytes += unit.bytes.len() as u64;
            nowhere.write_all(&unit.bytes)?;
        }
        Ok(())
    };
    blocks(file, |block| {
        demultiplexer.handle_bytes(Timestamp::ZERO, block);
        Ok(take(&mut demultiplexer)?)
    })?;
    demultiplexer.finish(Timestamp::ZERO);
    take(&mut demultiplexer)?;
    Ok(bytes)
}

fn blocks(
    mut file: File,
    mut take: impl FnMut(&[u8]) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(()),
            length => take(&block[..length])?,
        }
    }
}

fn ticks(nanos: u128) -> u64 {
    (nanos as f64 * TICKS) as u64
}
