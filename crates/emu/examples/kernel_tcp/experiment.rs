//! Runs: several at once, each over a lane of its own.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use framewire_bpf::Loaded;
use framewire_emu::{BottleneckPlace, Clock, FixedDelay, LaneConfig, LaneRecord, RECEIVER_ADDRESS, World};
use framewire_link::{DropCause, Network, NodeId, Outcome as Fate};
use framewire_sockets::{TcpInfo, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender};
use framewire_transport::socket::StreamSocket;
use framewire_units::{Duration, Seed, Timestamp};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::cell::{FRAME, FRAME_INTERVAL, Mode};
use crate::counters;
use crate::plan::Run;

type Failure = Box<dyn Error + Send + Sync>;

const PORT: u16 = 5_001;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Runs of a batch begin one after the other, so that their bursts do not coincide.
const STAGGER: Duration = Duration::from_millis(7);
/// What is under way after the end has come out by then.
const QUIET: Duration = Duration::from_millis(800);
/// A packet that was released later than this spoils a run.
const WORST_TOLERATED: Duration = Duration::from_millis(20);
/// One release in a hundred may be late by such a part of the round trip.
const NOISE_ONE_IN: u32 = 200;
/// What is written, and how much at once at most.
static CHUNK: [u8; 65_536] = [0; 65_536];

/// TCP_INFO at a moment of a run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Since the client called connect.
    pub at: Duration,
    pub info: TcpInfo,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    pub received: u64,
    pub samples: Vec<Sample>,
    pub last: TcpInfo,
    pub counters: [u64; counters::KEPT.len()],
    /// Packets with payload that left the sender.
    pub segments: u64,
    pub queue_drops: u64,
    pub random_losses: u64,
    /// Mean time from sender to receiver of packets with payload.
    pub forward_delay: Duration,
    pub release_p99_ns: i64,
    pub release_max_ns: i64,
    pub disturbed: Option<String>,
}

/// What the two ends saw.
struct Ends {
    began: Timestamp,
    received: u64,
    samples: Vec<Sample>,
    last: TcpInfo,
    counters: [u64; counters::KEPT.len()],
}

/// Runs a batch; all its runs take `length`.
///
/// # Errors
/// When the world cannot be built or a socket fails.
pub fn run(batch: &[Run], length: Duration, programs: &[Loaded]) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let lane = |run: &Run| {
        let network = Network::new(&run.cell.network(), Seed(u64::from(run.repeat)))?;
        Ok(LaneConfig::new(run.cell.to_string(), Box::new(network), BottleneckPlace::Remote))
    };
    let lanes: Result<Vec<LaneConfig>, Box<dyn Error>> = batch.iter().map(lane).collect();
    let world = World::start(lanes?, Clock::start())?;
    let ends: Vec<Result<Ends, Failure>> = thread::scope(|scope| {
        let world = &world;
        let start = |(number, run)| scope.spawn(move || stream(world, number, run, length, programs));
        let threads: Vec<_> = batch.iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a run panicked".into()))).collect()
    });
    thread::sleep(QUIET);
    let records = world.stop()?;
    ends.into_iter()
        .zip(records)
        .zip(batch)
        .map(|((ends, record), run)| {
            let round_trip = Duration::from_millis(run.cell.rtt_ms);
            Ok(outcome(ends.map_err(|error| error as Box<dyn Error>)?, &record, length, round_trip))
        })
        .collect()
}

/// The TCP settings of a lane's sender.
///
/// # Errors
/// When the world cannot be built.
pub fn settings() -> Result<String, Box<dyn Error>> {
    let quiet = Box::new(FixedDelay::new(Duration::ZERO));
    let world = World::start(vec![LaneConfig::new("settings", quiet, BottleneckPlace::Remote)], Clock::start())?;
    let text = world.lane(0).in_sender(counters::settings)?;
    world.stop()?;
    Ok(text)
}

/// One run over lane `number`.
fn stream(world: &World, number: usize, run: &Run, length: Duration, programs: &[Loaded]) -> Result<Ends, Failure> {
    let program = programs.iter().find(|program| program.algorithm() == run.cell.algorithm);
    let congestion = program.map_or(run.cell.algorithm, Loaded::name);
    let lane = world.lane(number);
    let address = SocketAddr::from((RECEIVER_ADDRESS, PORT));
    let listener = lane.in_receiver(|| TcpListener::bind(address, &TcpOptions::default()))??;
    thread::sleep(STAGGER * number as u32);
    let clock = world.clock();
    let began = clock.now();
    let end = began + length;
    thread::scope(|scope| {
        let receiver = scope.spawn(move || lane.in_receiver(move || receive(listener, clock, end)));
        let sender = lane.in_sender(move || send((run, congestion), address, clock, began, end))??;
        let received = receiver.join().map_err(|_| "the receiver panicked")???;
        let (samples, last, counters) = sender;
        Ok(Ends { began, received, samples, last, counters })
    })
}

/// Reads whatever comes until `end`, and says how many bytes.
fn receive(mut listener: TcpListener, clock: Clock, end: Timestamp) -> Result<u64, Failure> {
    prefer_this_thread();
    let mut connection: Option<TcpReceiver> = None;
    let mut buffer = vec![0; CHUNK.len()];
    let mut received = 0;
    while clock.now() < end {
        let Some(connection) = &mut connection else {
            wait(listener.as_fd(), PollFlags::POLLIN, clock, end)?;
            connection = listener.accept()?;
            continue;
        };
        match connection.read(&mut buffer)? {
            TcpRead::Bytes { length, .. } => received += length as u64,
            TcpRead::Nothing => wait(connection.as_fd(), PollFlags::POLLIN, clock, end)?,
            TcpRead::End => return Err("the stream ended early".into()),
        }
    }
    if let Some(connection) = &connection {
        reset_on_close(connection.as_fd())?;
    }
    Ok(received)
}

