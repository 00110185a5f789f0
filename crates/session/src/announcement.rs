//! What a receiver has to know of a stream that it does not have the movie of.

use std::fmt;
use std::net::SocketAddr;

use framewire_media::FrameRate;
use framewire_media::access_unit::Codec;
use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_transport::registry::{Format, RtpContent, payload_format, sound_type};
use framewire_transport::{DatagramReceiver, Pacing, SocketKind, StreamReceiver, TransportKind};
use framewire_units::{Bitrate, Seed, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;
use framewire_wire::rtp_payload::{CLOCK_RATE, StreamOrigin};
use framewire_wire::rtsp::StreamStart;
use framewire_wire::sdp;

use crate::channels::{ChannelSetup, MOVIE_CHANNEL, SOUND_CHANNEL, SOUND_PORT_BETWEEN_MACHINES, rtcp_of};
use crate::flow::packets::{ExpectedPackets, program};
use crate::flow::rtp_seed::{origin, source_of_sound};
use crate::flow::{DescribedSound, FlowRecording, FlowSetup};
use crate::half::ChannelId;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::rtcp::{RtcpSetup, UDP_HEADERS};
use crate::sound::Sound;

/// What a receiver has to know of a stream. A sender says it as a line of text, `transport=udp codec=h264 ...`; a user
/// states of the stream of another program what can be known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// How it is carried: the queue does not matter here.
    pub transport: TransportKind,
    /// The codec of its frames.
    pub codec: Codec,
    /// Of MPEG video, whether it is MPEG-2: a transport stream calls the two by other numbers.
    pub mpeg2: bool,
    /// Where it begins in RTP; `None`: of another program, with the packet of the source that is heard first.
    pub origin: Option<StreamOrigin>,
    /// The payload type of its packets of RTP, where it is not that of the format.
    pub payload_type: Option<u8>,
    /// The sound beside it; `None`: there is none, or another program sends it.
    pub sound: Option<AudioFormat>,
    /// The packets of RTP that the sound has for itself; `None` where it has none.
    pub sound_packets: Option<DescribedSound>,
    /// Frames per second; `None`: not known, and not needed to receive it.
    pub frame_rate: Option<FrameRate>,
    /// What RTCP may take of the session of the video, and of that of sound that has packets of RTP for itself, where the receiver
    /// is to report of them; none where it is not.
    pub reports: Vec<RtcpBandwidth>,
}

/// A session of RTP of which a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedSession {
    /// The channel of its packets.
    pub media: ChannelId,
    /// That of its reports.
    pub reports: ChannelId,
    /// The synchronisation source of its sender; `None`: not known before it is heard.
    pub ssrc: Option<u32>,
    /// By how much the port of its reports is higher than that of the flow.
    pub port: u16,
}

/// What a session is taken to have of which nothing is known but that it is video: reports are seldom at any such (RFC 3550,
/// section 6.2).
pub const ASSUMED_RATE: Bitrate = Bitrate::from_mbps(2);

/// More than RTCP takes of any session, in bit/s: so no sum overflows.
const MOST_BANDWIDTH: u64 = 1_000_000_000_000;

/// Why a text announces nothing that can be received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the sender announces cannot be received: {0}")]
pub struct AnnouncementError(String);

impl Announcement {
    /// Of a flow that sends the movie; `None` of any other.
    pub fn of(setup: &FlowSetup) -> Option<Self> {
        let (plan, sound_packets, rtp) = match setup {
            FlowSetup::Datagram(setup) => (setup.plan(), setup.described_sound(), setup.rtp()),
            FlowSetup::Stream(setup) => (setup.plan(), setup.described_sound(), setup.rtp()),
            FlowSetup::Adaptive(_) | FlowSetup::Bulk(_) | FlowSetup::External(_) => return None,
        };
        Some(Self {
            transport: setup.transport().parse().ok()?,
            codec: plan.codec(),
            mpeg2: plan.movie().index.sequence.mpeg2,
            origin: Some(origin(rtp.video())),
            payload_type: None,
            sound: plan.sound().map(Sound::format),
            sound_packets: sound_packets.cloned(),
            frame_rate: Some(plan.frame_rate()),
            reports: if let FlowSetup::Datagram(setup) = setup { setup.receivers_reports() } else { Vec::new() },
        })
    }

