use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use proptest::prelude::*;

use super::*;

fn time() -> impl Strategy<Value = Timestamp> {
    (0..u64::from(u32::MAX) * 1_000_000_000).prop_map(Timestamp::from_nanos)
}

fn size() -> impl Strategy<Value = DataSize> {
    any::<u32>().prop_map(|bytes| DataSize::from_bytes(u64::from(bytes)))
}

fn title() -> impl Strategy<Value = Title> {
    "[a-zé /.]{0,60}".prop_map(|text| Title::new(text).unwrap())
}

prop_compose! {
    fn control()(
        session: u64, sequence: u32, sender_time in time(), receiver_time in time(), size in size(), report: u32,
        first_arrival in time(), packets: u32, free in proptest::option::of(0u64..u64::from(u32::MAX)),
    ) -> Packet<'static> {
        let buffer_free = free.map(DataSize::from_bytes);
        Packet::Control(ControlPacket {
            session, sequence, sender_time, receiver_time, size, report, first_arrival, packets, buffer_free,
        })
    }
}

prop_compose! {
    fn description()(
        session: u64, cookie: [u8; 16], frames in 1u32.., duration: u64, buffer: u64, payload in 1u16..65_000,
        ack_every in 1u16.., rates in proptest::collection::vec(any::<u32>(), 1..255),
        audio in proptest::option::of((1u8..=3, 1u8..=8, 1u32.., 1u32.., any::<u32>())),
    ) -> Packet<'static> {
        Packet::Description(Description {
            session, cookie: Cookie(cookie), frames, duration: Duration::from_nanos(duration),
            buffer: DataSize::from_bytes(buffer), payload, ack_every,
            rates: rates.into_iter().map(|rate| Bitrate::from_bps(u64::from(rate))).collect(),
            audio: audio.map(|(codec, channels, sample_rate, packets, rate)| AudioDescription {
                codec, channels, sample_rate, packets, rate: Bitrate::from_bps(u64::from(rate)),
            }),
        })
    }
}

prop_compose! {
    fn video_header()(
        ack_request: bool, session: u64, sequence: u32, sender_time in time(), frame: u32, index: u16, level: u8,
        last: bool, key: bool, media_time: u64, micros: u32,
        repeats: Option<u32>, audio: bool,
    ) -> VideoHeader {
        let (index, level) = if audio { (0, 0) } else { (index, level) };
        VideoHeader {
            ack_request, session, sequence, sender_time, size: DataSize::ZERO, frame, index, level,
            last: last || audio, key: key && !audio, media_time: Duration::from_nanos(media_time),
            round_trip: Duration::from_micros(u64::from(micros)), repeats, audio,
        }
    }
}

prop_compose! {
    fn missing()(
        session: u64, report: u32, next: u32, shown: i64, places in proptest::collection::btree_set(1u16..=1_024, 0..90),
    ) -> Packet<'static> {
        // Runs of packets, newest last, as many as there is room for.
        let mut ranges: Vec<MissingRange> = vec![];
        for back in places.into_iter().rev() {
            match ranges.last_mut() {
                Some(range) if range.back - range.count == back => range.count += 1,
                _ => ranges.push(MissingRange { back, count: 1 }),
            }
        }
        ranges.truncate(MAX_MISSING_RANGES);
        Packet::Missing(Missing { session, report, next, shown, ranges })
    }
}

fn packet() -> impl Strategy<Value = Packet<'static>> {
    let reasons = vec![Reason::EndOfMovie, Reason::Stopped, Reason::Vanished, Reason::Acknowledged];
    prop_oneof![
        control(),
        description(),
        (any::<u64>(), title()).prop_map(|(session, title)| Packet::Request(Request { session, title })),
        (any::<u64>(), title(), any::<[u8; 16]>()).prop_map(|(session, title, cookie)| Packet::Start(Start {
            session,
            title,
            cookie: Cookie(cookie)
        })),
        (any::<u64>(), proptest::sample::select(reasons))
            .prop_map(|(session, reason)| Packet::Teardown(Teardown { session, reason })),
        (any::<u64>(), any::<u32>()).prop_map(|(session, report)| Packet::Report(Report {
            session,
            report,
            body: b"feedback"
        })),
        (any::<u64>(), any::<u32>())
            .prop_map(|(session, bits)| Packet::Offer(Offer { session, features: Features(bits) })),
        missing(),
    ]
}

