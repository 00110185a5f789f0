//! Sound beside the movie in a transport stream, or in packets of RTP of its own, in virtual time.

use std::path::PathBuf;

use bytes::Bytes;
use framewire_media::Movie;
use framewire_media::audio::AudioTrack;
use framewire_recording::ledger::{Fate, FrameRow, Ledger};
use framewire_recording::record::{FIRST_OF_SOUND, FlowStatus, LossPlace};
use framewire_recording::summary::Summary;
use framewire_session::Sound;
use framewire_sim::{Content, Options, Received, Simulated, Simulation};

use crate::common::{LIVE, movie, run, scenario};

/// Transports that carry sound: transport streams, and RTP over datagrams and over a connection, by itself and by RTSP, with queues and without.
const TRANSPORTS: [&str; 17] = [
    "ts",
    "ts+rtp",
    "ts+udp",
    "ts+tcp",
    "ts+dependency",
    "ts+rtp+ifd",
    "ts+tcp+dependency",
    "udp",
    "udp-blocking",
    "udp-whole",
    "udp+dependency",
    "rtp+tcp",
    "rtp+tcp+dependency",
    "rtsp",
    "rtsp+dependency",
    "rtsp+udp",
    "rtsp+udp+dependency",
];

fn wired(rate: &str, bottleneck: &str, more: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"{bottleneck}\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n{more}"
    )
}

/// Packets of MPEG-1 layer II, 192 kbit/s at 48 kHz (ISO/IEC 11172-3, 2.4.2.3): 576 bytes in 24 ms, each of its own.
fn stream(seconds: f64) -> Vec<u8> {
    let count = (seconds / 0.024).ceil() as u32;
    let packet = |number: u32| [&[0xFF, 0xFD, 0xA4, 0xC0], &number.to_be_bytes()[..], &[number as u8; 568]].concat();
    (0..count).flat_map(packet).collect()
}

/// From 21 ms before the first picture on, as an encoder of AAC begins.
fn sound(seconds: f64) -> Sound {
    Sound::new(AudioTrack::parse(&Bytes::from(stream(seconds))).unwrap(), -21_333_333).unwrap()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framewire-sound-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn with_sound(text: &str, movie: &Movie, seconds: f64, received: Received) -> Simulated {
    let content = Content::of_movie("movie.m2v", movie.clone()).with_sound("sound.mp2", sound(seconds));
    let options = Options { packets: true, received, ..Options::default() };
    Simulation::run(&scenario(text), &content, &options).expect("it can be simulated")
}

fn rows(simulated: &Simulated) -> (Vec<FrameRow>, Vec<FrameRow>) {
    let ledger = Ledger::build(&simulated.logs[0], LIVE);
    ledger.rows.to_vec().into_iter().partition(|row| row.track == 0)
}

#[test]
fn a_fast_network_brings_all_sound_and_the_movie_as_it_would_alone() {
    let movie = movie(3.0, 4);
    for transport in TRANSPORTS {
        let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("100 Mbit/s", "remote", ""));
        let folder = Folder::new(transport);
        // More than the movie lasts: what begins after its end is not sent.
        let simulated = with_sound(&text, &movie, 9.0, Received::Directory(folder.0.clone()));
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
        let kept = |suffix| std::fs::read(folder.0.join(format!("{transport}.{suffix}"))).unwrap();
        assert!(kept("m2v") == movie.to_bytes(), "{transport}: the movie was changed");
        let sent = kept("mp2");
        assert!(stream(9.0).starts_with(&sent), "{transport}: the sound was changed");
        // The movie has 100 frames of 40 ms: 168 packets of 24 ms begin before its end, the first one 21 ms before it.
        assert_eq!(sent.len(), 168 * 576, "{transport}");
        let (pictures, sound) = rows(&simulated);
        assert_eq!((pictures.len(), sound.len()), (100, 168), "{transport}");
        assert!(pictures.iter().chain(&sound).all(|row| row.fate == Fate::Shown), "{transport}");
        assert!(sound.iter().zip(0..).all(|(row, number)| row.frame == number && row.kind == 'A'));
        let alone = run(&scenario(&text), &movie, false);
        let fates = |rows: &[FrameRow]| rows.iter().map(|row| (row.frame, row.size, row.fate)).collect::<Vec<_>>();
        assert_eq!(fates(&pictures), fates(&rows(&alone).0), "{transport}");
        if !transport.contains("tcp") && !transport.contains("rtsp") {
            assert!(simulated.logs[0].packets.iter().all(|packet| packet.sequence.is_some()), "{transport}");
        }
    }
}