    /// Reads what a sender announces. Keys that are not known are those of a later version.
    ///
    /// # Errors
    /// When it lacks transport or codec, a value is none, or the two do not go together.
    pub fn parse(text: &str) -> Result<Self, AnnouncementError> {
        let (mut transport, mut codec, mut mpeg2, mut ssrc, mut sequences) = (None, None, false, None, [0; 2]);
        let (mut sound, mut parameters, mut frame_rate, mut reports) = (None, None, None, Vec::new());
        for word in text.split_ascii_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = || AnnouncementError(format!("{key}={value}"));
            match key {
                "transport" => transport = Some(value.parse().map_err(|_| wrong())?),
                "codec" => codec = Some(codec_named(value).ok_or_else(wrong)?),
                "mpeg2" => mpeg2 = value == "1",
                "ssrc" => ssrc = Some(value.parse().map_err(|_| wrong())?),
                "seq" => sequences = sequences_named(value).ok_or_else(wrong)?,
                "sound" => sound = Some(sound_named(value).ok_or_else(wrong)?),
                "fmtp" => parameters = Some(value),
                "rate" => frame_rate = Some(rate_named(value).ok_or_else(wrong)?),
                "rtcp" => reports = bandwidths_named(value).ok_or_else(wrong)?,
                _ => {}
            }
        }
        let lacking = |key: &str| AnnouncementError(format!("it does not say its {key}"));
        let transport = transport.ok_or_else(|| lacking("transport"))?;
        let codec = codec.ok_or_else(|| lacking("codec"))?;
        let (payload_type, sound_packets) = (None, None);
        let [of_video, of_sound] = sequences;
        let origin = ssrc.map(|ssrc| StreamOrigin { ssrc, initial_sequence: of_video });
        let announced =
            Self { transport, codec, mpeg2, origin, payload_type, sound, sound_packets, frame_rate, reports };
        announced.check()?;
        announced.with_sound_packets(parameters, of_sound)
    }

    /// Whether the transport carries the codec, and sound where there is any, to a receiver that does not ask for it.
    ///
    /// # Errors
    /// When it does not; with what would.
    pub fn check(&self) -> Result<(), AnnouncementError> {
        self.transport.check_codec(self.codec).map_err(AnnouncementError)?;
        if self.transport.profile().parts.session.asks() {
            return Err(AnnouncementError(format!("{}: its receiver asks for the movie itself", self.transport)));
        }
        self.sound.map_or(Ok(()), |sound| self.transport.check_sound(sound).map_err(AnnouncementError))
    }

    /// The same with what is announced of sound that has packets of RTP for itself, and the number of its first packet.
    fn with_sound_packets(self, parameters: Option<&str>, initial_sequence: u16) -> Result<Self, AnnouncementError> {
        let Some(format) = self.sound.filter(|_| self.carries_frames_in_rtp()) else { return Ok(self) };
        let lacking = || AnnouncementError("it does not say its ssrc, with sound".to_owned());
        let ssrc = source_of_sound(self.origin.ok_or_else(lacking)?.ssrc);
        let packets = DescribedSound::announced(format, parameters)
            .map_err(|reason| AnnouncementError(format!("its sound: {reason}")))?;
        Ok(Self { sound_packets: Some(packets.beginning_at(StreamOrigin { ssrc, initial_sequence })), ..self })
    }

    /// True of the transport stream of another program, whose tables say whether it has sound.
    pub fn may_have_sound(&self) -> bool {
        matches!(self.packets(), Some(ExpectedPackets::AnyTransportStream { .. }))
    }

    fn carries_frames_in_rtp(&self) -> bool {
        self.transport.profile().parts.format == Format::Rtp(RtpContent::Frames)
    }

    /// The channel of sound beside that of the movie, by how much its port is higher too; `None` where it has none.
    pub fn sound_channel(&self) -> Option<ChannelSetup> {
        let has_one = self.sound_packets.is_some() && self.carries_frames_in_rtp() && !self.transport.is_stream();
        has_one.then(|| ChannelSetup::of_announced_sound().at(SOUND_PORT_BETWEEN_MACHINES))
    }

    /// The same where a session description says the port, which it is to be given.
    pub fn described_sound_channel() -> ChannelSetup {
        ChannelSetup::of_announced_sound()
    }

    /// A receiver that has received nothing yet; what it records goes where `recording` says.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn receiver(&self, recording: &FlowRecording) -> Result<ReceiverSession, AnnouncementError> {
        self.check()?;
        let half = match (self.packets(), self.transport.is_stream()) {
            (Some(packets), true) => packets.receiver(self.transport.profile().parts.session),
            (Some(packets), false) => ReceivingHalf::Datagram(DatagramReceiver::new(packets.depacketizer())),
            (None, _) => ReceivingHalf::Stream(StreamReceiver::new(Pacing::Immediate).of_codec(self.codec)),
        };
        let session = ReceiverSession::new(half, ReceiverLog::new(recording));
        let Some((channel, sound)) = self.sound_channel().zip(self.sound_packets.as_ref()) else { return Ok(session) };
        let channels = [ChannelSetup::of_announced(false), channel].map(|setup| setup.channel());
        let sound = DatagramReceiver::new(sound.depacketizer());
        Ok(session.with_sound(Some(sound)).over(channels.to_vec()))
    }

    /// The sessions of which its receiver reports, that of the video first: of packets of RTP in datagrams.
    pub fn reported_sessions(&self) -> Vec<ReportedSession> {
        if !self.transport.profile().parts.format.is_rtp() || self.transport.is_stream() {
            return Vec::new();
        }
        let sound = self.sound_packets.as_ref().filter(|_| self.sound_channel().is_some());
        let sound = sound.map(|sound| (SOUND_CHANNEL, sound.ssrc(), SOUND_PORT_BETWEEN_MACHINES));
        let video = (MOVIE_CHANNEL, self.origin.map(|origin| origin.ssrc), 0);
        let sessions = [video].into_iter().chain(sound);
        let reported = self.reports.iter().zip(sessions);
        reported
            .map(|(_, (media, ssrc, port))| ReportedSession { media, reports: rtcp_of(media), ssrc, port: port + 1 })
            .collect()
    }

    /// The same as [`receiver`](Self::receiver), which begins now to report of what comes, where that is announced. What it draws is of
    /// this seed: its source, where it does not know that of the sender, and when it reports.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn reporting_receiver(
        &self,
        recording: &FlowRecording,
        now: Timestamp,
        seed: Seed,
    ) -> Result<ReceiverSession, AnnouncementError> {
        let drawn = seed.stream("rtcp of a receiver", &[]).next_u64() as u32;
        let of_sound = self.sound_packets.as_ref().map_or(CLOCK_RATE, DescribedSound::clock_rate);
        let setup = |(session, &bandwidth): (ReportedSession, &RtcpBandwidth)| RtcpSetup {
            flow: self.transport.name().to_owned(),
            start: StreamStart { ssrc: session.ssrc.unwrap_or(drawn), sequence: 0, timestamp: 0 },
            place: u32::from(session.media == SOUND_CHANNEL),
            bandwidth,
            seed,
            media: session.media,
            clock_rate: if session.media == SOUND_CHANNEL { of_sound } else { CLOCK_RATE },
            lower_headers: UDP_HEADERS,
            at_once: false,
        };
        let reports = self.reported_sessions().into_iter().zip(&self.reports);
        let reports = reports.map(setup).map(|setup| setup.receiver(now).unrecorded()).collect();
        Ok(self.receiver(recording)?.with_reports(reports))
    }

    /// The description by which other programs receive it (RFC 8866), sent to an address and port; `first` is an access unit
    /// that decoding begins with. `None` where its frames are in no packets of RTP in datagrams.
    pub fn session_description(&self, to: SocketAddr, first: &[u8]) -> Option<String> {
        let parts = self.transport.profile().parts;
        if parts.socket == SocketKind::Stream {
            return None;
        }
        match parts.format {
            Format::Rtp(RtpContent::Frames) => {
                let text = sdp::describe(payload_format(self.codec)?, to.ip(), to.port(), first);
                let port = to.port().saturating_add(SOUND_PORT_BETWEEN_MACHINES);
                let with = |text: String, sound: &DescribedSound| sdp::with_stream(&text, &sound.stream(port));
                Some(self.sound_packets.iter().fold(text, with))
            }
            Format::Rtp(RtpContent::TransportStream) => Some(sdp::describe_transport_stream(to.ip(), to.port())),
            _ => None,
        }
    }

    /// The codec that RTP carries under this name of a payload format; `None` where none is received so.
    pub fn codec_in_rtp(encoding_name: &str) -> Option<Codec> {
        let is_named = |codec: &Codec| {
            payload_format(*codec).is_some_and(|format| format.encoding_name.eq_ignore_ascii_case(encoding_name))
        };
        Codec::ALL.iter().copied().find(is_named)
    }

    /// `None` where the frames go in no packets.
    fn packets(&self) -> Option<ExpectedPackets> {
        let parts = self.transport.profile().parts;
        let origin = self.origin;
        match parts.format {
            Format::ElementaryStream => None,
            Format::Mp4 | Format::FragmentedMp4 => Some(ExpectedPackets::File),
            Format::Rtp(RtpContent::Frames) => {
                let format = payload_format(self.codec).expect("invariant: the transport carries the codec");
                let payload_type = self.payload_type.unwrap_or(format.payload_type);
                Some(match origin {
                    Some(_) => ExpectedPackets::Rtp { format, origin, sound: self.sound_packets.clone().map(Box::new) },
                    None => ExpectedPackets::AnyRtp { format, payload_type },
                })
            }
            // Every stream of this program's own is announced with its source, also where it has none in its packets.
            Format::Ts | Format::Rtp(RtpContent::TransportStream) if origin.is_none() => {
                Some(ExpectedPackets::AnyTransportStream { in_rtp: parts.format.is_rtp() })
            }
            Format::Ts | Format::Rtp(RtpContent::TransportStream) => {
                let program = program(self.codec, self.mpeg2);
                let program = match self.sound {
                    Some(sound) => program.with_track(sound_type(sound).expect("invariant: the transport carries it")),
                    None => program,
                };
                Some(match parts.format.is_rtp() {
                    true => ExpectedPackets::TransportStreamInRtp { program, origin },
                    false => ExpectedPackets::TransportStream { program },
                })
            }
        }
    }
}

