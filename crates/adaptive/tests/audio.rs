//! Whole sessions in virtual time with audio beside the video.

use crate::pipe;
use std::sync::Arc;

use framewire_adaptive::client::{AudioPacket, ClientEvent, ClientSettings, PlayerSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::hybrid::{HybridController, HybridSettings};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::{PacketSource, PlanWithAudio};
use framewire_adaptive::stored::{FileSource, LadderSource};
use framewire_media::audio::{self, AudioCodec, AudioFormat, AudioTrack};
use framewire_media::streaming_file::{StreamingFile, write_with_audio};
use framewire_units::{Bitrate, Duration, Probability, Timestamp};
use framewire_wire::vtp::{Packet, Secret, Title, VideoHeader};

use pipe::{FRAME_RATE, Pipe, Session, mild, plan};

const LONG: Timestamp = Timestamp::from_secs(150);
const FRAMES: u32 = 1_080;
/// Of 24 ms, in 45.045 s of video.
const PACKETS: u32 = 1_877;
/// 64 kbit/s: 192 bytes each 24 ms.
const RATE: f64 = 64_000.0;

fn track() -> AudioTrack {
    let format = AudioFormat { codec: AudioCodec::Mp3, sample_rate: 48_000, channels: 2, pre_skip: 0 };
    let packet = |number: u32| audio::AudioPacket {
        time: Duration::from_millis(24) * number,
        duration: Duration::from_millis(24),
        bytes: [&number.to_be_bytes()[..], &[7; 188]].concat().into(),
    };
    AudioTrack::new(format, (0..3_000).map(packet).collect()).unwrap()
}

fn source() -> LadderSource {
    LadderSource::new(mild(), 1_000).with_audio(&track()).unwrap()
}

fn hybrid() -> Box<dyn Controller> {
    let plan = PlanWithAudio::of(&source(), plan(&mild()));
    Box::new(HybridController::new(HybridSettings::default(), Some(plan)).unwrap())
}

fn session(source: LadderSource, controller: Box<dyn Controller>, rate: Bitrate, loss: f64, repeats: bool) -> Session {
    let title = Title::new("movie").unwrap();
    let player = PlayerSettings { repeats, ..PlayerSettings::default() };
    let server = ServerSettings { repeats, ..ServerSettings::paper(title.clone(), Secret::new([5; 32])) };
    let client = ClientSettings { player: Some(player), ..ClientSettings::paper(title, 42) };
    let [mut forth, mut back] = [1, 2].map(|seed| Pipe::new(rate, Duration::from_millis(20), seed));
    for pipe in [&mut forth, &mut back] {
        pipe.loss = Probability::clamped(loss);
    }
    forth.seen = Some(vec![]);
    Session::of(source, controller, forth, back, server, client)
}

/// Packets of audio that came, in the order in which they came out, and how many were lost.
fn heard(session: &Session) -> (Vec<AudioPacket>, u32) {
    let mut lost = 0;
    let packets = session.client_events.iter().filter_map(|(_, event)| match event {
        ClientEvent::Audio(packet) => Some(packet.clone()),
        ClientEvent::AudioLost { count, .. } => {
            lost += count;
            None
        }
        _ => None,
    });
    (packets.collect(), lost)
}

fn sent(session: &Session) -> Vec<VideoHeader> {
    let header = |bytes: &Vec<u8>| match Packet::parse(bytes) {
        Ok(Packet::Video(header, _)) => Some(header),
        _ => None,
    };
    session.forth.seen.iter().flatten().filter_map(header).collect()
}

#[test]
fn every_packet_comes_with_its_time_and_before_its_frame() {
    let mut session = session(source(), Box::new(FixedRate::new()), Bitrate::from_mbps(10), 0.0, false);
    session.run(LONG);
    let (packets, lost) = heard(&session);
    assert_eq!((packets.len() as u32, lost, session.frames()), (PACKETS, 0, (FRAMES, 0)));
    for ((number, packet), original) in (0..).zip(&packets).zip(track().packets()) {
        assert_eq!((packet.number, packet.media_time), (number, original.time));
        assert_eq!(packet.bytes, original.bytes);
    }
    // Number of the frame that was sent last.
    let mut frame = None;
    for header in sent(&session) {
        if header.audio {
            let next = frame.map_or(0, |frame: u32| frame + 1);
            let times = FRAME_RATE.time_of(next.into())..FRAME_RATE.time_of(u64::from(next) + 1);
            assert!(times.contains(&header.media_time), "packet {} before frame {next}", header.frame);
        } else {
            frame = Some(header.frame);
        }
    }
    let state = session.server.state();
    assert_eq!((state.audio, u64::from(PACKETS)), (u64::from(PACKETS), session.client.state().audio_complete));
}

/// The rate is that of the plan and of the audio: video is as early as without.
#[test]
fn the_rate_includes_the_audio() {
    let place = |source: LadderSource| {
        let mut session = session(source, Box::new(FixedRate::new()), Bitrate::from_mbps(10), 0.0, false);
        session.run(Timestamp::from_secs(20));
        let state = session.server.state();
        (f64::from(state.frame), state.sent.as_bits() as f64, state.plan[0].as_bps() as f64)
    };
    let ((with, bits, floor), (without, video, alone)) = (place(source()), place(LadderSource::new(mild(), 1_000)));
    assert!((with / without - 1.0).abs() < 0.01, "frame {with} instead of {without}");
    // Audio is sent as far as video, which is ahead of time.
    let seconds = with * 1_001.0 / 24_000.0;
    assert!(((bits - video) / (RATE * seconds) - 1.0).abs() < 0.02, "{} bits of audio", bits - video);
    assert!((floor - alone - RATE).abs() < 0.001 * RATE, "{floor} and {alone}");
}

#[test]
fn what_is_lost_is_lost_without_repeats_and_comes_again_with_them() {
    let mut without = session(source(), hybrid(), Bitrate::from_mbps(10), 0.05, false);
    without.run(LONG);
    let (packets, lost) = heard(&without);
    assert_eq!(packets.len() as u32 + lost, PACKETS);
    assert!((60..130).contains(&lost), "{lost} lost, 94 expected");
    assert!(packets.is_sorted_by(|before, after| before.number < after.number));
    let mut with = session(source(), hybrid(), Bitrate::from_mbps(10), 0.05, true);
    with.run(LONG);
    let (again, lost) = heard(&with);
    assert!(lost <= 1 && again.len() as u32 + lost == PACKETS, "{lost} lost");
}

/// The path carries the audio and a part of the lowest level: frames are left out, and no packet of audio.
#[test]
fn below_the_floor_frames_are_left_out_and_audio_is_not() {
    let mut session = session(source(), hybrid(), Bitrate::from_kbps(170), 0.01, true);
    session.run(LONG);
    let offered: std::collections::BTreeSet<_> =
        sent(&session).iter().filter(|header| header.audio).map(|header| header.frame).collect();
    assert_eq!(offered.len() as u32, PACKETS, "all are sent");
    let ((packets, lost), (whole, missing)) = (heard(&session), session.frames());
    assert_eq!((packets.len() as u32 + lost, whole + missing), (PACKETS, FRAMES));
    let (audio, video) = (packets.len() as f64 / f64::from(PACKETS), f64::from(whole) / f64::from(FRAMES));
    assert!((0.3..0.6).contains(&video), "{video} of the frames");
    assert!(audio > 0.98, "{audio} of the audio and {video} of the frames");
}

#[test]
fn a_file_and_its_ladder_give_the_same_audio() {
    let mut bytes = vec![];
    let cut = track().until(mild().duration()).unwrap();
    write_with_audio(&mild(), Some(&cut), None, 1_000, &mut bytes).unwrap();
    let file = FileSource::new(StreamingFile::open(bytes::Bytes::from(bytes)).unwrap());
    let (file, memory): (Arc<dyn PacketSource>, Arc<dyn PacketSource>) = (Arc::new(file), Arc::new(source()));
    let rates = [&file, &memory].map(|source| source.audio().unwrap().rate.as_bps());
    assert!(rates[0].abs_diff(rates[1]) <= 1, "{rates:?}");
    assert_eq!(file.audio().unwrap().packets, PACKETS);
    for frame in 0..=FRAMES + 1 {
        assert_eq!(file.audio_before(frame), memory.audio_before(frame), "frame {frame}");
    }
    for number in 0..=PACKETS {
        assert_eq!(file.audio_packet(number).ok(), memory.audio_packet(number).ok());
        assert_eq!(file.audio_packet(number).is_ok(), number < PACKETS);
    }
    let said = [&file, &memory].map(|source| source.audio_packet(PACKETS).unwrap_err().to_string());
    assert!(said.iter().all(|said| said.starts_with("packet 1877 of the audio: ")), "{said:?}");
}

/// Nothing of a session without audio shows that there could be some.
#[test]
fn without_audio_nothing_is_said_of_it() {
    let mut session = session(LadderSource::new(mild(), 1_000), hybrid(), Bitrate::from_mbps(10), 0.02, true);
    session.run(LONG);
    assert!(sent(&session).iter().all(|header| !header.audio) && heard(&session) == (vec![], 0));
    let is_longer = |bytes: &Vec<u8>| matches!(Packet::parse(bytes), Ok(Packet::Description(_))) && bytes.len() != 89;
    assert!(!session.forth.seen.iter().flatten().any(is_longer));
}
