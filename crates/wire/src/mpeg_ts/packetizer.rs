//! Frames as datagrams of a transport stream, each with a number by which it is known.

use bytes::{Bytes, BytesMut};
use framewire_units::{DataSize, Duration};

use super::clock::{TIMESTAMP_CLOCK, Unwrapper};
use super::multiplexer::{Multiplexer, Unit, UnitError};
use super::packet::{PACKET_LENGTH, Packet};
use super::settings::{Layout, PACKETS_PER_DATAGRAM, Rate, Settings, SettingsError};
use super::tables::Program;
use crate::rtp::{self, RtpHeader};
use crate::rtp_payload::{Datagram, StreamOrigin};

/// RTP payload type of transport streams (RFC 3551, table 5).
pub const PAYLOAD_TYPE: u8 = 33;

/// Headers of IPv4 without options (RFC 791) and UDP (RFC 768).
const IP_AND_UDP: u64 = 20 + 8;

/// Ticks of the system clock in one of RTP's (RFC 2250, section 2).
const TICKS_PER_RTP: u64 = 300;

/// One frame, or a packet of audio, on its way into datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Which track of the program it is of, by its place there; 0 is the video.
    pub track: usize,
    /// The access unit.
    pub bytes: &'a [u8],
    /// When it is presented, in the 90 kHz clock.
    pub presentation: u32,
    /// When it is decoded.
    pub decode: u32,
    /// How long it is shown.
    pub duration: Duration,
    /// Decoding can begin with it.
    pub random_access: bool,
}

/// Cuts frames into datagrams of whole transport packets, with a frame's packets in datagrams of their own.
///
/// Without RTP a datagram's number is the clock reference in it, in ticks of 27 MHz beyond its wrap: the first one that
/// its packets have ([`reference`]). That of a datagram of audio is a tick after the last one; a player passes it over, as it is
/// not in packets of the track with the clock. In RTP (RFC 2250, section 2) it is the sequence number, and the time stamp is the
/// same clock.
#[derive(Clone, Debug)]
pub struct Packetizer {
    multiplexer: Multiplexer,
    datagram: usize,
    rtp: Option<RtpHeaders>,
    times: FrameTimes,
    references: Unwrapper,
    packets: Vec<u8>,
}

/// The times of frames and packets of audio, as units of a transport stream have them.
#[derive(Clone, Debug)]
pub(super) struct FrameTimes {
    /// By how much everything is presented later than given, in ticks of 90 kHz.
    pub reordering: u64,
    decodes: Unwrapper,
}

impl FrameTimes {
    pub(super) fn new() -> Self {
        Self { reordering: 0, decodes: Unwrapper::of_rtp() }
    }

    /// The same that presents everything so much later.
    pub(super) fn reordered(self, longest: Duration) -> Self {
        let ticks = (longest.as_nanos() * u128::from(TIMESTAMP_CLOCK)).div_ceil(1_000_000_000);
        Self { reordering: u64::try_from(ticks).unwrap_or(u64::MAX), ..self }
    }

    pub(super) fn unit<'a>(&mut self, frame: &Frame<'a>) -> Unit<'a> {
        // Audio may begin before the video, and so before the begin of the stream: by less than the delay.
        let decode = match frame.track {
            0 => self.decodes.unwrap(frame.decode.into()),
            _ => self.decodes.near(frame.decode.into()) as u64,
        };
        // A frame is presented up to half a turn later than it is decoded.
        let later = frame.presentation.wrapping_sub(frame.decode) as i32;
        let duration = frame.duration.as_nanos() * u128::from(TIMESTAMP_CLOCK) / 1_000_000_000;
        let presentation = decode.wrapping_add_signed(later.into()).wrapping_add(self.reordering);
        Unit {
            track: frame.track,
            bytes: frame.bytes,
            presentation,
            // What is not reordered is decoded when it is presented.
            decode: if frame.track == 0 { decode } else { presentation },
            duration: u64::try_from(duration).unwrap_or(u64::MAX),
            random_access: frame.random_access,
        }
    }
}

