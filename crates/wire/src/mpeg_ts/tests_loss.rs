//! Any loss: what is told complete is byte for byte what was sent.

use proptest::prelude::*;

use super::*;

/// Sizes among which some are alike, so that the rest of one frame fits another one's end.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![3 => Just(2_900usize), 3 => 1usize..4_000, 1 => 20_000usize..70_000];
    proptest::collection::vec(size, 1..30)
}

fn stream_type() -> impl Strategy<Value = StreamType> {
    proptest::sample::select(StreamType::ALL.into_iter().filter(|one| one.is_video()).collect::<Vec<_>>())
}

/// A datagram of a frame: how many packets of the track it has, and how many bytes they carry.
struct Sent {
    frame: usize,
    payload: (usize, usize),
    is_lost: bool,
}

fn media(datagram: &[u8]) -> (usize, usize) {
    let payloads = packets(datagram).filter(|packet| packet.pid == 0x100).filter_map(|packet| packet.payload);
    payloads.fold((0, 0), |(count, bytes), payload| (count + 1, bytes + payload.len()))
}

fn number_of(unit: &ReceivedUnit) -> Option<usize> {
    unit.decode.map(|decode| ((decode - 63_000) / FRAME) as usize)
}

/// Bytes of a frame before its first gap, where it has one that the continuity counter shows, and its beginning came.
fn begun(sent: &[Sent], frame: usize, size: usize) -> Option<usize> {
    let own = || sent.iter().filter(|datagram| datagram.frame == frame);
    let came: usize = own().take_while(|datagram| !datagram.is_lost).map(|datagram| datagram.payload.1).sum();
    let from = sent.iter().position(|datagram| datagram.frame == frame && datagram.is_lost)?;
    let gap =
        sent[from..].iter().take_while(|datagram| datagram.is_lost).map(|datagram| datagram.payload.0).sum::<usize>();
    let is_at_end = sent[from..].iter().all(|datagram| datagram.is_lost);
    // The header of the PES packet, and a delimiter.
    let head = own().map(|datagram| datagram.payload.1).sum::<usize>() - size;
    (came > head && (gap % 16 != 0 || is_at_end)).then(|| came - head)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A burst takes datagrams in a row, so that it often takes a multiple of 16 packets of the track.
    #[test]
    fn any_loss_of_datagrams_takes_exactly_the_frames_that_it_touches(
        sizes in sizes(), stream_type in stream_type(), packets in 3u8..8, known in any::<bool>(),
        bursts in proptest::collection::vec((0usize..600, 1usize..40), 0..6),
    ) {
        let frames = frames(&sizes);
        let settings = settings(stream_type, Layout::Datagrams(packets));
        let program = settings.program.clone();
        let stream = multiplex(settings, &frames, 0);
        let datagram = usize::from(packets) * PACKET_LENGTH;
        let mut demultiplexer = match known {
            true => Demultiplexer::of_program(program, LARGEST),
            false => Demultiplexer::new(None, LARGEST),
        };
        let (mut place, mut lost, mut received) = (0, vec![false; frames.len()], Vec::new());
        let mut sent = Vec::new();
        for (number, packets) in stream.iter().enumerate() {
            for datagram in packets.chunks(datagram) {
                let is_lost = bursts.iter().any(|&(from, count)| (from..from + count).contains(&place));
                lost[number] |= is_lost;
                sent.push(Sent { frame: number, payload: media(datagram), is_lost });
                if !is_lost {
                    demultiplexer.handle_numbered(Timestamp::ZERO, place as u64, datagram);
                }
                place += 1;
            }
            received.extend(units(&mut demultiplexer));
        }
        demultiplexer.flush();
        received.extend(units(&mut demultiplexer));
        prop_assert_eq!(demultiplexer.poll_fault(), None);
        let number = number_of;
        for unit in &received {
            prop_assert_eq!(unit.complete, number(unit).is_some_and(|number| !lost[number]));
            match number(unit).filter(|_| unit.complete) {
                Some(number) => prop_assert_eq!(&unit.bytes[..], &frames[number][..]),
                None => prop_assert!(unit.bytes.is_empty()),
            }
            prop_assert!(!unit.complete || unit.beginning.is_empty());
        }
        // Of a frame that is not whole, what came before its first gap, where the counter shows that gap.
        let begun = |(number, frame): (usize, &Vec<u8>)| Some((number, begun(&sent, number, frame.len())?));
        for (number, expected) in frames.iter().enumerate().filter_map(begun).filter(|_| known) {
            let unit = received.iter().find(|unit| number_of(unit) == Some(number)).expect("its beginning came");
            prop_assert_eq!(&unit.beginning[..], &frames[number][..expected]);
            let first = sent.iter().position(|datagram| datagram.frame == number).unwrap();
            prop_assert_eq!(*unit.datagrams.start(), first as u64);
        }
        // With a known program every frame that is whole comes out; else those after the first tables do.
        if known {
            let complete: Vec<_> = received.iter().filter(|unit| unit.complete).filter_map(number).collect();
            let whole: Vec<_> = (0..frames.len()).filter(|&number| !lost[number]).collect();
            prop_assert_eq!(complete, whole);
        }
    }

    /// Packets of a stream of bytes: some vanish, some come twice, bytes stand between them.
    #[test]
    fn any_damage_to_a_stream_of_bytes_leaves_whole_frames_right(
        sizes in sizes(), stream_type in stream_type(), piece in 1usize..2_000, rate in proptest::option::of(Just(60_000_000u64)),
        damage in proptest::collection::vec((0usize..3_000, 0u8..4, 0usize..400), 0..8),
    ) {
        let frames = frames(&sizes);
        let settings = match rate {
            Some(rate) => constant(stream_type, rate),
            None => settings(stream_type, Layout::Continuous),
        };
        let sent = multiplex(settings, &frames, 0).concat();
        let mut stream = Vec::new();
        for (place, packet) in sent.chunks(PACKET_LENGTH).enumerate() {
            match damage.iter().find(|(at, ..)| *at == place) {
                Some((_, 0, _)) => {}
                Some((_, 1, _)) => stream.extend([packet, packet].concat()),
                Some((_, 2, count)) => stream.extend([packet, &vec![0x46; *count]].concat()),
                Some((_, _, count)) => stream.extend(&packet[..count % PACKET_LENGTH]),
                None => stream.extend(packet),
            }
        }
        let mut demultiplexer = Demultiplexer::new(None, LARGEST);
        stream.chunks(piece).for_each(|bytes| demultiplexer.handle_bytes(Timestamp::ZERO, bytes));
        demultiplexer.finish(Timestamp::ZERO);
        let received = units(&mut demultiplexer);
        for unit in received.iter().filter(|unit| unit.complete) {
            let number = ((unit.decode.unwrap() - 63_000) / FRAME) as usize;
            prop_assert_eq!(&unit.bytes[..], &frames[number][..]);
        }
        if damage.iter().all(|(_, what, _)| *what == 1) {
            prop_assert_eq!(received.iter().filter(|unit| unit.complete).count(), frames.len());
        }
    }

    /// Without descriptions, as other multiplexers write: a loss that the counter shows takes its frames, where the length of
    /// a frame is written and where it is not.
    #[test]
    fn of_another_multiplexer_a_loss_that_the_counter_shows_is_seen(
        sizes in sizes(), at in 0usize..400, count in 1usize..16
    ) {
        let frames = frames(&sizes);
        let settings = Settings { descriptions: false, ..settings(StreamType::Mpeg2Video, Layout::Continuous) };
        let stream = multiplex(settings, &frames, 0).concat();
        let mut place = 0;
        let kept: Vec<u8> = stream.chunks(PACKET_LENGTH).filter(|raw| {
            let packet = Packet::parse(raw.first_chunk().unwrap()).unwrap();
            let is_video = packet.pid == 0x100 && packet.payload.is_some();
            place += usize::from(is_video);
            !(is_video && (at + 1..=at + count).contains(&place))
        }).flatten().copied().collect();
        let mut demultiplexer = Demultiplexer::new(None, LARGEST);
        demultiplexer.handle_datagram(Timestamp::ZERO, &kept);
        demultiplexer.flush();
        let mut complete = 0;
        for unit in units(&mut demultiplexer).iter().filter(|unit| unit.complete) {
            let number = ((unit.decode.unwrap() - 63_000) / FRAME) as usize;
            prop_assert_eq!(&unit.bytes[..], &frames[number][..]);
            complete += 1;
        }
        // At most every frame with one of these packets is lost, the one after them, and the last, whose end is not seen.
        prop_assert!(complete + count + 2 >= frames.len());
    }
}

