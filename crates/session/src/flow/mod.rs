//! The flows of a scenario, ready to be built in any world: a sum by what they carry, a file each.

mod adaptive;
mod bulk;
mod datagram;
mod ends;
mod external;
mod file;
mod movie;
pub(crate) mod packets;
mod playback;
mod recording;
pub(crate) mod rtp_seed;
mod sound;
mod stream;

use std::sync::Arc;

use framewire_media::access_unit::Codec;
use framewire_media::audio::AudioFormat;
use framewire_recording::Samples;
use framewire_recording::record::FrameFacts;
use framewire_recording::spool::{Spool, Spooled};
use framewire_scenario::{self as scenario, FlowKind};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;

pub use self::adaptive::AdaptiveSetup;
pub use self::bulk::BulkSetup;
pub use self::datagram::DatagramSetup;
pub use self::ends::{Ends, Halves};
pub use self::external::ExternalSetup;
pub(crate) use self::playback::Carried;
pub use self::recording::FlowRecording;
pub use self::rtp_seed::RtpSeed;
pub use self::sound::DescribedSound;
pub use self::stream::StreamSetup;
use crate::adaptive::LadderContent;
use crate::channels::ChannelSetup;
use crate::plan::SendingPlan;
use crate::sender::{SenderLog, as_sent};
use crate::sound::Sound;

/// One flow, ready to be built in any world.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in a hot path")]
pub enum FlowSetup {
    /// The movie in RTP packets over UDP.
    Datagram(DatagramSetup),
    /// The movie as a stream of bytes over TCP.
    Stream(StreamSetup),
    /// Levels of a ladder, from an adaptive server to its client.
    Adaptive(AdaptiveSetup),
    /// TCP connections whose application always has data, and no movie.
    Bulk(BulkSetup),
    /// Applications of the user's own.
    External(ExternalSetup),
}

/// What flows of every kind have.
#[derive(Clone, Debug)]
pub struct CommonSetup {
    /// As the scenario has it.
    settings: Arc<scenario::Flow>,
    recording: FlowRecording,
    /// At both ends.
    port: u16,
}

/// The customary port of RTP (RFC 3551, section 8).
const DEFAULT_PORT: u16 = 5_004;

/// What a TCP socket of a flow is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// The kernel's name of the congestion control; `None`: the default.
    pub congestion: Option<String>,
    /// Explicit congestion notification is asked for (RFC 3168).
    pub ecn: bool,
    /// `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's own.
    pub send_buffer: Option<DataSize>,
    /// `TCP_NOTSENT_LOWAT`; `None`: no limit.
    pub unsent_limit: Option<DataSize>,
    /// What both hosts have otherwise than Linux now; `None`: nothing.
    pub options: Option<scenario::TcpOptions>,
    /// Largest IP packet, in bytes.
    pub mtu: u16,
}

impl ConnectionSettings {
    /// Those that the kernel has by itself.
    pub(crate) const fn of_kernel(mtu: u16) -> Self {
        Self { congestion: None, ecn: false, send_buffer: None, unsent_limit: None, options: None, mtu }
    }

    /// The congestion control of the receiving end, where that has to have the sender's: it tells what was marked.
    pub fn receiver_congestion(&self) -> Option<&str> {
        self.congestion.as_deref().filter(|name| scenario::needs_ecn(name))
    }
}

/// A flow that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow}: {reason}")]
pub struct BuildError {
    flow: String,
    reason: String,
}

impl BuildError {
    /// Of this flow, because of this.
    pub fn new(flow: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { flow: flow.into(), reason: reason.into() }
    }
}