type Sent = (Vec<Sample>, TcpInfo, [u64; counters::KEPT.len()]);

/// Connects, writes until `end`, and looks at the connection on the way.
fn send(
    (run, congestion): (&Run, &str),
    peer: SocketAddr,
    clock: Clock,
    began: Timestamp,
    end: Timestamp,
) -> Result<Sent, Failure> {
    prefer_this_thread();
    let options = TcpOptions { congestion: Some(congestion.to_owned()), no_delay: true, ..TcpOptions::default() };
    let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let mut socket = TcpSender::start(Some(local), peer, &options)?;
    let (mut next_frame, mut next_sample) = (began, began + SAMPLE_INTERVAL);
    let mut pending = if run.cell.mode == Mode::Bulk { u64::MAX } else { 0 };
    let mut samples = Vec::new();
    loop {
        let now = clock.now();
        if next_sample <= now.min(end) {
            samples.push(Sample { at: next_sample.saturating_since(began), info: socket.info()? });
            next_sample += SAMPLE_INTERVAL;
            continue;
        }
        if now >= end {
            break;
        }
        if run.cell.mode == Mode::Stream && next_frame <= now {
            pending += FRAME;
            next_frame += FRAME_INTERVAL;
            continue;
        }
        let taken = write(&mut socket, pending)?;
        if run.cell.mode == Mode::Stream {
            pending -= taken;
        }
        if taken == 0 {
            let flags = if pending > 0 { PollFlags::POLLOUT } else { PollFlags::empty() };
            let until = if run.cell.mode == Mode::Stream { next_frame.min(next_sample) } else { next_sample };
            wait(socket.as_fd(), flags, clock, until.min(end))?;
        }
    }
    let last = socket.info()?;
    let counters = counters::read();
    reset_on_close(socket.as_fd())?;
    Ok((samples, last, counters))
}

fn write(socket: &mut TcpSender, pending: u64) -> Result<u64, Failure> {
    let length = pending.min(CHUNK.len() as u64) as usize;
    Ok(if length == 0 { 0 } else { socket.write(&CHUNK[..length])? as u64 })
}

/// Waits until the socket is ready or `until` has come.
fn wait(socket: BorrowedFd<'_>, flags: PollFlags, clock: Clock, until: Timestamp) -> Result<(), Failure> {
    let left = until.saturating_since(clock.now());
    let timeout = TimeSpec::nanoseconds(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX));
    match ppoll(&mut [PollFd::new(socket, flags)], Some(timeout), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Closing then sends a reset and nothing more, so that the lane is quiet soon.
fn reset_on_close(socket: BorrowedFd<'_>) -> Result<(), Failure> {
    Ok(setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?)
}

/// Puts the calling thread before ordinary programs, but behind the pump, where that is permitted.
fn prefer_this_thread() {
    let parameters = libc::sched_param { sched_priority: 5 };
    // SAFETY: `parameters` lives until the call returns; thread 0 is the calling one.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
}

/// Why a run is to be repeated, beside what the emulator itself says: a release that is later than the shortest round
/// trip of the grid is an event of its own for a congestion control, and BBR takes noise in the spacing of
/// acknowledgements for bandwidth.
fn disturbance(record: &LaneRecord, round_trip: Duration) -> Option<String> {
    let error = record.accuracy.release_error;
    let late = |nanos: i64, most: Duration| nanos > most.as_nanos() as i64;
    let worst =
        || late(error.max_ns, WORST_TOLERATED).then(|| format!("one packet was {} ms late", error.max_ns / 1_000_000));
    let noise =
        || late(error.p99_ns, round_trip / NOISE_ONE_IN).then(|| format!("1 % were {} us late", error.p99_ns / 1_000));
    record.accuracy.disturbed.clone().or_else(worst).or_else(noise)
}

fn outcome(ends: Ends, record: &LaneRecord, length: Duration, round_trip: Duration) -> Outcome {
    let end = ends.began + length;
    let data = || {
        record.packets.iter().filter(|packet| {
            packet.from == NodeId::SENDER && packet.headers.payload > 0 && (ends.began..end).contains(&packet.arrived)
        })
    };
    let dropped = |cause| {
        let fate = Fate::Dropped(cause);
        data().filter(|packet| packet.hops.iter().any(|hop| hop.outcome == fate)).count() as u64
    };
    let delays: Vec<Duration> = data()
        .filter_map(|packet| packet.delivered.map(|release| release.intended.saturating_since(packet.arrived)))
        .collect();
    Outcome {
        received: ends.received,
        last: ends.last,
        counters: ends.counters,
        segments: data().count() as u64,
        queue_drops: dropped(DropCause::QueueFull),
        random_losses: dropped(DropCause::RandomLoss),
        forward_delay: delays.iter().sum::<Duration>() / (delays.len() as u32).max(1),
        release_p99_ns: record.accuracy.release_error.p99_ns,
        release_max_ns: record.accuracy.release_error.max_ns,
        disturbed: disturbance(record, round_trip),
        samples: ends.samples,
    }
}
