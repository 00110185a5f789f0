//! A host and its clients in virtual time, a millisecond apart.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use framewire_adaptive::client::{Client, ClientSettings, ReportKind};
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::rate_control::RateControlSettings;
use framewire_adaptive::server::ServerSettings;
use framewire_units::DataSize;
use framewire_wire::vtp::{Secret, Title};

use super::*;
use crate::testing::movie::Movie;

const BEGAN: Timestamp = Timestamp::from_secs(100);
const DELAY: Duration = Duration::from_millis(1);

struct World {
    host: Host,
    clients: BTreeMap<SocketAddr, Client>,
    /// Towards the host.
    on_the_way: VecDeque<(SocketAddr, Channel, Vec<u8>)>,
    found: SessionsWithoutFeedback,
    /// When each session began.
    started: BTreeMap<u64, Timestamp>,
    told: Vec<(Timestamp, SessionWithoutFeedback)>,
}

fn title() -> Title {
    Title::new("movie").expect("a title")
}

fn address(session: u64) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 5_000 + session as u16))
}

impl World {
    fn new(rate_control: RateControl) -> Self {
        // Frames of two packets of 1,000 bytes, 25 a second: 400 kbit/s for 40 s.
        let movie = Arc::new(Movie::new(1_000, Duration::from_millis(40), 2, 1_000));
        let make = rate_control.maker(RateControlSettings::new(DataSize::from_bytes(1_000)));
        let settings = ServerSettings::paper(title(), Secret::new([7; 32]));
        Self {
            host: Host::new(movie.clone(), movie, make, settings, 10).expect("a host"),
            clients: BTreeMap::new(),
            on_the_way: VecDeque::new(),
            found: SessionsWithoutFeedback::new(rate_control),
            started: BTreeMap::new(),
            told: vec![],
        }
    }

    fn add(&mut self, session: u64, reports: ReportKind) {
        let settings = ClientSettings { reports, ..ClientSettings::paper(title(), session) };
        self.clients.insert(address(session), Client::new(settings));
    }

    fn run(&mut self, from: Duration, to: Duration) {
        let mut now = BEGAN + from;
        while now < BEGAN + to {
            for (from, channel, bytes) in std::mem::take(&mut self.on_the_way) {
                self.host.handle_datagram(now, channel, from, &bytes);
            }
            while let Some(sent) = self.host.poll_transmit(now) {
                let client = self.clients.get_mut(&sent.to).expect("a client");
                client.handle_datagram(now, sent.channel, &sent.bytes);
            }
            for (&from, client) in &mut self.clients {
                let sent = std::iter::from_fn(|| client.poll_transmit(now));
                self.on_the_way.extend(sent.map(|sent| (from, sent.channel, sent.bytes)));
                while client.poll_event().is_some() {}
            }
            while let Some(event) = self.host.poll_event() {
                if matches!(event.event, ServerEvent::Started { .. }) {
                    self.started.insert(event.session, now);
                }
                self.found.handle(now, &event);
            }
            self.told.extend(self.found.poll(now, &self.host).map(|session| (now, session)));
            now += DELAY;
        }
    }

    /// The sessions that were returned, with the time since each began.
    fn told(&self) -> Vec<(u64, Duration)> {
        let since = |&(at, told): &(Timestamp, SessionWithoutFeedback)| {
            assert_eq!(told.waited, PATIENCE);
            (told.session, at.saturating_since(self.started[&told.session]))
        };
        self.told.iter().map(since).collect()
    }
}

/// Those of VTP are of no use to TFRC, and the other way round.
#[test]
fn sessions_that_report_in_another_way_are_told_of_once_after_five_seconds() {
    for (host, other) in [(RateControl::Vtp, RateControl::Tfrc), (RateControl::Tfrc, RateControl::Vtp)] {
        let mut world = World::new(host);
        world.add(1, other.reports());
        world.add(2, host.reports());
        world.run(Duration::ZERO, Duration::from_secs(1));
        world.add(3, other.reports());
        world.add(4, other.reports());
        // TFRC becomes so slow without reports that it takes its clients for gone a little later.
        world.run(Duration::from_secs(1), Duration::from_secs(9));
        assert_eq!(world.started.len(), 4);
        assert_eq!(world.host.sessions(), 4, "{host}");
        // One at each look: the second of two that began together is returned at the next.
        assert_eq!(world.told(), [(1, PATIENCE), (3, PATIENCE), (4, PATIENCE + DELAY)], "{host}");
    }
}

#[test]
fn a_session_that_is_over_is_not_told_of() {
    let mut world = World::new(RateControl::Vtp);
    world.add(1, RateControl::Tfrc.reports());
    world.run(Duration::ZERO, Duration::from_secs(3));
    world.clients.values_mut().for_each(|client| client.stop(BEGAN + Duration::from_secs(3)));
    world.run(Duration::from_secs(3), Duration::from_secs(20));
    assert_eq!((world.started.len(), world.host.sessions()), (1, 0));
    assert_eq!(world.told(), []);
}

#[test]
fn a_rate_that_is_fixed_needs_nobody_to_be_heard() {
    let mut world = World::new(RateControl::Fixed);
    world.add(1, RateControl::Tfrc.reports());
    world.run(Duration::ZERO, Duration::from_secs(20));
    let state = world.host.state(1).expect("a session");
    assert!(state.packets > 500 && state.controller.round_trip.is_none(), "{state:?}");
    assert_eq!(world.told(), []);
}
