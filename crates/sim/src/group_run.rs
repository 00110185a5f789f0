//! One network and its flows, driven from event to event.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use framewire_link::NodeId;
use framewire_recording::WriteError;
use framewire_recording::record::{AirCounts, RateSample};
use framewire_scenario::Scenario;
use framewire_session::FlowSetup;
use framewire_session::half::End;
use framewire_session::lifecycle::{FlowOutcome, MovieSink, ReceivedMovie};
use framewire_units::{Duration, Seed, Timestamp};
use framewire_world::{FlowPackets, HopNames, network_model, received_file, received_sound};

use crate::cancel::Cancel;
use crate::error::SimError;
use crate::flow::Flow;
use crate::progress::{FlowProgress, Watched};
use crate::rates::RateRecorder;
use crate::record::{FlowWires, PacketRecorder, Recording};
use crate::simulation::{EarlyEnd, Options, Received};
use crate::wires::{FlowPath, WireEvent, Wires};

/// Steps between two looks whether the simulation was asked to end.
const STEPS_PER_LOOK: u32 = 8_192;

/// What a flow leaves behind.
pub(crate) struct Ended {
    pub(crate) outcome: FlowOutcome,
    pub(crate) tables: FlowPackets,
    pub(crate) air: Option<AirCounts>,
    pub(crate) rates: Vec<RateSample>,
    pub(crate) movie: Vec<u8>,
}

/// One network and its flows.
pub(crate) struct GroupRun {
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
    pub(crate) fn new(
        scenario: &Scenario,
        setups: &[FlowSetup],
        group: &[usize],
        options: &Options,
    ) -> Result<Self, SimError> {
        let settings: Vec<_> = group.iter().map(|&flow| &scenario.flows[flow]).collect();
        let mut network = network_model(scenario, &settings).map_err(|error| SimError::Input(error.to_string()))?;
        let paths = flow_paths(scenario, &settings);
        let local = paths.iter().any(|path| path.is_local);
        // The transmissions of a sending interface are counted also where no packet table is kept.
        let deliveries = options.packets || local || scenario.network.wireless().next().is_some();
        network.record_deliveries(deliveries);
        let largest_packet = settings.iter().map(|flow| flow.mtu).max().unwrap_or(1_500);
        let mut places = vec![0; scenario.flows.len()];
        let mut flows = Vec::new();
        for (place, &number) in group.iter().enumerate() {
            places[number] = place;
            let setup = &setups[number];
            let sound = sound_sink(&options.received, setup)?;
            let received = [sink(&options.received, setup)?, sound].map(ReceivedMovie::new);
            flows.push(Flow::new(scenario, setup, (number, paths[place]), largest_packet, received)?);
        }
        let recording = Recording {
            keep_all: options.packets,
            deliveries,
            sniffed: scenario.network.wireless().any(|wifi| wifi.sniffer.is_some()),
            scratch: options.scratch.clone(),
            hops: HopNames::of(scenario),
        };
        let recorder = PacketRecorder::new(
            recording,
            setups.iter().map(|setup| (setup.channels(), setup.first_sequences())).collect(),
        );
        Ok(Self {
            wires: Wires::new(network, recorder),
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

    /// How long it has run so far, in virtual time.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Packets that entered the network.
    pub(crate) fn packets(&self) -> u64 {
        self.wires.recorder.packets()
    }

    /// What ended its streams before their end.
    pub(crate) fn ended_by(&self) -> Option<EarlyEnd> {
        self.ended_by
    }

    /// True where no flow ends by itself.
    pub(crate) fn is_bulk(&self) -> bool {
        self.flows.iter().all(Flow::is_bulk)
    }

    /// Steps from event to event until every receiver has ended; where there are only bulk flows, until `end`. Bulk flows
    /// end with the run.
    pub(crate) fn run(&mut self, cancel: &Cancel, end: Timestamp) {
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
                    let content = self.wires.content(id);
                    let (flow, connection, payload) = (usize::from(content.flow), content.connection, content.payload);
                    self.wires.finish_release(id);
                    self.flows[self.places[flow]].handle_released(now, connection, payload, &mut self.wires);
                }
                WireEvent::Delivered(id, to) => {
                    let content = self.wires.content(id);
                    let (flow, connection) = (usize::from(content.flow), content.connection);
                    if let Some(rates) = self.rates.as_mut().filter(|_| to == End::Receiver)
                        && let Some(counted) = self.flows[self.places[flow]].counted_as(connection)
                    {
                        rates.handle_packet(self.places[flow], counted, content.packet_size().as_bytes());
                    }
                    if let Some(watched) = self.watched.as_mut().filter(|_| to == End::Receiver) {
                        watched.handle_packet(self.places[flow], content.payload);
                    }
                    let body = content.take_body();
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

    pub(crate) fn into_ended(self) -> Vec<(usize, Ended)> {
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

/// Between which nodes the packets of these flows travel.
fn flow_paths(scenario: &Scenario, flows: &[&framewire_scenario::Flow]) -> Vec<FlowPath> {
    let path = |flow: &&framewire_scenario::Flow| {
        let is_local = scenario.network.holds_packets_of(flow.from.as_deref());
        let Some(graph) = scenario.network.as_graph() else {
            let sender = NodeId::station(u16::from(flow.station));
            return FlowPath { sender, receiver: NodeId::RECEIVER, is_local };
        };
        let node = |name: &Option<String>| {
            let number = name.as_deref().and_then(|name| graph.number_of(name));
            NodeId(number.expect("invariant: a flow of a graph goes from a node to another"))
        };
        FlowPath { sender: node(&flow.from), receiver: node(&flow.to), is_local }
    };
    flows.iter().map(path).collect()
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
