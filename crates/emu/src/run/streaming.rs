//! All flows of a run at once: who sends and receives each, and when it is over.

use std::path::Path;
use std::time::{Duration, Instant};

use framewire_emu::{Clock, Lane, World};
use framewire_recording::record::FlowStatus;
use framewire_session::{
    AdaptiveSetup, BulkSetup, DatagramSetup, ExternalSetup, FlowSetup, ReceiverLog, SenderLog, SenderSession,
    StreamSetup,
};
use framewire_sockets::OpenError;
use framewire_units::Timestamp;
use framewire_world::{FlowOutcome, SETTLING_AT_MOST, port, session_seed};

use super::adaptive::{self, AdaptiveFlow, Ends};
use super::bulk::{self, BulkPlan, BulkReceiving};
use super::events::{Event, emit};
use super::failure::Failure;
use super::plan::Plan;
use super::progress::FlowProgress;
use super::receiving::{Receiving, ReceivingOutcome};
use super::sending::{SendingOutcome, Socket, send};
use super::stop::StopFlag;
use super::supervision::Watch;
use super::tables::LaneTables;
use super::wake_lateness::FlowLateness;
use crate::external::{self, ExternalFlow, User};

/// Time between two looks at what happens.
pub const TICK: Duration = Duration::from_millis(50);

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
    /// Who applications run as.
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

/// What stands before the streams begin: the lab's own receivers listen, and sockets that could be refused are open.
enum Opened<'a> {
    Datagram(&'a DatagramSetup, Box<Receiving>),
    Stream(&'a StreamSetup, Box<Receiving>),
    Adaptive(&'a AdaptiveSetup, Ends),
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
        let open = |flow| self.open(flow, received);
        let opened = (0..self.setups.len()).map(open).collect::<Result<Vec<_>, _>>()?;
        if self.clock.until_origin().is_none() {
            return Err(Failure::run(
                "setting up the networks took longer than it is given; the machine is overloaded",
            ));
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
            let limit_hit =
                watch.run(self.clock, || self.world.has_failed() || self.tables.iter().any(LaneTables::has_failed));
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
        let movie = received.join(framewire_world::received_file(setup));
        Ok(match setup {
            FlowSetup::External(setup) => Opened::External(setup),
            FlowSetup::Datagram(setup) => {
                let receiving = lane.in_receiver(|| Receiving::of_datagrams(setup, port(flow), &movie))??;
                Opened::Datagram(setup, Box::new(receiving))
            }
            FlowSetup::Stream(setup) => {
                let receiving = lane.in_receiver(|| Receiving::of_stream(setup, port(flow), &movie))??;
                Opened::Stream(setup, Box::new(receiving))
            }
            FlowSetup::Adaptive(setup) => {
                Opened::Adaptive(setup, Ends::open(setup, port(flow), lane, self.clock, &movie)?)
            }
            FlowSetup::Bulk(setup) => {
                let plan = BulkPlan::new(setup, port(flow));
                let receiving = lane.in_receiver(|| BulkReceiving::open(&plan))??;
                Opened::Bulk(setup, plan, receiving)
            }
        })
    }

    /// Both sides of one flow, to the end.
    fn stream(&self, flow: usize, opened: Opened<'_>, watch: &Watch<'_>) -> Result<FlowOutcome, Failure> {
        let (lane, clock) = (self.lane_of(flow), self.clock);
        let (progress, stop) = (watch.progress(flow), watch.stop());
        match opened {
            Opened::Datagram(setup, receiving) => {
                let sender = setup.sender().map_err(Failure::run)?;
                let socket = || Socket::of_datagrams(setup, port(flow));
                self.stream_movie(flow, (sender, socket), (*receiving, false), &progress, stop)
            }
            Opened::Stream(setup, receiving) => {
                let socket = || Socket::of_stream(setup, port(flow));
                self.stream_movie(flow, (setup.sender(), socket), (*receiving, true), &progress, stop)
            }
            Opened::External(setup) => self.stream_external(flow, setup, &progress, stop),
            Opened::Adaptive(setup, ends) => {
                let seed = session_seed(&self.plan.scenario, flow);
                let flow = AdaptiveFlow { setup, seed, port: port(flow), clock, progress: &progress, stop };
                adaptive::stream(&flow, ends)
            }
            Opened::Bulk(setup, plan, receiving) => {
                let outcome = bulk::stream(&plan, receiving, lane, clock, &progress, [watch.over(), stop])?;
                Ok(FlowOutcome {
                    sent: SenderLog::default(),
                    samples: setup.common.recorded(outcome.samples),
                    received: ReceiverLog::default(),
                    kept_bytes: 0,
                    bulk: Some(outcome.totals),
                    status: outcome.status,
                    doubt: None,
                })
            }
        }
    }

    fn stream_movie(
        &self,
        flow: usize,
        (session, socket): (SenderSession, impl FnOnce() -> Result<Socket, OpenError> + Send),
        (receiving, is_stream): (Receiving, bool),
        progress: &FlowProgress,
        stop: &StopFlag,
    ) -> Result<FlowOutcome, Failure> {
        let (setup, clock, lane) = (&self.setups[flow], self.clock, self.lane_of(flow));
        let end = StopFlag::new()?;
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| receiving.run(clock, progress, &end));
            let sent = lane.in_sender(|| send(session, socket, clock, progress, stop));
            // A stream that ended well tells its receiver so; a datagram flow, or one that was cut off, does not.
            let tells_its_end = is_stream && matches!(&sent, Ok(sent) if sent.status == FlowStatus::Complete);
            if !tells_its_end {
                self.wait_until_settled(lane, stop);
                end.raise();
            }
            let received =
                receiver.join().map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
            let sent = sent?;
            let received = received.finish(&sent.log);
            Ok(join(setup, sent, received))
        })
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
            received: framewire_world::received_file(&self.setups[flow]),
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
        /// Longer than most networks delay a packet; what is under way for longer is recorded as cut off.
        const AT_ONCE: Duration = Duration::from_millis(300);
        let began = self.clock.now();
        let most = || if stop.is_raised() { AT_ONCE } else { SETTLING_AT_MOST };
        std::thread::sleep(TICK); // what was sent last has come into the network
        let counters = lane.counters();
        let packets = counters.forward.packets + counters.backward.packets;
        while lane.counters().settled < packets && self.clock.now() < began + most() {
            std::thread::sleep(TICK);
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

fn join(setup: &FlowSetup, sent: SendingOutcome, received: ReceivingOutcome) -> FlowOutcome {
    let status = match (sent.status, received.failure) {
        (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
        (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
        (status, None) => status,
    };
    FlowOutcome {
        sent: sent.log,
        samples: setup.common().recorded(sent.samples),
        received: received.log,
        kept_bytes: received.kept_bytes,
        bulk: None,
        status,
        doubt: None,
    }
}
