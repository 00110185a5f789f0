//! Many clients of a server at once: `cargo bench -p framewire-real --bench audience -- URL CLIENTS SECONDS [PID]`.
//!
//! Of `rtsp://` each client plays the movie, interleaved, and every packet's time of arrival is compared with its time stamp: a
//! movie without B frames is due at its time stamps, and the most punctual packet of a client is taken for punctual. Of `http://` each
//! client fetches the path once, and the time to its last byte counts. The clients begin within a second (RTSP), or together
//! (HTTP). With the process number of the server, its processor time is printed, too. docs/serving.md has what came out, beside
//! gst-rtsp-server (`benches/rtsp_server.py`) and nginx.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads clocks and opens sockets")]

mod fetching;
mod playing;

use std::fs;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use framewire_sockets::{Poller, TcpOptions, TcpRead, TcpReceiver, TcpSender, Watch};
use framewire_transport::socket::StreamSocket;
use framewire_units::Timestamp;

use fetching::Fetching;
use playing::Playing;

/// What one client does with its connection.
trait Client {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]);
    fn handle_close(&mut self, now: Timestamp);
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;
    fn is_over(&self) -> bool;
    /// What came of it, and of all those before it.
    fn add_to(&self, seen: &mut Seen);
}

/// What all clients saw.
#[derive(Default)]
struct Seen {
    bytes: u64,
    packets: u64,
    /// Clients that had all that they asked for, or played to the end of the time.
    whole: usize,
    /// By how much packets came late, or how long files took, in nanoseconds.
    times: Vec<u64>,
}

struct Connection {
    client: Box<dyn Client>,
    reading: TcpReceiver,
    writing: TcpSender,
    closed: bool,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [url, clients, seconds, rest @ ..] = &words[..] else {
        return println!("URL CLIENTS SECONDS [PID]");
    };
    let (count, seconds): (usize, u64) = (clients.parse().expect("a number"), seconds.parse().expect("a number"));
    let pid: Option<u32> = rest.first().and_then(|pid| pid.parse().ok());
    let (scheme, place) = url.split_once("://").expect("a URL");
    let (address, path) = place.split_once('/').expect("a path");
    let address: SocketAddr = address.parse().expect("an address and port");
    let before = pid.map(processor_time);
    let begun = Instant::now();
    let seen = run(scheme, url, address, &format!("/{path}"), count, Duration::from_secs(seconds));
    let took = begun.elapsed().as_secs_f64();
    report(scheme, count, took, seen);
    if let (Some(pid), Some(before)) = (pid, before) {
        println!("processor of the server: {:.1} %", 100.0 * (processor_time(pid) - before) / took);
    }
}

fn run(scheme: &str, url: &str, address: SocketAddr, path: &str, count: usize, most: Duration) -> Seen {
    let begun = Instant::now();
    let now = || Timestamp::ZERO + begun.elapsed();
    let mut poller = Poller::new().expect("a poller");
    let (mut connections, mut open) = (Vec::new(), 0);
    let mut buffer = vec![0; 256 << 10];
    // RTSP: spread over a second, so that frames are not all due together.
    let apart = if scheme == "rtsp" { Duration::from_secs(1) / count as u32 } else { Duration::ZERO };
    while begun.elapsed() < most && (connections.len() < count || open > 0) {
        while connections.len() < count && begun.elapsed() >= apart * connections.len() as u32 {
            let writing = TcpSender::connect(None, address, &TcpOptions::default(), Duration::from_secs(5));
            let writing = writing.expect("the server listens");
            let reading = writing.receiver().expect("a receiver");
            let watch = Watch { read: true, write: false };
            poller.add(reading.as_fd(), connections.len() as u64, watch).expect("room");
            let client: Box<dyn Client> = match scheme {
                "rtsp" => Box::new(Playing::new(url, now(), connections.len() as u64)),
                _ => Box::new(Fetching::new(path, now())),
            };
            let mut connection = Connection { client, reading, writing, closed: false };
            connection.say();
            connections.push(connection);
            open += 1;
        }
        let ready: Vec<u64> =
            poller.wait(Duration::from_millis(2)).expect("it waits").map(|polled| polled.token).collect();
        for token in ready {
            let connection = &mut connections[token as usize];
            connection.read(now(), &mut buffer);
            if connection.closed {
                let _ = poller.change(connection.reading.as_fd(), token, Watch::default());
                open -= 1;
            }
        }
    }
    let mut seen = Seen::default();
    connections.iter().for_each(|connection| connection.client.add_to(&mut seen));
    seen
}

impl Connection {
    fn read(&mut self, now: Timestamp, buffer: &mut [u8]) {
        if self.closed {
            return;
        }
        match self.reading.read(buffer) {
            Ok(TcpRead::Nothing) => {}
            Ok(TcpRead::Bytes { length, .. }) => self.client.handle_bytes(now, &buffer[..length]),
            Ok(TcpRead::End) | Err(_) => {
                self.client.handle_close(now);
                self.closed = true;
            }
        }
        self.closed |= self.client.is_over();
        self.say();
    }

    fn say(&mut self) {
        while let Some(message) = self.client.poll_transmit() {
            let written = self.writing.write(&message).unwrap_or(0);
            assert!(written == message.len() || self.closed, "requests are short");
        }
    }
}

fn report(scheme: &str, count: usize, took: f64, mut seen: Seen) {
    seen.times.sort_unstable();
    let quantile = |share: f64| {
        let place = ((seen.times.len() as f64 * share) as usize).min(seen.times.len().saturating_sub(1));
        seen.times.get(place).map_or(f64::NAN, |&nanos| nanos as f64 / 1e6)
    };
    let rate = 8e-6 * seen.bytes as f64 / took;
    println!("{count} clients, {} whole; {took:.1} s, {rate:.0} Mbit/s, {} packets", seen.whole, seen.packets);
    let what = if scheme == "rtsp" { "late by" } else { "last byte after" };
    let [half, most, last] = [0.5, 0.99, 1.0].map(quantile);
    println!("{what}: p50 {half:.3} ms, p99 {most:.3} ms, max {last:.3} ms");
}

/// Seconds of processor time that a process has had (proc_pid_stat(5): fields 14 and 15, of 100 to a second).
fn processor_time(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is there");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [fields[11], fields[12]].iter().map(|ticks| ticks.parse::<f64>().unwrap_or(0.0) / 100.0).sum()
}
