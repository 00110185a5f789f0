//! How the movie goes in packets: RTP, a transport stream with RTP or without, or the samples or fragments of a file.

use framewire_media::access_unit::Codec;
use framewire_transport::registry::{Format, RtpContent, Session, payload_format, sound_type, stream_type};
use framewire_transport::{
    Carrier, ConstantSender, Depacketizer, PacketStreamReceiver, Packetizer, RtpPackets, RtpReader, StreamSender,
};
use framewire_units::{Bitrate, DataSize};
use framewire_wire::mp4;
use framewire_wire::mpeg_ts::{self, ConstantPacketizer, Demultiplexer, Program};
use framewire_wire::rtp_payload::{self, Limits, PacketRule, PayloadFormat, StreamOrigin};
use framewire_wire::rtsp::StreamStart;

use super::file::{FragmentedMovie, MovieFile};
use super::movie::MovieSetup;
use super::rtp_seed::origin;
use super::sound::{DescribedSound, SoundStream};
use super::{BuildError, CommonSetup};
use crate::exchange::rtsp::{RTP_CHANNEL, RtspSetup, SOUND_RTP_CHANNEL};
use crate::plan::SendingPlan;
use crate::receiver::ReceivingHalf;
use crate::rtcp::RtcpSetup;
use crate::sender::SendingHalf;

/// The packets of a flow, which both ends know.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in a hot path")]
pub(super) enum MoviePackets {
    /// Of the payload format that carries the movie in RTP.
    Rtp {
        packetizer: rtp_payload::Packetizer,
        format: &'static PayloadFormat,
        origin: StreamOrigin,
        sound: Option<SoundStream>,
    },
    /// Of a transport stream; with an origin in RTP.
    TransportStream {
        packetizer: mpeg_ts::Packetizer,
        /// Where it has a constant rate: what makes it.
        constant: Option<Box<ConstantPacketizer>>,
        program: Program,
        origin: Option<StreamOrigin>,
    },
    /// Samples of an MP4 file.
    File(MovieFile),
    /// Fragments of one.
    Fragments(FragmentedMovie),
}

impl MoviePackets {
    /// Of this movie, cut by this rule. `None` where it goes in no packets.
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, the rule makes no sense of the movie's codec, or packets do not carry it.
    pub(super) fn new(movie: &MovieSetup, common: &CommonSetup, rule: PacketRule) -> Result<Option<Self>, BuildError> {
        movie.check_codec().map_err(|reason| common.refuse(reason))?;
        let parts = movie.parts();
        let mtu = DataSize::from_bytes(u64::from(common.settings.mtu));
        let start = movie.rtp.video();
        let origin = origin(start);
        match parts.format {
            Format::ElementaryStream => Ok(None),
            Format::Mp4 => Ok(Some(Self::File(MovieFile::new(&movie.plan).map_err(|error| common.refuse(error))?))),
            Format::FragmentedMp4 => {
                let file = FragmentedMovie::new(&movie.plan).map_err(|error| common.refuse(error))?;
                Ok(Some(Self::Fragments(file)))
            }
            Format::Rtp(RtpContent::Frames) => {
                let format =
                    payload_format(movie.plan.codec()).expect("invariant: the transport carries the codec in RTP");
                let packetizer = rtp_payload::Packetizer::new(format, rule, mtu, origin);
                let packetizer =
                    packetizer.map_err(|error| common.refuse(error))?.with_initial_timestamp(start.timestamp);
                let sound = movie.plan.sound().map(|sound| SoundStream::new(sound, mtu, movie.rtp.sound())).transpose();
                let sound = sound.map_err(|error| common.refuse(error))?;
                Ok(Some(Self::Rtp { packetizer, format, origin, sound }))
            }
            Format::Ts | Format::Rtp(RtpContent::TransportStream) => {
                let program = program(movie.plan.codec(), movie.plan.movie().index.sequence.mpeg2);
                let program = match movie.plan.sound() {
                    Some(sound) => program
                        .with_track(sound_type(sound.format()).expect("invariant: the transport carries the sound")),
                    None => program,
                };
                let origin = parts.format.is_rtp().then_some(origin);
                let packetizer = match parts.socket.overflow() {
                    Some(_) => mpeg_ts::Packetizer::new(program.clone(), mtu, origin),
                    None => mpeg_ts::Packetizer::continuous(program.clone()),
                };
                let packetizer = packetizer.map_err(|error| common.refuse(error))?;
                let packetizer = packetizer.with_reordering(movie.plan.longest_reordering());
                let packetizer = packetizer.with_initial_timestamp(start.timestamp);
                let mtu = parts.socket.overflow().map(|_| mtu);
                let constant = movie.ts_rate().map(|rate| at_constant_rate(&movie.plan, &program, rate, mtu, origin));
                let constant = constant.transpose().map_err(|reason| common.refuse(reason))?;
                let constant = constant.map(|stream| Box::new(stream.with_initial_timestamp(start.timestamp)));
                Ok(Some(Self::TransportStream { packetizer, constant, program, origin }))
            }
        }
    }

