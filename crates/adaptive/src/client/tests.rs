use framewire_units::{Bitrate, Duration};
use framewire_wire::vtp::{AudioDescription, Cookie, Packet, Request, Start, VideoHeader};
use proptest::prelude::*;

use super::*;
use crate::testing::{self, title};

const SESSION: u64 = 99;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn bytes(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![];
    packet.emit(&mut bytes);
    bytes
}

fn description() -> Description {
    Description {
        session: SESSION,
        cookie: Cookie([1; 16]),
        frames: 100,
        duration: Duration::from_secs(4),
        buffer: DataSize::ZERO,
        payload: 1_000,
        ack_every: 5,
        rates: vec![Bitrate::from_kbps(100), Bitrate::from_kbps(200)],
        audio: None,
    }
}

fn describe(channel: Channel) -> Vec<u8> {
    bytes(&Packet::Description(Description { cookie: Cookie([channel.index() as u8 + 1; 16]), ..description() }))
}

fn video(sequence: u32, frame: u32) -> VideoHeader {
    VideoHeader {
        ack_request: sequence % 5 == 4,
        session: SESSION,
        sequence,
        sender_time: at(u64::from(sequence) * 40),
        size: DataSize::from_bytes(10),
        ..testing::video(frame)
    }
}

fn send(client: &mut Client, now: Timestamp, header: VideoHeader) {
    client.handle_datagram(now, Channel::Data, &bytes(&Packet::Video(header, &[7; 10])));
}

/// What a client sends, as packets on channels.
fn said(client: &mut Client, now: Timestamp) -> Vec<(Channel, Vec<u8>)> {
    std::iter::from_fn(|| client.poll_transmit(now)).map(|transmit| (transmit.channel, transmit.bytes)).collect()
}

fn described() -> Client {
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    said(&mut client, at(0));
    Channel::BOTH.into_iter().for_each(|channel| client.handle_datagram(at(10), channel, &describe(channel)));
    said(&mut client, at(10));
    assert!(matches!(client.poll_event(), Some(ClientEvent::Described(_))));
    client
}

fn drops(client: &Client, reason: DropReason) -> u64 {
    client.state().drops.of(reason)
}

#[test]
fn requests_then_starts_with_the_cookies_of_their_channels() {
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    assert_eq!(client.next_timeout(), Some(Timestamp::ZERO));
    let request = bytes(&Packet::Request(Request { session: SESSION, title: title() }));
    assert_eq!(said(&mut client, at(5)), Channel::BOTH.map(|channel| (channel, request.clone())));
    assert_eq!((said(&mut client, at(254)), client.next_timeout()), (vec![], Some(at(255))));
    client.handle_datagram(at(254), Channel::Data, &describe(Channel::Data));
    assert_eq!(said(&mut client, at(255)), [(Channel::Control, request.clone())], "only what has no cookie");
    client.handle_datagram(at(300), Channel::Control, &describe(Channel::Control));
    let start = |channel: Channel| {
        let cookie = Cookie([channel.index() as u8 + 1; 16]);
        (channel, bytes(&Packet::Start(Start { session: SESSION, title: title(), cookie })))
    };
    assert_eq!(said(&mut client, at(300)), Channel::BOTH.map(start));
    // No video: after three starts the cookies count as too old.
    for _ in 0..2 {
        let now = client.next_timeout().unwrap();
        assert_eq!(said(&mut client, now), Channel::BOTH.map(start));
    }
    let now = client.next_timeout().unwrap();
    assert_eq!(said(&mut client, now), Channel::BOTH.map(|channel| (channel, request.clone())));
}