impl fmt::Display for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transport={} codec={} mpeg2={}", self.transport, self.codec.file_suffix(), u8::from(self.mpeg2))?;
        if let Some(origin) = self.origin {
            write!(f, " ssrc={} seq={}", origin.ssrc, origin.initial_sequence)?;
            if let Some(of_sound) = self.sound_packets.as_ref().and_then(DescribedSound::origin) {
                write!(f, ",{}", of_sound.initial_sequence)?;
            }
        }
        if let Some(AudioFormat { codec, sample_rate, channels, pre_skip }) = self.sound {
            write!(f, " sound={}/{sample_rate}/{channels}", codec.name())?;
            if codec == AudioCodec::Opus {
                write!(f, "/{pre_skip}")?;
            }
            if let Some(parameters) = self.sound_packets.as_ref().and_then(DescribedSound::parameters) {
                write!(f, " fmtp={parameters}")?;
            }
        }
        if let Some(rate) = self.frame_rate {
            write!(f, " rate={}/{}", rate.numerator, rate.denominator)?;
        }
        for (bandwidth, before) in self.reports.iter().zip([" rtcp=", ","]) {
            write!(f, "{before}{}:{}", bandwidth.senders.as_bps(), bandwidth.receivers.as_bps())?;
        }
        Ok(())
    }
}

