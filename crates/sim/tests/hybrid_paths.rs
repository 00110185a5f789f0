//! What is compared over which paths: the movie, the rate controls, and what is counted.

use std::collections::BTreeMap;

use bytes::Bytes;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{self, StoredPlan};
use framewire_recording::ledger::{FrameRow, Ledger};
use framewire_recording::record::{FlowLog, RateSample};
use framewire_recording::summary::Summary;
use framewire_scenario::Scenario;
use framewire_sim::{Content, LadderContent, Options, Simulated, Simulation};
use framewire_units::{DataSize, Duration, Playout, Seed, Timestamp};

const FILM: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };
const GROUP: usize = 12;
/// Two minutes.
const FRAMES: usize = 240 * GROUP;
/// The connections are there first.
const START: Timestamp = Timestamp::from_secs(10);
/// The player.
const PLAYOUT: Playout = Playout::live(Duration::from_secs(1));

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
    Hybrid,
    /// The same, with nothing sent again.
    Unrepeated,
    Paper,
}

impl Control {
    /// The keys of its flow; the player of `movie` holds so much.
    fn flow(self, movie: Movie) -> String {
        let room = format!("player_buffer = \"{} B\"\n", movie.room().as_bytes());
        match self {
            Self::Hybrid => format!("transport = \"vtp-hybrid\"\n{room}"),
            Self::Unrepeated => format!("transport = \"vtp-hybrid\"\nrepeats = false\n{room}"),
            Self::Paper => "transport = \"vtp\"\n".to_owned(),
        }
    }
}

/// A path and the other flows on it.
pub struct Path {
    /// Keys of the wire.
    wire: String,
    /// Mean rate in bits per second.
    rate: f64,
    rivals: usize,
    congestion: &'static str,
    movie: Movie,
}

impl Path {
    pub fn new(mbps: f64, loss: f64, queue: u32) -> Self {
        Self::delayed(mbps, 10, loss, queue)
    }

    /// The same with another round trip than 10 ms.
    pub fn delayed(mbps: f64, round_trip_ms: u64, loss: f64, queue: u32) -> Self {
        let link = format!("rate = \"{} bit/s\"\nloss = \"{} %\"\n", (mbps * 1e6) as u64, 100.0 * loss);
        Self::of(&link, mbps * 1e6, round_trip_ms, queue)
    }

    fn of(link: &str, rate: f64, round_trip_ms: u64, queue: u32) -> Self {
        let wire = format!("{link}delay = \"{} us\"\nqueue = \"{queue} packets\"\n", 500 * round_trip_ms);
        Self { wire, rate, rivals: 0, congestion: "reno", movie: Movie::MILD }
    }

    pub fn among(self, rivals: usize, congestion: &'static str) -> Self {
        Self { rivals, congestion, ..self }
    }

    /// Another movie than the mild one.
    pub fn showing(self, movie: Movie) -> Self {
        Self { movie, ..self }
    }

    pub fn run(&self, control: Control, seed: u64) -> Simulated {
        let mut text = format!(
            "seed = {seed}\nlayout = \"together\"\nlimit = \"150 s\"\nmovie.ladder = \"film.vtp\"\n[network]\n\
             kind = \"wired\"\n[network.wire]\n{}[playout]\nstartup = \"1 s\"\n[[flow]]\nname = \"stream\"\n\
             start = \"10 s\"\n{}",
            self.wire,
            control.flow(self.movie)
        );
        if self.rivals > 0 {
            text += &format!(
                "[[flow]]\ntransport = \"bulk\"\nconnections = {}\ncongestion = \"{}\"\nstart_within = \"2 s\"\n",
                self.rivals, self.congestion
            );
        }
        let scenario = Scenario::parse(&text, &[]).expect("invariant: the scenario is valid");
        let content = Content::default().with_ladder("film.vtp", stored(&encode(self.movie)));
        let options = Options { rates: Some(Duration::from_millis(100)), ..Options::default() };
        Simulation::run(&scenario, &content, &options).expect("invariant: the network is valid")
    }
}

