//! What a simulation says while it goes on: where its flows are.

use std::fmt;
use std::sync::Arc;

use framewire_units::Timestamp;
use framewire_world::FlowState;

/// Where one flow is, and what it has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowProgress {
    /// Its number in the scenario.
    pub flow: usize,
    /// Virtual time.
    pub at: Timestamp,
    /// Frames of what it sends.
    pub frames: u32,
    /// Frames given to the transport; `None` for a bulk flow, which has none.
    pub offered: Option<u32>,
    /// Frames that arrived whole.
    pub arrived: u32,
    /// Frames that the sender gave up or that came with something missing; `None` for a bulk flow.
    pub dropped: Option<u32>,
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