#[test]
fn a_unit_beyond_the_limit_is_given_up_and_the_next_one_comes() {
    let frames = frames(&[5_000, 100]);
    let stream = multiplex(settings(StreamType::Mpeg2Video, Layout::Continuous), &frames, 0).concat();
    let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(4_000));
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
    let limit = DataSize::from_bytes(4_000);
    assert_eq!(demultiplexer.poll_fault(), Some(Fault::TooLarge { pid: 0x100, limit }));
    let units = units(&mut demultiplexer);
    assert_eq!(units.iter().map(|unit| unit.complete).collect::<Vec<_>>(), [false, true]);
    assert!(units[0].beginning.is_empty(), "what is refused is not handed on");
}

#[test]
fn what_is_scrambled_or_damaged_is_refused_in_words() {
    let frames = frames(&[1_000, 1_000]);
    let mut stream = multiplex(settings(StreamType::Mpeg2Video, Layout::Continuous), &frames, 0).concat();
    // The first two packets are tables: the next three are of the first frame.
    stream[3 * PACKET_LENGTH + 3] |= 0x80;
    stream[4 * PACKET_LENGTH + 3] |= 0x80;
    let mut demultiplexer = Demultiplexer::new(None, LARGEST);
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
    let fault = demultiplexer.poll_fault().unwrap().to_string();
    assert_eq!(fault, "packets of packet identifier 0x0100 are scrambled, and there is no key here");
    assert_eq!(demultiplexer.poll_fault(), None, "it is said once");
    let complete: Vec<bool> = units(&mut demultiplexer).iter().map(|unit| unit.complete).collect();
    assert_eq!((complete, demultiplexer.counters().scrambled), (vec![false, true], 2));

    stream[3 * PACKET_LENGTH + 1] |= 0x80;
    let mut demultiplexer = Demultiplexer::new(None, LARGEST);
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
    assert_eq!(demultiplexer.counters().damaged, 1);
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream[..PACKET_LENGTH + 1]);
    demultiplexer.poll_fault();
    assert_eq!(
        demultiplexer.poll_fault().unwrap().to_string(),
        "a datagram of 189 B is not a number of transport packets of 188 bytes"
    );
}