#[test]
fn what_the_receiver_keeps_is_what_the_ledger_has_of_sound_too() {
    let movie = movie(3.0, 4);
    let lossy = wired("100 Mbit/s", "remote", "loss = \"5 %\"\n");
    let narrow = wired("2 Mbit/s", "remote", "queue = \"20 packets\"\n");
    let transports = ["ts", "ts+rtp", "udp", "udp-blocking", "udp+ifd", "rtsp+udp"];
    let variable = transports.into_iter().flat_map(|name| [(name, &lossy, ""), (name, &narrow, "")]);
    // At a constant rate sound stands between the packets of a frame.
    let constant = ["ts", "ts+rtp"].map(|name| (name, &lossy, "ts_rate = \"5 Mbit/s\""));
    for (transport, network, more) in variable.chain(constant) {
        let folder = Folder::new(&format!("lossy-{transport}{}", more.len()));
        let text = format!("{network}[[flow]]\ntransport = \"{transport}\"\n{more}");
        let simulated = with_sound(&text, &movie, 3.0, Received::Directory(folder.0.clone()));
        let (_, sound) = rows(&simulated);
        let whole: Vec<&FrameRow> = sound.iter().filter(|row| row.complete).collect();
        assert!((10..sound.len()).contains(&whole.len()), "{transport}: {} of {}", whole.len(), sound.len());
        let all = stream(3.0);
        let expected = whole.iter().flat_map(|row| &all[row.frame as usize * 576..][..576]);
        let kept = std::fs::read(folder.0.join(format!("{transport}.mp2"))).unwrap();
        assert!(expected.eq(&kept), "{transport}");
        assert_eq!(simulated.outcomes[0].received.complete_sound as usize, whole.len(), "{transport}");
        assert!(sound.iter().all(|row| row.complete || row.root_cause.is_some()), "{transport}");
    }
}

/// On a link of 0.6 of the movie's rate frames are given up, and no sound: it waits for what is being sent, and no longer. Over
/// datagrams that is a frame; over a connection with an unsent limit what may be unsent, however large the frame is. A file in
/// fragments waits for the fragment that was begun as well, which is a whole frame: the bytes of a sample stand together in one
/// box, of one fragment (ISO/IEC 14496-12, 8.8.8 and 8.1.1).
#[test]
fn sound_goes_before_every_frame_and_waits_for_no_more_than_is_being_sent() {
    let movie = movie(8.0, 4);
    let rate = 4_800_000.0;
    let local = wired("4800 kbit/s", "local-device", "");
    let largest = movie.index.frames.iter().map(|frame| frame.size).max().unwrap();
    // Headers and stuffing take a twentieth of a large frame, UDP and IP 2 %.
    let of_frame = f64::from(largest) * 8.0 / rate * 1.07 * 1e3;
    let of_limit = 32_768.0 * 8.0 / rate * 1.1 * 1e3;
    assert!(of_frame > 1.5 * of_limit, "the frame is larger than the limit: {largest} bytes");
    let bounds = [
        ("ts+ifd", of_frame),
        ("ts+dependency", of_frame),
        ("ts+tcp+dependency", of_limit),
        ("rtp+tcp+dependency", of_limit),
        ("http+fmp4+dependency", of_frame + of_limit),
    ];
    for (transport, most) in bounds {
        let text = format!("{local}[[flow]]\ntransport = \"{transport}\"");
        let simulated = with_sound(&text, &movie, 4.0, Received::Nowhere);
        let (pictures, sound) = rows(&simulated);
        let given_up = |rows: &[FrameRow]| {
            let place = |row: &FrameRow| row.root_cause.as_ref().map(|cause| cause.place);
            rows.iter().filter(|row| place(row) == Some(LossPlace::SenderPipeline)).count()
        };
        assert!(given_up(&pictures) > 5 && given_up(&sound) == 0, "{transport}");
        assert!(sound.iter().all(|row| row.fate == Fate::Shown), "{transport}");
        let summary = Summary::build(&Ledger::build(&simulated.logs[0], LIVE), &simulated.logs[0], &LIVE);
        let of_sound = summary.sound.unwrap();
        assert_eq!(of_sound.fates.shown as usize, sound.len(), "{transport}");
        let longest = of_sound.longest_wait_ms.unwrap();
        assert!((0.3 * most..=most).contains(&longest), "{transport}: {longest} ms, {most} ms at most");
    }
    // Without a queue, and without a limit, it waits for all that the socket has taken; it goes first all the same.
    let simulated = with_sound(&format!("{local}[[flow]]\ntransport = \"ts+tcp\""), &movie, 4.0, Received::Nowhere);
    let (pictures, sound) = rows(&simulated);
    let last = |rows: &[FrameRow]| rows.iter().map(|row| row.first_byte.unwrap()).max();
    assert!(last(&sound) < last(&pictures));
}

