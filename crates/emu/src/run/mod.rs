//! One run: the scenario's flows over the emulated world, from the plan to the run directory.

mod bulk;
mod captures;
mod congestion;
mod description;
mod ends;
mod plan;
mod results;
mod sockets;
mod streaming;
mod supervision;
mod tables;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use framewire_emu::{Clock, Kept, LaneConfig, LaneRecord, LinkModel, LogFollower, WarmUp, World, follow_log};
use framewire_scenario::{self as scenario, Captures, Scenario};
use framewire_session::{FlowRecording, FlowSetup};
use framewire_world::{group_name, groups, network_model};
use serde_json::{Map, Value};

use self::captures::{Captured, has_applications};
use self::congestion::CongestionControls;
use self::plan::Plan;
use self::results::RunOutcome;
use self::streaming::{Streamed, Streaming};
use self::tables::{FlowTables, LaneSource, LaneTables};
use crate::control::{Failure, StopDeadline, die_with_parent, install_signal_handlers, interruptions};
use crate::external::{self, User};

/// Exit code of a run that was interrupted and wrote what it had (128 + SIGINT, as shells do).
const INTERRUPTED: u8 = 130;

/// What is left of the set-up once the networks stand is given this before the streams begin: sockets and captures,
/// under 0.1 s per lane on two busy cores. Where the networks took longer than that, the machine is busy, and what is
/// left gets twice as long as they took.
fn start_delay(lanes: usize, networks_took: Duration) -> Duration {
    /// A longer run is not waited for; and what has not come to its end by then will hardly hold its times.
    const LONGEST: Duration = Duration::from_secs(60);
    let at_rest = Duration::from_millis(500) + Duration::from_millis(300) * lanes as u32;
    at_rest.max((2 * networks_took).min(LONGEST))
}

/// Executes the plan, and ends with the process that started this one: `parent`, where that one says who it is. Returns
/// the exit code: 0, or 130 when it was interrupted.
///
/// # Errors
/// When the plan, the movie or the machine does not allow a run, or its results cannot be written.
pub fn run(plan: &Path, parent: Option<i32>) -> Result<u8, Failure> {
    die_with_parent(parent)?;
    install_signal_handlers().map_err(|error| Failure::run(format!("signal handlers: {error}")))?;
    let plan = Plan::read(plan)?;
    if let Some(reason) = plan.scenario.needs_simulation() {
        return Err(Failure::input("scenario", reason));
    }
    external::check(&plan.scenario, &plan.directory)?;
    let controls = CongestionControls::provide(&plan.scenario)?;
    let scenario = controls.named(&plan.scenario);
    let user = User::current();
    let content = plan.load_content()?;
    let captures = plan.directory.join("captures");
    let received = plan.directory.join("received");
    for directory in [&captures, &received] {
        std::fs::create_dir_all(directory).map_err(|error| Failure::input(directory.display(), error))?;
    }
    let groups = groups(&plan.scenario);
    let setups = content.flow_setups(&scenario).map_err(|error| Failure::input("scenario", error))?;
    let scratch: Arc<Path> = Arc::from(&*plan.directory);
    let recording = FlowRecording::in_directory(Some(Arc::clone(&scratch))).in_real_time();
    let setups: Vec<FlowSetup> = setups.into_iter().map(|setup| setup.recorded(recording.clone())).collect();
    let warm_up = external::start_delay(setups.iter().filter(|setup| setup.is_external()).count());
    let mut configs = lane_configs(&plan, &groups, &captures, warm_up)?;
    let stop_deadline = StopDeadline::new();
    let logs = follow_logs(&mut configs);
    let world = World::start_counting(configs, |took| Clock::starting_in(start_delay(groups.len(), took)))?;
    let clock = world.clock().later(warm_up);
    let tables = logs.into_iter().zip(&groups).map(|(log, group)| {
        let (scratch, stop_deadline) = (Arc::clone(&scratch), stop_deadline.clone());
        let (scenario, setups) = (&plan.scenario, setups.as_slice());
        LaneTables::follow(LaneSource { scenario, setups, group, log, origin: warm_up, scratch, stop_deadline })
    });
    let tables = tables.collect::<Result<Vec<_>, Failure>>()?;
    world.lane(0).in_sender(|| congestion::check(&scenario))??;
    congestion::set_defaults(&scenario, &groups, &world)?;
    congestion::set_ecn(&scenario, &groups, &world)?;
    let streaming =
        Streaming { plan: &plan, setups: &setups, groups: &groups, world: &world, clock, user, tables: &tables };
    let Streamed { mut flows, lateness, limit_hit, stopped, due } = streaming.run(&received)?;
    due.inspect(|&due| stop_deadline.begin(due));
    content.settle(&setups, &mut flows);
    let kernel = describe_kernel(&controls, &plan.scenario, (&groups, &setups), &world)?;
    if stopped.is_some() || interruptions() > 0 {
        world.hurry_captures();
    }
    let mut lanes: Vec<LaneRecord> = world.stop()?.into_iter().map(|lane| lane.counted_from(warm_up)).collect();
    let tables = tables.into_iter().map(LaneTables::join).collect::<Result<Vec<_>, Failure>>()?;
    let mut tables: Vec<FlowTables> = tables.into_iter().flatten().collect();
    tables.sort_by_key(|tables| tables.flow);
    let captured = Captured { scenario: &plan.scenario, groups: &groups, directory: &captures, stop_deadline };
    let setups = captured.settle_flows(&setups, &mut flows, &mut lanes, &tables);
    captured.settle_files(&mut lanes);
    let interrupted = interruptions() > 0;
    let outcome =
        RunOutcome { flows, lanes, tables, lateness, clock, kernel, content: &content, interrupted, limit_hit };
    results::write(&plan, &groups, &setups, outcome)?;
    Ok(if interrupted { INTERRUPTED } else { 0 })
}

