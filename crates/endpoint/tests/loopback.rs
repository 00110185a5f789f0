//! A server and its clients over this kernel's loopback interface.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "both sides run in real time, on threads of their own"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::{ServerEvent, ServerSettings};
use framewire_endpoint::{Serving, Viewed, Viewing, random_secret, random_session};
use framewire_units::Duration;
use framewire_wire::vtp::{Reason, Title};

mod movie;
use movie::Movie;

fn title() -> Title {
    Title::new("movie").expect("a title")
}

fn serving(frames: u32) -> Serving {
    // Two packets of 1,000 bytes, 50 times a second: 800 kbit/s.
    let movie = Arc::new(Movie::new(frames, Duration::from_millis(20), 2, 1_000));
    let make = || Box::new(FixedRate::new()) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title(), random_secret().expect("random bytes"));
    let host = Host::new(movie.clone(), movie, Box::new(make), settings, 100).expect("a host");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Serving::open(host, any, any).expect("two sockets")
}

fn view(server: [SocketAddr; 2], cancelled: impl Fn() -> bool) -> (Viewed, Vec<u8>, Vec<u32>) {
    let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
    let (mut movie, mut frames) = (vec![], vec![]);
    let look = |_, event: &ClientEvent| {
        if let ClientEvent::FrameComplete(frame) = event {
            frames.push(frame.frame);
        }
    };
    let viewing = Viewing::open(client, server[0], server[1]).expect("two sockets");
    let viewed = viewing.run(&mut movie, cancelled, look).expect("a session");
    (viewed, movie, frames)
}

#[test]
fn every_client_gets_the_movie_to_the_byte() {
    let serving = serving(50);
    let server = serving.addresses().expect("addresses");
    let clients: Vec<_> = (0..5).map(|_| thread::spawn(move || view(server, || false))).collect();
    let served = serving.run(Some(5), || false, |_, _, _| {}).expect("served");
    for client in clients {
        let (viewed, movie, frames) = client.join().expect("no panic");
        assert_eq!((viewed.ended, viewed.frames_by_level, viewed.written), (Reason::EndOfMovie, vec![50], 100_000));
        assert_eq!(frames, (0..50).collect::<Vec<_>>());
        let expected = (0..100u8).flat_map(|packet| [vec![packet / 2; 999], vec![packet % 2]].concat());
        assert!(movie.into_iter().eq(expected));
    }
    assert_eq!((served.sessions, served.drops.total()), (5, 0));
    assert_eq!(served.lateness.count(), 5 * 100, "every packet of video");
}

#[test]
fn either_side_can_end_it() {
    let serving = serving(5_000);
    let server = serving.addresses().expect("addresses");
    let stop = Arc::new(AtomicBool::new(false));
    let of_host = stop.clone();
    let host = thread::spawn(move || serving.run(None, || of_host.load(Ordering::Relaxed), |_, _, _| {}));
    // The client ends one session after it began, the server the next one.
    let begun = std::time::Instant::now();
    let (viewed, ..) = view(server, || begun.elapsed() > Duration::from_millis(500));
    assert_eq!(viewed.ended, Reason::Stopped);
    let client = thread::spawn(move || view(server, || false));
    thread::sleep(Duration::from_secs(1));
    stop.store(true, Ordering::Relaxed);
    let (viewed, ..) = client.join().expect("no panic");
    assert_eq!(viewed.ended, Reason::Stopped);
    assert_eq!(host.join().expect("no panic").expect("served").sessions, 2);
}

#[test]
fn a_server_that_is_not_there_is_given_up() {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let settings = ClientSettings { peer_timeout: Duration::from_millis(700), ..ClientSettings::paper(title(), 1) };
    let viewing = Viewing::open(Client::new(settings), nowhere, nowhere).expect("two sockets");
    let viewed = viewing.run(std::io::sink(), || false, |_, _| {}).expect("a session");
    assert_eq!((viewed.ended, viewed.written), (Reason::Vanished, 0));
}

/// All that happened, when one event is fetched for each step: what is not fetched yet waits in the client.
fn step_through(viewing: &mut Viewing) -> Vec<ClientEvent> {
    let mut events = vec![];
    while !viewing.is_finished() {
        viewing.step().expect("sound sockets");
        events.extend(viewing.poll_event());
    }
    events.extend(std::iter::from_fn(|| viewing.poll_event()));
    events
}

#[test]
fn who_steps_fetches_frames_at_a_pace_of_its_own() {
    let mut serving = serving(50);
    let server = serving.addresses().expect("addresses");
    let client = thread::spawn(move || {
        let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
        let mut viewing = Viewing::open(client, server[0], server[1]).expect("two sockets");
        let events = step_through(&mut viewing);
        assert_eq!(viewing.state().frames_complete, 50);
        events
    });
    let (mut most, mut reasons) = (0, vec![]);
    while reasons.is_empty() {
        serving.step().expect("sound sockets");
        most = most.max(serving.host().sessions());
        reasons.extend(std::iter::from_fn(|| serving.poll_event()).filter_map(|event| match event.event {
            ServerEvent::Ended(reason) => Some(reason),
            _ => None,
        }));
    }
    let events = client.join().expect("no panic");
    let frames = events.iter().filter_map(|event| match event {
        ClientEvent::FrameComplete(frame) => Some(frame.frame),
        _ => None,
    });
    assert!(frames.eq(0..50));
    assert_eq!(events.last(), Some(&ClientEvent::Ended(Reason::EndOfMovie)));
    assert_eq!((most, reasons), (1, vec![Reason::EndOfMovie]));
}

#[test]
fn who_steps_can_end_it() {
    let mut serving = serving(5_000);
    let server = serving.addresses().expect("addresses");
    let client = thread::spawn(move || view(server, || false).0.ended);
    let mut stopped = false;
    while !stopped || serving.host().sessions() > 0 {
        serving.step().expect("sound sockets");
        while let Some(event) = serving.poll_event() {
            if matches!(event.event, ServerEvent::Started { .. }) {
                serving.stop();
                stopped = true;
            }
        }
    }
    assert_eq!(client.join().expect("no panic"), Reason::Stopped);
}
