//! When what is sent: clock references, tables, packets without content.

use super::packet::ASSOCIATION_PID;
use super::*;

/// Packets of a stream with the time of each by its place between clock references, in ticks of the system clock; from the
/// first reference to the last.
fn timed(stream: &[u8]) -> Vec<(f64, Packet<'_>)> {
    let all: Vec<_> = packets(stream).collect();
    let reference = |packet: &Packet<'_>| packet.adaptation.and_then(|adaptation| adaptation.reference);
    let references: Vec<_> = all.iter().enumerate().filter_map(|(at, packet)| Some((at, reference(packet)?))).collect();
    let mut timed = Vec::new();
    for pair in references.windows(2) {
        let ((from, begin), (to, end)) = (pair[0], pair[1]);
        assert!(end > begin, "the clock goes on");
        for (place, packet) in all[from..to].iter().enumerate() {
            let share = place as f64 / (to - from) as f64;
            timed.push((begin as f64 + (end - begin) as f64 * share, *packet));
        }
    }
    timed
}

/// The longest time between packets of which something is true, in milliseconds.
fn longest_gap(timed: &[(f64, Packet<'_>)], is_meant: impl Fn(&Packet<'_>) -> bool) -> f64 {
    let times: Vec<f64> = timed.iter().filter(|(_, packet)| is_meant(packet)).map(|(time, _)| *time).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max) / 27_000.0
}

fn has_reference(packet: &Packet<'_>) -> bool {
    packet.adaptation.is_some_and(|adaptation| adaptation.reference.is_some())
}

/// Sizes of a stream with I frames of 30 kB and others of 4 to 8 kB, 25 in a second: 1.7 Mbit/s.
fn sizes() -> Vec<usize> {
    (0..200).map(|number| if number % 8 == 0 { 30_000 } else { 4_000 + number * 7 % 4_000 }).collect()
}

#[test]
fn at_a_variable_rate_the_clock_and_the_tables_come_in_time() {
    let frames = frames(&sizes());
    for (ticks, layout) in [
        (FRAME, Layout::Continuous),
        (FRAME, Layout::Datagrams(7)),
        (3_753, Layout::Continuous),
        (45_000, Layout::Continuous),
        (3_753, Layout::Datagrams(3)),
        (7_200, Layout::Datagrams(7)),
    ] {
        let mut multiplexer = Multiplexer::new(settings(StreamType::Mpeg2Video, layout)).unwrap();
        let mut stream = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            let time = number as u64 * ticks;
            let random_access = number % 8 == 0;
            let unit =
                Unit { track: 0, bytes: frame, presentation: time, decode: time, duration: ticks, random_access };
            let begin = stream.len();
            multiplexer.put(&unit, &mut stream).unwrap();
            let mut packets = packets(&stream[begin..]);
            if random_access {
                assert_eq!((packets.next().unwrap().pid, packets.next().unwrap().pid), (ASSOCIATION_PID, 0x1000));
            }
            let first = packets.find(|packet| packet.pid == 0x100).unwrap();
            let field = first.adaptation.unwrap();
            assert!(first.unit_start && field.reference.is_some() && field.random_access == random_access);
        }
        let timed = timed(&stream);
        let longest = longest_gap(&timed, has_reference);
        assert!((1.0..=40.0).contains(&longest), "{longest} ms, {ticks} ticks, {layout:?}");
        // Tables before a frame stand between its first clock reference and the one before, which are far apart only
        // where frames are few.
        let most = if ticks > 2 * FRAME { 140.0 } else { 101.0 };
        let tables = longest_gap(&timed, |packet| packet.pid == ASSOCIATION_PID);
        assert!((40.0..=most).contains(&tables), "{tables} ms");
        assert!(packets(&stream).all(|packet| packet.pid != NULL_PID), "nothing is stuffed");
    }
}

