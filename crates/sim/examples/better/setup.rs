//! What is compared over which paths: the movie, the rate controls, and what is counted.

use std::sync::Arc;

use framewire_adaptive::better::{BetterController, BetterSettings};
use framewire_adaptive::client::{ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::Plan;
use framewire_adaptive::stored::LadderSource;
use framewire_adaptive::tfrc::{ReceiverSettings, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_link::{
    BottleneckPlace, DeliveryTrace, LossConfig, NetworkConfig, QueueLimit, WireConfig, WiredNetworkConfig,
};
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_sim::experiment::bottleneck;
use framewire_sim::experiment::streaming::{
    AdaptiveFlow, BulkFlow, Fate, FlowConfig, FlowKind, KindOutcome, StreamingExperiment, StreamingOutcome, Viewing,
};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use framewire_wire::vtp::{Secret, Title};

const FILM: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };
const GROUP: usize = 12;
/// Two minutes.
const FRAMES: usize = 240 * GROUP;
/// The connections are there first.
const START: Timestamp = Timestamp::from_secs(10);
const LENGTH: Duration = Duration::from_secs(150);
/// What the player waits for.
const STARTUP: Duration = Duration::from_secs(1);

/// What a movie asks for.
#[derive(Clone, Copy, Debug)]
pub struct Movie {
    /// Mean rates of its levels in kbit/s.
    levels: [f64; 3],
    /// What the rate of a scene is off the mean by at most, to either side.
    spread: f64,
}

impl Movie {
    /// The mild ladder.
    pub const MILD: Self = Self { levels: [125.0, 260.0, 450.0], spread: 0.25 };

    /// The strong ladder, whose plan rises to 1.6 Mbit/s.
    pub const STRONG: Self = Self { levels: [274.0, 569.0, 985.0], spread: 0.6 };

    /// One whose highest level has this mean rate.
    pub fn of(kbps: f64) -> Self {
        Self { levels: [kbps / 4.0, kbps / 2.0, kbps], ..Self::MILD }
    }

    /// The player's: 18 s of the highest level.
    fn room(self) -> DataSize {
        DataSize::from_bytes((1e6 * self.levels[2] / Self::MILD.levels[2]) as u64)
    }
}

/// Movies of scenes of 3 to 10 s in groups whose first frame is large.
fn encode(movie: Movie) -> Ladder {
    let mut draws = Seed(5).stream("scenes", &[]);
    let mut scenes = vec![];
    while scenes.len() < FRAMES {
        let length = GROUP * (6 + (14.0 * draws.next_f64()) as usize);
        let scale = 1.0 - movie.spread + 2.0 * movie.spread * draws.next_f64();
        scenes.extend(std::iter::repeat_n(scale, length));
    }
    let of = |kbps: f64| {
        let mean = kbps * 1e3 / 8.0 * 1_001.0 / 24_000.0;
        // A first frame of three parts and eleven of one: 14 parts in a group of 12.
        let size = |frame: usize| mean * scenes[frame] * if frame.is_multiple_of(GROUP) { 36.0 } else { 12.0 } / 14.0;
        let sizes: Vec<u32> = (0..FRAMES).map(|frame| size(frame) as u32).collect();
        Level::of_sizes(FILM, GROUP, &sizes).expect("invariant: every size is above zero")
    };
    Ladder::new(movie.levels.map(of).into()).expect("invariant: the levels have the same frames")
}

#[derive(Clone, Copy, PartialEq)]
pub enum Control {
    Better,
    /// The same, with nothing sent again.
    Unrepeated,
    Paper,
    Tfrc,
    Fixed,
}

impl Control {
    /// Compared where it is asked for only.
    pub const UNREPEATED: &'static str = "without repeats";

    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Better, "better"),
        (Self::Unrepeated, Self::UNREPEATED),
        (Self::Paper, "paper"),
        (Self::Tfrc, "TFRC"),
        (Self::Fixed, "fixed"),
    ];

    /// The paper's client says nothing of its player.
    fn player(self, room: DataSize) -> Option<PlayerSettings> {
        let repeats = self == Self::Better;
        matches!(self, Self::Better | Self::Unrepeated).then_some(PlayerSettings {
            startup: STARTUP,
            buffer: room,
            repeats,
        })
    }

    fn controller(self, plan: Arc<dyn Plan>) -> Box<dyn Controller> {
        match self {
            Self::Better | Self::Unrepeated => Box::new(
                BetterController::new(BetterSettings::default(), Some(plan)).expect("invariant: the default is valid"),
            ),
            Self::Paper => {
                Box::new(VtpController::new(VtpSettings::paper()).expect("invariant: the paper's are valid"))
            }
            Self::Tfrc => Box::new(TfrcController::new(SenderSettings::default())),
            Self::Fixed => Box::new(FixedRate::new()),
        }
    }
}