    /// The session of RTSP in which they go, with these reports, of video and of sound.
    ///
    /// # Panics
    /// Where they are not those of RTP.
    pub(super) fn rtsp(&self, movie: &MovieSetup, reports: &[RtcpSetup]) -> RtspSetup {
        let Self::Rtp { format, sound, .. } = self else { panic!("invariant: RTSP carries RTP") };
        let later = |start: StreamStart, ticks| StreamStart { timestamp: start.timestamp.wrapping_add(ticks), ..start };
        let first = movie.plan.outgoing(0);
        let start = later(movie.rtp.video(), first.rtp_timestamp);
        let setup = RtspSetup::new(format, &first.bytes, start, movie.rtp, reports.first().cloned());
        let Some(sound) = sound else { return setup };
        let start = later(movie.rtp.sound(), movie.plan.outgoing_sound(0).timestamp(sound.clock_rate()));
        setup.with_sound(sound.description(), start, reports.get(1).cloned())
    }

    /// Cuts frames into datagrams.
    pub(super) fn packetizer(&self) -> Packetizer {
        match self {
            Self::Rtp { packetizer, .. } => packetizer.clone().into(),
            Self::TransportStream { packetizer, .. } => packetizer.clone().into(),
            Self::File(_) | Self::Fragments(_) => unreachable!("invariant: a file does not go in datagrams"),
        }
    }

    /// What a receiver has to know of them. It knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence
    /// number are agreed out of band here, and so is the program), so that the loss of the very first packets is seen.
    pub(super) fn expected(&self) -> ExpectedPackets {
        match self {
            Self::Rtp { format, origin, sound, .. } => {
                let sound = sound.as_ref().map(|sound| Box::new(sound.described().clone()));
                ExpectedPackets::Rtp { format, origin: Some(*origin), sound }
            }
            Self::TransportStream { program, origin: None, .. } => {
                ExpectedPackets::TransportStream { program: program.clone() }
            }
            Self::TransportStream { program, origin, .. } => {
                ExpectedPackets::TransportStreamInRtp { program: program.clone(), origin: *origin }
            }
            Self::File(_) | Self::Fragments(_) => ExpectedPackets::File,
        }
    }

    /// The sound that has packets of RTP for itself.
    pub(super) fn sound(&self) -> Option<&SoundStream> {
        if let Self::Rtp { sound, .. } = self { sound.as_ref() } else { None }
    }

    /// The sending half of a stream of constant rate; `None` of what has none.
    pub(super) fn constant(&self, carrier: Carrier) -> Option<SendingHalf> {
        let Self::TransportStream { constant: Some(constant), .. } = self else { return None };
        Some(SendingHalf::Constant(ConstantSender::new((**constant).clone(), carrier)))
    }

    /// A sending half over a stream of bytes in this session, whose frames go in packets.
    pub(super) fn sender(&self, half: StreamSender, session: Session) -> StreamSender {
        match self {
            Self::Rtp { packetizer, sound, .. } => {
                let packetizer = packetizer.clone();
                let sound = sound.as_ref().map(SoundStream::packets);
                half.in_format(match session {
                    Session::Rtsp => {
                        let packets = RtpPackets::interleaved(packetizer, RTP_CHANNEL);
                        packets.with_interleaved_sound(sound, SOUND_RTP_CHANNEL)
                    }
                    _ => RtpPackets::behind_lengths(packetizer).with_sound(sound),
                })
            }
            Self::TransportStream { packetizer, .. } => half.in_format(packetizer.clone()),
            Self::File(file) => half.in_format(file.samples.clone()),
            Self::Fragments(file) => half.in_format(file.fragments.clone()),
        }
    }
}

