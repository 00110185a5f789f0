//! All flows of a run at once: who sends and receives each, and when it is over.

use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use framewire_emu::{Clock, Lane, World};
use framewire_kernel::FlowLateness;
use framewire_session::lifecycle::{BulkSending, FlowOutcome, Settling, UnderWay};
use framewire_session::{BulkSetup, Ends as At, ExternalSetup, FlowSetup};
use framewire_units::Timestamp;
use framewire_world::{Event, port, received_file, session_seed};

use super::bulk::{self, BulkPlan, BulkReceiving};
use super::ends::{Ends, OneFlow};
use super::plan::Plan;
use super::supervision::Watch;
use super::tables::LaneTables;
use crate::control::{Failure, FlowProgress, StopFlag, emit};
use crate::external::{self, ExternalFlow, User};

/// What a run streams, and where.
pub struct Streaming<'a> {
    /// What the program was asked to do.
    pub plan: &'a Plan,
    /// The flows, in the order of the scenario.
    pub setups: &'a [FlowSetup],
    /// Which of them share a lane.
    pub groups: &'a [Vec<usize>],
    /// The lanes.
    pub world: &'a World,
    /// The run's clock.
    pub clock: Clock,
    /// The user that applications run as.
    pub user: User,
    /// What is made of the lanes' logs meanwhile.
    pub tables: &'a [LaneTables],
}

/// What came of the streams.
pub struct Streamed {
    /// What each flow recorded, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// How late the threads of each flow were woken.
    pub lateness: Vec<FlowLateness>,
    /// The time limit ended them.
    pub limit_hit: bool,
    /// When they were stopped before their end, by the limit or by a signal.
    pub stopped: Option<Instant>,
    /// When they had to end: also at the limit of a run of nothing but bulk flows, which is their end.
    pub due: Option<Instant>,
}

