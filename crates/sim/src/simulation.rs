//! A scenario in virtual time: each of its networks is driven from event to event.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framewire_link::{BottleneckPlace, Port};
use framewire_recording::record::{FlowLog, RateSample};
use framewire_recording::{WriteError, check_records};
use framewire_scenario::Scenario;
use framewire_session::lifecycle::{FlowOutcome, MovieSink, ReceivedMovie};
use framewire_session::{FlowRecording, FlowSetup};
use framewire_units::{Duration, Seed, Timestamp};
use framewire_world::{Content, flow_log, groups, network_model, received_file, received_sound};

use crate::cancel::Cancel;
use crate::check::check_scenario;
use crate::error::SimError;
use crate::flow::Flow;
use crate::progress::{FlowProgress, Watch, Watched};
use crate::rates::RateRecorder;
use crate::record::{FlowWires, PacketRecorder, Recording};
use crate::wires::{WireEvent, Wires};

/// Steps between two looks whether the simulation was asked to end.
const STEPS_PER_LOOK: u32 = 8_192;

/// What is kept of a simulation beside the ledger.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keep the packet table. Summaries and ledgers are the same without it.
    pub packets: bool,
    /// Keep the samples of flows' states. Summaries are the same without them.
    pub samples: bool,
    /// Sample what has come of each connection so often; above zero. Nothing else depends on it.
    pub rates: Option<Duration>,
    /// Where the movies as received go.
    pub received: Received,
    /// Where records that are too many for the memory go while it runs, under no name; `None`: to the system's directory
    /// of temporary files.
    pub scratch: Option<Arc<Path>>,
    /// Ends the simulation early: what there is then is a partial result.
    pub cancel: Cancel,
    /// Is told now and then where the flows are.
    pub watch: Option<Watch>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            packets: false,
            samples: true,
            rates: None,
            received: Received::Nowhere,
            scratch: None,
            cancel: Cancel::new(),
            watch: None,
        }
    }
}

impl Options {
    fn recording(&self) -> FlowRecording {
        let recording = FlowRecording::in_directory(self.scratch.clone());
        if self.samples { recording } else { recording.without_samples() }
    }
}

/// Where the movies as received go.
#[derive(Clone, Debug, Default)]
pub enum Received {
    /// Nowhere.
    #[default]
    Nowhere,
    /// To memory.
    Memory,
    /// To `<flow>.m2v` in this directory, and the sound beside it.
    Directory(PathBuf),
}

/// What ended streams before their end. Where several networks ended early, the first of these is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EarlyEnd {
    /// The simulation was cancelled.
    Interrupted,
    /// The scenario's time limit came.
    TimeLimit,
}

impl EarlyEnd {
    /// Its name in `run.json`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::TimeLimit => "time limit",
        }
    }
}

/// A scenario that was simulated.
pub struct Simulated {
    /// The flows as they were set up, in the order of the scenario.
    pub setups: Vec<FlowSetup>,
    /// What describes each of them; their records are in `logs`.
    pub outcomes: Vec<FlowOutcome>,
    /// Everything recorded of each.
    pub logs: Vec<FlowLog>,
    /// What had come of each by equal times, where that was asked for; else nothing.
    pub rates: Vec<Vec<RateSample>>,
    /// The movie that each received, where it was kept in memory.
    pub movies: Vec<Vec<u8>>,
    /// What ended the streams; `None` when they ended by themselves.
    pub ended_by: Option<EarlyEnd>,
    /// Virtual time, all networks together.
    pub simulated: Duration,
    /// Packets that entered the networks.
    pub packets: u64,
}

/// Runs scenarios in virtual time.
#[derive(Debug)]
pub struct Simulation;