/// A movie as a streaming file with the paper's plan.
fn stored(ladder: &Ladder) -> LadderContent {
    let plan =
        StoredPlan::from(&Schedule::new(ladder, ScheduleSettings::PAPER).expect("invariant: no scene is that long"));
    let mut bytes = Vec::new();
    streaming_file::write(ladder, Some(&plan), 1_000, &mut bytes).expect("invariant: the memory takes it");
    LadderContent::open(Bytes::from(bytes)).expect("invariant: it was just written")
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
    pub fn of(simulated: &Simulated, path: &Path) -> Self {
        let log = &simulated.logs[0];
        let ledger = Ledger::build(log, PLAYOUT);
        let summary = Summary::build(&ledger, log, &PLAYOUT);
        let rows = ledger.rows.to_vec();
        let intact: Vec<bool> = rows.iter().map(|row| row.arrival.is_some() && row.arrival <= row.deadline).collect();
        let shown: Vec<bool> = (0..FRAMES).map(|frame| is_shown(&rows, frame)).collect();
        let part = |frames: &[bool]| frames.iter().filter(|&&is| is).count() as f64 / FRAMES as f64;
        let level = |frame: usize| f64::from(rows[frame].level.unwrap_or(0));
        let levels: Vec<f64> = (0..FRAMES).filter(|&frame| intact[frame]).map(level).collect();
        let fair = path.rate / (path.rivals + 1) as f64;
        Self {
            level: levels.iter().sum::<f64>() / levels.len().max(1) as f64,
            switches: summary.levels.map_or(0.0, |levels| f64::from(levels.switches)),
            freezes: freezes(&shown) as f64,
            intact: part(&intact),
            shown: part(&shown),
            share: rate(&simulated.rates[0], &rows) / fair,
            loss: f64::from(summary.packets_lost.unwrap_or(0)) / f64::from(summary.packets_sent.unwrap_or(0).max(1)),
            delay: mean_delay(log),
        }
    }
}

/// IP packets that came from the stream's first packet to its last, in bit/s.
fn rate(samples: &[RateSample], rows: &[FrameRow]) -> f64 {
    let begin = rows.iter().filter_map(|row| row.first_byte).min().unwrap_or(START);
    let end = rows.iter().filter_map(|row| row.last_byte.or(row.first_byte)).max().unwrap_or(START);
    let within: Vec<_> = samples.iter().filter(|sample| sample.at >= begin && sample.at <= end).collect();
    let (Some(first), Some(last)) = (within.first(), within.last()) else { return 0.0 };
    let seconds = last.at.saturating_since(first.at).as_secs_f64();
    if seconds > 0.0 { (last.received_packet_bytes - first.received_packet_bytes) as f64 * 8.0 / seconds } else { 0.0 }
}

/// Of the datagrams of video that came, the mean time from the server to the client.
fn mean_delay(log: &FlowLog) -> Duration {
    let sent: BTreeMap<u64, Timestamp> = log.datagrams_sent.iter().map(|sent| (sent.sequence, sent.at)).collect();
    let delays: Vec<Duration> =
        log.datagrams_received.iter().map(|came| came.at.saturating_since(sent[&came.sequence])).collect();
    delays.iter().sum::<Duration>() / delays.len().max(1) as u32
}

/// Whether a frame and all before it in its group were whole when it is due: each refers to the one before, and the first
/// to none. One that came too late to be shown itself can still be referred to.
fn is_shown(rows: &[FrameRow], frame: usize) -> bool {
    let first = frame - frame % GROUP;
    let is_there = |due| (first..=frame).all(|frame| rows[frame].arrival.is_some_and(|at| at <= due));
    rows[frame].deadline.is_some_and(is_there)
}

fn freezes(shown: &[bool]) -> usize {
    shown.split(|&shown| shown).filter(|gap| gap.len() >= GROUP).count()
}
