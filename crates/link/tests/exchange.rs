//! Single exchanges on the medium against hand calculation: lost acknowledgements, damaged frames, retry values.

use crate::common;
use common::{medium, station_config};
use framewire_link::wifi::{DEFAULT_RETRY, DataRate, Medium, MediumEvent, RatePolicy, StationVerdict};
use framewire_link::{DropCause, Outcome, Packet, PacketId, WifiConfig};
use framewire_units::{DataSize, Duration, Probability, Seed, Timestamp};

fn config(retry: u16, error_floor: f64) -> WifiConfig {
    let error_floor = Probability::new(error_floor).unwrap();
    WifiConfig { rate: RatePolicy::Fixed(DataRate::Mbps11), retry, error_floor, ..WifiConfig::default() }
}

fn packet(id: u64, ip: u64) -> Packet {
    Packet::new(PacketId(id), DataSize::from_bytes(ip))
}

/// Runs the medium to its end: how often packets were received, and the verdicts in order.
fn finish(mut medium: Medium) -> (usize, Vec<StationVerdict>) {
    let (mut received, mut verdicts) = (0, Vec::new());
    medium.handle_timeout(Timestamp::MAX);
    while let Some(event) = medium.poll_event() {
        match event {
            MediumEvent::Received { .. } => received += 1,
            MediumEvent::Done { verdict, .. } => verdicts.push(verdict),
            MediumEvent::Released { .. } | MediumEvent::Sniffed(_) => {}
        }
    }
    (received, verdicts)
}

/// Packets per run of the acknowledgement tests, and the IP size of each: small, so that losses of data do not hide
/// those of acknowledgements.
const PACKETS: u32 = 20_000;
const SMALL_IP: u64 = 28;
/// A 1,500-byte packet survives once in ten thousand; bits fail alone, so what survives follows from the number of bits.
const HARSH_FLOOR: f64 = 0.9999;

/// Chance to survive of a frame of `bytes` behind a PLCP header of 48 bits; the floor is that of a frame of 1,536 bytes
/// without its header.
fn survives(bytes: u64) -> f64 {
    libm::pow(1.0 - HARSH_FLOOR, (bytes * 8 + 48) as f64 / (1536.0 * 8.0))
}

fn run_harsh(retry: u16) -> (usize, Vec<StationVerdict>) {
    let mut medium = medium(&config(retry, HARSH_FLOOR), 3, None);
    let station = medium.add_station(station_config(PACKETS));
    for id in 0..u64::from(PACKETS) {
        medium.handle_packet(station, Timestamp::ZERO, packet(id, SMALL_IP));
    }
    finish(medium)
}

/// Five standard deviations of the share of `n` trials that succeed with probability `p`.
fn five_sigma(p: f64, n: f64) -> f64 {
    5.0 * (p * (1.0 - p) / n).sqrt()
}

#[test]
fn lost_acknowledgements_cause_the_closed_forms_retransmissions() {
    let (data, ack) = (survives(SMALL_IP + 36), survives(14));
    assert!((0.60..0.70).contains(&data) && (0.85..0.92).contains(&ack), "{data}, {ack}");
    let done = data * ack;
    for retry in [2, 4, 256] {
        let (_, verdicts) = run_harsh(retry);
        assert_eq!(verdicts.len(), PACKETS as usize);
        let transmissions: usize = verdicts.iter().map(|verdict| verdict.record.transmissions.len()).sum();
        let mean = transmissions as f64 / f64::from(PACKETS);
        // A geometric distribution that ends at the retry value.
        let expected = (1.0 - (1.0 - done).powi(i32::from(retry))) / done;
        // Five standard deviations of the unbounded geometric distribution, which is the widest.
        let tolerance = 5.0 * (1.0 - done).sqrt() / done / f64::from(PACKETS).sqrt();
        assert!((mean - expected).abs() < tolerance, "retry {retry}: {mean} against {expected}");
        // Without losses of acknowledgements, the mean would be outside.
        let perfect = (1.0 - (1.0 - data).powi(i32::from(retry))) / data;
        assert!(expected - perfect > tolerance, "the test could not tell");
    }
}

#[test]
fn a_lost_acknowledgement_repeats_a_delivered_packet_and_delivers_it_once() {
    let (_, ack) = (survives(SMALL_IP + 36), survives(14));
    let (received, verdicts) = run_harsh(256);
    assert_eq!(received, PACKETS as usize);
    // SIFS and an acknowledgement of 14 bytes at 2 Mbit/s: 10 + 192 + 56 us after the frame's end.
    let acknowledged_at_once = Duration::from_micros(258);
    let repeated = |verdict: &&StationVerdict| {
        let after = verdict.released.saturating_since(verdict.record.finished);
        assert!(after >= acknowledged_at_once, "{verdict:?}");
        after > acknowledged_at_once
    };
    let share = verdicts.iter().filter(repeated).count() as f64 / f64::from(PACKETS);
    let expected = 1.0 - ack;
    let tolerance = five_sigma(expected, f64::from(PACKETS));
    assert!((share - expected).abs() < tolerance, "{share} against {expected}");
}

