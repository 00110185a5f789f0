//! One run: the scenario's flows over the emulated world, from the plan to the run directory.

mod description;
mod events;
mod failure;
mod plan;
mod progress;
mod receiving;
mod results;
mod sending;
mod stop;
mod utc;
mod waiting;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use framewire_emu::{Bottleneck, Clock, Lane, LaneConfig, LaneRecord, LinkModel, WarmUp, World};
use framewire_probe::record::FlowStatus;
use framewire_scenario::{self as scenario, Scenario};
use framewire_session::FlowSetup;
use framewire_sockets::{TcpListener, TcpOptions};
use framewire_units::Timestamp;
use framewire_world::{FlowOutcome, SETTLING_AT_MOST, group_name, groups, network_model, port};

pub use self::events::{Event, emit};
pub use self::failure::Failure;
use self::plan::Plan;
use self::progress::ProgressMeter;
pub use self::progress::{FlowProgress, FlowState};
use self::receiving::{Receiving, ReceivingOutcome};
use self::results::RunOutcome;
use self::sending::{SendingOutcome, send};
pub use self::stop::StopFlag;
use self::stop::{install_signal_handlers, interruptions};
pub use self::waiting::sharpen_timers;
use crate::external::{self, ExternalFlow, User};

/// Exit code of a run that was interrupted and wrote what it had (128 + SIGINT, as shells do).
const INTERRUPTED: u8 = 130;

/// Time between two looks at signals and at the time limit.
const TICK: Duration = Duration::from_millis(50);

/// Every so many ticks a progress line per flow.
const TICKS_PER_REPORT: u32 = 4;

/// What the set-up of the world is given before the streams begin; measured: under 0.1 s per lane on two busy cores.
fn lead(lanes: usize) -> Duration {
    Duration::from_millis(500) + Duration::from_millis(300) * lanes as u32
}

/// Executes the plan. Returns the exit code: 0, or 130 when it was interrupted.
///
/// # Errors
/// When the plan, the movie or the machine does not allow a run, or its results cannot be written.
pub fn run(plan: &Path) -> Result<u8, Failure> {
    install_signal_handlers().map_err(|error| Failure::run(format!("signal handlers: {error}")))?;
    let plan = Plan::read(plan)?;
    if let Some(reason) = plan.scenario.needs_simulation() {
        return Err(Failure::input("scenario", reason));
    }
    external::check(&plan.scenario, &plan.directory)?;
    let user = User::current();
    let content = plan.load_content()?;
    let captures = plan.directory.join("captures");
    let received = plan.directory.join("received");
    for directory in [&captures, &received] {
        std::fs::create_dir_all(directory).map_err(|error| Failure::input(directory.display(), error))?;
    }
    let groups = groups(&plan.scenario);
    let setups = content.flow_setups(&plan.scenario).map_err(|error| Failure::input("scenario", error))?;
    let warm_up = external::lead(setups.iter().filter(|setup| setup.is_external()).count());
    let configs = lane_configs(&plan.scenario, &groups, &captures, warm_up)?;
    let networks_clock = Clock::starting_in(lead(groups.len()));
    let clock = networks_clock.later(warm_up);
    let world = World::start(configs, networks_clock)?;
    world.lane(0).in_sender(|| check_congestion_controls(&plan.scenario))??;
    set_default_congestion_controls(&plan.scenario, &groups, &world)?;
    let streaming = Streaming { plan: &plan, setups: &setups, groups: &groups, world: &world, clock, user };
    let (mut flows, limit_hit) = streaming.run(&received)?;
    let told = groups.iter().position(|group| group.iter().any(|&flow| setups[flow].is_external())).unwrap_or(0);
    let kernel = world.lane(told).in_sender(description::kernel_json)?;
    let lanes: Vec<LaneRecord> = world.stop()?.into_iter().map(|lane| lane.counted_from(warm_up)).collect();
    let setups = settle_external_flows(&plan.scenario, &groups, &setups, &mut flows, &lanes, &captures);
    let interrupted = interruptions() > 0;
    let outcome = RunOutcome { flows, lanes, clock, kernel, content: &content, interrupted, limit_hit };
    results::write(&plan, &groups, &setups, outcome)?;
    Ok(if interrupted { INTERRUPTED } else { 0 })
}

/// Asks the packets what the applications do not say: when frames were due that the lab did not offer, and why some did
/// not come. The lab's own flows stay as they are.
fn settle_external_flows(
    scenario: &Scenario,
    groups: &[Vec<usize>],
    setups: &[FlowSetup],
    flows: &mut [FlowOutcome],
    lanes: &[LaneRecord],
    captures: &Path,
) -> Vec<FlowSetup> {
    let mut settled = setups.to_vec();
    for (group, lane) in groups.iter().zip(lanes) {
        let capture = capture_file(captures, &group_name(scenario, group));
        for &flow in group.iter().filter(|&&flow| setups[flow].is_external()) {
            settled[flow] = external::timed(&setups[flow], lane, port(flow));
            external::explain(&settled[flow], &mut flows[flow], lane, &capture, port(flow));
        }
    }
    settled
}