/// What follows the log of each lane.
fn follow_logs(configs: &mut [LaneConfig]) -> Vec<LogFollower> {
    let follow = |config: &mut LaneConfig| {
        let (followed, follower) = follow_log();
        config.followed = Some(followed);
        follower
    };
    configs.iter_mut().map(follow).collect()
}

/// The kernel and its settings, and by application the congestion control that its sockets have when they choose none:
/// each has hosts of its own, where the kernel may not have allowed the scenario's.
fn describe_kernel(
    controls: &CongestionControls,
    scenario: &Scenario,
    (groups, setups): (&[Vec<usize>], &[FlowSetup]),
    world: &World,
) -> Result<Value, Failure> {
    let applications =
        |group: &[usize]| -> Vec<usize> { group.iter().copied().filter(|&flow| setups[flow].is_external()).collect() };
    let described = groups.iter().position(|group| !applications(group).is_empty()).unwrap_or(0);
    let mut kernel = world.lane(described).in_sender(description::kernel_json)?;
    let mut defaults = Map::new();
    for (lane, group) in groups.iter().enumerate() {
        for flow in applications(group) {
            let default = world.lane(lane).in_sender(description::default_congestion)?;
            let default = default.map(|name| controls.algorithm(&name).to_owned());
            defaults.insert(scenario.flows[flow].name.clone(), default.into());
        }
    }
    if !defaults.is_empty() {
        kernel["default_congestion"] = Value::Object(defaults);
    }
    kernel["congestion"] = controls.to_json();
    Ok(kernel)
}

/// The networks of a run, which stand for `warm_up` before its origin. Their captures go to `directory`.
fn lane_configs(
    plan: &Plan,
    groups: &[Vec<usize>],
    directory: &Path,
    warm_up: Duration,
) -> Result<Vec<LaneConfig>, Failure> {
    let scenario = &plan.scenario;
    let graph =
        || Failure::input("scenario", "network.kind = \"graph\": only in the simulated world (--world simulated)");
    let network = scenario.network.as_path().ok_or_else(graph)?;
    let capture_size = captures::size(directory, groups.len());
    let lane = |group: &Vec<usize>| {
        let flows: Vec<&scenario::Flow> = group.iter().map(|&flow| &scenario.flows[flow]).collect();
        let model = network_model(scenario, &flows).map_err(|error| Failure::input("scenario", error))?;
        let name = group_name(scenario, group);
        let model: Box<dyn LinkModel> = match warm_up {
            Duration::ZERO => Box::new(model),
            _ => Box::new(WarmUp::new(model, warm_up, external::idle_delay(network))),
        };
        let mut config = LaneConfig::new(name.clone(), model, network.bottleneck);
        config.mtu = flows.iter().map(|flow| flow.mtu).max().unwrap_or(1_500);
        let applications = has_applications(flows);
        config.capture =
            (applications || scenario.captures != Captures::None).then(|| captures::file(directory, &name));
        config.capture_size = capture_size;
        config.scratch = Some(plan.directory.clone());
        config.kept = if applications || scenario.captures == Captures::Full { Kept::Frames } else { Kept::Headers };
        Ok(config)
    };
    groups.iter().map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::{Duration, start_delay};

    #[test]
    fn a_busy_machine_is_given_more_time_before_the_streams_begin() {
        let after = |millis| start_delay(3, Duration::from_millis(millis)).as_millis();
        assert_eq!([after(0), after(700), after(15_000), after(120_000)], [1_400, 1_400, 30_000, 60_000]);
    }
}
