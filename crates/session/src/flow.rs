//! One flow of a scenario, made into a sender's and a receiver's session.

use std::path::Path;
use std::sync::Arc;

use framewire_adaptive::client::{Client, ClientSettings, PlayerSettings};
use framewire_adaptive::rate_control::{RateControl, RateControlSettings};
use framewire_adaptive::server::{Server, ServerSettings};
use framewire_adaptive::source::PlanWithAudio;
use framewire_adaptive::vtp::Estimate;
use framewire_media::access_unit::Codec;
use framewire_recording::record::FrameFacts;
use framewire_recording::spool::{Spool, Spooled};
use framewire_scenario as scenario;
use framewire_transport::queue::FrameQueue;
use framewire_transport::{
    DatagramReceiver, DatagramSender, Limits as QueueLimits, Pacing as ReceiverPacing, Spread, StreamReceiver,
    StreamSender, TransportKind,
};
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_wire::mpeg_video::{Depacketizer, Limits, PAYLOAD_TYPE, PacketRule, Packetizer, StreamOrigin};
use framewire_wire::vtp::{Secret, Title, VIDEO_HEADER_LENGTH};

use crate::adaptive::{AdaptiveReceiver, AdaptiveSender, IP_AND_UDP_HEADERS, LadderContent};
use crate::carried::check_codec;
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::sender::{Pacing, SenderLog, SenderSession, SendingHalf, as_sent};

/// First RTP sequence number. RFC 3550, 5.1 wants it random against known-plaintext attacks; nothing is encrypted
/// here, and runs are to be repeatable.
const INITIAL_SEQUENCE: u16 = 0;

/// What the packets of an adaptive stream are asked for by: one movie per session needs no better name.
const TITLE: &str = "ladder";

/// One flow, ready to be built in any world.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    flow: scenario::Flow,
    carried: Carried,
    /// Synchronisation source of the flow's RTP stream (RFC 3550, section 5.1).
    ssrc: u32,
    /// Where records too many for the memory go.
    scratch: Option<Arc<Path>>,
}

/// What a flow carries.
#[derive(Clone, Debug)]
enum Carried {
    /// The movie; `None` where applications of the user's own carry it.
    Movie(Option<TransportKind>, SendingPlan),
    /// The levels of a ladder, from this time on, to a player that waits so long after the first arrival.
    Ladder(LadderContent, Timestamp, Duration),
    /// Bytes of no meaning.
    Bulk,
}

/// Who is at the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The lab's own sender and receiver of the movie: [`FlowSetup::sender`] and [`FlowSetup::receiver`].
    Stream,
    /// Applications of the user's own.
    External,
    /// A server and a client of adaptive streaming: [`FlowSetup::adaptive_sender`] and
    /// [`FlowSetup::adaptive_receiver`].
    Adaptive,
    /// TCP connections whose application always has data. They begin, end and are as many as the settings say; a world
    /// writes into them and reads.
    Bulk,
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

impl FlowSetup {
    /// A flow of a scenario that sends `plan`. `ssrc` tells its RTP stream from others.
    ///
    /// # Panics
    /// For a flow that does not send the movie.
    pub fn new(flow: &scenario::Flow, plan: SendingPlan, ssrc: u32) -> Self {
        let kind = match flow.transport {
            scenario::Transport::Movie(kind) => Some(kind),
            scenario::Transport::External => None,
            other => panic!("invariant: {other} sends no movie"),
        };
        Self { flow: flow.clone(), carried: Carried::Movie(kind, plan), ssrc, scratch: None }
    }

    /// A flow of a scenario that sends levels of `ladder`, from its start on, to a player that shows the first frame
    /// `startup` after the first arrival.
    ///
    /// # Errors
    /// When packets of the ladder are larger than the flow's MTU allows.
    pub fn adaptive(flow: &scenario::Flow, ladder: LadderContent, startup: Duration) -> Result<Self, BuildError> {
        let packet = ladder.payload() as usize + VIDEO_HEADER_LENGTH + IP_AND_UDP_HEADERS;
        if packet > usize::from(flow.mtu) {
            let reason =
                format!("mtu = {}: the packets of movie.ladder have {packet} bytes with their headers", flow.mtu);
            return Err(BuildError { flow: flow.name.clone(), reason });
        }
        let start = Timestamp::ZERO + flow.start.unwrap_or_default();
        let carried = Carried::Ladder(ladder, start, startup);
        Ok(Self { flow: flow.clone(), carried, ssrc: 0, scratch: None })
    }

