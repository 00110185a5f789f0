//! Turns in virtual time: every datagram that is sent or read costs its time, as it does a core.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::datagram::DropReason;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::server::ServerSettings;
use framewire_units::Duration;
use framewire_wire::vtp::{Packet, Request, Secret, Title};

use super::*;
use crate::testing::movie::Movie;

/// A wait that is to end at a time ends so much later: the slack of timers, and waking up.
const WAKE_UP: Duration = Duration::from_micros(60);

/// Datagrams that a socket holds.
const SOCKET: usize = 4_096;

/// What a datagram costs.
#[derive(Clone, Copy)]
struct Cost {
    send: Duration,
    read: Duration,
}

/// 400 clients of 1 Mbit/s ask a server at this cost for more than half of its time: 50,000 packets a second there,
/// 10,000 back.
const CALM: Cost = Cost { send: Duration::from_micros(10), read: Duration::from_micros(8) };
const CLIENTS: u32 = 400;

/// A server's core, and clients that cost it nothing.
struct World {
    now: Timestamp,
    cost: Cost,
    clients: BTreeMap<Ipv4Addr, Viewer>,
    begun: u32,
    /// What waits in the sockets, with the time of its arrival.
    inboxes: [VecDeque<(Timestamp, SocketAddr, Vec<u8>)>; 2],
    sent: u64,
    /// How often it slept.
    naps: u64,
    /// The longest time for which something of a client waited in a socket.
    waited: Duration,
    /// The next request of a stranger, and the time between two.
    flood: Option<(Timestamp, Duration)>,
}

struct Viewer {
    client: Client,
    frames: u32,
}

impl World {
    /// Clients that begin one after the other within a second.
    fn new(cost: Cost) -> Self {
        let viewer = |number: u32| {
            let client = Client::new(ClientSettings::paper(title(), number.into()));
            (address(number), Viewer { client, frames: 0 })
        };
        Self {
            now: START,
            cost,
            clients: (0..CLIENTS).map(viewer).collect(),
            begun: 0,
            inboxes: Default::default(),
            sent: 0,
            naps: 0,
            waited: Duration::ZERO,
            flood: None,
        }
    }

    /// A client does what it wants to; what it sends arrives at once.
    fn act(&mut self, address: Ipv4Addr) {
        let now = self.now;
        let Some(viewer) = self.clients.get_mut(&address) else { return };
        while let Some(sent) = viewer.client.poll_transmit(now) {
            let inbox = &mut self.inboxes[sent.channel.index()];
            if inbox.len() < SOCKET {
                inbox.push_back((now, SocketAddr::from((address, sent.channel as u16)), sent.bytes));
            }
        }
        while let Some(event) = viewer.client.poll_event() {
            viewer.frames += u32::from(matches!(event, ClientEvent::FrameComplete(_)));
        }
    }

    /// When the next client begins.
    fn begins(&self) -> Option<Timestamp> {
        (self.begun < CLIENTS).then(|| START + Duration::from_secs(1) / CLIENTS * self.begun)
    }

    /// The clients that begin by now, and strangers.
    fn arrive(&mut self) {
        while self.begins().is_some_and(|at| at <= self.now) {
            self.begun += 1;
            self.act(address(self.begun - 1));
        }
        while let Some((at, every)) = self.flood.filter(|&(at, _)| at <= self.now) {
            let (mut bytes, from) = (vec![], SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9)));
            Packet::Request(Request { session: at.as_nanos(), title: title() }).emit(&mut bytes);
            let inbox = &mut self.inboxes[Channel::Data.index()];
            if inbox.len() < SOCKET {
                inbox.push_back((at, from, bytes));
            }
            self.flood = Some((at + every, every));
        }
    }

    /// Turns and waits, until the time is over.
    fn run(&mut self, host: &mut Host, until: Timestamp) {
        while self.now < until {
            self.arrive();
            let until = match turn(host, self).expect("nothing breaks") {
                Next::Turn => continue,
                Next::Pause(until) => until,
                Next::Wait(own) => {
                    let arrivals = self.inboxes.iter().filter_map(|inbox| inbox.front().map(|&(at, ..)| at));
                    let others = [own, self.begins(), self.flood.map(|(at, _)| at)].into_iter().flatten();
                    others.chain(arrivals).min().unwrap_or(until)
                }
            };
            self.now = if until > self.now { until + WAKE_UP } else { self.now };
            self.naps += 1;
        }
    }

    fn frames(&self) -> (u32, u32) {
        let frames = || self.clients.values().map(|viewer| viewer.frames);
        (frames().min().unwrap_or(0), frames().max().unwrap_or(0))
    }
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + number)
}

impl ServerSockets for World {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn has_room(&self) -> bool {
        true
    }

