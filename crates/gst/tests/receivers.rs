//! Receivers that stop reading, vanish or hang up: `ifdsink` says so, and its stream ends.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::receiver;
use crate::sending;
use std::time::{Duration, Instant};

use common::wait_until;
use framewire_units::Bitrate;
use gst::prelude::*;
use receiver::Receiver;
use sending::*;

/// A receiver that reads so much, and then keeps the connection until the test lets go of the other half.
fn silent_after(bytes: usize) -> (Receiver, std::sync::mpsc::Sender<()>) {
    let (silence, wait) = std::sync::mpsc::channel::<()>();
    let receiver = Receiver::with(move |mut stream| {
        let some = receiver::read_some(&mut stream, bytes);
        let _ = wait.recv();
        some
    });
    (receiver, silence)
}

#[test]
fn the_end_does_not_wait_for_ever_for_a_receiver_that_stopped_reading() {
    let Some((path, _)) = movie() else { return };
    let (receiver, silence) = silent_after(50_000);
    let pipeline = pipeline(path, &format!("{} sync=false drain-timeout=400000000", to(receiver.port)));
    let begun = Instant::now();
    let warning = play_to(&pipeline, gst::MessageType::Warning);
    let text = text_of(&warning);
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_millis(400) && waited < Duration::from_secs(5), "{waited:?}");
    assert!(text.contains("taken nothing for 400ms") && text.contains("frames"), "{text}");
    wait_for(&pipeline, gst::MessageType::Eos);
    let given_up: u64 = text.split("stream: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(given_up > 0, "{text}");
    assert_eq!(count(&pipeline, "sent") + count(&pipeline, "dropped"), 125);
    assert!(count(&pipeline, "dropped") >= given_up, "{text}");
    stop(&pipeline);
    drop(silence);
    receiver.received();
}

#[test]
fn the_end_waits_for_a_slow_receiver_as_long_as_it_takes() {
    let Some((path, movie)) = movie() else { return };
    // The movie of 1 MB takes four seconds, while nothing has moved for at most some milliseconds, or for as long as a
    // busy machine does not let the receiver read.
    let receiver = Receiver::at(Bitrate::from_mbps(2));
    let no_limits = "sync=false max-size-time=0 max-size-bytes=0 drain-timeout=1500000000";
    let pipeline = pipeline(path, &format!("{} {no_limits}", to(receiver.port)));
    let begun = Instant::now();
    play_to(&pipeline, gst::MessageType::Eos);
    assert!(begun.elapsed() > Duration::from_millis(2_500), "{:?}", begun.elapsed());
    assert_eq!((count(&pipeline, "sent"), count(&pipeline, "dropped")), (movie.index.frames.len() as u64, 0));
    stop(&pipeline);
    assert!(receiver.received() == std::fs::read(path).unwrap());
}

#[test]
fn without_a_limit_the_end_waits() {
    let Some((path, _)) = movie() else { return };
    let (receiver, silence) = silent_after(50_000);
    let pipeline = pipeline(path, &format!("{} sync=false drain-timeout=0", to(receiver.port)));
    pipeline.set_state(gst::State::Playing).unwrap();
    wait_until("frames that wait", || count(&pipeline, "current-level-buffers") > 0);
    let patience = gst::ClockTime::from_mseconds(700);
    let ends = [gst::MessageType::Eos, gst::MessageType::Error, gst::MessageType::Warning];
    assert!(pipeline.bus().unwrap().timed_pop_filtered(patience, &ends).is_none());
    stop(&pipeline);
    drop(silence);
    receiver.received();
}

#[test]
fn a_receiver_that_takes_nothing_is_an_error_after_a_time() {
    let Some((path, _)) = movie() else { return };
    let (receiver, silence) = silent_after(50_000);
    let error = error_of(&pipeline(path, &format!("{} receiver-timeout=500000000", to(receiver.port))));
    assert!(error.contains(&format!("127.0.0.1:{} has taken nothing for too long", receiver.port)), "{error}");
    drop(silence);
    receiver.received();
}

#[test]
fn a_receiver_that_hangs_up_is_an_error() {
    let Some((path, _)) = movie() else { return };
    let receiver = Receiver::with(|mut stream| receiver::read_some(&mut stream, 50_000));
    let error = error_of(&pipeline(path, &to(receiver.port)));
    assert!(error.contains("closed the connection"), "{error}");
}

#[test]
fn a_stream_that_ends_while_it_reconnects_ends_with_an_error() {
    let Some((path, _)) = movie() else { return };
    let receiver = Receiver::with(|mut stream| {
        let some = receiver::read_some(&mut stream, 50_000);
        receiver::reset(stream);
        some
    });
    let an_hour = "sync=false reconnect-attempts=3 reconnect-delay=3600000000000";
    let begun = Instant::now();
    let error = error_of(&pipeline(path, &format!("{} {an_hour}", to(receiver.port))));
    assert!(error.contains("reconnection 1 of 3"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// In a network namespace of its own, where the loopback device is taken away while the stream runs.
#[test]
fn a_receiver_that_vanishes_is_an_error_after_a_time() {
    let Some((path, _)) = movie() else { return };
    let allowed = std::process::Command::new("unshare").args(["-rn", "ip", "link", "set", "lo", "up"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no network namespace without privileges here (unshare -rn, ip)");
        return;
    }
    let script = format!(
        "ip link set lo up
         gst-launch-1.0 -q tcpserversrc host=127.0.0.1 port=5000 ! fakesink &
         receiver=$!
         until grep -q ':1388 00000000:0000 0A' /proc/net/tcp; do sleep 0.1; done
         (sleep 2; ip link set lo down) &
         gst-launch-1.0 -q filesrc location={} ! mpegvideoparse ! ifdsink host=127.0.0.1 port=5000 \
             receiver-timeout=500000000
         status=$?
         kill $receiver
         exit $status",
        path.display()
    );
    let output = common::program("timeout")
        .args(["60", "unshare", "-rn", "--fork", "--kill-child", "bash", "-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code != 0 && code != 124), "{output:?}");
    assert!(said.contains("127.0.0.1:5000"), "{said}");
    println!("{said}");
}