#[test]
fn who_stops_after_a_start_tears_down_although_no_video_came() {
    let mut client = described();
    client.stop(at(20));
    let teardown =
        [(Channel::Control, bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::Stopped })))];
    assert_eq!(said(&mut client, at(20)), teardown);
    assert_eq!((said(&mut client, at(519)), client.next_timeout()), (vec![], Some(at(520))));
    assert_eq!(said(&mut client, at(520)), teardown, "until it is acknowledged");
    assert!(!client.is_finished());
    let acknowledged = bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::Acknowledged }));
    client.handle_datagram(at(530), Channel::Control, &acknowledged);
    let last = std::iter::from_fn(|| client.poll_event()).last();
    assert_eq!((last, said(&mut client, at(530))), (Some(ClientEvent::Ended(Reason::Stopped)), vec![]));
    assert!(client.is_finished());
}

/// Where the server has nothing of it, there is nothing to tear down, and nothing to wait for.
#[test]
fn who_stops_before_a_start_has_ended_at_once() {
    let mut asked = Client::new(ClientSettings::paper(title(), SESSION));
    said(&mut asked, at(0));
    asked.handle_datagram(at(10), Channel::Data, &describe(Channel::Data));
    asked.stop(at(20));
    assert!(said(&mut asked, at(20)).is_empty() && asked.is_finished());
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    let mut now = at(0);
    while let Some(next) = client.next_timeout() {
        now = next.max(now);
        said(&mut client, now);
    }
    assert_eq!((client.poll_event(), now), (Some(ClientEvent::Ended(Reason::Vanished)), at(10_000)));
    assert!(client.is_finished());
}

/// It answers every request, and sends nothing of the movie: what it sends again is no sign that something comes.
#[test]
fn a_server_that_describes_a_movie_and_never_sends_it_is_given_up() {
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    let mut now = at(0);
    while let Some(next) = client.next_timeout().filter(|&next| next < at(60_000)) {
        now = next.max(now);
        let requests = said(&mut client, now)
            .into_iter()
            .filter(|(_, bytes)| matches!(Packet::parse(bytes), Ok(Packet::Request(_))));
        for (channel, _) in requests.collect::<Vec<_>>() {
            client.handle_datagram(now + Duration::from_millis(10), channel, &describe(channel));
        }
    }
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert!(
        matches!(
            events[..],
            [ClientEvent::Described(_), ClientEvent::FramesLost { .. }, ClientEvent::Ended(Reason::Vanished)]
        ),
        "{events:?}"
    );
    assert_eq!(now, at(10_010), "10 s from the first description on");
}

/// It sends some frames and then the same again and again, each under a fresh number: nothing of the movie comes any more.
#[test]
fn a_server_that_says_old_packets_again_is_given_up() {
    // The last one comes within a gap, of a frame that is not whole, and ahead of those that were given up.
    for again in [0, 2, 30] {
        let mut client = described();
        let sent = |sequence, frame| VideoHeader { last: frame != 2, ..video(sequence, frame) };
        [0, 1, 2, 30].into_iter().zip(0..).for_each(|(frame, number)| send(&mut client, at(100), sent(number, frame)));
        let mut now = at(100);
        for number in 4.. {
            now += Duration::from_millis(50);
            send(&mut client, now, sent(number, again));
            said(&mut client, now);
            if client.is_finished() || now > at(60_000) {
                break;
            }
        }
        let ended = std::iter::from_fn(|| client.poll_event()).last();
        assert_eq!((ended, now), (Some(ClientEvent::Ended(Reason::Vanished)), at(10_100)), "frame {again}");
    }
}

/// A server that is so late that every frame was given up before it comes goes on with the movie all the same; and one
/// that sends what there is no room for.
#[test]
fn a_server_whose_packets_are_of_no_use_but_advance_is_waited_for() {
    let mut client =
        Client::new(ClientSettings { buffer: DataSize::from_bytes(200), ..ClientSettings::paper(title(), SESSION) });
    said(&mut client, at(0));
    Channel::BOTH.into_iter().for_each(|channel| client.handle_datagram(at(10), channel, &describe(channel)));
    for number in 0..60 {
        let now = at(100 + u64::from(number) * 1_000);
        send(&mut client, now, video(number, number)); // they are not fetched
        said(&mut client, now);
    }
    assert!(drops(&client, DropReason::NoRoom) > 50);
    assert!(!client.is_finished());
}