    fn send_all(&mut self, batch: &mut Vec<Transmit>, left: &mut dyn FnMut(Timestamp, Timestamp)) {
        self.now += self.cost.send * batch.len() as u32;
        self.sent += batch.len() as u64;
        for transmit in batch.drain(..) {
            transmit.due.into_iter().for_each(|due| left(due, self.now));
            let std::net::IpAddr::V4(address) = transmit.to.ip() else { panic!("not an address of these") };
            if let Some(viewer) = self.clients.get_mut(&address) {
                viewer.client.handle_datagram(self.now, transmit.channel, &transmit.bytes);
                self.act(address);
            }
        }
    }

    fn read(&mut self, most: usize, handle: &mut Handle<'_>) -> Result<bool, EndpointError> {
        let mut any = false;
        for channel in Channel::BOTH {
            for _ in 0..most {
                let Some((at, from, bytes)) = self.inboxes[channel.index()].pop_front() else { break };
                any = true;
                self.now += self.cost.read;
                if channel == Channel::Control {
                    self.waited = self.waited.max(self.now.saturating_since(at));
                }
                handle(at, channel, from, &bytes);
            }
        }
        Ok(any)
    }
}

const START: Timestamp = Timestamp::from_secs(1);

fn title() -> Title {
    Title::new("movie").expect("a title")
}

/// A movie of 1 Mbit/s: frames of 5,000 bytes, 25 a second.
fn host() -> Host {
    let movie = Arc::new(Movie::new(1_000, Duration::from_millis(40), 5, 1_000));
    let make = || Box::new(FixedRate::new()) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title(), Secret::new([7; 32]));
    Host::new(movie.clone(), movie, Box::new(make), settings, CLIENTS as usize).expect("a host")
}

fn late(host: &Host, per_mille: u64) -> Duration {
    host.lateness().quantile(per_mille).expect("departures")
}

#[test]
fn a_core_with_half_its_time_free_is_on_time() {
    let (mut host, mut world) = (host(), World::new(CALM));
    world.run(&mut host, START + Duration::from_secs(3));
    // The last client has been there for two seconds, the first for three.
    let (least, most) = world.frames();
    assert!((49..=50).contains(&least) && (74..=75).contains(&most), "{least} to {most} frames");
    assert!(late(&host, 990) < Duration::from_micros(500), "{:?}", late(&host, 990));
    // No packet leaves before it was sent, and a wait ends late.
    assert!(late(&host, 500) >= WAKE_UP, "{:?}", late(&host, 500));
    assert!(world.waited < Duration::from_millis(1), "{:?}", world.waited);
    // 50,000 packets and 10,000 reports a second, and not a nap for each.
    let naps = world.naps / 3;
    assert!((1_000..10_000).contains(&naps), "{naps} a second");
    assert_eq!(host.sessions(), CLIENTS as usize);
}

#[test]
fn a_core_with_too_much_to_do_is_deaf_to_nobody_and_unfair_to_nobody() {
    let cost = Cost { send: CALM.send * 3, read: CALM.read * 3 };
    let (mut host, mut world) = (host(), World::new(cost));
    world.run(&mut host, START + Duration::from_secs(4));
    assert_eq!(host.sessions(), CLIENTS as usize, "every client came in");
    // It does what it can, and no more: reports take some of its time.
    let possible = 4.0 / cost.send.as_secs_f64();
    let share = world.sent as f64 / possible;
    assert!((0.6..=1.0).contains(&share), "{share}");
    // One turn is 128 packets of 30 µs and 32 reports of 24 µs: 4.6 ms.
    assert!(world.waited < Duration::from_millis(25), "{:?}", world.waited);
    let (least, most) = world.frames();
    assert!(least >= 20 && most <= 100 && least + 30 >= most, "{least} to {most} frames");
}

#[test]
fn a_flood_of_requests_takes_its_turn() {
    let (mut host, mut world) = (host(), World::new(CALM));
    // Once every client is in, more than the core could read and answer if it did nothing else.
    world.flood = Some((START + Duration::from_millis(1_200), Duration::from_micros(10)));
    world.run(&mut host, START + Duration::from_secs(3));
    let (least, most) = world.frames();
    assert!((48..=50).contains(&least) && (73..=75).contains(&most), "{least} to {most} frames");
    assert!(late(&host, 990) < Duration::from_millis(3), "{:?}", late(&host, 990));
    assert_eq!(host.sessions(), CLIENTS as usize);
    assert_eq!(host.drops().of(DropReason::NoRoom), 0, "no more is read than can be answered");
    // What strangers got is what the core had left: not nothing, and not all that they asked for.
    let of_clients: u64 = world.clients.values().map(|viewer| u64::from(viewer.frames) * 5).sum();
    let answers = world.sent - of_clients;
    assert!((10_000..100_000).contains(&answers), "{answers} answers to 180,000 requests");
}
