//! What a simulation says while it goes on: where its flows are.

use std::fmt;
use std::sync::{Arc, Mutex};

use framewire_scenario::Scenario;
use framewire_session::FrameFates;
use framewire_units::Timestamp;
use framewire_world::{Event, FlowReport, FlowState, Throughput};

/// Where one flow is, and what it has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowProgress {
    /// Its number in the scenario.
    pub flow: usize,
    /// Virtual time.
    pub at: Timestamp,
    /// Frames of what it sends.
    pub frames: u32,
    /// Where they are; `None` for a bulk flow, which has none.
    pub fates: Option<FrameFates>,
    /// Bytes above UDP or TCP that reached the receiver's host.
    pub received: u64,
    /// Where it is.
    pub state: FlowState,
}

type Tell = dyn Fn(&[FlowProgress]) + Send + Sync;

/// Is called with the flows of a network some thousand steps apart, and when it ends, by the thread that simulates: it
/// should return soon. Nothing in the simulation depends on it.
#[derive(Clone)]
pub struct Watch(Arc<Tell>);

impl Watch {
    /// Calls this function.
    pub fn new(tell: impl Fn(&[FlowProgress]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, flows: &[FlowProgress]) {
        (self.0)(flows);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watch")
    }
}

/// What there is to report of the flows of a scenario while it is simulated, in the words of the other worlds.
///
/// It is asked by another thread than the one that simulates, as often as it is asked.
#[derive(Debug)]
pub struct Reports {
    latest: Arc<Mutex<Vec<Option<FlowProgress>>>>,
    reported: Vec<Option<FlowProgress>>,
    names: Vec<String>,
    throughputs: Vec<Throughput>,
}

impl Reports {
    /// Nothing yet.
    pub fn new(scenario: &Scenario) -> Self {
        let names: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            latest: Arc::new(Mutex::new(vec![None; names.len()])),
            reported: vec![None; names.len()],
            throughputs: names.iter().map(|_| Throughput::default()).collect(),
            names,
        }
    }

    /// What the simulation is to tell.
    pub fn watch(&self) -> Watch {
        let latest = Arc::clone(&self.latest);
        Watch::new(move |flows| {
            let mut latest = latest.lock().expect("invariant: nothing panics while it is held");
            flows.iter().for_each(|flow| latest[flow.flow] = Some(*flow));
        })
    }

    /// Of every flow of which there is something new, what is to be said, as JSON.
    pub fn take_new(&mut self) -> Vec<String> {
        let latest = self.latest.lock().expect("invariant: nothing panics while it is held").clone();
        let new = latest.into_iter().flatten().filter(|now| self.reported[now.flow] != Some(*now));
        new.collect::<Vec<_>>().into_iter().map(|now| self.reported(now)).collect()
    }

    fn reported(&mut self, now: FlowProgress) -> String {
        self.reported[now.flow] = Some(now);
        let event = Event::Progress(FlowReport {
            flow: &self.names[now.flow],
            elapsed_s: now.at.as_secs_f64(),
            frames: now.frames,
            counts: now.fates.into(),
            throughput_bps: self.throughputs[now.flow].since_last(now.received, now.state, now.at),
            state: now.state,
        });
        serde_json::to_string(&event).expect("invariant: events hold only strings and numbers")
    }
}

/// The watch of one network, and what it counts for it.
pub(crate) struct Watched {
    watch: Watch,
    /// By place in the network: frames of what a flow sends, and bytes that have come.
    flows: Vec<(u32, u64)>,
}

impl Watched {
    /// Of flows that have so many frames each.
    pub(crate) fn new(watch: Watch, frames: impl Iterator<Item = u32>) -> Self {
        Self { watch, flows: frames.map(|frames| (frames, 0)).collect() }
    }

    /// A packet of the flow at this place came to the receiver's host.
    pub(crate) fn handle_packet(&mut self, place: usize, payload: u32) {
        self.flows[place].1 += u64::from(payload);
    }

    /// Tells where the flows are: of each its progress but for what is counted here.
    pub(crate) fn tell(&self, flows: impl Iterator<Item = FlowProgress>) {
        let counted = self.flows.iter();
        let flows = flows.zip(counted).map(|(flow, &(frames, received))| FlowProgress { frames, received, ..flow });
        let flows: Vec<_> = flows.collect();
        self.watch.tell(&flows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_of_a_flow_is_reported_once() {
        let scenario = Scenario::parse("[[flow]]\ntransport = \"udp\"\n[[flow]]\ntransport = \"tcp\"", &[]).unwrap();
        let mut reports = Reports::new(&scenario);
        let watch = reports.watch();
        assert!(reports.take_new().is_empty());
        let at = |milliseconds, received| FlowProgress {
            flow: 1,
            at: Timestamp::from_millis(milliseconds),
            frames: 50,
            fates: Some(FrameFates { offered: 25, arrived: 21, given_up: 2, lost: 1, under_way: 1 }),
            received,
            state: FlowState::Streaming,
        };
        watch.tell(&[at(500, 500)]);
        watch.tell(&[at(1_000, 1_000)]);
        let [said] = &reports.take_new()[..] else { panic!("one flow has something new") };
        for part in ["\"event\":\"progress\"", "\"flow\":\"tcp\"", "\"elapsed_s\":1.0", "\"throughput_bps\":8000"]
            .into_iter()
            .chain([
                "\"offered\":25",
                "\"arrived\":21",
                "\"given_up\":2",
                "\"lost\":1",
                "\"dropped\":3",
                "\"under_way\":1",
            ])
        {
            assert!(said.contains(part), "{said}");
        }
        watch.tell(&[at(1_000, 1_000)]);
        assert!(reports.take_new().is_empty());
    }
}