#[test]
fn the_control_packet_is_the_header_with_two_fields_filled_in() {
    let mut client = described();
    (0..4).for_each(|number| send(&mut client, at(100 + number), video(number as u32, number as u32)));
    assert_eq!(said(&mut client, at(103)), []);
    client.set_player_buffer(DataSize::from_bytes(5_000));
    send(&mut client, at(120), video(4, 4));
    let [(Channel::Control, answer)] = &said(&mut client, at(120))[..] else { panic!("one answer") };
    let Ok(Packet::Control(control)) = Packet::parse(answer) else { panic!("a control packet") };
    assert_eq!((control.sequence, control.sender_time), (4, at(160)));
    assert_eq!((control.receiver_time, control.size, control.packets), (at(120), DataSize::from_bytes(50), 5));
    assert_eq!((control.first_arrival, control.report), (at(100), 0));
    assert_eq!(control.buffer_free, Some(DataSize::from_bytes(5_000)));
    send(&mut client, at(130), video(9, 5));
    let Ok(Packet::Control(control)) = Packet::parse(&said(&mut client, at(130))[0].1) else { panic!() };
    assert_eq!((control.size, control.packets, control.report), (DataSize::from_bytes(10), 1, 1));
}

#[test]
fn hostile_video_is_dropped_for_its_reason_and_not_reported() {
    let mut client = described();
    send(&mut client, at(20), video(0, 0));
    let cases = [
        (VideoHeader { session: 1, ..video(1, 1) }, DropReason::Foreign),
        (VideoHeader { frame: 100, ..video(1, 1) }, DropReason::Inconsistent),
        (VideoHeader { level: 2, ..video(1, 1) }, DropReason::Inconsistent),
        (video(0, 0), DropReason::Stale),
    ];
    for (header, reason) in cases {
        let before = drops(&client, reason);
        send(&mut client, at(21), header);
        assert_eq!(drops(&client, reason), before + 1, "{header:?}");
    }
    client.handle_datagram(at(22), Channel::Data, &bytes(&Packet::Video(video(1, 1), &[7; 1_001])));
    assert_eq!(drops(&client, DropReason::Inconsistent), 3, "more than the payload described");
    client.handle_datagram(at(22), Channel::Control, &bytes(&Packet::Video(video(1, 1), &[7; 10])));
    assert_eq!(drops(&client, DropReason::Unexpected), 1, "video on the control channel");
    client.handle_datagram(at(22), Channel::Data, &[0; 5]);
    assert_eq!(drops(&client, DropReason::Malformed), 1);
    let other = Description { frames: 5, ..description() };
    client.handle_datagram(at(22), Channel::Data, &bytes(&Packet::Description(other)));
    assert_eq!(drops(&client, DropReason::Stale), 2, "a description after the start");
    assert_eq!((client.state().packets, said(&mut client, at(22))), (1, vec![]));
}

#[test]
fn two_descriptions_that_differ_are_one_too_many() {
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    client.handle_datagram(at(1), Channel::Data, &describe(Channel::Data));
    let other = Description { frames: 5, ..description() };
    client.handle_datagram(at(2), Channel::Control, &bytes(&Packet::Description(other)));
    assert_eq!(drops(&client, DropReason::Inconsistent), 1);
}

#[test]
fn frames_that_nobody_fetches_do_not_fill_more_than_the_buffer() {
    let settings = ClientSettings { buffer: DataSize::from_bytes(1_000), ..ClientSettings::paper(title(), SESSION) };
    let mut client = Client::new(settings);
    Channel::BOTH.into_iter().for_each(|channel| client.handle_datagram(at(10), channel, &describe(channel)));
    (0..100).for_each(|number| send(&mut client, at(20), video(number, number)));
    assert!(client.state().buffered <= DataSize::from_bytes(1_000));
    assert!(drops(&client, DropReason::NoRoom) > 50);
    assert!(client.outgoing.len() <= MAX_OUTGOING);
}