/// A carrier that numbers its datagrams says that one is missing, and not of which track: what of it was its own a unit shows at its
/// end, also where 16 packets are missing, which the continuity counter does not tell from none.
#[test]
fn what_is_lost_of_another_track_leaves_a_described_unit_whole() {
    let frame = frame(0, 20_000);
    for described in [true, false] {
        let settings = Settings { descriptions: described, ..settings(StreamType::Mpeg2Video, Layout::Continuous) };
        let stream = multiplex(settings, std::slice::from_ref(&frame), 0).concat();
        let packets: Vec<&[u8]> = stream.chunks(PACKET_LENGTH).collect();
        for lost in [0, 16] {
            let mut demultiplexer = Demultiplexer::new(None, LARGEST);
            packets[..20].iter().for_each(|packet| demultiplexer.handle_datagram(Timestamp::ZERO, packet));
            demultiplexer.lose();
            packets[20 + lost..].iter().for_each(|packet| demultiplexer.handle_datagram(Timestamp::ZERO, packet));
            demultiplexer.flush();
            let [unit] = units(&mut demultiplexer).try_into().expect("one frame");
            assert_eq!(unit.complete, described && lost == 0, "described: {described}, {lost} of its own lost");
            let before = if unit.complete { 0 } else { unit.beginning.len() };
            // 18 packets behind the tables, of which the first one has headers too.
            let expected = if unit.complete { 0..=0 } else { 17 * 184..=18 * 184 };
            assert!(expected.contains(&before), "described: {described}, {lost} lost: {before} bytes before the gap");
            assert!(frame.starts_with(&unit.beginning));
        }
    }
}