impl Simulation {
    /// Streams `content` as `scenario` says.
    ///
    /// # Errors
    /// When the scenario asks for what cannot be simulated or sends what is not in `content`, the movie's file changed
    /// meanwhile, or a received movie or what is recorded cannot be written to its file.
    pub fn run(scenario: &Scenario, content: &Content, options: &Options) -> Result<Simulated, SimError> {
        check_scenario(scenario)?;
        if options.rates.is_some_and(|interval| interval.is_zero()) {
            return Err(SimError::Input("rates = 0 s: a time above zero is needed".to_owned()));
        }
        let setups = content.flow_setups(scenario).map_err(|error| SimError::Input(error.to_string()))?;
        let recording = options.recording();
        let setups: Vec<FlowSetup> = setups.into_iter().map(|setup| setup.recorded(recording.clone())).collect();
        let mut ended: Vec<Option<Ended>> = setups.iter().map(|_| None).collect();
        let (mut simulated, mut packets, mut ended_by) = (Duration::ZERO, 0, None);
        let is_bulk = |group: &Vec<usize>| group.iter().all(|&flow| setups[flow].is_bulk());
        let (bulk, streams): (Vec<_>, Vec<_>) = groups(scenario).into_iter().partition(is_bulk);
        // Networks of bulk flows alone last as long as the streams in the others.
        let planned = Timestamp::ZERO + scenario.limit.unwrap_or_default();
        let mut end = if streams.is_empty() { planned } else { Timestamp::ZERO };
        for group in streams.into_iter().chain(bulk) {
            let mut run = GroupRun::new(scenario, &setups, &group, options)?;
            run.run(&options.cancel, end);
            if !run.is_bulk() {
                end = end.max(run.now);
            }
            simulated += run.now.saturating_since(Timestamp::ZERO);
            packets += run.wires.recorder.packets();
            ended_by = ended_by.into_iter().chain(run.ended_by).min();
            for (flow, end) in run.into_ended() {
                ended[flow] = Some(end);
            }
        }
        content.check().map_err(|error| SimError::Input(error.to_string()))?;
        let mut result = Simulated {
            outcomes: Vec::new(),
            logs: Vec::new(),
            rates: Vec::new(),
            movies: Vec::new(),
            ended_by,
            simulated,
            packets,
            setups,
        };
        for (setup, ended) in result.setups.iter().zip(ended) {
            let Ended { mut outcome, tables, air, rates, movie } = ended.expect("invariant: every flow is in a group");
            result.logs.push(FlowLog { air, ..flow_log(setup, &mut outcome, tables) });
            result.outcomes.push(outcome);
            result.rates.push(rates);
            result.movies.push(movie);
        }
        check_records(&result.logs)?;
        Ok(result)
    }
}

/// What a flow leaves behind.
struct Ended {
    outcome: FlowOutcome,
    tables: framewire_world::FlowPackets,
    air: Option<framewire_recording::record::AirCounts>,
    rates: Vec<RateSample>,
    movie: Vec<u8>,
}

/// One network and its flows.
struct GroupRun {
    wires: FlowWires,
    /// Numbers of the flows in the scenario.
    numbers: Vec<usize>,
    /// The flows, in the same order.
    flows: Vec<Flow>,
    /// By number in the scenario, the place in `flows`.
    places: Vec<usize>,
    rates: Option<RateRecorder>,
    watched: Option<Watched>,
    seed: Seed,
    limit: Timestamp,
    now: Timestamp,
    ended_by: Option<EarlyEnd>,
}

impl GroupRun {
    fn new(scenario: &Scenario, setups: &[FlowSetup], group: &[usize], options: &Options) -> Result<Self, SimError> {
        let settings: Vec<_> = group.iter().map(|&flow| &scenario.flows[flow]).collect();
        let mut network = network_model(scenario, &settings).map_err(|error| SimError::Input(error.to_string()))?;
        let local = scenario.network.bottleneck == BottleneckPlace::LocalDevice;
        // The transmissions of a sending interface are counted also where no packet table is kept.
        let deliveries = options.packets || local || scenario.network.wifi.is_some();
        network.record_deliveries(deliveries);
        let largest_packet = settings.iter().map(|flow| flow.mtu).max().unwrap_or(1_500);
        let mut places = vec![0; scenario.flows.len()];
        let mut flows = Vec::new();
        for (place, &number) in group.iter().enumerate() {
            places[number] = place;
            let setup = &setups[number];
            let sound = sound_sink(&options.received, setup)?;
            let received = [sink(&options.received, setup)?, sound].map(ReceivedMovie::new);
            flows.push(Flow::new(scenario, setup, number, largest_packet, received)?);
        }
        let recording = Recording {
            keep_all: options.packets,
            deliveries,
            sniffed: scenario.network.wifi.as_ref().is_some_and(|wifi| wifi.sniffer.is_some()),
            scratch: options.scratch.clone(),
        };
        let recorder = PacketRecorder::new(recording, setups.iter().map(FlowSetup::channels).collect());
        Ok(Self {
            wires: Wires::new(network, local, recorder),
            numbers: group.to_vec(),
            rates: options.rates.map(|interval| RateRecorder::new(interval, flows.len())),
            watched: options
                .watch
                .clone()
                .map(|watch| Watched::new(watch, group.iter().map(|&flow| setups[flow].frames()))),
            flows,
            places,
            seed: scenario.seed(),
            limit: Timestamp::ZERO + scenario.limit.unwrap_or_else(|| default_limit(setups)),
            now: Timestamp::ZERO,
            ended_by: None,
        })
    }