/// What the manual says of it (docs/transports.md, Transport streams).
#[test]
fn headers_and_stuffing_take_four_to_five_percent_of_a_movie_of_3_megabits() {
    let frames = frames(&[15_000; 100]);
    let media: usize = frames.iter().map(Vec::len).sum();
    for (layout, least, most) in [(Layout::Continuous, 0.037, 0.040), (Layout::Datagrams(7), 0.048, 0.052)] {
        let stream = multiplex(settings(StreamType::Mpeg2Video, layout), &frames, 0).concat();
        let share = (stream.len() - media) as f64 / stream.len() as f64;
        assert!((least..most).contains(&share), "{layout:?}: {share}");
    }
}

#[test]
fn every_datagram_begins_with_a_clock_reference_of_its_own() {
    let frames = frames(&sizes());
    let stream = multiplex(settings(StreamType::H264, Layout::Datagrams(7)), &frames, 0);
    let mut last = None;
    for datagram in stream.iter().flat_map(|packets| packets.chunks(7 * PACKET_LENGTH)) {
        let reference =
            packets(datagram).find_map(|packet| packet.adaptation.filter(|_| packet.pid == 0x100)?.reference);
        assert!(reference > last);
        last = reference;
    }
}

#[test]
fn at_a_constant_rate_every_packet_has_its_time_by_its_place() {
    let frames = frames(&sizes());
    for rate in [2_500_000, 10_000_000, 48_333_333] {
        let stream = multiplex(constant(StreamType::H264, rate), &frames, 90_000).concat();
        let origin = 27_000_000;
        for (at, packet) in packets(&stream).enumerate() {
            if let Some(reference) = packet.adaptation.and_then(|adaptation| adaptation.reference) {
                let due = (at * PACKET_LENGTH + 10) as f64 * 8.0 * 27e6 / rate as f64;
                // 2.4.2.2 allows 500 ns; what is here are roundings to 37 ns.
                assert!((reference as f64 - origin as f64 - due).abs() < 3.0, "packet {at}: {reference}, {due}");
            }
        }
        let timed = timed(&stream);
        let (longest, tables) =
            (longest_gap(&timed, has_reference), longest_gap(&timed, |packet| packet.pid == ASSOCIATION_PID));
        assert!((10.0..=40.0).contains(&longest), "{longest} ms");
        assert!((50.0..=100.0).contains(&tables), "{tables} ms");
        let mut demultiplexer = Demultiplexer::new(None, LARGEST);
        demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
        assert_eq!(units(&mut demultiplexer).iter().filter(|unit| unit.complete).count(), frames.len());
        assert!(demultiplexer.counters().null > 0);
    }
}

#[test]
fn a_frame_comes_neither_before_its_time_nor_after_it_is_decoded() {
    let frames = frames(&sizes());
    let stream = multiplex(constant(StreamType::Mpeg2Video, 2_500_000), &frames, 0).concat();
    let mut number = 0u64;
    let mut longest = 0.0f64;
    for (time, packet) in
        timed(&stream).into_iter().filter(|(_, packet)| packet.pid == 0x100 && packet.payload.is_some())
    {
        number += u64::from(packet.unit_start);
        // It is decoded 0.7 s later than it may come.
        let since = time / 300.0 - ((number - 1) * FRAME) as f64;
        assert!((0.0..=63_000.0).contains(&since), "frame {number}: {since}");
        longest = longest.max(since);
    }
    assert!(longest > FRAME as f64, "a large frame takes longer than its own time");
}

#[test]
fn a_rate_that_is_too_low_is_refused_in_words_and_nothing_is_written() {
    let mut multiplexer = Multiplexer::new(constant(StreamType::Mpeg2Video, 1_000_000)).unwrap();
    let (large, small) = (frame(0, 120_000), frame(1, 1_000));
    let mut out = Vec::new();
    let refused = multiplexer.put(&unit(0, &large, 0), &mut out).unwrap_err().to_string();
    assert!(refused.starts_with("at this rate an access unit of 120.019 kB comes "), "{refused}");
    assert!(out.is_empty());
    multiplexer.put(&unit(0, &small, 0), &mut out).unwrap();
}