/// Where the packets of the network called `name` are captured.
fn capture_file(captures: &Path, name: &str) -> PathBuf {
    captures.join(format!("{name}.pcapng"))
}

/// Refuses a congestion control that this kernel does not have, before anything is sent. It is tried on a socket inside
/// the sender's host: the kernel may load one that its list does not show yet, and who owns a host may choose there
/// what is not allowed outside.
fn check_congestion_controls(scenario: &Scenario) -> Result<(), Failure> {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    for flow in scenario.flows.iter().filter(|flow| flow.congestion.is_some()) {
        let options = TcpOptions { congestion: flow.congestion.clone(), ..TcpOptions::default() };
        TcpListener::bind(loopback, &options)
            .map_err(|error| Failure::machine(format!("flow {}: {error}", flow.name)))?;
    }
    Ok(())
}

/// Applications choose no congestion control as a rule, and the lab's own transports have CUBIC unless told otherwise: so
/// that like is compared with like, hosts of applications have theirs from the scenario and not from this machine.
fn set_default_congestion_controls(scenario: &Scenario, groups: &[Vec<usize>], world: &World) -> Result<(), Failure> {
    for (lane, group) in groups.iter().enumerate() {
        let flows = group.iter().map(|&flow| &scenario.flows[flow]);
        let mut applications = flows.filter(|flow| flow.transport == scenario::Transport::External);
        let Some(first) = applications.next() else { continue };
        if let Some(other) = applications.find(|flow| flow.congestion != first.congestion) {
            let reason = format!("applications that share hosts share it: flow {} has another one", first.name);
            return Err(Failure::input(format!("flow {}, congestion", other.name), reason));
        }
        if let Some(name) = &first.congestion {
            world.lane(lane).set_default_congestion_control(name)?;
        }
    }
    Ok(())
}

/// The networks of a run, which stand for `warm_up` before its origin.
fn lane_configs(
    scenario: &Scenario,
    groups: &[Vec<usize>],
    captures: &Path,
    warm_up: Duration,
) -> Result<Vec<LaneConfig>, Failure> {
    let bottleneck = match scenario.network.bottleneck {
        scenario::Bottleneck::LocalDevice => Bottleneck::Local,
        scenario::Bottleneck::Remote => Bottleneck::Remote,
    };
    let lane = |group: &Vec<usize>| {
        let flows: Vec<&scenario::Flow> = group.iter().map(|&flow| &scenario.flows[flow]).collect();
        let model = network_model(scenario, &flows).map_err(|error| Failure::input("scenario", error))?;
        let name = group_name(scenario, group);
        let model: Box<dyn LinkModel> = match warm_up {
            Duration::ZERO => Box::new(model),
            _ => Box::new(WarmUp::new(model, warm_up, external::idle_delay(&scenario.network))),
        };
        let mut config = LaneConfig::new(name.clone(), model, bottleneck);
        config.mtu = flows.iter().map(|flow| flow.mtu).max().unwrap_or(1_500);
        config.capture = Some(capture_file(captures, &name));
        Ok(config)
    };
    groups.iter().map(lane).collect()
}

struct Streaming<'a> {
    plan: &'a Plan,
    setups: &'a [FlowSetup],
    groups: &'a [Vec<usize>],
    world: &'a World,
    clock: Clock,
    /// Who applications run as.
    user: User,
}