#[test]
fn a_packet_whose_acknowledgements_are_lost_is_not_lost() {
    let data = survives(SMALL_IP + 36);
    for retry in [1, 2] {
        let (received, verdicts) = run_harsh(retry);
        let lost = verdicts.iter().filter(|verdict| verdict.record.outcome != Outcome::Delivered).count();
        assert_eq!(lost + received, PACKETS as usize);
        let share = lost as f64 / f64::from(PACKETS);
        // A packet can only be acknowledged when it was received, so its loss needs `retry` damaged data frames; after
        // a lost acknowledgement it is safe already.
        let expected = (1.0 - data).powi(i32::from(retry));
        let tolerance = five_sigma(expected, f64::from(PACKETS));
        assert!((share - expected).abs() < tolerance, "retry {retry}: {share} against {expected}");
    }
}

/// A station sends a packet of 1,500 bytes at 10 ms and no other; a second one's packet arrives at `offset` after the
/// end of that frame (its start when `None`). When the second one sends, after the end of the first one's frame.
fn second_starts(seed: u64, frame_errors: f64, offset: Option<u64>) -> Duration {
    let mut medium = medium(&config(1, 0.0), seed, Some(frame_errors));
    let (first, second) = (medium.add_station(station_config(1)), medium.add_station(station_config(1)));
    let at = Timestamp::from_millis(10);
    // 192 us of preamble and 1,536 bytes at 11 Mbit/s.
    let end = at + Duration::from_micros(1310);
    medium.handle_packet(first, at, packet(0, 1500));
    let arrival = offset.map_or(at + Duration::from_micros(100), |micros| end + Duration::from_micros(micros));
    medium.handle_packet(second, arrival, packet(1, 500));
    let (_, verdicts) = finish(medium);
    let started = |id| verdicts.iter().find(|verdict| verdict.record.packet == PacketId(id)).unwrap().record.started;
    assert_eq!(started(0), Some(at));
    started(1).unwrap().saturating_since(end)
}

/// SIFS, an acknowledgement at 1 Mbit/s with its long preamble, DIFS: 10 + 192 + 112 + 50 us.
const EIFS: Duration = Duration::from_micros(364);
/// From the end of a good frame to that of its acknowledgement at 2 Mbit/s and a DIFS: 10 + 192 + 56 + 50 us.
const AFTER_A_GOOD_FRAME: Duration = Duration::from_micros(308);

#[test]
fn who_waits_through_a_damaged_frame_waits_an_eifs_and_its_backoff() {
    let mut differing = 0;
    for seed in 0..20 {
        let slots = Seed(seed).stream("backoff", &[1, 0]).next_inclusive(31);
        let backoff = Duration::from_micros(20) * slots;
        assert_eq!(second_starts(seed, 1.0, None), EIFS + backoff, "seed {seed}");
        assert_eq!(second_starts(seed, 0.0, None), AFTER_A_GOOD_FRAME + backoff, "seed {seed}");
        differing += u32::from(slots > 0);
    }
    assert!(differing > 10);
}

#[test]
fn who_comes_in_after_a_damaged_frame_waits_for_the_end_of_the_eifs() {
    // The medium is idle at once, since there is no acknowledgement; a DIFS would be over after 50 us.
    for offset in [1, 49, 51, 200, 363] {
        assert_eq!(second_starts(1, 1.0, Some(offset)), EIFS, "{offset} us");
    }
    let later = Duration::from_micros(365);
    assert_eq!(second_starts(1, 1.0, Some(365)), later);
}

#[test]
fn retry_zero_stands_for_sixteen_transmissions() {
    for (retry, expected) in [(0, 16), (1, 1), (7, 7), (15, 15), (16, 16), (17, 17), (256, 256)] {
        let mut medium = medium(&config(retry, 0.0), 1, Some(1.0));
        let station = medium.add_station(station_config(1));
        medium.handle_packet(station, Timestamp::ZERO, packet(0, 1500));
        let (received, verdicts) = finish(medium);
        assert_eq!((received, verdicts.len()), (0, 1));
        assert_eq!(verdicts[0].record.transmissions.len(), expected, "retry {retry}");
        assert_eq!(verdicts[0].record.outcome, Outcome::Dropped(DropCause::RetryLimit));
    }
    assert_eq!(DEFAULT_RETRY, 16, "the thesis, section 1.3");
}
