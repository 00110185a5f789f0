use std::net::Ipv4Addr;

use framewire_wire::vtp::{Key, Request, Start, Title};

use super::*;
use crate::client::{Client, ClientEvent, ClientSettings};
use crate::fixed::FixedRate;
use crate::testing::{Steps, server_settings, title};

const MOVIE: Steps = Steps { levels: 2, frames: 50, payload: 500 };

fn host_with(settings: ServerSettings, most: usize) -> Host {
    let movie = Arc::new(MOVIE);
    Host::new(movie.clone(), movie, Box::new(|| Box::new(FixedRate::new())), settings, most).unwrap()
}

/// A client at an address of its own.
struct Viewer {
    client: Client,
    address: Ipv4Addr,
    frames: usize,
    ended: Option<Reason>,
}

impl Viewer {
    fn new(number: u8, settings: ClientSettings) -> Self {
        Self { client: Client::new(settings), address: Ipv4Addr::new(192, 0, 2, number), frames: 0, ended: None }
    }

    fn on(&self, channel: Channel) -> SocketAddr {
        SocketAddr::from((self.address, 5_000 + channel as u16))
    }

    fn act(&mut self, now: Timestamp, host: &mut Host) {
        while let Some(sent) = self.client.poll_transmit(now) {
            host.handle_datagram(now, sent.channel, self.on(sent.channel), &sent.bytes);
        }
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::FrameComplete(_) => self.frames += 1,
                ClientEvent::Ended(reason) => self.ended = Some(reason),
                _ => {}
            }
        }
    }
}

/// Runs all over a network without delay until everybody has ended, in steps of a millisecond.
fn run(host: &mut Host, viewers: &mut [Viewer], millis: u64) {
    for millis in 0..millis {
        let now = Timestamp::from_millis(1_000 + millis);
        viewers.iter_mut().for_each(|viewer| viewer.act(now, host));
        while let Some(sent) = host.poll_transmit(now) {
            let viewer = viewers.iter_mut().find(|viewer| viewer.on(sent.channel) == sent.to).expect("a known address");
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
            viewer.act(now, host);
        }
        if viewers.iter().all(|viewer| viewer.ended.is_some()) && host.sessions() == 0 {
            return;
        }
    }
}

fn viewers(count: u8) -> Vec<Viewer> {
    (1..=count).map(|number| Viewer::new(number, ClientSettings::paper(title(), u64::from(number)))).collect()
}

#[test]
fn every_client_gets_the_whole_movie_in_its_time_and_leaves_nothing_behind() {
    let mut host = host_with(server_settings(), 20);
    let mut viewers = viewers(20);
    run(&mut host, &mut viewers, 10_000);
    for viewer in &viewers {
        assert_eq!((viewer.frames, viewer.ended), (50, Some(Reason::EndOfMovie)), "{}", viewer.address);
    }
    assert_eq!((host.sessions(), host.next_timeout()), (0, None));
    // Two packets a frame, but for the first, which was not waited for.
    assert!((20 * 90..20 * 100).contains(&host.lateness().count()), "{}", host.lateness().count());
    assert!(host.lateness().most() <= framewire_units::Duration::from_millis(1), "looked at each millisecond");
    let started = std::iter::from_fn(|| host.poll_event());
    assert_eq!(started.filter(|event| matches!(event.event, ServerEvent::Started { .. })).count(), 20);
}

#[test]
fn a_shared_key_opens_the_door_and_its_lack_does_not() {
    let key = || Key::new(&[3; 16]);
    let mut host = host_with(ServerSettings { key: key(), ..server_settings() }, 5);
    let with = ClientSettings { key: key(), ..ClientSettings::paper(title(), 1) };
    let mut viewers = vec![Viewer::new(1, with), Viewer::new(2, ClientSettings::paper(title(), 2))];
    run(&mut host, &mut viewers, 15_000);
    assert_eq!((viewers[0].frames, viewers[1].frames), (50, 0));
    assert!(host.drops().of(DropReason::NotAuthentic) > 0);
}

#[test]
fn a_full_host_and_a_foreign_title_are_refused_with_a_reason() {
    let mut host = host_with(server_settings(), 1);
    let mut viewers = viewers(2);
    viewers[0].act(Timestamp::from_millis(999), &mut host);
    run(&mut host, &mut viewers, 1_500);
    assert_eq!((viewers[1].frames, viewers[1].ended), (0, Some(Reason::Busy)));
    let other = ClientSettings::paper(Title::new("other").unwrap(), 9);
    let mut viewers = vec![Viewer::new(9, other)];
    run(&mut host_with(server_settings(), 1), &mut viewers, 1_500);
    assert_eq!(viewers[0].ended, Some(Reason::UnknownTitle));
}

#[test]
fn nothing_is_kept_of_those_who_prove_no_address() {
    let mut host = host_with(server_settings(), 10);
    let now = Timestamp::from_millis(1);
    let (mut asked, mut sent) = (0, 0);
    for number in 0..10_000u32 {
        let from = SocketAddr::from((Ipv4Addr::from(number), 1));
        let mut bytes = vec![];
        match number % 3 {
            0 => Packet::Request(Request { session: u64::from(number), title: title() }).emit(&mut bytes),
            1 => Packet::Start(Start { session: 5, title: title(), cookie: framewire_wire::vtp::Cookie([1; 16]) })
                .emit(&mut bytes),
            _ => bytes.extend([0; 40]),
        }
        asked += bytes.len();
        host.handle_datagram(now, Channel::Data, from, &bytes);
        while let Some(answer) = host.poll_transmit(now) {
            sent += answer.bytes.len();
        }
    }
    assert_eq!(host.sessions(), 0);
    assert!(sent > 0 && sent <= asked, "{sent} bytes for {asked}");
    assert_eq!(host.drops().of(DropReason::BadCookie), 3_333);
    assert_eq!(host.drops().of(DropReason::Malformed), 3_333);
}

#[test]
fn stopping_says_goodbye_to_everybody() {
    let mut host = host_with(server_settings(), 5);
    let mut viewers = viewers(5);
    run(&mut host, &mut viewers, 300);
    assert_eq!(host.sessions(), 5);
    host.stop(Timestamp::from_millis(1_301));
    run(&mut host, &mut viewers, 2_000);
    assert!(viewers.iter().all(|viewer| viewer.ended == Some(Reason::Stopped)));
    assert_eq!(host.sessions(), 0);
}
