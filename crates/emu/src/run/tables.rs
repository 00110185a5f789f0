//! The packet tables of a run, made while it goes on from what its lanes log: so that a run ends soon whatever was
//! sent, and what could not be made in time is all that is left out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use framewire_emu::{Headers, LogFollower, PacketLog, PacketLogs, Protocol};
use framewire_link::NodeId;
use framewire_recording::WriteError;
use framewire_recording::record::{AirCounts, PacketRecord, PacketsAhead, ReleaseRecord};
use framewire_recording::summary::Delivered;
use framewire_recording::tables::TablesAhead;
use framewire_scenario::Scenario;
use framewire_session::FlowSetup;
use framewire_units::Timestamp;
use framewire_world::{FlowPackets, PacketDescription, Sequence, port};

use crate::control::{Failure, StopDeadline};

/// How much the threads that make tables stand back, of the 19 that setpriority(2) knows: with another program on their
/// processor they have a quarter of it (weight 335 to 1,024 in the kernel's sched_prio_to_weight), which is enough for
/// some 40,000 packets a second, and without one all of it.
const NICENESS: libc::c_int = 5;

/// Packets between two looks at the time that is left.
const LOOK_EVERY: usize = 1_024;

/// The tables of one flow.
pub struct FlowTables {
    /// Number of the flow in the scenario.
    pub flow: usize,
    /// What the ledger asks for.
    pub packets: FlowPackets,
    /// The tables.
    pub ahead: PacketsAhead,
    /// Transmissions over the air.
    pub air: AirCounts,
    /// When the first packet with payload reached the receiver's host.
    pub first_payload: Option<Timestamp>,
}

/// The thread that makes the tables of the flows of one lane.
pub struct LaneTables {
    failed: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<FlowTables>, WriteError>>,
}

/// What the tables of a lane's flows are made of.
pub struct LaneSource<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// All flows.
    pub setups: &'a [FlowSetup],
    /// Those of the lane.
    pub group: &'a [usize],
    /// What the lane logs.
    pub log: LogFollower,
    /// What its times are counted from.
    pub origin: Duration,
    /// Where the tables are until the end, in files without names.
    pub scratch: Arc<Path>,
    /// Says when there is no time left.
    pub stop_deadline: StopDeadline,
}

impl LaneTables {
    /// Starts to follow the lane's log.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn follow(source: LaneSource<'_>) -> Result<Self, Failure> {
        let sniffed = source.scenario.network.wireless().any(|wifi| wifi.sniffer.is_some());
        let flow = |&flow: &usize| {
            let setup = &source.setups[flow];
            let by_datagrams = matches!(setup, FlowSetup::Datagram(_) | FlowSetup::Adaptive(_));
            let made = FlowInMaking::new(flow, setup.name(), by_datagrams, sniffed, &source.scratch);
            FlowInMaking { packets: made.packets.beginning_with(setup.first_sequences()), ..made }
        };
        let flows: Vec<FlowInMaking> = source.group.iter().map(flow).collect();
        let LaneSource { log, origin, stop_deadline, .. } = source;
        Self::make(Making { flows, log, origin, stop_deadline, left_out: 0 })
    }

    fn make(making: Making) -> Result<Self, Failure> {
        let failed = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&failed);
        let thread = thread::Builder::new().name("fw-tables".to_owned()).spawn(move || {
            let made = making.run();
            of_thread.store(made.is_err(), Ordering::Relaxed);
            made
        });
        let thread = thread.map_err(|error| Failure::run(format!("the thread of the tables: {error}")))?;
        Ok(Self { failed, thread })
    }

    /// True when the disk has refused a part of the tables: [`join`](Self::join) will say what, and there is no use in
    /// going on until then.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits for the tables, which end soon after the lane: at once where there is no time.
    ///
    /// # Errors
    /// When the disk refused a part.
    pub fn join(self) -> Result<Vec<FlowTables>, Failure> {
        let tables = self.thread.join().map_err(|_| Failure::run("a thread panicked; please report this defect"))?;
        Ok(tables?)
    }
}

/// The flows of a lane in the making.
struct Making {
    flows: Vec<FlowInMaking>,
    log: LogFollower,
    origin: Duration,
    stop_deadline: StopDeadline,
    left_out: u64,
}