/// What stands before the streams begin: sockets that listen, or that could be refused, are open.
enum Opened<'a> {
    /// Two halves over channels.
    Ends(Box<Ends>),
    Bulk(&'a BulkSetup, BulkPlan, BulkReceiving),
    /// Applications of the user's own open what they need.
    External(&'a ExternalSetup),
}

impl<'a> Streaming<'a> {
    /// Streams all flows at once. Movies as received go to files in `received`.
    ///
    /// # Errors
    /// When a flow cannot begin, or a thread of the run ends by a panic.
    pub fn run(&self, received: &Path) -> Result<Streamed, Failure> {
        let watch = Watch::new(self.setups, self.plan.scenario.limit)?;
        let (open, opening) = (|flow| self.open(flow, received), Instant::now());
        let opened = (0..self.setups.len()).map(open).collect::<Result<Vec<_>, _>>()?;
        if self.clock.until_origin().is_none() {
            return Err(Failure::run(format!(
                "the machine is overloaded: opening the sockets of the streams took {:.1} s, longer than was left until \
                 they were due to begin. Nothing is lost: try again when less runs beside it, or with --world simulated, \
                 which keeps no real time",
                opening.elapsed().as_secs_f64(),
            )));
        }
        self.announce();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (flow, opened) in opened.into_iter().enumerate() {
                let watch = &watch;
                threads.push(scope.spawn(move || {
                    let outcome = self.stream(flow, opened, watch);
                    if outcome.is_err() {
                        watch.give_up(flow);
                    }
                    outcome
                }));
            }
            let has_failed = || self.world.has_failed() || self.tables.iter().any(LaneTables::has_failed);
            let have_ended = || threads.iter().all(ScopedJoinHandle::is_finished);
            let limit_hit = watch.run(self.clock, has_failed, have_ended);
            let outcomes = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| Failure::run("a thread of the run panicked; please report this defect"))?
            });
            let flows = outcomes.collect::<Result<Vec<_>, Failure>>()?;
            let (lateness, stopped) = (watch.lateness(), watch.stop().raised_at());
            Ok(Streamed { flows, lateness, limit_hit, stopped, due: watch.due_at() })
        })
    }

    fn lane_of(&self, flow: usize) -> Lane<'_> {
        let lane = self.groups.iter().position(|group| group.contains(&flow));
        self.world.lane(lane.expect("invariant: every flow is in a group"))
    }

    fn open(&self, flow: usize, received: &Path) -> Result<Opened<'a>, Failure> {
        let (setup, lane) = (&self.setups[flow], self.lane_of(flow));
        match setup.ends() {
            At::Applications(setup) => Ok(Opened::External(setup)),
            At::Bulk(setup) => {
                let plan = BulkPlan::new(setup, port(flow));
                let receiving = lane.in_receiver(|| BulkReceiving::open(&plan))??;
                Ok(Opened::Bulk(setup, plan, receiving))
            }
            At::Halves(halves) => {
                let place = (port(flow), session_seed(&self.plan.scenario, flow));
                let ends = Ends::open((setup, halves), place, (lane, self.clock), received)?;
                Ok(Opened::Ends(Box::new(ends)))
            }
        }
    }

    /// Both sides of one flow, to the end.
    fn stream(&self, flow: usize, opened: Opened<'_>, watch: &Watch<'_>) -> Result<FlowOutcome, Failure> {
        let (lane, clock) = (self.lane_of(flow), self.clock);
        let (progress, stop) = (watch.progress(flow), watch.stop());
        match opened {
            Opened::Ends(ends) => {
                let of_ends = OneFlow { lane, clock, progress: &progress, stop };
                ends.stream(&of_ends, || self.wait_until_settled(lane, stop))
            }
            Opened::External(setup) => self.stream_external(flow, setup, &progress, stop),
            Opened::Bulk(setup, plan, receiving) => {
                let sending = BulkSending::new(setup.start, setup.stop, setup.common.samples());
                bulk::stream((&plan, sending), receiving, lane, clock, &progress, [watch.over(), stop])
            }
        }
    }

    /// Both applications of one flow, to the end.
    fn stream_external(
        &self,
        flow: usize,
        setup: &ExternalSetup,
        progress: &FlowProgress,
        stop: &StopFlag,
    ) -> Result<FlowOutcome, Failure> {
        let lane = self.lane_of(flow);
        let movie = self.plan.movie.as_deref().expect("invariant: a flow of applications was set up with a movie");
        let external = ExternalFlow {
            setup,
            received: received_file(&self.setups[flow]),
            port: port(flow),
            movie,
            source: self.plan.scenario.movie.original().unwrap_or(movie),
            directory: &self.plan.directory,
            user: self.user,
            clock: self.clock,
            progress,
            stop,
        };
        external::stream(&external, lane, || self.wait_until_settled(lane, stop))
    }

    /// Waits until nothing is under way any more of what is now: whatever other flows send after it does not matter.
    /// A run that is to end at once does not wait long.
    fn wait_until_settled(&self, lane: Lane<'_>, stop: &StopFlag) {
        let mut settling = Settling::from(self.clock.now());
        while !settling.has_ended(self.clock.now(), &InLane(lane)) {
            if stop.is_raised() {
                settling.hurry();
            }
            std::thread::sleep(settling.next_look().saturating_since(self.clock.now()));
        }
    }

    /// Of a run without a movie, its limit or the last stop stands for the movie's length.
    fn announce(&self) {
        let limit = self.plan.scenario.limit.map(|limit| Timestamp::ZERO + limit);
        let last = self.setups.iter().filter_map(FlowSetup::offered_until).max();
        let stops = || self.setups.iter().map(FlowSetup::stop).collect::<Option<Vec<_>>>()?.into_iter().max();
        let until = last.or_else(stops).or(limit).unwrap_or_default();
        emit(&Event::Started {
            flows: self.setups.iter().map(FlowSetup::name).collect(),
            frames: self.setups.iter().map(FlowSetup::frames).max().unwrap_or(0),
            movie_s: until.as_secs_f64(),
        });
    }
}

/// A lane, as far as it is asked what is under way in it.
struct InLane<'a>(Lane<'a>);

impl UnderWay for InLane<'_> {
    fn entered(&self) -> u64 {
        let counters = self.0.counters();
        counters.forward.packets + counters.backward.packets
    }

    fn has_settled(&self, packets: u64) -> bool {
        self.0.counters().settled >= packets
    }
}
