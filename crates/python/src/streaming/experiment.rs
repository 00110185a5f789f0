//! An experiment as it is asked for, put together.

use std::sync::Arc;

use framewire_adaptive::better::{BetterController, BetterSettings};
use framewire_adaptive::binomial::{Binomial, BinomialSettings};
use framewire_adaptive::client::{ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::rap::Rap;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::{PacketSource, Plan};
use framewire_adaptive::stored::LadderSource;
use framewire_adaptive::tfrc::{ReceiverSettings, SenderSettings, TfrcController, Weights};
use framewire_adaptive::vtp::{Estimate, VtpController, VtpSettings};
use framewire_link::{
    BottleneckPlace, DeliveryTrace, LossConfig, NetworkConfig, QueueLimit, WireConfig, WiredNetworkConfig,
};
use framewire_sim::experiment::streaming::{AdaptiveFlow, BulkFlow, CoarseClocks, FlowConfig, StreamingExperiment};
use framewire_tcp::TcpConfig;
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use framewire_wire::vtp::{Secret, Title};
use pyo3::PyResult;

use super::spec::{Link, Spec, Stream, Tcp, Transport};
use super::{PAYLOAD, refused, seconds};

/// From the first packet until the first frame is shown: the second that the plans have, and one for what the network
/// delays.
const PLAYOUT_DELAY: Duration = Duration::from_secs(2);

/// Time between two samples, and length of the intervals in which is counted.
const INTERVAL: Duration = Duration::from_millis(100);

/// The experiment: connections first, the stream last. Over a recorded link where one is given.
pub(super) fn of(
    source: Arc<LadderSource>,
    spec: &Spec,
    trace: Option<DeliveryTrace>,
) -> PyResult<StreamingExperiment> {
    let seed = Seed(spec.seed);
    let mut experiment = StreamingExperiment::new(network(&spec.link, trace)?, seed);
    experiment.duration = seconds(spec.duration_s)?;
    experiment.interval = INTERVAL;
    experiment.clocks = CoarseClocks {
        sender: seconds(spec.stream.sender_tick_ms / 1e3)?,
        receiver: seconds(spec.stream.receiver_tick_ms / 1e3)?,
    };
    let rival = bulk(&spec.tcp)?;
    experiment.flows = (0..spec.tcp.connections).map(|_| FlowConfig::at_once(rival.clone())).collect();
    experiment.stagger(seconds(spec.tcp.start_within_s)?);
    let later = seconds(spec.stream.start_within_s)?.mul_f64(seed.stream("start of the stream", &[]).next_f64());
    let start = Timestamp::ZERO + seconds(spec.stream.start_s)? + later;
    experiment.flows.push(FlowConfig::at(start, stream(source, &spec.stream, seed)?));
    Ok(experiment)
}

fn network(link: &Link, trace: Option<DeliveryTrace>) -> PyResult<NetworkConfig> {
    let loss = Probability::new(link.loss).ok_or_else(|| refused(format!("link.loss = {}: 0 to 1", link.loss)))?;
    let loss = if link.loss > 0.0 { LossConfig::Bernoulli(loss) } else { LossConfig::None };
    if trace.is_some() == link.rate_bps.is_some() {
        return Err(refused("link.rate_bps: a rate or a recorded link is needed, one of them"));
    }
    let wire = WireConfig {
        rate: link.rate_bps.map(Bitrate::from_bps),
        trace,
        queue: QueueLimit::Packets(link.queue_packets),
        delay: seconds(link.rtt_ms / 1e3)? / 2,
        loss,
        tick: seconds(link.tick_ms / 1e3)?,
        ..WireConfig::default()
    };
    Ok(NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote)))
}

/// A connection beside the stream.
fn bulk(tcp: &Tcp) -> PyResult<BulkFlow> {
    let congestion = tcp.congestion.parse().map_err(|error| refused(format!("tcp.congestion: {error}")))?;
    let mut flow = BulkFlow::new(congestion);
    for end in [&mut flow.sender, &mut flow.receiver] {
        let options = !tcp.no_options;
        *end = TcpConfig { sack: options, timestamps: options, ..end.clone() };
        if tcp.every_segment {
            (end.min_ack_delay, end.max_ack_delay) = (Duration::ZERO, Duration::ZERO);
        }
        end.initial_window = tcp.initial_window.unwrap_or(end.initial_window);
        // The kernel accounts twice what is asked for.
        end.receive_buffer = tcp.receive_window.map(|bytes| DataSize::from_bytes(bytes.saturating_mul(2)));
        if let Some(least) = tcp.min_rto_s {
            end.min_rto = seconds(least)?;
        }
    }
    Ok(flow)
}

fn stream(source: Arc<LadderSource>, stream: &Stream, seed: Seed) -> PyResult<AdaptiveFlow> {
    let schedule = Schedule::new(source.ladder(), ScheduleSettings::PAPER).map_err(refused)?;
    let title = || Title::new("clip").expect("invariant: it is shorter than 255 bytes");
    let mut draws = seed.stream("session", &[]);
    let secret = Secret::new(std::array::from_fn(|_| draws.next_u64() as u8));
    let ack_every = stream.k;
    // The better rate control knows of the player, and repeats what is missing while it can still be shown.
    let is_better = stream.transport == Transport::Better;
    let server = ServerSettings {
        ack_every,
        buffer: schedule.client_buffer(),
        repeats: is_better,
        ..ServerSettings::paper(title(), secret)
    };
    let player = PlayerSettings { startup: PLAYOUT_DELAY, ..PlayerSettings::default() };
    let client = ClientSettings {
        reports: reports(stream.transport),
        player: is_better.then_some(player),
        ..ClientSettings::paper(title(), draws.next_u64())
    };
    let plan: Arc<dyn Plan> = Arc::new(FramePlan::new(&schedule, source.duration()));
    Ok(AdaptiveFlow {
        plan: Arc::clone(&plan),
        source,
        controller: controller(stream, plan)?,
        server,
        client,
        playout_delay: PLAYOUT_DELAY,
    })
}

fn reports(transport: Transport) -> ReportKind {
    match transport {
        Transport::Tfrc => {
            ReportKind::Tfrc(ReceiverSettings { weights: Weights::PAPER, ..ReceiverSettings::default() })
        }
        Transport::Vtp | Transport::Better | Transport::Fixed | Transport::Rap | Transport::Binomial => {
            ReportKind::Control
        }
    }
}

fn controller(stream: &Stream, plan: Arc<dyn Plan>) -> PyResult<Box<dyn Controller>> {
    Ok(match stream.transport {
        Transport::Vtp => {
            let name = stream.estimate.as_deref().unwrap_or(Estimate::PAPER.as_str());
            let header = stream.estimate_header_bytes.map(DataSize::from_bytes);
            let own = VtpSettings::reading(Estimate::named(name, header).map_err(refused)?);
            let step = stream.step_bytes.map_or(own.step, DataSize::from_bytes);
            let settings = VtpSettings { alpha: stream.alpha.unwrap_or(own.alpha), step, ..own };
            Box::new(VtpController::new(settings).map_err(refused)?)
        }
        Transport::Better => Box::new(BetterController::new(BetterSettings::default(), Some(plan)).map_err(refused)?),
        Transport::Fixed => Box::new(FixedRate::new()),
        Transport::Tfrc => Box::new(TfrcController::new(SenderSettings::default())),
        Transport::Rap => Box::new(Rap::new(DataSize::from_bytes(PAYLOAD.into()), true)),
        Transport::Binomial => Box::new(Binomial::new(BinomialSettings::SQRT).map_err(refused)?),
    })
}