impl Making {
    fn run(mut self) -> Result<Vec<FlowTables>, WriteError> {
        // SAFETY: no pointers are passed. On Linux the nice value belongs to the thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
        while let Some(parts) = self.log.next_packets() {
            for part in parts {
                self.add_all(part.counted_from(self.origin))?;
            }
        }
        let left_out = self.left_out;
        self.flows.into_iter().map(|flow| flow.finish(left_out)).collect()
    }

    fn add_all(&mut self, packets: PacketLogs) -> Result<(), WriteError> {
        for (seen, packet) in packets.iter().enumerate() {
            // What comes after a packet that was left out is left out too.
            if seen % LOOK_EVERY == 0 && (self.left_out > 0 || self.stop_deadline.is_over()) {
                self.left_out += (packets.len() - seen) as u64;
                break;
            }
            self.add(&packet);
        }
        let refused = packets.failure().or_else(|| self.flows.iter().find_map(FlowInMaking::failure));
        refused.map_or(Ok(()), Err)
    }

    fn add(&mut self, packet: &PacketLog) {
        let description = describe(packet);
        // What belongs to no flow (ICMP, for instance) is shown with the first one, so that nothing is hidden.
        let owner = self.flows.iter().position(|flow| flow.packets.owns(&description)).unwrap_or(0);
        if let Some(flow) = self.flows.get_mut(owner) {
            flow.add(packet, &description);
        }
    }
}

/// One flow in the making.
struct FlowInMaking {
    flow: usize,
    port: u16,
    /// Its ledger asks what became of each datagram.
    by_datagrams: bool,
    packets: FlowPackets,
    tables: TablesAhead,
    delivered: Delivered,
    air: AirCounts,
    first_payload: Option<Timestamp>,
}

impl FlowInMaking {
    fn new(flow: usize, name: &str, by_datagrams: bool, sniffed: bool, scratch: &Arc<Path>) -> Self {
        Self {
            flow,
            port: port(flow),
            by_datagrams,
            packets: FlowPackets::new(port(flow), sniffed, Some(scratch)),
            tables: TablesAhead::new(name, Some(Arc::clone(scratch))),
            delivered: Delivered::in_directory(Some(Arc::clone(scratch))),
            air: AirCounts::default(),
            first_payload: None,
        }
    }

    fn add(&mut self, packet: &PacketLog, description: &PacketDescription) {
        let records: Vec<PacketRecord> = self.packets.records_of(description, &packet.hops).collect();
        for record in records {
            self.air.add(&record);
            self.delivered.add(&record);
            if self.by_datagrams && record.tells_its_frame() {
                self.packets.records.push(record.clone());
            }
            self.tables.add_packet(record);
        }
        let Some(release) = packet.delivered else { return };
        let (intended, actual) = (release.intended, release.actual);
        self.tables.add_release(ReleaseRecord { packet: packet.id.0, intended, actual });
        let headers = &packet.headers;
        let ours = [headers.source_port, headers.destination_port].contains(&self.port);
        if packet.from == NodeId::SENDER && ours && headers.payload > 0 {
            self.first_payload = Some(self.first_payload.map_or(actual, |first| first.min(actual)));
        }
    }

    /// What the disk refused so far.
    fn failure(&self) -> Option<WriteError> {
        self.tables.failure().cloned().or_else(|| self.packets.records.failure())
    }

    fn finish(self, left_out: u64) -> Result<FlowTables, WriteError> {
        // Of a part of the packets the sum is not needed, which takes time that there is not.
        let delivered = if left_out > 0 { 0 } else { self.delivered.bytes()? };
        let ahead = PacketsAhead { tables: self.tables.finish()?, delivered, left_out };
        let Self { flow, packets, air, first_payload, .. } = self;
        Ok(FlowTables { flow, packets, ahead, air, first_payload })
    }
}

