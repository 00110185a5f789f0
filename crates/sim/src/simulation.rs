//! A scenario in virtual time: each of its networks is driven from event to event.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use framewire_recording::check_records;
use framewire_recording::record::{FlowLog, RateSample};
use framewire_scenario::Scenario;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{FlowRecording, FlowSetup};
use framewire_units::{Duration, Timestamp};
use framewire_world::{Content, flow_log, groups};

use crate::cancel::Cancel;
use crate::check::check_scenario;
use crate::error::SimError;
use crate::group_run::{Ended, GroupRun};
use crate::progress::Watch;

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
                end = end.max(run.now());
            }
            simulated += run.now().saturating_since(Timestamp::ZERO);
            packets += run.packets();
            ended_by = ended_by.into_iter().chain(run.ended_by()).min();
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