/// Lists that a client sends, as the numbers they name.
fn lists(client: &mut Client, now: Timestamp) -> Vec<Vec<u32>> {
    let said = said(client, now);
    let list = |(_, bytes): &(Channel, Vec<u8>)| match Packet::parse(bytes) {
        Ok(Packet::Missing(missing)) => Some(missing.sequences().collect()),
        _ => None,
    };
    said.iter().filter_map(list).collect()
}

/// A pause: nothing is fetched, and the player stands still. What had no room then comes again once it has, and every
/// frame is whole; what the path carried is counted in control packets all the same, and the player's room is that of
/// what it has.
#[test]
fn what_had_no_room_in_a_pause_comes_again() {
    let player = PlayerSettings { buffer: DataSize::from_bytes(5_000), ..PlayerSettings::default() };
    // For 30 packets; the last two only while they are next.
    let buffer = DataSize::from_bytes(30 * 74 + 70);
    let settings = ClientSettings { player: Some(player), buffer, ..ClientSettings::paper(title(), SESSION) };
    let mut client = Client::new(settings);
    said(&mut client, at(0));
    for channel in Channel::BOTH {
        let described = Description { payload: 10, ..description() };
        let cookie = Cookie([channel.index() as u8 + 1; 16]);
        client.handle_datagram(at(10), channel, &bytes(&Packet::Description(Description { cookie, ..described })));
    }
    said(&mut client, at(10));
    let offer = Packet::Offer(framewire_wire::vtp::Offer { session: SESSION, features: Features::REPEATS });
    let mut size = 0;
    for number in 0..60 {
        let now = at(20 + 40 * u64::from(number));
        client.set_player_position(now, Duration::ZERO);
        send(&mut client, now, video(number, number));
        if number == 0 {
            client.handle_datagram(now, Channel::Control, &bytes(&offer));
        }
        for (_, bytes) in said(&mut client, now) {
            match Packet::parse(&bytes) {
                Ok(Packet::Control(control)) => {
                    size += control.size.as_bytes();
                    let kept = 10 * u64::from(number + 1).min(30);
                    let free = control.buffer_free.map(DataSize::as_bytes);
                    assert!(free.is_some_and(|free| (5_000 - kept..=5_000 - kept + 10).contains(&free)), "{free:?}");
                }
                other => assert!(!matches!(other, Ok(Packet::Missing(_))), "there is no room for any"),
            }
        }
    }
    assert_eq!((size, client.state().packets), (600, 60));
    let refused = drops(&client, DropReason::NoRoom);
    assert_eq!(refused, 60 - 30);
    // The player goes on. The server does as asked, a round trip later.
    let (mut frames, mut lost, mut named, mut next) = (0, 0, vec![], 60);
    for number in 0..60 {
        let now = at(2_500 + 40 * number);
        client.set_player_position(now, Duration::from_millis(40) * number as u32);
        match client.poll_event() {
            Some(ClientEvent::FrameComplete(_)) => frames += 1,
            Some(ClientEvent::FramesLost { count, .. }) => lost += count,
            _ => {}
        }
        for sequence in lists(&mut client, now).concat() {
            named.push(sequence);
            let repeat = VideoHeader { repeats: Some(sequence), ..video(sequence, sequence) };
            send(&mut client, now + Duration::from_millis(20), VideoHeader { sequence: next, ..repeat });
            next += 1;
        }
    }
    assert_eq!(named, (30..60).collect::<Vec<_>>(), "each once, in its order");
    assert_eq!((lost, drops(&client, DropReason::NoRoom)), (0, refused));
    while let Some(event) = client.poll_event() {
        frames += u32::from(matches!(event, ClientEvent::FrameComplete(_)));
    }
    assert_eq!(frames, 60);
}

