//! Rows by hand: frames of 40 ms whose times are those of their order.

use framewire_media::access_unit::{AccessUnit, FramePart, KeyKind};
use framewire_media::timing::Times;
use framewire_media::{PictureType, Recovery};
use framewire_units::{Duration, Timestamp};

use super::*;

/// A frame that is due `40 ms * number` after the first and came so much later.
fn arrival(number: u64, late: u64) -> Arrival {
    let kind = if number == 0 { PictureType::I } else { PictureType::P };
    let unit = AccessUnit {
        number,
        part: FramePart::Whole,
        kind,
        key: (number == 0).then_some(KeyKind::Closed),
        leading: false,
        referenced: true,
        temporal_layer: 0,
        references: vec![],
        missing_reference: number == 3,
        display_order: None,
        picture_order: None,
        recovery: Recovery::default(),
        gop_header: None,
    };
    let due = Some(Duration::from_millis(1_000 + 40 * number));
    Arrival {
        at: Timestamp::from_millis(5_000 + 40 * number + late),
        size: 100,
        unit,
        numbered: false,
        frame_rate: None,
        times: Times { pts: due, dts: due, duration: Some(Duration::from_millis(40)) },
        rtp_timestamp: None,
    }
}

#[test]
fn latency_counts_from_the_first_packet_and_the_first_frame_and_the_summary_has_its_range() {
    let mut analysis = Analysis::new(framewire_units::Timing::Clock);
    analysis.packet(Timestamp::from_millis(4_990));
    let arrivals: Vec<_> = [0, 5, 20, 10].into_iter().zip(0..).map(|(late, number)| arrival(number, late)).collect();
    let rows = analysis.rows(&arrivals);
    let mut summary = Summary::default();
    rows.into_iter().chain(analysis.end().map(Row::Group)).for_each(|row| summary.note(row));
    let millis = |millis: i64| millis * 1_000_000;
    assert_eq!(summary.latencies(), Some([millis(10), 18_750_000, millis(30)]));
    assert_eq!(summary.latency(), millis(20));
    assert_eq!((summary.frames, summary.by_type, summary.groups, summary.missing_reference), (4, [1, 3, 0], 1, 1));
    assert_eq!((summary.bytes, summary.last_group.as_ref().map(|group| group.frame)), (400, Some(0)));
    // |5|, |15| and |-10| ms, a sixteenth of each (RFC 3550, 6.4.1).
    let jitter = [5, 15, 10].into_iter().fold(0.0, |jitter: f64, step| jitter + (f64::from(step) - jitter) / 16.0);
    let difference = summary.jitter() as f64 / 1e6 - jitter;
    assert!(difference.abs() < 1e-3, "{} and {jitter} ms", summary.jitter());
}