/// A session of RTP of its own has a socket of its own, which no frame fills: sound is behind no more than what the device of its
/// host holds of the movie, which is what that one's send buffer admits.
#[test]
fn sound_in_a_socket_of_its_own_waits_for_nothing_and_is_behind_what_the_device_holds() {
    let movie = movie(8.0, 4);
    let rate = 4_800_000.0;
    let local = wired("4800 kbit/s", "local-device", "");
    // 160 KiB admit 72 packets of 2,304 B of kernel memory, and the one that goes over; 208 KiB 93.
    let behind = |packets: f64| 5.0 + packets * 1_500.0 * 8.0 / rate * 1e3;
    for (transport, most) in
        [("udp+ifd", behind(74.0)), ("udp+dependency", behind(74.0)), ("udp-blocking", behind(95.0))]
    {
        let text = format!("{local}[[flow]]\ntransport = \"{transport}\"");
        let simulated = with_sound(&text, &movie, 4.0, Received::Nowhere);
        let (_, sound) = rows(&simulated);
        assert!(sound.iter().all(|row| row.fate == Fate::Shown), "{transport}");
        let summary = Summary::build(&Ledger::build(&simulated.logs[0], LIVE), &simulated.logs[0], &LIVE);
        let longest = summary.sound.unwrap().longest_wait_ms.unwrap();
        assert!(longest < 0.001, "{transport}: {longest} ms");
        let latest = sound.iter().filter_map(|row| row.latency_nanos).max().unwrap() as f64 / 1e6;
        assert!((0.8 * most..=most).contains(&latest), "{transport}: {latest} ms, {most} ms at most");
    }
}

#[test]
fn reports_of_sound_are_about_its_own_packets_under_the_same_name() {
    let movie = movie(2.0, 24);
    let lossy = wired("100 Mbit/s", "remote", "loss = \"5 %\"\n");
    let text = format!("{lossy}[[flow]]\ntransport = \"udp-blocking\"\nrtcp = \"full\"");
    let simulated = with_sound(&text, &movie, 24.0, Received::Nowhere);
    for track in [0, 1] {
        let of_track: Vec<_> = simulated.logs[0].rtcp.iter().filter(|report| report.track == track).collect();
        let sent = of_track.iter().filter_map(|report| report.packets).max().unwrap();
        let packets = simulated.logs[0].datagrams_sent.iter();
        let packets = packets.filter(|datagram| (datagram.sequence >= FIRST_OF_SOUND) == (track == 1)).count();
        assert!(sent as usize <= packets && packets <= 3 * sent as usize, "track {track}: {sent} of {packets}");
        let told: Vec<_> = of_track.iter().filter(|report| report.lost.is_some()).collect();
        assert!(told.len() >= 2, "track {track}: {} reports", told.len());
        for report in told {
            // A receiver knows nothing of the packets before the second in a row.
            let (lost, truly) = (i64::from(report.lost.unwrap()), report.true_lost.unwrap() as i64);
            assert!((truly - 5..=truly).contains(&lost), "track {track}: {lost}, {truly}");
            assert!(u64::from(report.highest_sequence.unwrap()) < packets as u64, "track {track}");
        }
        assert!(of_track.iter().any(|report| report.bye && report.from_sender), "track {track}");
    }
}

#[test]
fn a_transport_that_carries_none_is_refused_by_name() {
    let content = Content::of_movie("movie.m2v", movie(1.0, 1)).with_sound("sound.mp2", sound(1.0));
    for transport in ["tcp", "tcp+dependency"] {
        let scenario = scenario(&format!("[[flow]]\ntransport = \"{transport}\""));
        let refused = Simulation::run(&scenario, &content, &Options::default()).map(drop).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("{transport} carries no sound: RTP, transport streams and files do")),
            "{refused}"
        );
    }
}