#[test]
fn the_end_waits_for_the_last_packets() {
    let mut client = described();
    send(&mut client, at(20), video(0, 98));
    let end = bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::EndOfMovie }));
    client.handle_datagram(at(21), Channel::Control, &end);
    let acknowledged = bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::Acknowledged }));
    assert_eq!(said(&mut client, at(21)), [(Channel::Control, acknowledged.clone())]);
    send(&mut client, at(300), video(1, 99));
    client.handle_datagram(at(301), Channel::Control, &end);
    assert_eq!(said(&mut client, at(301)), [(Channel::Control, acknowledged)], "the first one may be lost");
    assert_eq!((client.next_timeout(), client.is_finished()), (Some(at(521)), false), "frame 97 may still come");
    assert_eq!((said(&mut client, at(521)), client.is_finished()), (vec![], true));
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert!(matches!(
        &events[..],
        [
            ClientEvent::FramesLost { first: 0, count: 98 },
            ClientEvent::FrameComplete(_),
            ClientEvent::FrameComplete(_),
            ClientEvent::Ended(Reason::EndOfMovie)
        ]
    ));
}

#[test]
fn a_change_of_level_comes_before_its_first_frame() {
    let mut client = described();
    send(&mut client, at(20), video(0, 0));
    send(&mut client, at(60), VideoHeader { level: 1, ..video(1, 1) });
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert!(matches!(events[1], ClientEvent::LevelChanged { frame: 1, from: 0, to: 1 }), "{events:?}");
    assert!(matches!(&events[2], ClientEvent::FrameComplete(Frame { frame: 1, level: 1, .. })));
}

proptest! {
    /// Any datagrams at any times: no panic, bounded memory, one fate for every frame.
    #[test]
    fn anything_at_any_time(
        steps in proptest::collection::vec((any::<u32>(), 0u8..8, 0u32..300, 0u32..110, any::<[u8; 4]>()), 0..200),
    ) {
        let settings = ClientSettings { buffer: DataSize::from_bytes(700), ..ClientSettings::paper(title(), SESSION) };
        let mut client = Client::new(settings);
        let mut fates = 0;
        for (millis, kind, sequence, frame, [index, level, flags, place]) in steps {
            let now = at(u64::from(millis % 20_000));
            let header = VideoHeader {
                index: u16::from(index % 4), level: level % 3, last: flags & 1 == 1, ..video(sequence, frame)
            };
            let mut datagram = match kind {
                0 => describe(Channel::BOTH[usize::from(flags & 1)]),
                1 if flags > 250 => bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::EndOfMovie })),
                _ => bytes(&Packet::Video(header, &[7; 10])),
            };
            if kind == 2 {
                let place = usize::from(place) % datagram.len();
                datagram[place] ^= flags;
            }
            client.handle_datagram(now, Channel::BOTH[usize::from(flags & 1)], &datagram);
            if kind > 3 {
                while client.poll_transmit(now).is_some() {}
                while let Some(event) = client.poll_event() {
                    fates += match event {
                        ClientEvent::FrameComplete(_) => 1,
                        ClientEvent::FramesLost { count, .. } => count,
                        _ => 0,
                    };
                }
            }
            prop_assert!(client.state().buffered <= DataSize::from_bytes(700));
            prop_assert!(client.outgoing.len() <= MAX_OUTGOING && client.events.len() <= MAX_EVENTS);
            prop_assert!(fates <= 100);
        }
    }
}

fn with_audio() -> Client {
    let audio =
        AudioDescription { codec: 2, channels: 2, sample_rate: 48_000, packets: 160, rate: Bitrate::from_kbps(64) };
    let mut client = Client::new(ClientSettings::paper(title(), SESSION));
    said(&mut client, at(0));
    for channel in Channel::BOTH {
        let cookie = Cookie([channel.index() as u8 + 1; 16]);
        let described = Description { cookie, audio: Some(audio), ..description() };
        client.handle_datagram(at(10), channel, &bytes(&Packet::Description(described)));
    }
    client
}