    /// True where no flow ends by itself.
    fn is_bulk(&self) -> bool {
        self.flows.iter().all(Flow::is_bulk)
    }

    /// Steps from event to event until every receiver has ended; where there are only bulk flows, until `end`. Bulk flows
    /// end with the run.
    fn run(&mut self, cancel: &Cancel, end: Timestamp) {
        let end = if self.is_bulk() { end } else { Timestamp::MAX };
        self.drive(cancel, end);
        self.sample_rates();
        for flow in self.flows.iter_mut().filter(|flow| flow.is_bulk()) {
            flow.stop(self.now, false, &mut self.wires);
        }
        self.tell();
    }

    fn drive(&mut self, cancel: &Cancel, end: Timestamp) {
        let mut steps = 0u32;
        let bulk = self.is_bulk();
        while self.flows.iter().any(|flow| (bulk || !flow.is_bulk()) && !flow.is_done()) {
            let own = self.flows.iter().map(Flow::deadline).min().unwrap_or(Timestamp::MAX);
            let limit = if self.ended_by.is_none() && !bulk { self.limit } else { end };
            let next = self.wires.next().unwrap_or(Timestamp::MAX).min(own).min(limit);
            if next == Timestamp::MAX {
                return;
            }
            let next = self.rates.as_ref().map_or(next, |rates| next.min(rates.next()));
            self.now = self.now.max(next);
            if self.now >= end {
                return;
            }
            self.step();
            if self.rates.as_ref().is_some_and(|rates| rates.next() <= self.now) {
                self.sample_rates();
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_PER_LOOK) {
                self.tell();
            }
            if self.ended_by.is_none() {
                if self.now >= self.limit && !bulk {
                    self.stop(EarlyEnd::TimeLimit);
                } else if steps.is_multiple_of(STEPS_PER_LOOK) && (cancel.is_raised() || self.has_lost_records()) {
                    self.stop(EarlyEnd::Interrupted);
                }
            }
        }
    }

    /// Tells the watch, if there is one, where the flows are.
    fn tell(&self) {
        let Some(watched) = &self.watched else { return };
        let flows = self.numbers.iter().zip(&self.flows);
        watched.tell(flows.map(|(&number, flow)| FlowProgress { flow: number, at: self.now, ..flow.progress() }));
    }

    /// True where the disk did not take what was recorded: there is no result any more.
    fn has_lost_records(&self) -> bool {
        self.wires.recorder.failure().is_some()
    }