fn stream(control: Control, movie: Movie) -> AdaptiveFlow {
    let ladder = encode(movie);
    let schedule = Schedule::new(&ladder, ScheduleSettings::PAPER).expect("invariant: no scene is that long");
    let plan: Arc<dyn Plan> = Arc::new(FramePlan::new(&schedule, ladder.duration()));
    let title = || Title::new("film").expect("invariant: it is short");
    let reports = match control {
        Control::Tfrc => ReportKind::Tfrc(ReceiverSettings::default()),
        _ => ReportKind::Control,
    };
    AdaptiveFlow {
        source: Arc::new(LadderSource::new(ladder, 1_000)),
        controller: control.controller(Arc::clone(&plan)),
        plan,
        server: ServerSettings {
            repeats: control == Control::Better,
            ..ServerSettings::paper(title(), Secret::new([7; 32]))
        },
        client: ClientSettings { reports, player: control.player(movie.room()), ..ClientSettings::paper(title(), 1) },
        playout_delay: STARTUP,
    }
}

/// A path and who else is on it.
pub struct Path {
    pub name: String,
    network: NetworkConfig,
    /// Mean rate in bits per second.
    rate: f64,
    rivals: usize,
    congestion: &'static str,
    movie: Movie,
}

impl Path {
    pub fn new(name: impl Into<String>, mbps: f64, loss: f64, queue: u32) -> Self {
        Self::delayed(name, mbps, 10, loss, queue)
    }

    /// The same with another round trip than 10 ms.
    pub fn delayed(name: impl Into<String>, mbps: f64, round_trip_ms: u64, loss: f64, queue: u32) -> Self {
        let loss = if loss > 0.0 { LossConfig::Bernoulli(Probability::clamped(loss)) } else { LossConfig::None };
        let rate = Bitrate::from_bps((mbps * 1e6) as u64);
        let network = bottleneck(rate, Duration::from_millis(round_trip_ms), loss, QueueLimit::Packets(queue));
        Self { name: name.into(), network, rate: mbps * 1e6, rivals: 0, congestion: "reno", movie: Movie::MILD }
    }

    pub fn among(self, rivals: usize, congestion: &'static str) -> Self {
        Self { rivals, congestion, ..self }
    }

    /// Another movie than the mild one.
    pub fn showing(self, movie: Movie) -> Self {
        Self { movie, ..self }
    }

    /// A recorded link with a queue of 250 packets and 40 ms there and back.
    pub fn recorded(name: &str, text: &str) -> Self {
        let trace = DeliveryTrace::parse(text).expect("a trace in Mahimahi's format");
        let rate = trace.mean_rate().as_bps() as f64;
        let queue = QueueLimit::Packets(250);
        let wire = WireConfig { trace: Some(trace), queue, delay: Duration::from_millis(20), ..WireConfig::default() };
        let network = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
        Self { name: name.to_owned(), network, rate, rivals: 0, congestion: "reno", movie: Movie::MILD }
    }

