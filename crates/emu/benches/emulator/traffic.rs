//! Senders and receivers of datagrams, and the worlds they live in.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use framewire_emu::{BottleneckPlace, Clock, LaneConfig, LinkModel, RECEIVER_ADDRESS, SENDER_ADDRESS, World};
use framewire_units::Timestamp;

const PORT: u16 = 5_004;
/// Bytes of IPv4 and UDP headers.
pub const HEADERS: usize = 28;

/// A world of one lane.
pub fn world(model: Box<dyn LinkModel>, bottleneck: BottleneckPlace) -> World {
    start(vec![LaneConfig::new("bench", model, bottleneck)])
}

/// A world, or the end of the benchmark with the reason.
pub fn start(lanes: Vec<LaneConfig>) -> World {
    World::start(lanes, Clock::start()).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1)
    })
}

/// A sending and a receiving socket at the ends of a lane, connected to each other.
pub fn sockets(world: &World, lane: usize) -> (UdpSocket, UdpSocket) {
    let open = |own, peer| {
        move || {
            let socket = UdpSocket::bind((own, PORT)).expect("the lane's addresses exist");
            socket.connect((peer, PORT)).expect("the lane's addresses exist");
            socket
        }
    };
    let lane = world.lane(lane);
    let sender = lane.in_sender(open(SENDER_ADDRESS, RECEIVER_ADDRESS)).expect("the lane runs");
    let receiver = lane.in_receiver(open(RECEIVER_ADDRESS, SENDER_ADDRESS)).expect("the lane runs");
    for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
        if set_option(&receiver, option, 64 << 20) {
            break;
        }
    }
    (sender, receiver)
}

/// Sets an integer option of a socket; false when the kernel refuses.
pub fn set_option(socket: &UdpSocket, option: libc::c_int, value: libc::c_int) -> bool {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is a C int that lives until the call returns.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), length) };
    result == 0
}

/// Puts the calling thread before ordinary programs, but behind the pump, where that is permitted: what is measured is
/// the link, not how other programs starve its traffic.
pub fn prefer_this_thread() {
    let parameters = libc::sched_param { sched_priority: 5 };
    // SAFETY: `parameters` lives until the call returns; thread 0 is the calling one.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
}

/// Sends `rate` datagrams per second for `time`, in groups once per `period`.
pub fn send_paced(socket: &UdpSocket, payload: usize, rate: u64, period: Duration, time: Duration) -> u64 {
    let socket = socket.try_clone().expect("descriptors are left");
    let sender = thread::spawn(move || {
        prefer_this_thread();
        send_on_this_thread(&socket, payload, rate, period, time)
    });
    sender.join().expect("the sender does not panic")
}

fn send_on_this_thread(socket: &UdpSocket, payload: usize, rate: u64, period: Duration, time: Duration) -> u64 {
    let datagram = vec![0x5a; payload];
    let began = Instant::now();
    let mut sent = 0;
    while began.elapsed() < time {
        let due = (began.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000) as u64;
        sent += send_group(socket, &datagram, due.saturating_sub(sent));
        thread::sleep(period.saturating_sub(Duration::from_micros(60)));
    }
    sent
}

/// Sends `count` datagrams with as few system calls as possible.
fn send_group(socket: &UdpSocket, datagram: &[u8], count: u64) -> u64 {
    const BATCH: usize = 64;
    let mut vector = libc::iovec { iov_base: datagram.as_ptr().cast_mut().cast(), iov_len: datagram.len() };
    // SAFETY: mmsghdr is plain data, for which zeros are valid.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for message in &mut messages {
        message.msg_hdr.msg_iov = &mut vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    let mut left = count;
    while left > 0 {
        let batch = left.min(BATCH as u64) as libc::c_uint;
        // SAFETY: every message points to the one vector, and that to the datagram; all outlive the call.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), batch, 0) };
        match u64::try_from(sent) {
            Ok(sent) if sent > 0 => left -= sent,
            _ => break,
        }
    }
    count - left
}

/// What a receiver got: the kernel's stamp of every datagram, on the clock of the world.
pub struct Received {
    /// In order of arrival.
    pub stamps: Vec<Timestamp>,
}

/// Receives on a thread of its own until it is stopped.
pub struct Receiver {
    end: Arc<AtomicBool>,
    thread: JoinHandle<Received>,
}

impl Receiver {
    /// Starts to receive; every datagram is stamped by the kernel when it reaches the receiver's device.
    pub fn start(socket: UdpSocket, clock: Clock) -> Self {
        assert!(set_option(&socket, libc::SO_TIMESTAMPNS, 1), "every kernel stamps datagrams");
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a positive timeout");
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let thread = thread::spawn(move || {
            prefer_this_thread();
            let mut received = Received { stamps: Vec::with_capacity(1 << 20) };
            while !ended.load(Ordering::Relaxed) {
                receive(&socket, clock, &mut received);
            }
            received
        });
        Self { end, thread }
    }

    /// Ends and gives what came.
    pub fn end(self) -> Received {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().expect("the receiver does not panic")
    }
}

const RECEIVE_BATCH: usize = 64;

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

fn receive(socket: &UdpSocket, clock: Clock, received: &mut Received) {
    let mut buffers = [[0u8; 2_048]; RECEIVE_BATCH];
    let mut controls = [Control([0; 64]); RECEIVE_BATCH];
    let mut vectors: [libc::iovec; RECEIVE_BATCH] = std::array::from_fn(|number| libc::iovec {
        iov_base: buffers[number].as_mut_ptr().cast(),
        iov_len: buffers[number].len(),
    });
    // SAFETY: mmsghdr is plain data, for which zeros are valid.
    let mut messages: [libc::mmsghdr; RECEIVE_BATCH] = unsafe { std::mem::zeroed() };
    for ((message, vector), control) in messages.iter_mut().zip(&mut vectors).zip(&mut controls) {
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
        message.msg_hdr.msg_controllen = control.0.len();
    }
    // SAFETY: every message points to buffers of its own that outlive the call.
    let count = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            RECEIVE_BATCH as libc::c_uint,
            libc::MSG_WAITFORONE,
            std::ptr::null_mut(),
        )
    };
    let offset = Clock::realtime_offset();
    for message in &messages[..usize::try_from(count).unwrap_or(0)] {
        received.stamps.extend(stamp(&message.msg_hdr).map(|nanos| clock.from_realtime(nanos, offset)));
    }
}

/// The kernel's stamp of a datagram in nanoseconds of CLOCK_REALTIME.
fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel filled the control buffer and its length; the first entry, if there is one, lies inside.
    unsafe {
        let control = libc::CMSG_FIRSTHDR(header);
        if control.is_null() || (*control).cmsg_type != libc::SCM_TIMESTAMPNS {
            return None;
        }
        let time = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
        Some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }
}