    /// Everything that is due now: first the network, then what flows do by themselves.
    fn step(&mut self) {
        let now = self.now;
        self.wires.settle(now);
        while let Some(event) = self.wires.poll(now) {
            match event {
                WireEvent::Released(id) => {
                    let cargo = self.wires.cargo(id);
                    let (flow, connection, payload) = (usize::from(cargo.flow), cargo.connection, cargo.payload);
                    self.wires.finish_release(id);
                    self.flows[self.places[flow]].handle_released(now, connection, payload, &mut self.wires);
                }
                WireEvent::Delivered(id, to) => {
                    let cargo = self.wires.cargo(id);
                    let (flow, connection) = (usize::from(cargo.flow), cargo.connection);
                    if let Some(rates) = self.rates.as_mut().filter(|_| to == Port::Receiver)
                        && let Some(counted) = self.flows[self.places[flow]].counted_as(connection)
                    {
                        rates.handle_packet(self.places[flow], counted, cargo.packet_size().as_bytes());
                    }
                    if let Some(watched) = self.watched.as_mut().filter(|_| to == Port::Receiver) {
                        watched.handle_packet(self.places[flow], cargo.payload);
                    }
                    let body = cargo.take_body();
                    self.wires.finish(id);
                    self.flows[self.places[flow]].handle_delivery(now, to, connection, body, &mut self.wires);
                }
            }
        }
        let due = self.flows.iter().filter(|flow| flow.deadline() <= now).take(2).count();
        if due == 0 {
            return;
        }
        let count = self.flows.len();
        let first = if due > 1 { self.first_flow() } else { 0 };
        for flow in (first..count).chain(0..first) {
            if self.flows[flow].deadline() <= now {
                self.flows[flow].advance(now, &mut self.wires);
            }
        }
    }

    /// Notes what has come of each connection, where that is asked for and was not noted yet.
    fn sample_rates(&mut self) {
        let Some(rates) = self.rates.as_mut().filter(|rates| !rates.has_looked(self.now)) else { return };
        for (place, flow) in self.flows.iter().enumerate() {
            rates.take(place, flow.rates(self.now));
        }
        rates.advance(self.now);
    }

    /// The flow that acts first now. Frame clocks tick together: were it always the same flow, it alone would find room in a queue
    /// that all share. On a real host the scheduler decides.
    fn first_flow(&self) -> usize {
        let last = self.flows.len() as u32 - 1;
        self.seed.stream("first flow", &[self.now.as_nanos()]).next_inclusive(last) as usize
    }

    /// Ends the streams of all flows that have not ended.
    fn stop(&mut self, why: EarlyEnd) {
        if self.flows.iter().all(Flow::is_done) {
            return;
        }
        self.ended_by = Some(why);
        for flow in &mut self.flows {
            flow.stop(self.now, why == EarlyEnd::Interrupted, &mut self.wires);
        }
    }

    fn into_ended(self) -> Vec<(usize, Ended)> {
        let mut tables: Vec<_> = self.wires.recorder.into_tables().into_iter().map(Some).collect();
        let mut rates = self.rates.map_or_else(Vec::new, RateRecorder::into_samples).into_iter();
        let ended = self.numbers.into_iter().zip(self.flows).map(|(number, flow)| {
            let (outcome, movie) = flow.into_outcome();
            let (tables, air) = tables[number].take().expect("invariant: a flow is in one group, once");
            (number, Ended { outcome, tables, air, rates: rates.next().unwrap_or_default(), movie })
        });
        ended.collect()
    }
}

/// The limit of a scenario that was resolved before the length of its movie was known.
fn default_limit(setups: &[FlowSetup]) -> Duration {
    let last = setups.iter().filter_map(FlowSetup::offered_until).max().unwrap_or_default();
    Scenario::default_limit(last.saturating_since(Timestamp::ZERO))
}

fn sink(received: &Received, setup: &FlowSetup) -> Result<MovieSink, SimError> {
    match received {
        Received::Directory(directory) if !setup.is_bulk() => file_sink(directory.join(received_file(setup))),
        Received::Memory => Ok(MovieSink::Memory(Vec::new())),
        Received::Directory(_) | Received::Nowhere => Ok(MovieSink::Nowhere),
    }
}

/// Sound as received goes to files alone.
fn sound_sink(received: &Received, setup: &FlowSetup) -> Result<MovieSink, SimError> {
    match (received, received_sound(setup)) {
        (Received::Directory(directory), Some(name)) => file_sink(directory.join(name)),
        _ => Ok(MovieSink::Nowhere),
    }
}

fn file_sink(path: PathBuf) -> Result<MovieSink, SimError> {
    match File::create(&path) {
        Ok(file) => Ok(MovieSink::Writer(Box::new(BufWriter::new(file)))),
        Err(error) => Err(WriteError::new(path, &error).into()),
    }
}