fn audio(sequence: u32, number: u32) -> VideoHeader {
    VideoHeader { frame: number, audio: true, media_time: Duration::from_millis(25) * number, ..video(sequence, 0) }
}

#[test]
fn audio_that_was_not_described_or_cannot_be_is_dropped() {
    let mut client = described();
    send(&mut client, at(20), audio(0, 0));
    assert_eq!(drops(&client, DropReason::Inconsistent), 1, "no audio in this session");
    let mut client = with_audio();
    send(&mut client, at(20), audio(0, 160));
    assert_eq!(drops(&client, DropReason::Inconsistent), 1, "packets 0 to 159");
    client.handle_datagram(at(20), Channel::Data, &bytes(&Packet::Video(audio(0, 0), &[7; 1_001])));
    assert_eq!(drops(&client, DropReason::Inconsistent), 2, "longer than a packet");
    send(&mut client, at(21), audio(1, 150));
    send(&mut client, at(22), audio(2, 150));
    assert_eq!(drops(&client, DropReason::Stale), 1, "there already");
}

/// A repeat that comes beside the packet gives nothing twice, and a late one gives nothing at all.
#[test]
fn audio_comes_once_and_in_its_order() {
    let mut client = with_audio();
    let numbers = [1, 0, 0, 3, 12, 2];
    (0..)
        .zip(numbers)
        .for_each(|(sequence, number)| send(&mut client, at(20 + u64::from(sequence)), audio(sequence, number)));
    let mut out = vec![];
    while let Some(event) = client.poll_event() {
        match event {
            ClientEvent::Audio(packet) => out.push((packet.number, 1)),
            ClientEvent::AudioLost { first, count } => out.push((first, -i64::from(count))),
            _ => {}
        }
    }
    // Packet 12 ends the wait for what is more than eight before it.
    assert_eq!(out, [(0, 1), (1, 1), (2, -1), (3, 1)]);
    assert_eq!((client.state().audio_complete, client.state().audio_lost), (3, 1));
}

/// Audio has memory of its own, a megabyte at the most: video goes on beside it, and what is beyond is dropped.
#[test]
fn audio_has_no_more_than_its_own_memory() {
    let mut client = with_audio();
    let described = client.description.as_mut().unwrap();
    described.audio.as_mut().unwrap().packets = 10_000;
    client.tracks = Some(Tracks::new(described, &client.settings));
    for number in 0..2_000 {
        client.handle_datagram(at(20), Channel::Data, &bytes(&Packet::Video(audio(number, number), &[7; 1_000])));
        said(&mut client, at(20));
    }
    // 1,064 bytes a packet, in 1 MiB.
    let kept = (1 << 20) / 1_064;
    assert_eq!(client.state().buffered.as_bytes(), kept * 1_064);
    assert_eq!(drops(&client, DropReason::NoRoom), 2_000 - kept);
    send(&mut client, at(30), video(2_000, 0));
    assert_eq!(drops(&client, DropReason::NoRoom), 2_000 - kept, "video has its own");
    let audio = std::iter::from_fn(|| client.poll_event()).filter(|event| matches!(event, ClientEvent::Audio(_)));
    assert_eq!(audio.count() as u64, kept);
}

#[test]
fn audio_that_nobody_fetches_is_bounded() {
    let mut client = with_audio();
    let most = 2 * client.settings.buffer.as_bytes().min(1 << 20);
    for round in 0..40 {
        for number in 0..160 {
            let header = audio(160 * round + number, number);
            client.handle_datagram(at(20), Channel::Data, &bytes(&Packet::Video(header, &[7; 1_000])));
            assert!(client.state().buffered.as_bytes() <= most);
        }
    }
    assert_eq!(drops(&client, DropReason::Stale), 39 * 160);
}