    pub fn run(&self, control: Control, seed: u64) -> StreamingOutcome {
        let mut experiment = StreamingExperiment::new(self.network.clone(), Seed(seed));
        let congestion = self.congestion.parse().expect("invariant: it is in the registry");
        experiment.flows = (0..self.rivals).map(|_| FlowConfig::at_once(BulkFlow::new(congestion))).collect();
        experiment.stagger(Duration::from_secs(2));
        experiment.flows.push(FlowConfig::at(START, FlowKind::from(stream(control, self.movie))));
        experiment.duration = LENGTH;
        experiment.run().expect("invariant: the network is valid")
    }
}

/// What a viewer gets, and what the others do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Of the frames that are shown in time.
    pub level: f64,
    pub switches: f64,
    /// Half seconds and more without a frame that can be shown.
    pub freezes: f64,
    /// Of all frames those that were whole in time.
    pub intact: f64,
    /// Those of them for which what they refer to was there too.
    pub shown: f64,
    /// Of the rate over the number of flows.
    pub share: f64,
    /// Of packets.
    pub loss: f64,
    pub delay: Duration,
}

impl Row {
    pub fn of(outcome: &StreamingOutcome, path: &Path) -> Self {
        let flow = outcome.flows.last().expect("invariant: the stream is the last flow");
        let KindOutcome::Adaptive(adaptive) = &flow.kind else {
            unreachable!("invariant: the stream is the last flow")
        };
        let intact: Vec<bool> = (0..FRAMES).map(|frame| adaptive.viewing.fate(frame) == Fate::Intact).collect();
        let shown: Vec<bool> = (0..FRAMES).map(|frame| is_shown(&adaptive.viewing, frame)).collect();
        let part = |frames: &[bool]| frames.iter().filter(|&&is| is).count() as f64 / FRAMES as f64;
        let level = |frame: usize| f64::from(adaptive.viewing.frames()[frame].level.unwrap_or(0));
        let levels: Vec<f64> = (0..FRAMES).filter(|&frame| intact[frame]).map(level).collect();
        let window = (adaptive.begin.unwrap_or(START), adaptive.end.unwrap_or(outcome.end));
        let fair = path.rate / (path.rivals + 1) as f64;
        Self {
            level: levels.iter().sum::<f64>() / levels.len().max(1) as f64,
            switches: f64::from(adaptive.level_changes),
            freezes: freezes(&shown) as f64,
            intact: part(&intact),
            shown: part(&shown),
            share: flow.received.throughput(window.0, window.1).as_bps() as f64 / fair,
            loss: 1.0 - flow.packets.delivered as f64 / flow.packets.sent.max(1) as f64,
            delay: flow.forward_delay,
        }
    }

    pub fn mean(rows: &[Self]) -> Self {
        let mean = |value: &dyn Fn(&Self) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
        Self {
            level: mean(&|row| row.level),
            switches: mean(&|row| row.switches),
            freezes: mean(&|row| row.freezes),
            intact: mean(&|row| row.intact),
            shown: mean(&|row| row.shown),
            share: mean(&|row| row.share),
            loss: mean(&|row| row.loss),
            delay: Duration::from_secs_f64(mean(&|row| row.delay.as_secs_f64())),
        }
    }
}

/// Whether a frame and all before it in its group were whole when it is due: each refers to the one before, and the first
/// to none. One that came too late to be shown itself can still be referred to.
fn is_shown(viewing: &Viewing, frame: usize) -> bool {
    let first = frame - frame % GROUP;
    let is_there = |due| (first..=frame).all(|frame| viewing.frames()[frame].complete.is_some_and(|at| at <= due));
    viewing.due(frame).is_some_and(is_there)
}

fn freezes(shown: &[bool]) -> usize {
    shown.split(|&shown| shown).filter(|gap| gap.len() >= GROUP).count()
}
