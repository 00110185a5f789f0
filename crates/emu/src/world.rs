//! The emulated world: lanes, each with two hosts of its own, and the pump that carries packets between them.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use framewire_link::BottleneckPlace;

use crate::Clock;
use crate::capture::{self, CaptureWriter};
use crate::error::{EmuError, OperationContext};
use crate::kernel::counters::DeviceCounters;
use crate::kernel::gate::GateMethod;
use crate::kernel::namespace;
use crate::kernel::sysctl::{ask_for_ecn, set_default_congestion_control};
use crate::lane::LaneConfig;
use crate::lane::live::{LaneCounters, Live};
use crate::lane::record::{Evidence, LaneRecord};
use crate::lane::state::LaneState;
use crate::lane::topology::{KernelCounters, Topology};
use crate::lane::writer::{self, LogWriter};
use crate::pump::{Pump, PumpedLane};

/// A running emulated world.
///
/// Everything in it is held by descriptors of this process: when the process ends, however it ends, nothing is left.
/// Use: [`start`](Self::start); open sockets with [`Lane::in_sender`] and [`Lane::in_receiver`]; stream;
/// [`stop`](Self::stop).
pub struct World {
    pump: Pump,
    lanes: Vec<LaneHandle>,
    clock: Clock,
}

/// What the world keeps of a lane beside what the pump has.
struct LaneHandle {
    name: String,
    live: Arc<Live>,
    method: Option<GateMethod>,
    log: LogWriter,
    capture: Option<CaptureWriter>,
}

/// One lane of a running world.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    handle: &'a LaneHandle,
    pumped: &'a PumpedLane,
}

impl World {
    /// Makes the namespaces and wires of all lanes and starts the pump.
    ///
    /// Without root this enters a user namespace, which the kernel permits only to a process with a single thread:
    /// call it before any thread is started. `clock` is the clock of all time stamps.
    ///
    /// # Errors
    /// When a lane's settings are out of range, when the kernel refuses a namespace or lacks a part, or when a capture
    /// file cannot be created.
    pub fn start(lanes: Vec<LaneConfig>, clock: Clock) -> Result<Self, EmuError> {
        Self::start_counting(lanes, |_| clock)
    }

    /// The same with a clock that is started when the namespaces and wires stand: `clock` is given how long they took,
    /// which on a busy machine may be many seconds.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_counting(lanes: Vec<LaneConfig>, clock: impl FnOnce(Duration) -> Clock) -> Result<Self, EmuError> {
        lanes.iter().try_for_each(LaneConfig::validate)?;
        namespace::gain_network_administration()?;
        let began = Instant::now();
        let build =
            |config: &LaneConfig| Topology::build(config.mtu, config.bottleneck == BottleneckPlace::LocalDevice);
        let topologies = lanes.iter().map(build).collect::<Result<Vec<_>, _>>()?;
        let clock = clock(began.elapsed());
        let mut handles = Vec::new();
        let mut pumped = Vec::new();
        for (config, topology) in lanes.into_iter().zip(topologies) {
            let (handle, lane) = start_lane(config, topology, clock)?;
            handles.push(handle);
            pumped.push(lane);
        }
        let pump = Pump::start(clock, pumped)?;
        Ok(Self { pump, lanes: handles, clock })
    }

    /// The clock of all time stamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A lane, in the order of [`start`](Self::start).
    ///
    /// # Panics
    /// When there is no lane of that number.
    pub fn lane(&self, number: usize) -> Lane<'_> {
        Lane { handle: &self.lanes[number], pumped: self.pump.lane(number) }
    }

    /// True when the disk has refused a part of what is logged: [`stop`](Self::stop) will say what, and there is no use
    /// in going on until then.
    pub fn has_failed(&self) -> bool {
        self.lanes.iter().any(|lane| lane.log.has_failed())
    }

    /// Has the captures end soon after the pump: what the disk has not taken a second later is left out and counted.
    pub fn hurry_captures(&self) {
        self.lanes.iter().filter_map(|lane| lane.capture.as_ref()).for_each(CaptureWriter::hurry);
    }

    /// Ends the pump and the captures, and gives what was recorded, lane by lane.
    ///
    /// Packets that are under way are lost; end the streams before.
    ///
    /// # Errors
    /// When a thread of the emulator had ended by a panic, the kernel's counters cannot be read, or the disk did not
    /// take what a lane logged.
    pub fn stop(self) -> Result<Vec<LaneRecord>, EmuError> {
        let (scheduling, threads) = (self.pump.scheduling(), self.pump.thread_count());
        let lanes = self.pump.stop()?;
        let ended = self.lanes.into_iter().zip(lanes).map(|(handle, lane)| {
            let counters = lane.topology.counters();
            let unread = lane.topology.hub_ports.iter().map(|plug| plug.ring.read(usize::MAX, |_, _| {}) as u64).sum();
            let ring_drops = lane.topology.hub_ports.iter().map(|plug| plug.ring.drops()).sum();
            let mut state = lane.state.into_inner().unwrap_or_else(PoisonError::into_inner);
            state.end_recording();
            let mut evidence = evidence(&handle, &state, &counters?);
            evidence.unread = unread;
            evidence.ring_drops = ring_drops;
            let (packets, tally) = handle.log.join()?;
            tally.count_into(&mut evidence);
            let accuracy = tally.assess(&evidence, scheduling, threads);
            let capture = handle.capture.map(CaptureWriter::join);
            Ok(LaneRecord { name: handle.name, packets, accuracy, evidence, capture })
        });
        ended.collect()
    }
}