impl Packetizer {
    /// A packetizer of one stream of a program, whose first track is its video. `mtu` is the largest IP packet in bytes, of which IPv4 and
    /// UDP take 28; up to seven packets are in a datagram. With an `origin` they are in RTP.
    ///
    /// # Errors
    /// When the MTU has no room for three packets.
    pub fn new(program: Program, mtu: DataSize, origin: Option<StreamOrigin>) -> Result<Self, SettingsError> {
        let packets = packets_of_datagram(mtu, origin.is_some());
        Self::with_layout(program, Layout::Datagrams(packets), origin.map(RtpHeaders::new))
    }

    /// The same for a stream of bytes: what comes of a frame is one piece of it.
    ///
    /// # Errors
    /// When there cannot be such a program.
    pub fn continuous(program: Program) -> Result<Self, SettingsError> {
        Self::with_layout(program, Layout::Continuous, None)
    }

    fn with_layout(program: Program, layout: Layout, rtp: Option<RtpHeaders>) -> Result<Self, SettingsError> {
        let settings = Settings { rate: Rate::Variable(layout), ..Settings::new(program, layout) };
        let datagram = match layout {
            Layout::Continuous => usize::MAX,
            Layout::Datagrams(packets) => usize::from(packets) * PACKET_LENGTH,
        };
        let (times, references) = (FrameTimes::new(), Unwrapper::of_references());
        Ok(Self { multiplexer: Multiplexer::new(settings)?, datagram, rtp, times, references, packets: Vec::new() })
    }

    /// The same that presents everything this much later than given, which has to be the most that a frame is decoded later
    /// than that: a presentation time is never before a decoding time (2.4.3.7).
    #[must_use]
    pub fn with_reordering(self, longest: Duration) -> Self {
        Self { times: self.times.reordered(longest), ..self }
    }

    /// The same whose time stamps of RTP begin with this one instead of 0 (RFC 3550, section 5.1).
    #[must_use]
    pub fn with_initial_timestamp(self, initial_timestamp: u32) -> Self {
        Self { rtp: self.rtp.map(|rtp| rtp.beginning_with(initial_timestamp)), ..self }
    }

    /// The datagrams of a frame. One allocation holds all of them.
    ///
    /// # Errors
    /// When the bytes are not an access unit of the track.
    pub fn packetize(&mut self, frame: &Frame<'_>) -> Result<Vec<Datagram>, UnitError> {
        self.multiplex(frame)?;
        let pid = self.multiplexer.settings().program.tracks[frame.track].pid;
        let media: usize = self.packets.chunks(PACKET_LENGTH).map(|packet| payload_length(packet, pid)).sum();
        // The header of the PES packet, and a delimiter.
        let mut head = media - frame.bytes.len();
        let count = self.packets.len().div_ceil(self.datagram);
        let mut memory = BytesMut::with_capacity(self.packets.len() + count * rtp::HEADER_LENGTH);
        let mut datagrams = Vec::with_capacity(count);
        for packets in self.packets.chunks(self.datagram) {
            let payload: usize = packets.chunks(PACKET_LENGTH).map(|packet| payload_length(packet, pid)).sum();
            let reference = reference(packets).expect("invariant: each datagram has a clock reference");
            let reference = self.references.unwrap(reference);
            let sequence = match &mut self.rtp {
                None => reference,
                Some(headers) => headers.put(reference, &mut memory),
            };
            memory.extend_from_slice(packets);
            let bytes = memory.split().freeze();
            let headers = bytes.len() - (payload - std::mem::take(&mut head));
            let headers = u16::try_from(headers).unwrap_or(u16::MAX);
            datagrams.push(Datagram { sequence, bytes, headers });
        }
        Ok(datagrams)
    }

    /// The packets of a frame, for a stream of bytes.
    ///
    /// # Errors
    /// As [`packetize`](Self::packetize).
    pub fn packets(&mut self, frame: &Frame<'_>) -> Result<Bytes, UnitError> {
        self.multiplex(frame)?;
        Ok(Bytes::copy_from_slice(&self.packets))
    }

