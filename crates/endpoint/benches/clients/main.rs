//! How many clients one thread serves, and how exactly: `cargo bench -p framewire-endpoint --bench clients -- 1000 10`.
//!
//! A server thread on a processor of its own, with real-time priority where that is permitted, streams a movie of
//! 1 Mbit/s by VTP to so many clients for so many seconds. The clients are real ones, in a thread of their own on
//! another processor, behind one pair of sockets, as if behind one translating router. Printed are:
//! - the processor time of the server's thread, which includes what the kernel does to deliver its packets;
//! - how late packets left: from the time that the pace wants to the return of the call that sent the packet;
//! - how late they were as the kernel stamped their arrival: at a constant rate, packet i of a session is due i packet
//!   times after the first, and the earliest of the last second or two is taken for punctual;
//! - what arrived, and what disturbed the machine meanwhile.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads clocks and owns threads")]

mod audience;
mod machine;
#[path = "../../tests/movie/mod.rs"]
mod movie;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use framewire_adaptive::controller::Controller;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_endpoint::{Served, Serving, random_secret};
use framewire_sockets::{make_punctual, pin_to, processors};
use framewire_units::Lateness;
use framewire_wire::vtp::Title;

use audience::{Audience, Seen};
use machine::{Disturbance, ThreadTimes};
use movie::Movie;

/// Bounds of what is claimed: the 99th percentile of lateness, and the processor time of the thread.
const LATE_AT_MOST: Duration = Duration::from_millis(1);
const PROCESSOR_AT_MOST: f64 = 1.0;

/// Packets of 1,000 bytes, five a frame.
const FRAME: Duration = Duration::from_millis(40);
const PACKETS_PER_FRAME: u8 = 5;
const PAYLOAD: usize = 1_000;

/// What the server's thread reports at its end.
struct Server {
    served: Served,
    times: ThreadTimes,
    real_time: bool,
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (clients, seconds) = (numbers.next().unwrap_or(1_000), numbers.next().unwrap_or(10));
    let title = Title::new("movie").expect("a title");
    let serving = open(clients, seconds, &title);
    let addresses = serving.addresses().expect("addresses");
    let end = Instant::now() + Duration::from_secs(seconds + 15);
    let disturbance = Disturbance::begin();
    let own = processors();
    if let [_, .., last] = own[..] {
        // The server, which inherits this, moves away.
        pin_to(own[0]).expect("a processor of this process");
        println!("server on processor {last}, clients on processor {}", own[0]);
    }
    let server = thread::spawn(move || serve(serving, own.last().copied(), clients, end));
    // The same for the clients: other processes are not what is measured.
    let packet_time = FRAME / PACKETS_PER_FRAME.into();
    make_punctual();
    let seen = Audience::new(clients, &title, addresses, packet_time).view(end);
    let server = server.join().expect("no panic");
    report(&server, &seen, clients, seconds);
    println!("{}", disturbance.told(server.times));
}

fn open(clients: u64, seconds: u64, title: &Title) -> Serving {
    let frames = (Duration::from_secs(seconds).as_millis() / FRAME.as_millis()) as u32;
    let movie = Arc::new(Movie::new(frames, FRAME, PACKETS_PER_FRAME, PAYLOAD));
    let make = || Box::new(VtpController::new(VtpSettings::paper()).expect("settings")) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title.clone(), random_secret().expect("random bytes"));
    let host = Host::new(movie.clone(), movie, Box::new(make), settings, clients as usize).expect("a host");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Serving::open(host, any, any).expect("two sockets")
}

fn serve(serving: Serving, processor: Option<usize>, clients: u64, end: Instant) -> Server {
    if let Some(processor) = processor {
        pin_to(processor).expect("a processor of this process");
    }
    let real_time = make_punctual();
    let before = ThreadTimes::now();
    let served = serving.run(Some(clients), || Instant::now() > end, |_, _, _| {}).expect("served");
    Server { served, times: ThreadTimes::now() - before, real_time }
}

fn report(server: &Server, seen: &Seen, clients: u64, seconds: u64) {
    let Server { served, times, real_time } = server;
    let share = times.ran.as_secs_f64() / seconds as f64;
    println!(
        "{clients} clients of 1 Mbit/s for {seconds} s: {:.0} % of one core ({}); {} packets; {} sessions, {} of {} frames whole, {} lost",
        share * 100.0,
        if *real_time { "real-time priority" } else { "no real-time priority" },
        served.lateness.count(),
        served.sessions,
        seen.frames,
        clients * seconds * 1_000 / FRAME.as_millis() as u64,
        seen.lost,
    );
    println!("late at the return of the send: {}", told(&served.lateness));
    println!("late as the receiver's kernel stamped them: {}", told(&seen.lateness));
    let late = served.lateness.quantile(990).max(seen.lateness.quantile(990));
    let within = late.is_some_and(|late| late <= LATE_AT_MOST) && share <= PROCESSOR_AT_MOST && seen.lost == 0;
    println!(
        "{}",
        if within { "within the bounds" } else { "NOT within the bounds: p99 1 ms, one core, no frame lost" }
    );
}

fn told(lateness: &Lateness) -> String {
    let late = |per_mille| lateness.quantile(per_mille).unwrap_or_default();
    format!("{:?} (p50), {:?} (p99), {:?} (p99.9), {:?} (max)", late(500), late(990), late(999), lateness.most())
}