fn start_lane(config: LaneConfig, mut topology: Topology, clock: Clock) -> Result<(LaneHandle, PumpedLane), EmuError> {
    let (queue, method) = topology.gate.take().map(|gate| (gate.queue, gate.method)).unzip();
    let start_capture = |path: PathBuf| capture::start(&path, config.kept, config.capture_size, clock);
    let (buffer, capture) = config.capture.map(start_capture).transpose()?.unzip();
    let live = Arc::new(Live::default());
    let (logged, log) = writer::start(config.scratch.map(Arc::from), config.followed)?;
    let state = LaneState::new(clock, config.model, config.mtu, queue, logged, buffer, Arc::clone(&live));
    Ok((LaneHandle { name: config.name, live, method, log, capture }, PumpedLane::new(topology, state)))
}

fn evidence(handle: &LaneHandle, state: &LaneState, counters: &KernelCounters) -> Evidence {
    let queue_losses = state.queue.as_ref().map_or(0, |queue| queue.losses());
    let [sender_plug, receiver_plug]: [DeviceCounters; 2] = counters.hub_ports;
    let [sender_receive_overflows, receiver_receive_overflows] = counters.receive_overflows;
    Evidence {
        sender_device: counters.sender,
        receiver_device: counters.receiver,
        sender_plug,
        receiver_plug,
        forward_seen: 0,
        backward_seen: 0,
        forward_delivered: 0,
        backward_delivered: 0,
        unread: 0,
        ring_drops: 0,
        packet_queue_drops: counters.packet_queue_drops.max(queue_losses),
        refused: state.faults.refused,
        oversized: state.faults.oversized,
        verdict_errors: state.faults.verdict_errors,
        overflowed: state.faults.overflowed,
        not_logged: state.faults.not_logged,
        sender_receive_overflows,
        receiver_receive_overflows,
        gate: handle.method,
    }
}

impl Lane<'_> {
    /// Runs `work` on a thread of its own inside the sender's host and returns what it returned. Sockets opened there
    /// stay there; so do programs started there.
    ///
    /// # Errors
    /// When the kernel does not let the thread in, or `work` panics.
    pub fn in_sender<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        self.pumped.topology.sender.namespace.run(work)
    }

    /// The same inside the receiver's host.
    ///
    /// # Errors
    /// As [`in_sender`](Self::in_sender).
    pub fn in_receiver<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        self.pumped.topology.receiver.namespace.run(work)
    }

    /// Sets the congestion control of TCP sockets in both hosts that do not choose one; without it they have that of
    /// this machine. Where the kernel allows no other, that stays.
    ///
    /// # Errors
    /// When the kernel does not have it.
    pub fn set_default_congestion_control(&self, name: &str) -> Result<(), EmuError> {
        let set = || set_default_congestion_control(name).doing("set the default congestion control");
        self.in_sender(set)??;
        self.in_receiver(set)?
    }

    /// Has TCP sockets in both hosts ask for explicit congestion notification (RFC 3168).
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub fn ask_for_ecn(&self) -> Result<(), EmuError> {
        let ask = || ask_for_ecn().doing("ask for ECN");
        self.in_sender(ask)??;
        self.in_receiver(ask)?
    }

    /// What has happened so far.
    pub fn counters(&self) -> LaneCounters {
        self.handle.live.read()
    }
}