    fn multiplex(&mut self, frame: &Frame<'_>) -> Result<(), UnitError> {
        let unit = self.times.unit(frame);
        self.packets.clear();
        self.multiplexer.put(&unit, &mut self.packets).map(drop)
    }
}

/// How many packets fit into a datagram, up to seven.
pub(super) fn packets_of_datagram(mtu: DataSize, in_rtp: bool) -> u8 {
    let header = if in_rtp { rtp::HEADER_LENGTH as u64 } else { 0 };
    let fit = mtu.as_bytes().saturating_sub(IP_AND_UDP + header) / PACKET_LENGTH as u64;
    u8::try_from(fit).unwrap_or(u8::MAX).min(PACKETS_PER_DATAGRAM)
}

/// The headers of RTP before packets of a transport stream (RFC 2250, section 2).
#[derive(Clone, Copy, Debug)]
pub(super) struct RtpHeaders {
    origin: StreamOrigin,
    /// What is added to the clock of the stream.
    initial_timestamp: u32,
    /// The number of the next one, extended to 64 bits from the first as 0.
    next: u64,
}

impl RtpHeaders {
    pub(super) fn new(origin: StreamOrigin) -> Self {
        Self { origin, initial_timestamp: 0, next: 0 }
    }

    /// The same that adds this to the clock.
    pub(super) fn beginning_with(self, initial_timestamp: u32) -> Self {
        Self { initial_timestamp, ..self }
    }

    /// Writes the next header, at this time of the system clock; its number.
    pub(super) fn put(&mut self, clock: u64, out: &mut BytesMut) -> u64 {
        let header = RtpHeader {
            // Set where the clock is not continuous (RFC 2250, section 2).
            marker: false,
            payload_type: PAYLOAD_TYPE,
            sequence_number: self.origin.initial_sequence.wrapping_add(self.next as u16),
            timestamp: self.initial_timestamp.wrapping_add((clock / TICKS_PER_RTP) as u32),
            ssrc: self.origin.ssrc,
        };
        let mut bytes = [0; rtp::HEADER_LENGTH];
        header.emit([&[], &[]], &mut bytes);
        out.extend_from_slice(&bytes);
        self.next += 1;
        self.next - 1
    }
}

/// Bytes of payload of a packet of this identifier.
fn payload_length(packet: &[u8], pid: u16) -> usize {
    let packet = packet.first_chunk().and_then(|packet| Packet::parse(packet).ok());
    packet.filter(|packet| packet.pid == pid).and_then(|packet| packet.payload).map_or(0, <[u8]>::len)
}

/// The first clock reference in a datagram of whole transport packets, in ticks of 27 MHz, wrapped; `None` for one without,
/// and for what is no such datagram.
pub fn reference(datagram: &[u8]) -> Option<u64> {
    let (packets, []) = datagram.as_chunks::<PACKET_LENGTH>() else { return None };
    packets.iter().find_map(|packet| Packet::parse(packet).ok()?.adaptation?.reference)
}

#[cfg(test)]
mod tests {
    use super::super::{Demultiplexer, StreamType};
    use super::*;
    use framewire_units::Timestamp;

