//! Sound on a channel of its own, which waits for that one's room.

use framewire_media::Movie;
use framewire_media::audio::AudioTrack;
use framewire_scenario::Scenario;
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;

use super::SenderSession;
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::flow::FlowSetup;
use crate::half::{ChannelId, ChannelSet, Channels, Half};
use crate::plan::SendingPlan;
use crate::sound::Sound;

/// A host whose sockets admit so many datagrams of the movie and of its sound.
#[derive(Default)]
struct Host {
    admits: [usize; 2],
    sent: [usize; 2],
}

impl Channels for Host {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, _: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        let place = usize::from(channel == SOUND_CHANNEL);
        if self.sent[place] == self.admits[place] {
            return Ok(DatagramSend::WouldBlock);
        }
        self.sent[place] += 1;
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn write(&mut self, _: ChannelId, _: &[u8]) -> Result<usize, SocketError> {
        panic!("it goes in datagrams")
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        panic!("it goes in datagrams")
    }
}

/// A minute of one I picture a frame, 25 of them a second, and a second of sound: MPEG audio, layer II, 48 kHz (ISO/IEC 11172-3,
/// 2.4.1.3), 42 packets of 24 ms.
fn plan() -> SendingPlan {
    let mut bytes = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
    for reference in 0..50 {
        bytes.extend([0, 0, 1, 0, 0, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80, 0x81]);
    }
    let packet = [&[0xFF, 0xFD, 0x14, 0xC0][..], &[0; 92]].concat();
    let sound = Sound::new(AudioTrack::parse(&packet.repeat(42).into()).expect("a track"), 0).expect("it plays");
    SendingPlan::new(Movie::parse(bytes.into()).expect("a movie"), Timestamp::ZERO).with_sound(&sound)
}

fn scenario(flow: &str) -> Scenario {
    let text = format!("movie.source = \"a.ts\"\nmovie.sound = true\n[[flow]]\n{flow}");
    Scenario::parse(&text, &[]).expect("well formed")
}

fn session() -> SenderSession {
    let scenario = scenario("transport = \"udp-blocking\"");
    match FlowSetup::of_movie(&scenario.flows[0], plan(), crate::RtpSeed::default()).expect("it sends the movie") {
        FlowSetup::Datagram(setup) => setup.sender(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sound_waits_for_room_in_its_own_channel_and_for_no_clock() {
    let (movie, sound) = (ChannelSet::of(MOVIE_CHANNEL), ChannelSet::of(SOUND_CHANNEL));
    let now = Timestamp::ZERO + Duration::from_millis(240);
    // What the sockets admit, what is waited for, and how much has left by then: frames 0 to 6, sound 0 to 10.
    for (admits, waits, sent) in [
        ([99, 99], ChannelSet::NONE, [7, 11]),
        ([99, 5], sound, [7, 5]),
        ([3, 99], movie, [3, 11]),
        ([3, 5], movie.and(sound), [3, 5]),
    ] {
        let (mut session, mut host) = (session(), Host { admits, ..Host::default() });
        let wait = session.drive(now, &mut host).expect("nothing breaks");
        assert_eq!((wait.room, host.sent), (waits, sent), "{admits:?}");
        // By itself it goes on when the next of the sound or of the frames is due, of which the first is at 264 ms.
        assert_eq!(wait.timeout, Some(Timestamp::ZERO + Duration::from_millis(264)), "{admits:?}");
        host.admits = [99, 99];
        let wait = session.drive(now, &mut host).expect("nothing breaks");
        assert_eq!((wait.room, host.sent), (ChannelSet::NONE, [7, 11]), "{admits:?}");
    }
}

#[test]
fn with_sound_a_sender_reports_between_machines_unless_that_is_refused() {
    let reports = |rtcp: &str| {
        let scenario = scenario(&format!("transport = \"udp\"{rtcp}"));
        let setup = FlowSetup::between_machines(&scenario.flows[0], plan(), crate::RtpSeed::default());
        let setup = setup.expect("it sends the movie");
        let is_some = |one: &RtcpBandwidth| (one.senders.as_bps() > 0, one.receivers.as_bps() > 0);
        (setup.rtcp_bandwidths().iter().map(is_some).collect::<Vec<_>>(), setup.channels().len())
    };
    assert_eq!(reports(""), (vec![(true, false); 2], 4));
    assert_eq!(reports("\nrtcp = \"none\""), (vec![(false, false); 2], 2), "b=RS:0, b=RR:0 (RFC 3556)");
    assert_eq!(reports("\nrtcp = \"full\""), (vec![(true, true); 2], 4));
}
