//! A service and a reception on their threads, over this kernel's loopback interface.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};

use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::{ServerEvent, ServerSettings};
use framewire_wire::vtp::Title;

use super::*;
use crate::serve::Serving;
use crate::service::{Service, ServiceEvent, ServiceOptions};
use crate::testing::movie::Movie;
use crate::{random_secret, random_session};

const FRAMES: u32 = 25;
const STARTUP: Duration = Duration::from_millis(200);
/// Longer than anything here takes on a machine at work.
const PATIENCE: Duration = Duration::from_secs(30);

fn title(name: &str) -> Title {
    Title::new(name).expect("a title")
}

/// So many frames at 50 a second, and what their service reports: that sessions begin, how they end, and that it is
/// enough.
fn service(frames: u32, sessions: Option<u64>) -> (Service, [SocketAddr; 2], mpsc::Receiver<String>) {
    let movie = Arc::new(Movie::new(frames, Duration::from_millis(20), 2, 1_000));
    let make = || Box::new(FixedRate::new()) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title("movie"), random_secret().expect("random bytes"));
    let host = Host::new(movie.clone(), movie, Box::new(make), settings, 100).expect("a host");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let serving = Serving::open(host, any, any).expect("two sockets");
    let (sender, told) = mpsc::channel();
    let tell = move |news: ServiceEvent<'_>| {
        let word = match news {
            ServiceEvent::Event(event) => match &event.event {
                ServerEvent::Started { .. } => "started".to_owned(),
                ServerEvent::Ended(reason) => format!("{reason:?}"),
                ServerEvent::LevelChanged { .. } | ServerEvent::SourceFailed(_) => return,
            },
            ServiceEvent::Enough => "enough".to_owned(),
            ServiceEvent::Report(_) => return,
            ServiceEvent::Broken(error) => error.to_string(),
        };
        let _ = sender.send(word);
    };
    let service = Service::start(serving, ServiceOptions { sessions, report_every: None }, tell).expect("a thread");
    let addresses = service.report().addresses.expect("bound sockets");
    (service, addresses, told)
}

fn reception([data, control]: [SocketAddr; 2], name: &str) -> Reception {
    let client = ClientSettings::paper(title(name), random_session().expect("a name"));
    let plan = Plan {
        host: data.ip().to_string(),
        data_port: data.port(),
        control_port: control.port(),
        client,
        startup: STARTUP,
        buffer: DataSize::from_bytes(1_000_000),
    };
    Reception::start(plan).expect("a thread")
}

#[test]
fn every_frame_comes_in_order_and_the_first_behind_the_start_up_delay() {
    let (service, addresses, told) = service(FRAMES, Some(1));
    let reception = reception(addresses, "movie");
    let began = Instant::now();
    let (mut frames, mut first) = (vec![], None);
    let ended = loop {
        match reception.next() {
            Next::Event(ClientEvent::FrameComplete(frame)) => {
                first.get_or_insert_with(|| began.elapsed());
                frames.push(frame.frame);
            }
            Next::Event(ClientEvent::Ended(reason)) => break reason,
            Next::Event(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(frames, (0..FRAMES).collect::<Vec<_>>());
    assert_eq!(ended, Reason::EndOfMovie);
    assert!(first.is_some_and(|first| first >= STARTUP), "{first:?}");
    let known = reception.known();
    assert_eq!((known.in_time + known.late, known.waiting), (FRAMES.into(), 0));
    let words: Vec<_> = (0..3).map(|_| told.recv_timeout(PATIENCE).expect("the service tells")).collect();
    assert_eq!((words[0].as_str(), words[2].as_str()), ("started", "enough"), "{words:?}");
    let report = service.stop();
    assert_eq!((report.ended, report.sessions.len()), (1, 0));
}

#[test]
fn a_title_that_is_not_served_is_complained_of_by_name() {
    let (_service, addresses, _told) = service(FRAMES, None);
    let reception = reception(addresses, "another");
    let ended = loop {
        match reception.next() {
            Next::Event(ClientEvent::Ended(reason)) => break reason,
            Next::Event(_) => {}
            other => panic!("{other:?}"),
        }
    };
    let words = complaint(ended, &reception.settled()).expect("a complaint");
    assert!(words.contains("no movie \"another\""), "{words}");
    assert_eq!(complaint(Reason::EndOfMovie, &reception.settled()), None);
}

#[test]
fn who_cancels_waits_for_nothing_and_the_server_hears_of_it() {
    let (service, addresses, told) = service(60 * 50, None);
    let reception = reception(addresses, "movie");
    assert_eq!(told.recv_timeout(PATIENCE).expect("the service tells"), "started");
    // Before its first packet of video, the client has no session to end.
    while !matches!(reception.next(), Next::Event(ClientEvent::FrameComplete(_))) {}
    reception.cancel();
    assert!(matches!(reception.next(), Next::Flushing));
    assert!(matches!(reception.next_audio(), AudioItem::Flushing));
    assert_eq!(told.recv_timeout(PATIENCE).expect("the service tells"), "Stopped");
    assert_eq!(service.stop().ended, 1);
}