    /// A flow of a scenario that is TCP connections without a movie.
    pub fn bulk(flow: &scenario::Flow) -> Self {
        Self { flow: flow.clone(), carried: Carried::Bulk, ssrc: 0, scratch: None }
    }

    /// The same flow whose records, where they are too many for the memory, go to a file without a name in `directory`;
    /// `None`: in the system's directory of temporary files.
    pub fn recorded_in(self, directory: Option<Arc<Path>>) -> Self {
        Self { scratch: directory, ..self }
    }

    /// An empty list for records of this flow.
    pub fn records<T: Spooled>(&self) -> Spool<T> {
        Spool::in_directory(self.scratch.clone())
    }

    /// A list of records of this flow.
    pub fn recorded<T: Spooled>(&self, records: impl IntoIterator<Item = T>) -> Spool<T> {
        let mut list = self.records();
        list.extend(records);
        list
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.flow.name
    }

    /// Name of its transport.
    pub fn transport(&self) -> &'static str {
        self.flow.transport.as_str()
    }

    /// Who is at its ends.
    pub fn role(&self) -> Role {
        match &self.carried {
            Carried::Movie(Some(_), _) => Role::Stream,
            Carried::Movie(None, _) => Role::External,
            Carried::Ladder(..) => Role::Adaptive,
            Carried::Bulk => Role::Bulk,
        }
    }

    /// Its transport.
    ///
    /// # Panics
    /// For a flow whose [`role`](Self::role) is not [`Role::Stream`].
    pub fn kind(&self) -> TransportKind {
        let kind = if let Carried::Movie(kind, _) = &self.carried { *kind } else { None };
        kind.expect("invariant: who has a sender or a receiver of a movie asks")
    }

    /// True for a flow between applications of the user's own, which has no sender and no receiver here.
    pub fn is_external(&self) -> bool {
        self.role() == Role::External
    }

    /// The same flow with its first frame due at `start`. Bulk connections stay as they are.
    pub fn starting_at(&self, start: Timestamp) -> Self {
        let carried = match &self.carried {
            Carried::Movie(kind, plan) => Carried::Movie(*kind, plan.starting_at(start)),
            Carried::Ladder(ladder, _, startup) => Carried::Ladder(ladder.clone(), start, *startup),
            Carried::Bulk => Carried::Bulk,
        };
        Self { carried, ..self.clone() }
    }

    /// When it begins.
    pub fn start(&self) -> Timestamp {
        match &self.carried {
            Carried::Movie(_, plan) => plan.due(0),
            Carried::Ladder(_, start, _) => *start,
            Carried::Bulk => Timestamp::ZERO + self.flow.start.unwrap_or_default(),
        }
    }

    /// When a bulk flow is told to end; `None` for with the run, and for what ends by itself.
    pub fn stop(&self) -> Option<Timestamp> {
        self.flow.stop.map(|stop| Timestamp::ZERO + stop)
    }

    /// Frames that it has to bring; 0 for a bulk flow.
    pub fn frames(&self) -> u32 {
        match &self.carried {
            Carried::Movie(_, plan) => plan.len(),
            Carried::Ladder(ladder, ..) => ladder.frames(),
            Carried::Bulk => 0,
        }
    }

    /// When its last frame has had its time, sent by the frame clock; `None` for a bulk flow.
    pub fn offered_until(&self) -> Option<Timestamp> {
        match &self.carried {
            Carried::Movie(_, plan) => Some(plan.due(plan.len() - 1) + plan.frame_interval()),
            Carried::Ladder(ladder, start, _) => Some(ladder.due(ladder.frames(), *start)),
            Carried::Bulk => None,
        }
    }

    /// What the ledger must know of every frame, as far as it is known before they are sent: none of a bulk flow.
    pub fn facts(&self) -> Spool<FrameFacts> {
        match &self.carried {
            Carried::Movie(_, plan) => self.recorded(plan.facts()),
            Carried::Ladder(ladder, start, _) => {
                self.recorded((0..ladder.frames()).map(|frame| ladder.facts(frame, None, *start)))
            }
            Carried::Bulk => self.records(),
        }
    }

    /// The same of the frames as they were sent.
    pub fn facts_as_sent(&self, sent: &mut SenderLog) -> Spool<FrameFacts> {
        match (sent.frames.take(), &self.carried) {
            (Some(frames), _) => frames,
            (None, Carried::Movie(_, plan)) if !sent.renumbered.is_empty() => {
                let renumbered = sent.renumbered.iter().map(|frame| *frame);
                sent.renumbered.with(as_sent(plan.facts(), renumbered))
            }
            (None, _) => self.facts(),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &scenario::Flow {
        &self.flow
    }

    /// What it sends.
    ///
    /// # Panics
    /// For a flow that does not send the movie: [`role`](Self::role) is neither [`Role::Stream`] nor [`Role::External`].
    pub fn plan(&self) -> &SendingPlan {
        match &self.carried {
            Carried::Movie(_, plan) => plan,
            Carried::Ladder(..) | Carried::Bulk => panic!("invariant: who has a movie asks for it"),
        }
    }

    /// The ladder that it sends levels of.
    ///
    /// # Panics
    /// For a flow whose [`role`](Self::role) is not [`Role::Adaptive`].
    pub fn ladder(&self) -> &LadderContent {
        match &self.carried {
            Carried::Ladder(ladder, ..) => ladder,
            Carried::Movie(..) | Carried::Bulk => panic!("invariant: who has a ladder asks for it"),
        }
    }

    /// What the player of an adaptive stream waits for.
    fn startup(&self) -> Duration {
        if let Carried::Ladder(.., startup) = &self.carried { *startup } else { Duration::ZERO }
    }

    /// The player that the server is told of, where its rate control takes that up.
    fn player(&self) -> Option<PlayerSettings> {
        let player = PlayerSettings { startup: self.startup(), ..PlayerSettings::default() };
        self.rate_control().repeats().then_some(player)
    }

    /// How VTP reads equation 1; for other rate controls as it would.
    fn estimate(&self) -> Estimate {
        let name = self.flow.estimate.map_or(Estimate::PAPER.as_str(), scenario::Estimate::as_str);
        let header = self.flow.estimate_header.map(|bytes| DataSize::from_bytes(bytes.into()));
        Estimate::named(name, header).expect("invariant: the scenario has VTP's readings")
    }

    fn rate_control(&self) -> RateControl {
        match self.flow.transport {
            scenario::Transport::Adaptive(rate_control) => rate_control,
            other => panic!("invariant: who asks has levels, and {other} has none"),
        }
    }

    /// The server of an adaptive stream. `session` draws what both of its halves need at random: the same for both.
    ///
    /// # Errors
    /// When the ladder cannot be served.
    ///
    /// # Panics
    /// For a flow whose [`role`](Self::role) is not [`Role::Adaptive`].
    pub fn adaptive_sender(&self, session: Seed) -> Result<AdaptiveSender, BuildError> {
        let (ladder, plan) = (self.ladder(), self.ladder().plan());
        let payload = u16::try_from(ladder.payload()).expect("invariant: a packet fits into the MTU");
        let controller = self.rate_control().controller(&RateControlSettings {
            payload: DataSize::from_bytes(payload.into()),
            plan: Some(PlanWithAudio::of(&*ladder.source(), plan.clone())),
            startup: self.startup(),
            estimate: self.estimate(),
        });
        let mut draws = session.stream("secret", &[]);
        let secret = Secret::new(std::array::from_fn(|_| draws.next_u64() as u8));
        let settings = ServerSettings {
            ack_every: self.flow.ack_every.expect("invariant: an adaptive flow states it"),
            buffer: ladder.client_buffer(),
            payload,
            repeats: self.rate_control().repeats(),
            ..ServerSettings::paper(title(), secret)
        };
        let server = Server::new(ladder.source(), plan, controller, settings)
            .map_err(|error| BuildError { flow: self.flow.name.clone(), reason: error.to_string() })?;
        let log = SenderLog::in_directory(self.scratch.clone());
        Ok(AdaptiveSender::new(server, ladder.clone(), self.start(), log))
    }

    /// The client of an adaptive stream.
    ///
    /// # Panics
    /// For a flow whose [`role`](Self::role) is not [`Role::Adaptive`].
    pub fn adaptive_receiver(&self, session: Seed) -> AdaptiveReceiver {
        assert_eq!(self.role(), Role::Adaptive, "invariant: who has a ladder asks for its client");
        let session = session.stream("session", &[]).next_u64();
        let settings = ClientSettings {
            reports: self.rate_control().reports(),
            packet_events: true,
            player: self.player(),
            ..ClientSettings::paper(title(), session)
        };
        AdaptiveReceiver::new(Client::new(settings), ReceiverLog::in_directory(self.scratch.clone()))
    }

    /// The sender's side.
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, or the movie is of a codec that the datagram transports do not carry.
    ///
    /// # Panics
    /// As [`kind`](Self::kind).
    pub fn sender(&self) -> Result<SenderSession, BuildError> {
        let limits =
            QueueLimits { frames: self.flow.queue_frames, bytes: self.flow.queue_bytes, time: self.flow.queue_time };
        let queue = FrameQueue::new(self.kind().profile().queue.with_limits(limits));
        let half = match self.kind().overflow() {
            Some(overflow) => {
                let half = DatagramSender::new(queue, self.packetizer()?, overflow);
                SendingHalf::Datagram(half.with_spread(self.spread()))
            }
            None => SendingHalf::Stream(StreamSender::new(queue, self.flow.unsent_limit)),
        };
        let pacing = match self.flow.pacing {
            Some(scenario::Pacing::Receiver) => Pacing::Receiver,
            Some(scenario::Pacing::Nobody) => Pacing::Nobody,
            Some(scenario::Pacing::Sender) | None => Pacing::Sender,
        };
        let log = SenderLog::in_directory(self.scratch.clone());
        Ok(SenderSession::new(self.plan().clone(), pacing, half, log))
    }

    /// The receiver's side.
    ///
    /// # Panics
    /// As [`kind`](Self::kind).
    pub fn receiver(&self) -> ReceiverSession {
        let half = match self.kind().is_stream() {
            true => ReceivingHalf::Stream(StreamReceiver::new(self.receiver_pacing()).of_codec(self.codec())),
            false => {
                // The receiver knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence number
                // are agreed out of band here), so that the loss of the very first packets is seen.
                let origin = StreamOrigin { ssrc: self.ssrc, initial_sequence: INITIAL_SEQUENCE };
                let depacketizer = Depacketizer::new(PAYLOAD_TYPE, Some(origin), Limits::default());
                ReceivingHalf::Datagram(DatagramReceiver::new(depacketizer))
            }
        };
        ReceiverSession::new(half, ReceiverLog::in_directory(self.scratch.clone()))
    }

    fn receiver_pacing(&self) -> ReceiverPacing {
        match self.flow.pacing {
            Some(scenario::Pacing::Receiver) => ReceiverPacing::Playout { frame_rate: self.plan().frame_rate() },
            Some(scenario::Pacing::Sender | scenario::Pacing::Nobody) | None => ReceiverPacing::Immediate,
        }
    }

    fn spread(&self) -> Spread {
        match self.flow.spread {
            Some(scenario::Spread::FrameInterval) => Spread::FrameInterval,
            Some(scenario::Spread::Gap(gap)) => Spread::Gap(gap),
            Some(scenario::Spread::None) | None => Spread::AtOnce,
        }
    }

    fn codec(&self) -> Codec {
        self.plan().movie().index.sequence.codec
    }

    fn packetizer(&self) -> Result<Packetizer, BuildError> {
        check_codec(&self.flow.name, self.flow.transport, self.codec())?;
        let rule = match self.flow.packets {
            Some(scenario::PacketRule::Slices) => PacketRule::Slices,
            Some(scenario::PacketRule::Thesis) => PacketRule::Thesis,
            Some(scenario::PacketRule::Full) | None => PacketRule::Full,
        };
        let mtu = DataSize::from_bytes(u64::from(self.flow.mtu));
        Packetizer::new(rule, mtu, self.ssrc, INITIAL_SEQUENCE, PAYLOAD_TYPE)
            .map_err(|error| BuildError { flow: self.flow.name.clone(), reason: error.to_string() })
    }
}

fn title() -> Title {
    Title::new(TITLE).expect("invariant: it is shorter than 255 bytes")
}
