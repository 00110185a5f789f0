//! The two libraries of section 5.1, each used alone: a server from nothing but their functions, with the main loop
//! that the paper leaves to the user.

use std::sync::Arc;

use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_adaptive::stored::LadderSource;
use framewire_adaptive::vtp::{FileSystemPeer, NetPeer, VtpSettings};
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;

fn movie() -> Ladder {
    let rate = FrameRate { numerator: 25, denominator: 1 };
    // 100, 200 and 300 kbit/s.
    let levels = [500, 1_000, 1_500].map(|size| Level::of_sizes(rate, 10, &[size; 500]).unwrap());
    Ladder::new(levels.into()).unwrap()
}

/// The file side alone, with estimates made up: it climbs while they admit it, at I frames only.
#[test]
fn the_file_side_decides_for_any_source_of_estimates() {
    let schedule = Schedule::new(&movie(), ScheduleSettings::PAPER).unwrap();
    let plan = Arc::new(FramePlan::new(&schedule, movie().duration()));
    let source = Arc::new(LadderSource::new(movie(), 1_000));
    let mut file = FileSystemPeer::new(source, plan, VtpSettings::paper()).unwrap();
    let mut quality = 0;
    let mut levels = vec![];
    for step in 0.. {
        let Some(packet) = file.get_packet(quality).unwrap() else { break };
        levels.push(packet.level);
        let now = Timestamp::from_millis(20 * step);
        let decision = file.set_rate(now, Duration::from_millis(10), Bitrate::from_mbps(1));
        quality = decision.level;
    }
    assert_eq!((levels.first(), levels.last()), (Some(&0), Some(&2)));
    assert!(levels.is_sorted(), "no estimate was below the rate");
    let decision = file.set_rate(Timestamp::from_secs(99), Duration::from_millis(10), Bitrate::from_kbps(1));
    assert_eq!(decision.level, 0);
}

/// The network side alone, at a fixed rate: its estimate is what arrives evenly, with the headers that it counts.
#[test]
fn the_network_side_measures_for_any_sender() {
    let (rate, size) = (Bitrate::from_kbps(800), DataSize::from_bytes(1_000));
    let delay = Duration::from_millis(20);
    let mut net = NetPeer::new(&VtpSettings::paper(), 5).unwrap();
    assert_eq!((net.bandwidth(), net.round_trip()), (None, None));
    let (mut first, mut report) = (None, 0);
    for _ in 0..50 {
        let now = net.next_departure(rate);
        let departure = net.send_data(now, rate, size).expect("a packet that is due");
        assert_eq!(net.send_data(now, rate, size), None, "the next one is not due");
        let arrival = now + delay;
        let first_arrival = *first.get_or_insert(arrival);
        if departure.ack_request {
            let control = ControlPacket {
                session: 0,
                sequence: departure.sequence,
                sender_time: now,
                receiver_time: arrival,
                size: DataSize::from_bytes(5_000),
                report,
                first_arrival,
                packets: 5,
                buffer_free: None,
            };
            net.handle_control(arrival + delay, &control).unwrap();
            (first, report) = (None, report + 1);
        }
    }
    assert_eq!(report, 10);
    assert_eq!((net.bandwidth(), net.round_trip()), (Some(Bitrate::from_kbps(848)), Some(2 * delay)));
}