impl CommonSetup {
    fn new(flow: &scenario::Flow) -> Self {
        Self { settings: Arc::new(flow.clone()), recording: FlowRecording::default(), port: DEFAULT_PORT }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Which of the wireless senders it sits on.
    pub fn station(&self) -> usize {
        self.settings.station.into()
    }

    /// `SO_SNDBUF` of the sender's socket as getsockopt reports it; `None`: the kernel's own.
    fn send_buffer(&self) -> Option<DataSize> {
        self.settings.send_buffer()
    }

    /// An empty list for records of this flow.
    pub fn records<T: Spooled>(&self) -> Spool<T> {
        self.recording.list()
    }

    /// No samples of this flow's state yet.
    pub fn samples(&self) -> Samples {
        self.recording.samples()
    }

    /// A list of records of this flow.
    pub(crate) fn recorded<T: Spooled>(&self, records: impl IntoIterator<Item = T>) -> Spool<T> {
        let mut list = self.records();
        list.extend(records);
        list
    }

    fn refuse(&self, reason: impl ToString) -> BuildError {
        BuildError::new(self.name(), reason.to_string())
    }

    fn connection(&self, tcp: &scenario::Tcp) -> ConnectionSettings {
        ConnectionSettings {
            congestion: Some(tcp.congestion.clone()),
            ecn: tcp.ecn,
            send_buffer: tcp.send_buffer,
            unsent_limit: tcp.unsent_limit,
            options: tcp.options.clone(),
            mtu: self.settings.mtu,
        }
    }
}

/// What a flow brings, as far as it is known before it is sent.
enum Offer<'a> {
    Movie(&'a SendingPlan),
    Ladder(&'a LadderContent, Timestamp),
    /// Filler bytes.
    Bytes,
}

impl FlowSetup {
    /// A flow of a scenario that sends `plan`, by a sender of the lab's or by applications. What it draws is of
    /// this seed.
    ///
    /// # Errors
    /// For a flow that does not send the movie, or not a movie of this codec; when its MTU leaves no room for packets.
    pub fn of_movie(flow: &scenario::Flow, plan: SendingPlan, rtp: RtpSeed) -> Result<Self, BuildError> {
        let common = CommonSetup::new(flow);
        match &flow.kind {
            FlowKind::Datagram(own) => DatagramSetup::new(common, own, plan, rtp).map(Self::Datagram),
            FlowKind::Stream(own) => StreamSetup::new(common, own, plan, rtp).map(Self::Stream),
            FlowKind::External(_) if plan.sound().is_some() => {
                Err(common.refuse("applications are given the movie without sound"))
            }
            FlowKind::External(own) => Ok(Self::External(ExternalSetup::new(common, own, plan))),
            FlowKind::Adaptive(_) | FlowKind::Bulk(_) => {
                Err(common.refuse(format!("{} sends no movie", flow.transport())))
            }
        }
    }

    /// The same of a flow that is alone between two machines: sound that has packets of RTP for itself goes to the next even port (RFC 3550,
    /// section 11), with reports of its sender about both.
    ///
    /// # Errors
    /// As [`of_movie`](Self::of_movie).
    pub fn between_machines(flow: &scenario::Flow, plan: SendingPlan, rtp: RtpSeed) -> Result<Self, BuildError> {
        let mut setup = Self::of_movie(flow, plan, rtp)?;
        if let Self::Datagram(setup) = &mut setup {
            setup.between_machines();
        }
        Ok(setup)
    }

    /// A flow of a scenario that sends levels of `ladder`, from its start on, to a player that shows the first frame
    /// `startup` after the first arrival.
    ///
    /// # Errors
    /// For a flow that sends no ladder, and when packets of the ladder are larger than the flow's MTU allows.
    pub fn of_ladder(flow: &scenario::Flow, ladder: LadderContent, startup: Duration) -> Result<Self, BuildError> {
        let common = CommonSetup::new(flow);
        match &flow.kind {
            FlowKind::Adaptive(own) => AdaptiveSetup::new(common, own, ladder, startup).map(Self::Adaptive),
            _ => Err(common.refuse(format!("{} sends no ladder", flow.transport()))),
        }
    }

    /// A flow of a scenario that is TCP connections without a movie.
    ///
    /// # Errors
    /// For a flow that sends something.
    pub fn bulk(flow: &scenario::Flow) -> Result<Self, BuildError> {
        let common = CommonSetup::new(flow);
        match &flow.kind {
            FlowKind::Bulk(own) => Ok(Self::Bulk(BulkSetup::new(common, own))),
            _ => Err(common.refuse(format!("{} is no bulk flow", flow.transport()))),
        }
    }

    /// The same flow, recorded so.
    #[must_use]
    pub fn recorded(mut self, recording: FlowRecording) -> Self {
        self.common_mut().recording = recording;
        self
    }

    /// The same flow at this port of both hosts, which some sessions say to each other.
    #[must_use]
    pub fn at_port(mut self, port: u16) -> Self {
        self.common_mut().port = port;
        self
    }

    fn common_mut(&mut self) -> &mut CommonSetup {
        match self {
            Self::Datagram(setup) => &mut setup.common,
            Self::Stream(setup) => &mut setup.common,
            Self::Adaptive(setup) => &mut setup.common,
            Self::Bulk(setup) => &mut setup.common,
            Self::External(setup) => &mut setup.common,
        }
    }

    /// What it has in common with all others.
    pub(crate) fn common(&self) -> &CommonSetup {
        match self {
            Self::Datagram(setup) => &setup.common,
            Self::Stream(setup) => &setup.common,
            Self::Adaptive(setup) => &setup.common,
            Self::Bulk(setup) => &setup.common,
            Self::External(setup) => &setup.common,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.common().name()
    }

    /// What reports may take of each of its streams of RTP in datagrams, as a description has it (RFC 3556, section 2): of
    /// the video, and of the sound where that has packets for itself. Empty of any other flow.
    pub fn rtcp_bandwidths(&self) -> Vec<RtcpBandwidth> {
        if let Self::Datagram(setup) = self { setup.rtcp_bandwidths() } else { Vec::new() }
    }

    /// The sequence numbers with which its packets of RTP begin, of the video and of the sound; zeros where it sends none.
    pub fn first_sequences(&self) -> [u16; 2] {
        match self.rtp() {
            Some(rtp) => [rtp.video(), rtp.sound()].map(|start| start.sequence),
            None => [0; 2],
        }
    }

    /// Of what its streams of RTP draw; `None` where no movie is sent by the lab's own senders.
    fn rtp(&self) -> Option<RtpSeed> {
        match self {
            Self::Datagram(setup) => Some(setup.rtp()),
            Self::Stream(setup) => Some(setup.rtp()),
            Self::Adaptive(_) | Self::Bulk(_) | Self::External(_) => None,
        }
    }

    /// Name of its transport.
    pub fn transport(&self) -> &'static str {
        self.settings().transport().as_str()
    }

    /// Its settings, as the scenario has them.
    pub fn settings(&self) -> &scenario::Flow {
        &self.common().settings
    }

    /// True for a flow between applications of the user's own.
    pub fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// True for TCP connections without a movie.
    pub fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk(_))
    }