    const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_535 };

    fn datagrams(origin: Option<StreamOrigin>, mtu: u64) -> (Vec<Vec<u8>>, Vec<Vec<Datagram>>) {
        let program = Program::of_video(StreamType::H264);
        let mut packetizer = Packetizer::new(program, DataSize::from_bytes(mtu), origin).unwrap();
        let frames: Vec<Vec<u8>> = (0..20).map(|number| [vec![0, 0, 1, 0x41], vec![number; 3_000]].concat()).collect();
        let cut = |(number, bytes): (u32, &Vec<u8>)| {
            // The clock of the lab wraps in the middle.
            let decode = (number * 3_600).wrapping_sub(36_000);
            let presentation = decode.wrapping_add(7_200);
            let duration = Duration::from_millis(40);
            let frame = Frame { track: 0, bytes, presentation, decode, duration, random_access: number % 5 == 0 };
            packetizer.packetize(&frame).unwrap()
        };
        let cut = (0..).zip(&frames).map(cut).collect();
        (frames, cut)
    }

    #[test]
    fn sound_may_begin_before_the_video_also_where_the_stream_begins_with_it() {
        let program = Program::of_video(StreamType::H264).with_track(StreamType::Mpeg2Audio);
        let pids = [program.tracks[0].pid, program.tracks[1].pid];
        let mut packetizer = Packetizer::continuous(program).unwrap();
        let (picture, sound) = ([vec![0, 0, 1, 0x65], vec![1; 3_000]].concat(), vec![2; 300]);
        let mut stream = Vec::new();
        for (track, bytes, ticks) in [(1, &sound, -4_000), (1, &sound, -2_000), (0, &picture, 0), (1, &sound, 100)] {
            let time = 0_u32.wrapping_add_signed(ticks);
            let duration = Duration::from_millis(40);
            let frame = Frame { track, bytes, presentation: time, decode: time, duration, random_access: track == 0 };
            stream.extend(packetizer.packets(&frame).unwrap());
        }
        let tables = stream.chunks(PACKET_LENGTH).filter(|packet| payload_length(packet, 0) > 0).count();
        assert_eq!(tables, 2, "in front, and before the picture with which decoding begins");
        let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(1 << 20));
        demultiplexer.handle_bytes(Timestamp::ZERO, &stream);
        demultiplexer.finish(Timestamp::ZERO);
        let came = std::iter::from_fn(|| demultiplexer.poll_unit()).filter(|unit| unit.complete);
        let came: Vec<_> = came.map(|unit| unit.track.pid).collect();
        assert_eq!(came.iter().filter(|&&track| track == pids[1]).count(), 3);
        assert_eq!(came.iter().filter(|&&track| track == pids[0]).count(), 1);
    }

    #[test]
    fn a_datagram_is_known_by_its_clock_reference_and_has_up_to_seven_packets() {
        for (mtu, largest) in [(1_500, 7), (1_100, 5), (600, 3)] {
            let (frames, cut) = datagrams(None, mtu);
            let mut last = None;
            for (frame, datagrams) in frames.iter().zip(&cut) {
                for datagram in datagrams {
                    assert!(Some(datagram.sequence) > last);
                    last = Some(datagram.sequence);
                    assert_eq!(reference(&datagram.bytes), Some(datagram.sequence % super::super::CLOCK_WRAP));
                }
                let sizes: Vec<usize> = datagrams.iter().map(|datagram| datagram.bytes.len() / PACKET_LENGTH).collect();
                assert!(sizes[..sizes.len() - 1].iter().all(|&size| size == largest), "{sizes:?}");
                let media: usize = datagrams.iter().map(|one| one.bytes.len() - usize::from(one.headers)).sum();
                assert_eq!(media, frame.len());
            }
        }
        let program = Program::of_video(StreamType::H264);
        let refused = Packetizer::new(program, DataSize::from_bytes(500), None).unwrap_err().to_string();
        assert_eq!(refused, "2 packets per datagram is out of range: 3 to 7 is allowed");
    }

    #[test]
    fn rtp_headers_count_and_have_the_clock() {
        let (frames, cut) = datagrams(Some(ORIGIN), 1_500);
        let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(100_000));
        for (sequence, datagram) in cut.iter().flatten().enumerate() {
            let (header, payload) = RtpHeader::parse(&datagram.bytes).unwrap();
            assert_eq!((header.payload_type, header.marker, header.ssrc), (33, false, 7));
            assert_eq!(datagram.sequence, sequence as u64);
            assert_eq!(header.sequence_number, 65_535u16.wrapping_add(sequence as u16));
            assert_eq!(header.timestamp, (reference(payload).unwrap() / 300) as u32);
            demultiplexer.handle_datagram(Timestamp::ZERO, payload);
        }
        let received: Vec<_> = std::iter::from_fn(|| demultiplexer.poll_unit()).collect();
        assert!(received.iter().map(|unit| &unit.bytes[..]).eq(frames.iter().map(|frame| &frame[..])));
        let shown = received.iter().map(|unit| unit.presentation.unwrap() - unit.decode.unwrap());
        assert!(shown.eq([7_200; 20]));
    }
}