proptest! {
    #[test]
    fn packets_round_trip(packet in packet()) {
        let mut bytes = vec![];
        packet.emit(&mut bytes);
        prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
    }

    #[test]
    fn video_round_trips(mut header in video_header(), video in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let mut bytes = vec![];
        header.emit(&video, &mut bytes);
        header.size = DataSize::from_bytes(video.len() as u64);
        prop_assert_eq!(Packet::parse(&bytes), Ok(Packet::Video(header, &video)));
    }

    #[test]
    fn no_shorter_and_no_longer_packet_passes(packet in packet(), cut in 1usize..40) {
        prop_assume!(!matches!(packet, Packet::Report(_)));
        let mut bytes = vec![];
        packet.emit(&mut bytes);
        prop_assert!(Packet::parse(&bytes[..bytes.len().saturating_sub(cut)]).is_err());
        bytes.extend(vec![0; cut]);
        prop_assert!(Packet::parse(&bytes).is_err());
    }

    /// What parses is written back to the same bytes: no two readings, no ignored bits.
    #[test]
    fn what_parses_is_canonical(packet in packet(), at: usize, flip in 1u8..) {
        let mut bytes = vec![];
        packet.emit(&mut bytes);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(read) = Packet::parse(&bytes) {
            let mut again = vec![];
            read.emit(&mut again);
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..1_300), kind in 0u8..10) {
        let _ = Packet::parse(&bytes);
        if bytes.len() > 3 {
            bytes[..4].copy_from_slice(&[VERSION, kind, 0, 0]);
            let _ = Packet::parse(&bytes);
        }
    }

    #[test]
    fn a_tag_fails_with_any_changed_bit(packet in packet(), bit: usize) {
        let key = Key::new(&[7; 32]).unwrap();
        let mut bytes = vec![];
        packet.emit(&mut bytes);
        let plain = bytes.clone();
        key.seal(Origin::Client, &mut bytes);
        prop_assert_eq!(key.open(Origin::Client, &bytes), Ok(&plain[..]));
        prop_assert_eq!(key.open(Origin::Server, &bytes), Err(PacketError::Authentication));
        let bit = bit % (8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(key.open(Origin::Client, &bytes), Err(PacketError::Authentication));
    }
}

#[test]
fn the_layout_is_that_of_the_document() {
    let header = VideoHeader {
        ack_request: true,
        session: 0x0102_0304_0506_0708,
        sequence: 9,
        sender_time: Timestamp::from_millis(1_500),
        size: DataSize::from_bytes(2),
        frame: 3,
        index: 4,
        level: 2,
        last: true,
        key: true,
        media_time: Duration::from_nanos(5),
        round_trip: Duration::from_micros(6),
        repeats: None,
        audio: false,
    };
    let mut bytes = vec![];
    header.emit(&[0xAA, 0xBB], &mut bytes);
    #[rustfmt::skip]
    let expected = [
        1, 1, 0, 0,                     // version, TYPE, reserved
        1, 2, 3, 4, 5, 6, 7, 8,         // session
        0, 0, 0, 9,                     // sequence number
        0, 0, 0, 1, 0x1D, 0xCD, 0x65, 0, // sender time stamp: 1 s, 500,000,000 ns
        0, 0, 0, 0, 0, 0, 0, 0,         // receiver time stamp
        0, 0, 0, 2,                     // SIZE
        0, 0, 0, 3,                     // frame
        0, 4, 2, 3,                     // packet of the frame, level, flags
        0, 0, 0, 0, 0, 0, 0, 5,         // play-out time
        0, 0, 0, 6,                     // round-trip time
        0, 0, 0, 0,                     // reserved
        0xAA, 0xBB,
    ];
    assert_eq!(bytes, expected);
    bytes.clear();
    VideoHeader { repeats: Some(7), ..header }.emit(&[0xAA, 0xBB], &mut bytes);
    assert_eq!((bytes[43], &bytes[56..60]), (7, &[0, 0, 0, 7][..]), "flag 4, and what it repeats");
    assert_eq!((&bytes[..43], &bytes[44..56]), (&expected[..43], &expected[44..56]), "all else as ever");
}

#[test]
fn audio_has_a_flag_and_nothing_of_what_video_has() {
    let Packet::Video(mut header, _) = Packet::parse(&[&[1; 1][..], &[0; 59]].concat()).unwrap() else {
        unreachable!()
    };
    (header.frame, header.last, header.audio) = (77, true, true);
    let mut bytes = vec![];
    header.emit(b"x", &mut bytes);
    assert_eq!((&bytes[36..40], &bytes[40..44]), (&[0, 0, 0, 77][..], &[0, 0, 0, 9][..]));
    assert_eq!(Packet::parse(&bytes), Ok(Packet::Video(VideoHeader { size: DataSize::from_bytes(1), ..header }, b"x")));
    // An index, a level, an I frame, not the last packet, another flag.
    for (at, value) in [(41, 1), (42, 1), (43, 11), (43, 8), (43, 25)] {
        let mut changed = bytes.clone();
        changed[at] = value;
        assert!(Packet::parse(&changed).is_err(), "byte {at} is {value}");
    }
}

/// A description of which only these two matter.
fn described(levels: usize, audio: Option<AudioDescription>) -> Description {
    Description {
        session: 0,
        cookie: Cookie([0; 16]),
        frames: 1,
        duration: Duration::ZERO,
        buffer: DataSize::ZERO,
        payload: 1_000,
        ack_every: 5,
        rates: vec![Bitrate::default(); levels],
        audio,
    }
}

#[test]
fn a_description_says_of_audio_in_sixteen_bytes_more() {
    let description = described(2, None);
    let rate = Bitrate::from_kbps(128);
    let audio = AudioDescription { codec: 2, channels: 2, sample_rate: 48_000, packets: 7, rate };
    let (mut without, mut with) = (vec![], vec![]);
    description.emit(&mut without);
    Description { audio: Some(audio), ..description }.emit(&mut with);
    assert_eq!((without.len(), &without[32..36], &with[32..36]), (85, &[0; 4][..], &[0, 0, 0, 16][..]));
    assert_eq!((&with[..32], &with[36..85]), (&without[..32], &without[36..85]));
    assert_eq!(with[85..], [2, 2, 0, 0, 0, 0, 0xBB, 0x80, 0, 0, 0, 7, 0, 1, 0xF4, 0]);
    let refused = |at: usize, value| {
        let mut changed = with.clone();
        changed[at] = value;
        Packet::parse(&changed).unwrap_err().to_string()
    };
    assert_eq!(refused(85, 4), "audio codec is 4, allowed: 1 to 3");
    assert_eq!(refused(96, 0), "audio packets is 0, allowed: at least 1");
    assert_eq!(refused(35, 15), "size of the audio's description is 15, allowed: 0 or 16");
    assert_eq!(refused(35, 0), "101 bytes, and this description has 85");
}

#[test]
fn missing_packets_are_named_by_how_far_back_they_are() {
    let ranges = vec![MissingRange { back: 10, count: 3 }, MissingRange { back: 2, count: 1 }];
    let missing = Missing { session: 0x0102_0304_0506_0708, report: 5, next: 4, shown: -1_000_000_000, ranges };
    let mut bytes = vec![];
    missing.emit(&mut bytes);
    #[rustfmt::skip]
    let expected = [
        1, 9, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 5,     // version, TYPE, session, number
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 4,                                         // one more than the newest
        0xFF, 0xFF, 0xFF, 0xFF, 0xC4, 0x65, 0x36, 0,        // a second before the first frame
        2, 0, 10, 0, 3, 0, 2, 0, 1,
    ];
    assert_eq!(bytes, expected);
    assert!(missing.sequences().eq([u32::MAX - 5, u32::MAX - 4, u32::MAX - 3, 2]));
    let parse = |ranges: &[(u16, u16)]| {
        let ranges = ranges.iter().map(|&(back, count)| MissingRange { back, count }).collect();
        let mut bytes = vec![];
        Missing { ranges, ..missing.clone() }.emit(&mut bytes);
        Packet::parse(&bytes).is_ok()
    };
    assert!(parse(&[]) && parse(&[(1_024, 1_024)]) && parse(&[(5, 2), (2, 2)]));
    for refused in [[(0, 0), (0, 0)], [(1_025, 1), (1, 1)], [(5, 0), (1, 1)], [(5, 6), (1, 1)], [(5, 2), (3, 1)]] {
        assert!(!parse(&refused), "{refused:?}");
    }
    assert!(!parse(&[(3, 1), (4, 1)]), "out of order");
}

#[test]
fn what_both_can_is_agreed_on() {
    let both = Features(0x8000_0001).and(Features::REPEATS);
    assert!(both == Features::REPEATS && both.has(Features::REPEATS) && !Features::NONE.has(Features::REPEATS));
    let mut bytes = vec![];
    Offer { session: 1, features: Features::REPEATS }.emit(&mut bytes);
    assert_eq!((bytes[1], bytes.len(), &bytes[36..]), (8, 40, &[0, 0, 0, 1][..]));
}

#[test]
fn errors_name_the_field_the_value_and_what_is_allowed() {
    let mut bytes = vec![];
    Teardown { session: 1, reason: Reason::Stopped }.emit(&mut bytes);
    bytes[HEADER_LENGTH] = 200;
    assert_eq!(Packet::parse(&bytes).unwrap_err().to_string(), "reason of a teardown is 200, allowed: 0 to 6");
    bytes[0] = 9;
    assert_eq!(Packet::parse(&bytes).unwrap_err().to_string(), "version 9, and only 1 is spoken");
    let message = Packet::parse(&bytes[..10]).unwrap_err().to_string();
    assert_eq!(message, "10 bytes, and this packet has 36");
}

#[test]
fn no_answer_to_an_opening_is_longer_than_the_opening() {
    let mut bytes = vec![];
    let audio = AudioDescription { codec: 1, channels: 1, sample_rate: 1, packets: 1, rate: Bitrate::default() };
    let description = described(MAX_LEVELS, Some(audio));
    description.emit(&mut bytes);
    assert!(bytes.len() + authentication::TAG_LENGTH <= opening::OPENING_LENGTH, "{}", bytes.len());
}

/// RFC 4231, section 4.3 (test case 2) gives the hash; here its first half is the tag.
#[test]
fn the_tag_is_the_first_half_of_hmac_sha_256() {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"Jefe").unwrap();
    mac.update(b"what do ya want for nothing?");
    assert_eq!(mac.finalize().into_bytes()[..4], [0x5B, 0xDC, 0xC1, 0x46]);
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&[7; 16]).unwrap();
    mac.update(b"vtp clientabc");
    let mut packet = b"abc".to_vec();
    Key::new(&[7; 16]).unwrap().seal(Origin::Client, &mut packet);
    assert_eq!(packet[3..], mac.finalize().into_bytes()[..16]);
    assert!(Key::new(&[7; 15]).is_none());
}

#[test]
fn a_cookie_is_good_for_one_address_channel_session_title_and_slot() {
    let secret = Secret::new([1; 32]);
    let here = "192.0.2.1:5000".parse().unwrap();
    let [a, b] = ["a", "b"].map(|text| Title::new(text).unwrap());
    let cookie = secret.cookie(here, 0, 7, &a, 3);
    assert!(secret.accepts(cookie, here, 0, 7, &a, 3));
    assert!(!secret.accepts(cookie, "192.0.2.1:5001".parse().unwrap(), 0, 7, &a, 3));
    assert!(!secret.accepts(cookie, "192.0.2.2:5000".parse().unwrap(), 0, 7, &a, 3));
    assert!(!secret.accepts(cookie, here, 1, 7, &a, 3));
    assert!(!secret.accepts(cookie, here, 0, 8, &a, 3));
    assert!(!secret.accepts(cookie, here, 0, 7, &b, 3));
    assert!(!secret.accepts(cookie, here, 0, 7, &a, 4));
    assert!(!Secret::new([2; 32]).accepts(cookie, here, 0, 7, &a, 3));
}
