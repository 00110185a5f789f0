//! Every element is torn down at any moment: no deadlock, and nothing is left of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::receiver;
use crate::sending;
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::movie::small_file;
use common::{stat, wait_until};
use framewire_units::{RandomStream, Seed};
use gst::prelude::*;
use receiver::{NOWHERE, Receiver, SOON};
use sending::*;

/// Ends the test program when a deadlock would stop it for ever.
fn watchdog(limit: Duration) -> Arc<()> {
    let alive = Arc::new(());
    let watched = Arc::downgrade(&alive);
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        if watched.upgrade().is_some() {
            eprintln!("deadlock: not done after {limit:?}");
            std::process::abort();
        }
    });
    alive
}

fn launch(line: &str) -> gst::Pipeline {
    common::init();
    gst::parse::launch(line).expect("the elements exist").downcast().expect("a pipeline")
}

fn sleep_up_to(random: &mut RandomStream, micros: u32) {
    std::thread::sleep(Duration::from_micros(u64::from(random.next_inclusive(micros))));
}

/// Flushes as a seek does, from the parser on. Behind it stands a queue: GStreamer lets no other thread send events while
/// the streaming thread waits in a sink.
fn flush(pipeline: &gst::Pipeline) {
    let source = pipeline.by_name("parser").unwrap().static_pad("src").unwrap();
    let segment = source.sticky_event::<gst::event::Segment>(0);
    source.push_event(gst::event::FlushStart::new());
    source.push_event(gst::event::FlushStop::new(false));
    if let Some(segment) = segment {
        source.push_event(segment);
    }
}

/// Changes the state and flushes at random, as applications do.
fn shake(pipeline: &gst::Pipeline, random: &mut RandomStream, flush: impl Fn(&gst::Pipeline)) {
    for _ in 0..random.next_inclusive(3) {
        match random.next_inclusive(3) {
            0 => drop(pipeline.set_state(gst::State::Paused)),
            1 => drop(pipeline.set_state(gst::State::Playing)),
            2 => flush(pipeline),
            _ => drop(pipeline.set_state(gst::State::Ready)),
        }
        sleep_up_to(random, 500);
    }
}

/// Tears down soon, and waits until the element is gone.
fn tear_down(pipeline: gst::Pipeline, element: &str, case: &str) {
    let element = pipeline.by_name(element).unwrap().downgrade();
    let begun = Instant::now();
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(begun.elapsed() < SOON, "{case}: teardown took {:?}", begun.elapsed());
    drop(pipeline);
    wait_until(&format!("the end of the element, {case}"), || element.upgrade().is_none());
}

#[test]
fn a_queue_stops_at_any_moment() {
    let _alive = watchdog(Duration::from_secs(600));
    let path = small_file();
    let mut random = Seed(11).stream("teardown", &[]);
    let mut accepted = 0;
    for round in 0..150 {
        let mode = ["ifd", "ifd-optimised", "dependency"][round % 3];
        let pipeline = launch(&format!(
            "multifilesrc location={} loop=true ! mpegvideoparse name=parser ! ifdqueue name=queue mode={mode} \
             post-drop-messages=true ! identity sleep-time=500 ! fakesink sync=false",
            path.display()
        ));
        pipeline.set_state(gst::State::Playing).unwrap();
        sleep_up_to(&mut random, 8_000);
        shake(&pipeline, &mut random, flush);
        accepted += stat(&pipeline.by_name("queue").unwrap(), "accepted");
        tear_down(pipeline, "queue", &format!("round {round}"));
    }
    assert!(accepted > 1_000, "the pipelines were torn down before anything happened: {accepted}");
}

#[test]
fn an_analyser_stops_at_any_moment() {
    let _alive = watchdog(Duration::from_secs(600));
    let path = small_file();
    let mut random = Seed(12).stream("teardown", &[]);
    let mut frames = 0;
    for round in 0..100 {
        let properties = ["post-messages=true", "location=/dev/null format=json-lines", "timing=thesis"][round % 3];
        let pipeline = launch(&format!(
            "multifilesrc location={} loop=true ! mpegvideoparse name=parser ! mpegstat name=stat {properties} \
             ! fakesink sync=false",
            path.display()
        ));
        pipeline.set_state(gst::State::Playing).unwrap();
        sleep_up_to(&mut random, 8_000);
        shake(&pipeline, &mut random, |_| {});
        frames += pipeline.by_name("stat").unwrap().property::<u64>("frames");
        tear_down(pipeline, "stat", &format!("round {round}"));
    }
    assert!(frames > 1_000, "the pipelines were torn down before anything happened: {frames}");
}