/// The packets of a flow as its receiver knows them.
#[derive(Clone, Debug)]
pub(crate) enum ExpectedPackets {
    /// Of RTP.
    Rtp {
        /// How it carries the movie.
        format: &'static PayloadFormat,
        /// Where its stream begins.
        origin: Option<StreamOrigin>,
        /// The sound that has packets for itself.
        sound: Option<Box<DescribedSound>>,
    },
    /// Of a transport stream.
    TransportStream { program: Program },
    /// Of a transport stream in RTP.
    TransportStreamInRtp { program: Program, origin: Option<StreamOrigin> },
    /// An MP4 file, in fragments or not, whose index says all.
    File,
    /// Of the source of RTP that is heard first, by a receiver that listened before.
    AnyRtp { format: &'static PayloadFormat, payload_type: u8 },
    /// Of a transport stream of another multiplexer, in RTP or not, whose tables say what it holds.
    AnyTransportStream { in_rtp: bool },
}

impl ExpectedPackets {
    /// Puts frames together from datagrams.
    pub(crate) fn depacketizer(&self) -> Depacketizer {
        let limits = Limits::default();
        match self {
            Self::Rtp { .. } | Self::AnyRtp { .. } => self.of_rtp().into(),
            Self::TransportStream { program } => {
                mpeg_ts::Depacketizer::new(program.clone(), limits.largest_frame).into()
            }
            Self::TransportStreamInRtp { program, origin } => {
                rtp_payload::Depacketizer::of_transport_stream(program.clone(), *origin, limits).into()
            }
            Self::File => unreachable!("invariant: a file does not go in datagrams"),
            Self::AnyTransportStream { in_rtp: true } => {
                rtp_payload::Depacketizer::of_any_transport_stream(limits).into()
            }
            Self::AnyTransportStream { in_rtp: false } => mpeg_ts::Depacketizer::of_any(limits.largest_frame).into(),
        }
    }

    /// The receiving half over a stream of bytes in this session.
    pub(crate) fn receiver(&self, session: Session) -> ReceivingHalf {
        let largest = Limits::default().largest_frame;
        ReceivingHalf::Packets(match self {
            Self::Rtp { .. } | Self::AnyRtp { .. } => PacketStreamReceiver::new(self.rtp_reader(session)),
            Self::TransportStream { program } | Self::TransportStreamInRtp { program, .. } => {
                PacketStreamReceiver::new(Demultiplexer::of_program(program.clone(), largest))
            }
            Self::File => PacketStreamReceiver::new(mp4::Demultiplexer::new(largest)),
            Self::AnyTransportStream { .. } => PacketStreamReceiver::new(Demultiplexer::new(None, largest)),
        })
    }

    /// What puts frames together from packets of RTP in a stream.
    ///
    /// # Panics
    /// Where they do not go in RTP by themselves.
    pub(crate) fn rtp_reader(&self, session: Session) -> RtpReader {
        let reader = match session {
            Session::Rtsp => RtpReader::of_packets(self.of_rtp()),
            _ => RtpReader::behind_lengths(self.of_rtp()),
        };
        match self {
            Self::Rtp { sound: Some(sound), .. } => match sound.ssrc() {
                Some(ssrc) => reader.with_sound(ssrc, sound.depacketizer()),
                None => reader.with_sound_of_type(sound.payload_type(), sound.depacketizer()),
            },
            _ => reader,
        }
    }

    /// Of frames in packets of RTP.
    fn of_rtp(&self) -> rtp_payload::Depacketizer {
        let limits = Limits::default();
        match self {
            Self::Rtp { format, origin, .. } => rtp_payload::Depacketizer::new(format, *origin, limits),
            Self::AnyRtp { format, payload_type } => {
                let packets = rtp_payload::Depacketizer::new(format, None, limits);
                packets.with_payload_type(*payload_type).listening_before()
            }
            _ => unreachable!("invariant: it is asked of frames in RTP"),
        }
    }
}

/// What makes a transport stream of constant rate, in datagrams of an `mtu` or as a stream of bytes.
///
/// # Errors
/// When the rate is too low for the movie and its sound, with the lowest one that is not.
fn at_constant_rate(
    plan: &SendingPlan,
    program: &Program,
    rate: Bitrate,
    mtu: Option<DataSize>,
    origin: Option<StreamOrigin>,
) -> Result<ConstantPacketizer, String> {
    let stream = match mtu {
        Some(mtu) => ConstantPacketizer::new(program.clone(), rate, mtu, origin),
        None => ConstantPacketizer::continuous(program.clone(), rate),
    };
    let stream = stream.map_err(|error| error.to_string())?.with_reordering(plan.longest_reordering());
    let least = stream.least_rate(&plan.planned_units());
    match rate < least {
        true => Err(format!(
            "ts_rate = \"{rate}\" is too low: this movie needs {least} for every frame to be there when it is decoded"
        )),
        false => Ok(stream),
    }
}

pub(crate) fn program(codec: Codec, mpeg2: bool) -> Program {
    Program::of_video(
        stream_type(codec, mpeg2).expect("invariant: the transport carries the codec in a transport stream"),
    )
}
