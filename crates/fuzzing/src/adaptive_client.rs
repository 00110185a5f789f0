//! Operations on the client's half of a session: hostile and honest datagrams at any time. Memory stays within the
//! buffer, and every frame has at most one fate, in order.

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::tfrc::ReceiverSettings;
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::{
    AudioDescription, Cookie, Description, Features, Offer, Packet, Reason, Teardown, Title, VideoHeader,
};

const SESSION: u64 = 7;
const FRAMES: u32 = 200;
const PACKETS: u32 = 150;
const BUFFER: DataSize = DataSize::from_bytes(2_000);

fn bytes(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

fn description() -> Description {
    let rate = Bitrate::from_kbps(64);
    Description {
        session: SESSION,
        cookie: Cookie([3; 16]),
        frames: FRAMES,
        duration: Duration::from_secs(8),
        buffer: DataSize::ZERO,
        payload: 300,
        ack_every: 2,
        rates: vec![Bitrate::from_kbps(100); 3],
        audio: Some(AudioDescription { codec: 2, channels: 2, sample_rate: 48_000, packets: PACKETS, rate }),
    }
}

pub(crate) fn run(data: &[u8]) {
    let title = Title::new("m").expect("invariant: a short title");
    let mut settings = ClientSettings { buffer: BUFFER, ..ClientSettings::paper(title, SESSION) };
    if data.first().is_some_and(|first| first & 1 == 1) {
        settings.reports = ReportKind::Tfrc(ReceiverSettings::paper());
    }
    if data.first().is_some_and(|first| first & 2 == 2) {
        settings.player = Some(PlayerSettings { buffer: BUFFER, ..PlayerSettings::default() });
    }
    let mut client = Client::new(settings);
    let mut now = Timestamp::from_secs(100);
    let (mut sequence, mut next, mut heard) = (0u32, 0, 0);
    let mut rest = data;
    while let [operation, a, b, c, tail @ ..] = rest {
        rest = tail;
        let channel = Channel::BOTH[usize::from(operation >> 7)];
        let mut datagram = match operation % 8 {
            0 => bytes(&Packet::Description(description())),
            1..=3 => {
                sequence = sequence.wrapping_add(u32::from(a % 4));
                let header = VideoHeader {
                    ack_request: c & 1 == 1,
                    session: SESSION,
                    sequence,
                    sender_time: now,
                    size: DataSize::ZERO,
                    frame: u32::from(*b),
                    index: u16::from(c >> 1 & 3),
                    level: c >> 3 & 3,
                    last: c & 32 != 0,
                    key: false,
                    media_time: Duration::from_millis(40) * u32::from(*b),
                    round_trip: Duration::from_micros(u64::from(*a)),
                    repeats: (c & 0xC0 == 0xC0).then(|| sequence.wrapping_sub(u32::from(*a))),
                    audio: false,
                };
                let audio = VideoHeader {
                    index: 0,
                    level: 0,
                    last: true,
                    media_time: Duration::from_millis(53) * u32::from(*b),
                    round_trip: Duration::ZERO,
                    audio: true,
                    ..header
                };
                let (header, length) =
                    if operation % 8 == 3 && *a & 0x80 != 0 { (audio, c % 16) } else { (header, a % 16) };
                bytes(&Packet::Video(header, &vec![*b; usize::from(length) * 20]))
            }
            4 if *a > 250 => {
                let reason = if *b & 1 == 0 { Reason::EndOfMovie } else { Reason::Stopped };
                bytes(&Packet::Teardown(Teardown { session: SESSION, reason }))
            }
            4 if *a > 200 => bytes(&Packet::Offer(Offer { session: SESSION, features: Features(u32::from(*b)) })),
            5 => {
                let (raw, next) = tail.split_at(tail.len().min(usize::from(*a)));
                rest = next;
                raw.to_vec()
            }
            6 => {
                now += Duration::from_micros(u64::from(u32::from_be_bytes([0, *a, *b, *c])));
                Vec::new()
            }
            _ => {
                now = Timestamp::from_millis(u64::from(u32::from_be_bytes([0, *a, *b, *c])) * 10);
                Vec::new()
            }
        };
        if operation & 0x70 == 0x70 && !datagram.is_empty() {
            let place = usize::from(*b) % datagram.len();
            datagram[place] ^= c;
        }
        client.handle_datagram(now, channel, &datagram);
        assert!(client.state().buffered <= BUFFER + BUFFER); // as much again for audio
        if operation & 8 == 0 {
            continue;
        }
        let sent = std::iter::from_fn(|| client.poll_transmit(now)).count();
        assert!(sent <= 64, "{sent} datagrams at one moment");
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::FrameComplete(frame) => {
                    assert_eq!(frame.frame, next);
                    next += 1;
                }
                ClientEvent::FramesLost { first, count } => {
                    assert!(first == next && count > 0);
                    next += count;
                }
                ClientEvent::Audio(packet) => {
                    assert_eq!(packet.number, heard);
                    heard += 1;
                }
                ClientEvent::AudioLost { first, count } => {
                    assert!(first == heard && count > 0);
                    heard += count;
                }
                _ => {}
            }
        }
        // A description may have been damaged, and still be one.
        assert!(next <= client.description().map_or(0, |description| description.frames));
    }
}