impl Streaming<'_> {
    /// Streams all flows at once and returns what each recorded, in the order of the scenario, and whether the time
    /// limit ended the run.
    fn run(&self, received: &Path) -> Result<(Vec<FlowOutcome>, bool), Failure> {
        let stop = new_flag()?;
        let receivers = self.open_receivers(received)?;
        if self.clock.until_origin().is_none() {
            return Err(Failure::run(
                "setting up the networks took longer than it is given; the machine is overloaded",
            ));
        }
        let progress = |setup: &FlowSetup| Arc::new(FlowProgress::new(setup.is_external()));
        let progress: Vec<Arc<FlowProgress>> = self.setups.iter().map(progress).collect();
        self.announce();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (flow, receiving) in receivers.into_iter().enumerate() {
                let (stop, progress) = (stop.clone(), Arc::clone(&progress[flow]));
                threads.push(scope.spawn(move || match receiving {
                    Some(receiving) => self.stream(flow, receiving, &progress, &stop),
                    None => self.stream_external(flow, &progress, &stop),
                }));
            }
            let limit_hit = self.watch(&progress, &stop);
            let outcomes = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| Failure::run("a thread of the run panicked; please report this defect"))?
            });
            Ok((outcomes.collect::<Result<Vec<_>, Failure>>()?, limit_hit))
        })
    }

    fn lane_of(&self, flow: usize) -> Lane<'_> {
        let lane = self.groups.iter().position(|group| group.contains(&flow));
        self.world.lane(lane.expect("invariant: every flow is in a group"))
    }

    /// The lab's own receivers, listening; `None` for applications of the user's own, which open what they need.
    fn open_receivers(&self, received: &Path) -> Result<Vec<Option<Receiving>>, Failure> {
        let open = |(flow, setup): (usize, &FlowSetup)| {
            if setup.is_external() {
                return Ok(None);
            }
            let movie = received.join(format!("{}.m2v", setup.name()));
            self.lane_of(flow).in_receiver(|| Receiving::open(setup, port(flow), &movie))?.map(Some)
        };
        self.setups.iter().enumerate().map(open).collect()
    }

    /// Both sides of one flow, to the end.
    fn stream(
        &self,
        flow: usize,
        receiving: Receiving,
        progress: &FlowProgress,
        stop: &StopFlag,
    ) -> Result<FlowOutcome, Failure> {
        let (setup, clock, lane) = (&self.setups[flow], self.clock, self.lane_of(flow));
        let session = setup.sender().map_err(Failure::run)?;
        let end = new_flag()?;
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| receiving.run(clock, progress, &end));
            let sent = lane.in_sender(|| send(setup, session, port(flow), clock, progress, stop));
            // A stream that ended well tells its receiver so; a datagram flow, or one that was cut off, does not.
            let tells_its_end =
                setup.kind().is_stream() && matches!(&sent, Ok(sent) if sent.status == FlowStatus::Complete);
            if !tells_its_end {
                self.wait_until_settled(lane);
                end.raise();
            }
            let received =
                receiver.join().map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
            Ok(join(sent?, received))
        })
    }

    /// Both applications of one flow, to the end.
    fn stream_external(&self, flow: usize, progress: &FlowProgress, stop: &StopFlag) -> Result<FlowOutcome, Failure> {
        let lane = self.lane_of(flow);
        let external = ExternalFlow {
            setup: &self.setups[flow],
            port: port(flow),
            movie: &self.plan.movie,
            directory: &self.plan.directory,
            user: self.user,
            clock: self.clock,
            progress,
            stop,
        };
        external::stream(&external, lane, || self.wait_until_settled(lane))
    }

    /// Waits until nothing is under way any more.
    fn wait_until_settled(&self, lane: Lane<'_>) {
        let deadline = self.clock.now() + SETTLING_AT_MOST;
        loop {
            std::thread::sleep(TICK);
            let forward = lane.counters().forward;
            if forward.packets == forward.delivered + forward.dropped || self.clock.now() >= deadline {
                return;
            }
        }
    }

    fn announce(&self) {
        let plan = self.setups[0].plan();
        emit(&Event::Started {
            flows: self.setups.iter().map(FlowSetup::name).collect(),
            frames: plan.len(),
            movie_s: (plan.due(plan.len() - 1) + plan.frame_interval()).as_secs_f64(),
        });
    }

    /// Shows progress until every receiver has ended; raises `stop` on a signal or at the time limit.
    fn watch(&self, progress: &[Arc<FlowProgress>], stop: &StopFlag) -> bool {
        let frames = self.setups[0].plan().len();
        let mut meters: Vec<ProgressMeter> = progress.iter().map(|_| ProgressMeter::default()).collect();
        let limit = self.plan.scenario.limit.map(|limit| Timestamp::ZERO + limit);
        let mut limit_hit = false;
        for tick in 0.. {
            let done = progress.iter().all(|flow| flow.is_done());
            let now = self.clock.now();
            if tick % TICKS_PER_REPORT == 0 || done {
                for ((setup, progress), meter) in self.setups.iter().zip(progress).zip(&mut meters) {
                    meter.show(setup.name(), progress, frames, now);
                }
            }
            if done {
                break;
            }
            limit_hit |= limit.is_some_and(|limit| now >= limit);
            if limit_hit || interruptions() > 0 {
                stop.raise();
            }
            std::thread::sleep(TICK);
        }
        limit_hit
    }
}

fn new_flag() -> Result<StopFlag, Failure> {
    StopFlag::new().map_err(|error| Failure::run(format!("eventfd: {error}")))
}

fn join(sent: SendingOutcome, received: ReceivingOutcome) -> FlowOutcome {
    let status = match (sent.status, received.failure) {
        (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
        (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
        (status, None) => status,
    };
    FlowOutcome {
        sent: sent.log,
        samples: sent.samples,
        received: received.log,
        kept_bytes: received.kept_bytes,
        bulk: None,
        status,
        doubt: None,
    }
}
