//! How many clients one thread serves, and how exactly: `cargo bench -p framewire-endpoint --bench clients -- 1000 10`.
//!
//! A server thread streams a movie of 1 Mbit/s by VTP to so many clients for so many seconds. The clients are real
//! ones, in a thread of their own, behind one pair of sockets, as if behind one translating router. Printed are the
//! processor time of the server's thread, the distribution of how late packets left, and what arrived.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads clocks and owns threads")]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::{PacketSource, Plan, SourceError, SourcePacket};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_endpoint::{Served, Serving, random_secret};
use framewire_sockets::{UdpOptions, UdpRead, UdpSocket};
use framewire_units::{Bitrate, DataSize, Timestamp};
use framewire_wire::vtp::{Header, Title};

/// Bounds of what is claimed: the 99th percentile of lateness, and the processor time of the thread.
const LATE_AT_MOST: Duration = Duration::from_millis(1);
const PROCESSOR_AT_MOST: f64 = 1.0;

/// Frames of 5,000 bytes, 25 a second, in packets of 1,000 bytes.
struct Movie {
    frames: u32,
    packet: Bytes,
}

const FRAME: Duration = Duration::from_millis(40);

impl PacketSource for Movie {
    fn levels(&self) -> usize {
        1
    }
    fn frames(&self) -> u32 {
        self.frames
    }
    fn time_of(&self, frame: u32) -> Duration {
        FRAME * frame
    }
    fn duration(&self) -> Duration {
        FRAME * self.frames
    }
    fn is_switch_point(&self, frame: u32) -> bool {
        frame.is_multiple_of(12)
    }
    fn packet(&self, frame: u32, _level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        Ok(SourcePacket { bytes: self.packet.clone(), last: index == 4, key: self.is_switch_point(frame) })
    }
}

impl Plan for Movie {
    fn levels(&self) -> usize {
        1
    }
    fn rate_at(&self, _level: usize, _at: Duration) -> Bitrate {
        Bitrate::from_mbps(1)
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (clients, seconds) = (numbers.next().unwrap_or(1_000), numbers.next().unwrap_or(10));
    let title = Title::new("movie").expect("a title");
    let movie = Arc::new(Movie { frames: (seconds * 25) as u32, packet: vec![7; 1_000].into() });
    let make = || Box::new(VtpController::new(VtpSettings::paper()).expect("settings")) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title.clone(), random_secret().expect("random bytes"));
    let host = Host::new(movie.clone(), movie, Box::new(make), settings, clients as usize).expect("a host");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let serving = Serving::open(host, any, any).expect("two sockets");
    let server = serving.addresses().expect("addresses");
    let end = Instant::now() + Duration::from_secs(seconds + 15);
    let server_thread = thread::spawn(move || {
        let before = thread_time();
        let served = serving.run(Some(clients), || Instant::now() > end, |_, _, _| {}).expect("served");
        (served, thread_time() - before)
    });
    let audience = Audience::new(clients, &title, server).view(end);
    let (served, processor) = server_thread.join().expect("no panic");
    report(&served, &audience, processor, clients, seconds);
}

fn report(served: &Served, audience: &Audience, processor: f64, clients: u64, seconds: u64) {
    let (frames, lost) = (audience.frames, audience.lost);
    let late = |per_mille| served.lateness.quantile(per_mille).unwrap_or_default();
    let share = processor / seconds as f64;
    println!(
        "{clients} clients of 1 Mbit/s for {seconds} s: {:.0} % of one core; {} departures, late by {:?} (p50), {:?} \
         (p99), {:?} (max); {} sessions, {frames} of {} frames whole, {lost} lost",
        share * 100.0,
        served.lateness.count(),
        late(500),
        late(990),
        served.lateness.most(),
        served.sessions,
        clients * seconds * 25,
    );
    let within = late(990) <= LATE_AT_MOST && share <= PROCESSOR_AT_MOST;
    println!("{}", if within { "within the bounds" } else { "NOT within the bounds: p99 1 ms, one core" });
}

/// Processor time of this thread in seconds.
fn thread_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

/// All clients, behind two sockets.
struct Audience {
    clients: BTreeMap<u64, Client>,
    sockets: [UdpSocket; 2],
    server: [SocketAddr; 2],
    ended: u64,
    frames: u64,
    lost: u64,
}

impl Audience {
    fn new(count: u64, title: &Title, server: [SocketAddr; 2]) -> Self {
        let clients =
            (1..=count).map(|session| (session, Client::new(ClientSettings::paper(title.clone(), session)))).collect();
        let sockets = [(); 2].map(|()| {
            // A thousand viewers have a thousand sockets' room.
            let room = [Some(DataSize::from_bytes(64 << 20)), None].into_iter();
            let open = |receive_buffer| {
                let options = UdpOptions { receive_buffer, ..UdpOptions::default() };
                UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &options).ok()
            };
            room.into_iter().find_map(open).expect("a socket")
        });
        Self { clients, sockets, server, ended: 0, frames: 0, lost: 0 }
    }

    fn view(mut self, end: Instant) -> Self {
        let origin = Instant::now();
        let now = || Timestamp::from_secs(1) + origin.elapsed();
        let mut buffer = vec![0; 65_536];
        // The set-up is spread over two seconds, as viewers come one after the other.
        let sessions: Vec<u64> = self.clients.keys().copied().collect();
        let mut begun = 0;
        let mut next_look = Timestamp::ZERO;
        while (self.ended as usize) < sessions.len() && Instant::now() < end {
            let due = (origin.elapsed().as_secs_f64() / 2.0 * sessions.len() as f64) as usize;
            while begun < due.min(sessions.len()) {
                self.act(now(), sessions[begun]);
                begun += 1;
            }
            if !self.receive(&now, &mut buffer) && begun == sessions.len() {
                thread::sleep(Duration::from_micros(200));
            }
            if now() >= next_look {
                next_look = now() + Duration::from_millis(50);
                for &session in &sessions[..begun] {
                    let is_due = self.clients[&session].next_timeout().is_some_and(|at| at <= now());
                    if is_due {
                        self.act(now(), session);
                    }
                }
            }
        }
        self
    }

    fn receive(&mut self, now: &impl Fn() -> Timestamp, buffer: &mut [u8]) -> bool {
        let mut any = false;
        for (place, channel) in Channel::BOTH.into_iter().enumerate() {
            for _ in 0..256 {
                let Ok(UdpRead::Datagram { length, .. }) = self.sockets[place].receive(buffer) else { break };
                any = true;
                let Ok((header, _)) = Header::parse(&buffer[..length]) else { continue };
                let Some(client) = self.clients.get_mut(&header.session) else { continue };
                client.handle_datagram(now(), channel, &buffer[..length]);
                self.act(now(), header.session);
            }
        }
        any
    }

    fn act(&mut self, now: Timestamp, session: u64) {
        let client = self.clients.get_mut(&session).expect("a client");
        while let Some(sent) = client.poll_transmit(now) {
            let place = usize::from(sent.channel == Channel::Control);
            let _ = self.sockets[place].send_to(&sent.bytes, self.server[place]);
        }
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::FrameComplete(_) => self.frames += 1,
                ClientEvent::FramesLost { count, .. } => self.lost += u64::from(count),
                ClientEvent::Ended(_) => self.ended += 1,
                _ => {}
            }
        }
    }
}