/// How receivers treat a sender.
#[derive(Clone, Copy, Debug)]
enum Manners {
    NeverAccepts,
    NeverReads,
    ReadsAll,
    ReadsSome,
    Resets,
}

/// Accepts as long as connections come.
fn receive(listener: TcpListener, manners: Manners) {
    std::thread::spawn(move || {
        let mut held = vec![];
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            match manners {
                Manners::ReadsAll => drop(std::io::copy(&mut stream, &mut std::io::sink())),
                Manners::ReadsSome => drop(stream.read(&mut [0; 5_000])),
                Manners::Resets => receiver::reset(stream),
                // Closed, these would reset.
                Manners::NeverAccepts | Manners::NeverReads => held.push(stream),
            }
        }
    });
}

#[test]
fn a_sink_stops_at_any_moment_whatever_its_receiver_does() {
    let Some((path, _)) = movie() else { return };
    let _alive = watchdog(Duration::from_secs(900));
    let mut random = Seed(3).stream("teardown", &[]);
    let manners = [Manners::NeverAccepts, Manners::NeverReads, Manners::ReadsAll, Manners::ReadsSome, Manners::Resets];
    let more = [
        "sync=false",
        "sync=false drain-timeout=1000000",
        "sync=false receiver-timeout=5000000",
        "reconnect-attempts=5 reconnect-delay=2000000 sync=false",
        "reconnect-attempts=5 reconnect-delay=60000000000",
        "mode=ifd sync=false",
        "async=false",
    ];
    let mut accepted = 0;
    for round in 0..120 {
        let manners = manners[round % manners.len()];
        let (listener, port) = receiver::listen();
        let place = match random.next_inclusive(7) {
            0 => to(receiver::free_port()),
            1 => format!("host={NOWHERE}"),
            2 => "host=localhost port=9 protocol=udp".to_owned(),
            _ => to(port),
        };
        let held = match manners {
            Manners::NeverAccepts => Some(listener),
            _ => {
                receive(listener, manners);
                None
            }
        };
        let more = more[random.next_inclusive(more.len() as u32 - 1) as usize];
        let pipeline = pipeline(path, &format!("{place} {more}"));
        let _ = pipeline.set_state(gst::State::Playing);
        sleep_up_to(&mut random, 40_000);
        shake(&pipeline, &mut random, |_| {});
        sleep_up_to(&mut random, 20_000);
        accepted += count(&pipeline, "accepted");
        tear_down(pipeline, "sink", &format!("round {round}: {manners:?}, {place} {more}"));
        drop(held);
    }
    assert!(accepted > 1_000, "the pipelines were torn down before anything happened: {accepted}");
}

#[test]
fn changes_of_state_do_not_wait_for_the_network() {
    let Some((path, _)) = movie() else { return };
    let _alive = watchdog(Duration::from_secs(60));
    for properties in ["async=false connect-timeout=20000000000", "connect-timeout=20000000000"] {
        let pipeline = pipeline(path, &format!("host={NOWHERE} {properties}"));
        for state in [gst::State::Playing, gst::State::Paused, gst::State::Playing, gst::State::Ready] {
            let begun = Instant::now();
            let _ = pipeline.set_state(state);
            assert!(begun.elapsed() < SOON, "{properties}: {state:?} took {:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        stop(&pipeline);
    }
}

#[test]
fn teardown_is_quick_while_nobody_reads() {
    let Some((path, _)) = movie() else { return };
    let (silence, wait) = std::sync::mpsc::channel::<()>();
    let receiver = Receiver::with(move |mut stream| {
        let some = receiver::read_some(&mut stream, 50_000);
        let _ = wait.recv();
        some
    });
    let pipeline = pipeline(path, &format!("{} sync=false", to(receiver.port)));
    pipeline.set_state(gst::State::Playing).unwrap();
    wait_until("frames that wait", || count(&pipeline, "current-level-buffers") > 0);
    std::thread::sleep(Duration::from_millis(300));
    assert!(pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Eos]).is_none(), "the end waits for the data");
    stop(&pipeline);
    assert_eq!(count(&pipeline, "sent") + count(&pipeline, "dropped"), count(&pipeline, "accepted"));
    drop(silence);
    receiver.received();
}