fn describe(packet: &PacketLog) -> PacketDescription {
    let headers = &packet.headers;
    PacketDescription {
        id: packet.id,
        forward: packet.from == NodeId::SENDER,
        protocol: match headers.protocol {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
            Protocol::Other(_) => "other",
        },
        source_port: headers.source_port,
        destination_port: headers.destination_port,
        size: packet.size,
        payload: headers.payload,
        sequence: match headers {
            Headers { rtp_sequence: Some(number), .. } => Sequence::Rtp(*number),
            Headers { clock_reference: Some(reference), .. } => Sequence::Clock(*reference),
            Headers { video_sequence: Some(number), .. } => Sequence::Unbounded((*number).into()),
            Headers { tcp_sequence: Some(number), .. } => Sequence::Tcp(*number),
            _ => Sequence::None,
        },
        sniffed: packet.sniffed,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use framewire_emu::{Release, follow_log};
    use framewire_link::{Hop, HopRecord, Outcome, PacketId};
    use framewire_recording::spool::Spool;
    use framewire_units::DataSize;

    use super::*;

    const COUNT: u64 = 100_000;

    /// A datagram with 100 bytes of payload for the first flow, which takes a millisecond.
    fn packet(number: u64) -> PacketLog {
        let (id, at) = (PacketId(number), Timestamp::from_micros(10 * number));
        let arrival = at + Duration::from_millis(1);
        let hop = HopRecord {
            packet: id,
            hop: Hop::Wire,
            size: DataSize::from_bytes(128),
            enqueued: at,
            clamped: false,
            started: None,
            finished: arrival,
            transmissions: Default::default(),
            marked: false,
            outcome: Outcome::Delivered,
        };
        PacketLog {
            id,
            from: NodeId::SENDER,
            arrived: at,
            size: 128,
            headers: Headers {
                protocol: Protocol::Udp,
                source_port: 40_000,
                destination_port: port(0),
                payload: 100,
                rtp_sequence: None,
                video_sequence: None,
                clock_reference: None,
                tcp_sequence: None,
            },
            hops: vec![hop],
            delivered: Some(Release { intended: arrival, actual: arrival }),
            released: None,
            sniffed: 0,
        }
    }

    #[test]
    fn a_disk_that_refuses_a_table_is_told_while_the_run_goes_on() {
        let (followed, log) = follow_log();
        let flow = FlowInMaking::new(0, "flood", false, false, &Arc::from(Path::new("/nonexistent/run")));
        let tables = LaneTables::make(Making {
            flows: vec![flow],
            log,
            origin: Duration::ZERO,
            stop_deadline: StopDeadline::new(),
            left_out: 0,
        });
        let tables = tables.unwrap();
        followed.tell((0..10).map(packet).collect::<Spool<PacketLog>>().into());
        thread::sleep(Duration::from_millis(200));
        assert!(!tables.has_failed(), "ten rows are in memory");
        followed.tell((0..COUNT).map(packet).collect::<Spool<PacketLog>>().into());
        let began = Instant::now();
        while !tables.has_failed() {
            assert!(began.elapsed() < Duration::from_secs(30), "nobody knows of it");
            thread::sleep(Duration::from_millis(5));
        }
        // The lane goes on until the run has stopped it.
        followed.tell((0..10).map(packet).collect::<Spool<PacketLog>>().into());
        let said = tables.join().err().unwrap().to_string();
        assert!(said.contains("/nonexistent/run"), "{said}");
    }

    /// The tables of a flood that was handed over in parts, which ended when the run had been stopped at this time.
    fn tables(stopped: Option<Instant>) -> FlowTables {
        let (followed, log) = follow_log();
        let stop_deadline = StopDeadline::new();
        if let Some(at) = stopped {
            stop_deadline.begin(at);
        }
        let flow = FlowInMaking::new(0, "flood", false, false, &Arc::from(std::env::temp_dir()));
        let making = Making { flows: vec![flow], log, origin: Duration::ZERO, stop_deadline, left_out: 0 };
        let thread = thread::spawn(move || making.run().unwrap());
        for part in 0..10 {
            let numbers = part * COUNT / 10..(part + 1) * COUNT / 10;
            followed.tell(numbers.map(packet).collect::<Spool<PacketLog>>().into());
        }
        drop(followed);
        thread.join().unwrap().pop().unwrap()
    }

    #[test]
    fn a_run_that_comes_to_its_end_has_all_packets_in_its_tables() {
        // A stop whose time cannot be over before a busy machine has made the tables.
        let just_stopped = Instant::now() + Duration::from_secs(600);
        for stopped in [None, Some(just_stopped)] {
            let made = tables(stopped);
            assert_eq!((made.ahead.left_out, made.ahead.delivered), (0, 100 * COUNT));
            assert_eq!(made.first_payload, Some(Timestamp::from_millis(1)));
            assert!(made.packets.records.is_empty(), "nothing asks for them again");
        }
    }

    #[test]
    fn what_there_is_no_time_for_is_left_out_and_counted() {
        let began = Instant::now();
        let long_ago = began.checked_sub(Duration::from_secs(60)).expect("this machine runs for some minutes");
        let made = tables(Some(long_ago));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!((made.ahead.left_out, made.ahead.delivered), (COUNT, 0));
    }
}
