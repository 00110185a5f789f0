//! Packets that are spread in time, in virtual time: what reaches the network when, and what that is worth.

use crate::common;
use common::{movie, run, scenario, summaries};
use framewire_units::Duration;

const WIRED: &str = "[network]\nkind = \"wired\"\nbottleneck = \"local-device\"\n[network.wire]\ndelay = \"5 ms\"\n";

fn text(rate: &str, flow: &str) -> String {
    format!("{WIRED}rate = \"{rate}\"\n[[flow]]\npackets = \"thesis\"\n{flow}\n")
}

#[test]
fn an_evenly_spread_stream_keeps_the_queue_of_its_device_empty() {
    let movie = movie(4.0, 6);
    let most_queued = |flow: &str| {
        let simulated = run(&scenario(&text("20 Mbit/s", flow)), &movie, true);
        assert_eq!(summaries(&simulated)[0].packets_lost, Some(0), "{flow}");
        let mut waited: Vec<Duration> = Vec::new();
        for packet in &simulated.logs[0].packets {
            if packet.hop == "sender-device" {
                waited.extend(packet.started.map(|started| started.saturating_since(packet.enqueued)));
            }
        }
        waited.into_iter().max().unwrap()
    };
    let (burst, spread) =
        (most_queued("transport = \"udp\""), most_queued("transport = \"udp\"\nspread = \"frame-interval\""));
    // The largest frame has 37 kB, 15 ms at this rate; a packet of 740 bytes has 0.3 ms.
    assert!(burst > Duration::from_millis(14) && spread < Duration::from_millis(1), "{burst:?}, {spread:?}");
}

#[test]
fn keeping_back_the_rest_of_a_frame_pays_where_packets_are_spread() {
    let movie = movie(6.0, 12);
    let lost = |transport: &str, spread: &str| {
        // The same send buffer, which fills first and says so.
        let flow = format!(
            "transport = \"{transport}\"\ndevice_queue = 1000\nsend_buffer = \"208 KiB\"\nspread = \"{spread}\""
        );
        summaries(&run(&scenario(&text("4 Mbit/s", &flow)), &movie, false)).remove(0).fates.unwrap().lost
    };
    let (burst, burst_whole) = (lost("udp", "none"), lost("udp-whole", "none"));
    let (spread, spread_whole) = (lost("udp", "frame-interval"), lost("udp-whole", "frame-interval"));
    // In a burst, nothing more of the frame would have fitted; spread out, the room goes to the frames after it.
    assert!(burst.abs_diff(burst_whole) <= 3, "{burst} and {burst_whole} of 300 frames");
    assert!(
        5 * spread_whole < 3 * spread && spread_whole < burst,
        "{spread}, {spread_whole} and {burst} of 300 frames"
    );
}
