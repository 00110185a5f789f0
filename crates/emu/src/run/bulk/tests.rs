//! Bulk flows through a lane of their own. They need root or user namespaces, and say so where those are missing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use framewire_emu::{BottleneckPlace, EmuError, LaneConfig, LaneRecord, RateAndDelay, World};
use framewire_recording::Samples;
use framewire_recording::record::{BulkTotals, FlowStatus};
use framewire_units::{Bitrate, Timestamp};

use super::*;

/// Worlds share the machine's processors: one at a time keeps them from disturbing each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const RATE: Bitrate = Bitrate::from_mbps(4);

const START: Timestamp = Timestamp::from_millis(300);
const STOP: Timestamp = Timestamp::from_millis(1_800);

fn connection(congestion: &str) -> ConnectionSettings {
    ConnectionSettings {
        congestion: Some(congestion.to_owned()),
        ecn: false,
        send_buffer: None,
        unsent_limit: None,
        options: None,
        mtu: 1_500,
    }
}

fn plan(connections: u8) -> BulkPlan {
    BulkPlan { name: "bulk".to_owned(), port: 5_004, connections, connection: connection("reno") }
}

/// Runs a flow over a link of [`RATE`] until `end`; `None` where no world can be made.
fn run(
    plan: &BulkPlan,
    end: Option<Timestamp>,
    act: impl FnOnce([&StopFlag; 2]) + Send,
) -> Option<(FlowOutcome, LaneRecord)> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let model = RateAndDelay::new(RATE, Duration::from_millis(10));
    let config = LaneConfig::new("bulk".to_owned(), Box::new(model), BottleneckPlace::Remote);
    let clock = Clock::starting_in(Duration::from_millis(500));
    let world = match World::start(vec![config], clock) {
        Ok(world) => world,
        Err(error @ EmuError::Namespace { .. }) => {
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let [over, stop] = [StopFlag::new().unwrap(), StopFlag::new().unwrap()];
    let receiving = world.lane(0).in_receiver(|| BulkReceiving::open(plan)).unwrap().unwrap();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| act([&over, &stop]));
        let sending = BulkSending::new(START, end, Samples::default());
        stream((plan, sending), receiving, world.lane(0), clock, &FlowProgress::new(false), [&over, &stop]).unwrap()
    });
    Some((outcome, world.stop().unwrap().remove(0)))
}

fn totals(outcome: &FlowOutcome) -> BulkTotals {
    outcome.bulk.expect("it has ended")
}

fn share_of_the_link(outcome: &FlowOutcome, start: Timestamp) -> f64 {
    let seconds = totals(outcome).end.saturating_since(start).as_secs_f64();
    totals(outcome).received as f64 * 8.0 / seconds / RATE.as_bps() as f64
}

#[test]
fn connections_fill_the_link_from_start_to_stop_and_all_that_was_written_arrives() {
    let plan = plan(3);
    let Some((outcome, lane)) = run(&plan, Some(STOP), |_| {}) else { return };
    assert_eq!(outcome.status, FlowStatus::Complete);
    let first = lane.packets.iter().next().expect("something was sent").arrived;
    assert!(first >= START, "the first packet left at {first:?}");
    let share = share_of_the_link(&outcome, START);
    // 1,448 of 1,500 bytes are payload; the handshake and the last acknowledgements cost some 50 ms.
    assert!((0.75..=1448.0 / 1500.0).contains(&share), "{share} of the link, {:?}", totals(&outcome));
    let samples = outcome.samples.to_vec();
    let acknowledged = |connection| {
        let mut own = samples.iter().filter(|sample| sample.connection == Some(connection));
        own.next_back().expect("each connection is sampled").clone()
    };
    let last: Vec<_> = (0..3).map(acknowledged).collect();
    assert!(last.iter().all(|sample| sample.queued_bytes == Some(0)), "{last:?}");
    // What stood in the sockets at the flow's end came after it.
    let arrived: u64 = last.iter().map(|sample| sample.received_bytes.unwrap()).sum();
    assert!(totals(&outcome).received < arrived, "{:?} of {arrived}", totals(&outcome));
    assert!((1_800_000_000..1_900_000_000).contains(&totals(&outcome).end.as_nanos()), "{:?}", totals(&outcome));
    assert!(last.iter().all(|sample| sample.received_bytes > Some(20_000)), "{last:?}");
    assert!(samples.is_sorted_by_key(|sample| sample.at));
}

#[test]
fn a_flow_without_a_stop_ends_with_the_run() {
    let ended = run(&plan(1), None, |[over, _]| {
        std::thread::sleep(Duration::from_millis(1_500));
        over.raise();
    });
    let Some((outcome, _)) = ended else { return };
    assert_eq!(outcome.status, FlowStatus::Complete);
    let share = share_of_the_link(&outcome, START);
    assert!((0.6..=1448.0 / 1500.0).contains(&share), "{share} of the link, {:?}", totals(&outcome));
    // The origin is half a second after the world's start, which takes some time too.
    assert!((700..1_500).contains(&totals(&outcome).end.as_nanos().div_euclid(1_000_000)), "{:?}", totals(&outcome));
    assert!(outcome.samples.iter().all(|sample| sample.connection.is_none()));
}

#[test]
fn an_interruption_ends_it_at_once_and_says_so() {
    let interrupted = run(&plan(2), Some(Timestamp::from_secs(3_600)), |[_, stop]| {
        std::thread::sleep(Duration::from_millis(1_300));
        stop.raise();
    });
    let Some((outcome, _)) = interrupted else { return };
    assert_eq!(outcome.status, FlowStatus::Partial);
    assert!(totals(&outcome).end < Timestamp::from_secs(3), "{:?}", totals(&outcome));
}

#[test]
fn a_congestion_control_that_is_not_there_is_named_with_the_connection() {
    let plan = BulkPlan { connection: connection("westwood2"), ..plan(2) };
    let Some((outcome, _)) = run(&plan, Some(STOP), |_| {}) else { return };
    let FlowStatus::Failed(reason) = outcome.status else { panic!("{:?}", outcome.status) };
    assert!(reason.starts_with("sender: connection 1 of 2: congestion control \"westwood2\" is not"), "{reason}");
}