    /// True where the movie is sent, by the lab or by an application: neither levels of a ladder, nor filler bytes.
    pub fn sends_movie(&self) -> bool {
        matches!(self.offer(), Offer::Movie(_))
    }

    /// The format of the sound that it sends beside the movie; `None` where there is none.
    pub fn sound(&self) -> Option<AudioFormat> {
        if let Offer::Movie(plan) = self.offer() { plan.sound().map(Sound::format) } else { None }
    }

    /// The codec of what it sends; `None` where that is nothing, or not known.
    pub fn codec(&self) -> Option<Codec> {
        match self.offer() {
            Offer::Movie(plan) => Some(plan.codec()),
            Offer::Ladder(ladder, _) => ladder.codec(),
            Offer::Bytes => None,
        }
    }

    /// When a bulk flow is ended; `None` for with the run, and for what ends by itself.
    pub fn stop(&self) -> Option<Timestamp> {
        if let Self::Bulk(setup) = self { setup.stop } else { None }
    }

    /// Frames that it has to bring; 0 for a bulk flow.
    pub fn frames(&self) -> u32 {
        match self.offer() {
            Offer::Movie(plan) => plan.len(),
            Offer::Ladder(ladder, _) => ladder.frames(),
            Offer::Bytes => 0,
        }
    }

    /// The channels between its two halves, with what each needs of its sockets: the same as the halves say. None of what has no
    /// halves: connections that always have data, and applications.
    pub fn channels(&self) -> Vec<ChannelSetup> {
        match self {
            Self::Datagram(setup) => setup.channels(),
            Self::Stream(setup) => setup.channels(),
            Self::Adaptive(setup) => setup.channels(),
            Self::Bulk(_) | Self::External(_) => Vec::new(),
        }
    }

    /// The end of its last frame on the frame clock; `None` for a bulk flow.
    pub fn offered_until(&self) -> Option<Timestamp> {
        match self.offer() {
            Offer::Movie(plan) => Some(plan.due(plan.len() - 1) + plan.frame_interval()),
            Offer::Ladder(ladder, start) => Some(ladder.due(ladder.frames(), start)),
            Offer::Bytes => None,
        }
    }

    /// What the ledger must know of every frame, as far as it is known before they are sent: none of a bulk flow.
    pub fn facts(&self) -> Spool<FrameFacts> {
        let common = self.common();
        match self.offer() {
            Offer::Movie(plan) => common.recorded(plan.facts()),
            Offer::Ladder(ladder, start) => {
                common.recorded((0..ladder.frames()).map(|frame| ladder.facts(frame, None, start)))
            }
            Offer::Bytes => common.records(),
        }
    }

    /// The same of the frames as they were sent.
    pub fn facts_as_sent(&self, sent: &mut SenderLog) -> Spool<FrameFacts> {
        match (sent.frames.take(), self.offer()) {
            (Some(frames), _) => frames,
            (None, Offer::Movie(plan)) if !sent.renumbered.is_empty() || sent.begun.is_some() => {
                let plan = sent.begun.map_or_else(|| plan.clone(), |begun| plan.starting_at(begun));
                let renumbered = sent.renumbered.iter().map(|frame| *frame);
                sent.renumbered.with(as_sent(plan.facts(), renumbered))
            }
            (None, _) => self.facts(),
        }
    }

    fn offer(&self) -> Offer<'_> {
        match self {
            Self::Datagram(setup) => Offer::Movie(setup.plan()),
            Self::Stream(setup) => Offer::Movie(setup.plan()),
            Self::External(setup) => Offer::Movie(&setup.plan),
            Self::Adaptive(setup) => Offer::Ladder(&setup.ladder, setup.start),
            Self::Bulk(_) => Offer::Bytes,
        }
    }
}