fn codec_named(name: &str) -> Option<Codec> {
    Codec::ALL.iter().copied().find(|codec| codec.file_suffix() == name)
}

/// `aac/48000/2`: codec, sample rate, channels; of Opus also what is decoded and not played: `opus/48000/2/312`.
fn sound_named(text: &str) -> Option<AudioFormat> {
    let mut parts = text.split('/');
    let name = parts.next()?;
    let codec = AudioCodec::ALL.into_iter().find(|codec| codec.name() == name)?;
    let (sample_rate, channels) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let pre_skip = if codec == AudioCodec::Opus { parts.next()?.parse().ok()? } else { 0 };
    parts.next().is_none().then_some(AudioFormat { codec, sample_rate, channels, pre_skip })
}

/// `1234`: the number of the first packet; behind a comma that of sound. Without one it is 0, as earlier versions began.
fn sequences_named(text: &str) -> Option<[u16; 2]> {
    let (of_video, of_sound) = text.split_once(',').unwrap_or((text, "0"));
    Some([of_video.parse().ok()?, of_sound.parse().ok()?])
}

/// `25/1`.
fn rate_named(text: &str) -> Option<FrameRate> {
    let (numerator, denominator) = text.split_once('/')?;
    let (numerator, denominator) = (numerator.parse().ok()?, denominator.parse().ok()?);
    (numerator > 0 && denominator > 0).then_some(FrameRate { numerator, denominator })
}

/// `25000:75000`: what senders and what receivers of a session have for RTCP, in bit/s, as `b=RS` and `b=RR` say it (RFC 3556,
/// section 2); behind a comma that of sound.
fn bandwidths_named(text: &str) -> Option<Vec<RtcpBandwidth>> {
    let rate = |text: &str| text.parse().ok().filter(|&bps: &u64| bps <= MOST_BANDWIDTH).map(Bitrate::from_bps);
    let bandwidth = |text: &str| {
        let (senders, receivers) = text.split_once(':')?;
        let bandwidth = RtcpBandwidth { senders: rate(senders)?, receivers: rate(receivers)? };
        Some(bandwidth).filter(|bandwidth| bandwidth.receivers.as_bps() > 0)
    };
    // At most two sessions: a text of more is none.
    text.split(',').take(3).map(bandwidth).collect::<Option<Vec<_>>>().filter(|sessions| sessions.len() <= 2)
}

#[cfg(test)]
mod tests;
