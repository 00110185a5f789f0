//! What is reported to the server of the moment that the player shows: it goes on with the pipeline, and stands while
//! that does.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::streaming;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use framewire_wire::vtp::Packet;
use gst::prelude::*;
use streaming::*;

/// How long it is between a change of state and the lists that know of it: a step of the thread that receives.
const STEP: Duration = Duration::from_millis(150);

/// By how much a place may be wrong on a busy machine, in ms.
const WRONG: i64 = 120;

/// The places that lists of missing packets stated between two moments: when, in ms, and the media time, in ms.
fn places(said: &Said, since: Instant, until: Instant) -> Vec<(i64, i64)> {
    let place = |(at, bytes): &(Instant, Vec<u8>)| match Packet::parse(bytes) {
        Ok(Packet::Missing(missing)) if (since..until).contains(at) => {
            Some(((*at - since).as_millis() as i64, missing.shown / 1_000_000))
        }
        _ => None,
    };
    said.lock().unwrap().iter().filter_map(place).collect()
}

/// A place goes on with the time.
fn check_running(places: &[(i64, i64)]) {
    assert!(places.len() >= 4, "{places:?}");
    let (from, shown) = places[0];
    for &(at, now) in places {
        assert!(((now - shown) - (at - from)).abs() <= WRONG, "{places:?}");
    }
}

/// It stands.
fn check_standing(places: &[(i64, i64)]) -> i64 {
    assert!(places.len() >= 4, "{places:?}");
    let (least, most) = (places.iter().map(|place| place.1).min(), places.iter().map(|place| place.1).max());
    let (least, most) = (least.unwrap(), most.unwrap());
    assert!(most - least <= WRONG, "{places:?}");
    least
}

#[test]
fn the_server_is_told_where_the_player_is_and_that_it_stands_still() {
    let Some((path, _)) = mpeg4("place", 250) else { return };
    let (server, ports) = serve(&path, "transport=fixed repeats=true");
    let network = Network::to(ports);
    network.loses_each.store(11, Ordering::Relaxed);
    let (client, buffers) = receive(network.ports, "repeats=true startup-delay=500000000", "fakesink sync=true");
    // The first frame stays on show until the pipeline plays.
    client.set_state(gst::State::Paused).unwrap();
    common::wait_until("the first frame", || !buffers.lock().unwrap().is_empty());
    let mut moments = vec![Instant::now() + STEP];
    for state in [gst::State::Playing, gst::State::Paused, gst::State::Playing] {
        sleep(Duration::from_millis(1_300));
        moments.push(Instant::now());
        client.set_state(state).unwrap();
        assert_eq!(client.state(gst::ClockTime::from_seconds(5)).1, state);
        moments.push(Instant::now() + STEP);
    }
    sleep(Duration::from_millis(1_300));
    moments.push(Instant::now());
    let of = |period: usize| places(&network.said, moments[2 * period], moments[2 * period + 1]);
    assert!(check_standing(&of(0)) <= WRONG);
    check_running(&of(1));
    let last = of(1).pop().unwrap().1;
    let stands = check_standing(&of(2));
    assert!((stands - last).abs() <= WRONG + STEP.as_millis() as i64, "{stands} ms after {last} ms");
    check_running(&of(3));
    assert!((of(3)[0].1 - stands).abs() <= WRONG + 2 * STEP.as_millis() as i64, "{:?} after {stands} ms", of(3));
    // So what was lost meanwhile comes in time.
    let stats = stats(&client, "client");
    let [missing, repeated] = ["packets-missing", "packets-repeated"].map(|field| stats.get::<u64>(field).unwrap());
    assert!(repeated * 10 >= missing * 8 && missing > 20, "{repeated} of {missing} came again");
    stop(&client);
    stop(&server);
}
