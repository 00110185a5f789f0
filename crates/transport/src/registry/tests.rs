//! Names, parts and settings.

use bytes::Bytes;
use framewire_media::access_unit::Codec;

use super::*;

/// Kernel memory of a datagram (skb truesize on x86-64, measured): from 700 B of payload, and up to 100 B.
const FULL_PACKET_TRUESIZE: u64 = 2_304;
const SMALL_PACKET_TRUESIZE: u64 = 832;

fn kind(name: &str) -> TransportKind {
    name.parse().expect("a name")
}

/// Datagrams that a send buffer admits: the check is made before each one, so the last may go over.
fn admitted(kind: TransportKind, truesize: u64) -> u64 {
    kind.profile().send_buffer.expect("a datagram transport states it").as_bytes().div_ceil(truesize)
}

#[test]
fn names_round_trip() {
    for kind in TransportKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let message = "rtmp".parse::<TransportKind>().unwrap_err().to_string();
    assert!(message.contains("rtmp"));
    for kind in TransportKind::ALL {
        assert!(message.contains(kind.name()), "{message} lacks {kind}");
    }
}

#[test]
fn what_fills_first_is_as_the_reasons_say() {
    assert_eq!(admitted(kind("udp-blocking"), FULL_PACKET_TRUESIZE), 93);
    assert_eq!(admitted(TransportKind::UDP, FULL_PACKET_TRUESIZE), 185);
    assert_eq!(admitted(TransportKind::UDP_IFD, FULL_PACKET_TRUESIZE), 72);
    for truesize in [SMALL_PACKET_TRUESIZE, FULL_PACKET_TRUESIZE] {
        for kind in [kind("udp-blocking"), kind("udp-whole"), TransportKind::UDP_IFD, kind("udp+dependency")] {
            let queue = u64::from(kind.profile().device_queue);
            assert!(admitted(kind, truesize) < queue, "{kind}: the socket fills first");
        }
        let udp = TransportKind::UDP;
        let queue = u64::from(udp.profile().device_queue);
        assert!(admitted(udp, truesize) > queue, "the device queue fills first");
    }
}

#[test]
fn parts_follow_the_name() {
    for kind in TransportKind::ALL {
        let is_stream = ["tcp", "http", "rtsp"].iter().any(|word| kind.name().contains(word));
        assert_eq!(kind.is_stream(), is_stream && !kind.name().contains("udp"));
        assert_eq!(kind.overflow().is_none(), kind.is_stream());
        assert_eq!(kind.frame_queue::<Bytes>().accepts_while_writing(), kind.profile().parts.queue != Queue::Direct);
        assert_eq!(kind.wants_error_reports(), kind.name() == "udp-whole");
        let ours_over_tcp = ["tcp+ifd", "tcp+ifd-optimised", "tcp+dependency"].contains(&kind.name());
        assert_eq!(kind.profile().unsent_limit.is_some(), ours_over_tcp);
    }
}

#[test]
fn every_combination_that_makes_sense_has_a_name_and_the_settings_of_the_nearest_entry() {
    let made: Vec<_> = TransportKind::combinations()
        .map(|kind| (kind.name(), kind.profile().summary, kind.profile().reason))
        .collect();
    let expected = [
        ("udp+ifd-optimised", "I-Frame Delay, and no frame without its references, over udp.", "as udp+dependency"),
        ("udp+leaky", "As GStreamer's queue leaky=downstream, over udp.", "as udp-blocking"),
        ("udp+keyframe", "As GStreamer's tcpserversink recover-policy=keyframe, over udp.", "as udp-blocking"),
        ("udp+obs", "As the RTMP output of OBS Studio, over udp.", "as udp-blocking"),
        (
            "rtp+tcp+ifd",
            "I-Frame Delay: one frame waits, a more important one overwrites it, over rtp+tcp.",
            "as tcp+ifd",
        ),
        (
            "rtp+tcp+ifd-optimised",
            "I-Frame Delay, and no frame without its references, over rtp+tcp.",
            "as tcp+ifd-optimised",
        ),
        (
            "rtp+tcp+dependency",
            "What the fewest frames depend on goes first, and no frame without its references, over rtp+tcp.",
            "as tcp+dependency",
        ),
        ("rtp+tcp+leaky", "As GStreamer's queue leaky=downstream, over rtp+tcp.", "as tcp+leaky"),
        ("rtp+tcp+keyframe", "As GStreamer's tcpserversink recover-policy=keyframe, over rtp+tcp.", "as tcp+keyframe"),
        ("rtp+tcp+obs", "As the RTMP output of OBS Studio, over rtp+tcp.", "as tcp+obs"),
        ("rtsp+ifd", "I-Frame Delay: one frame waits, a more important one overwrites it, over rtsp.", "as tcp+ifd"),
        (
            "rtsp+ifd-optimised",
            "I-Frame Delay, and no frame without its references, over rtsp.",
            "as tcp+ifd-optimised",
        ),
        (
            "rtsp+dependency",
            "What the fewest frames depend on goes first, and no frame without its references, over rtsp.",
            "as tcp+dependency",
        ),
        ("rtsp+leaky", "As GStreamer's queue leaky=downstream, over rtsp.", "as tcp+leaky"),
        ("rtsp+keyframe", "As GStreamer's tcpserversink recover-policy=keyframe, over rtsp.", "as tcp+keyframe"),
        ("rtsp+obs", "As the RTMP output of OBS Studio, over rtsp.", "as tcp+obs"),
    ];
    let over_udp = [
        (
            "rtsp+udp-blocking",
            "One frame at a time: the frame clock waits while it is written, and none is given up, over rtsp+udp-blocking.",
            "as udp-blocking",
        ),
        (
            "rtsp+udp+ifd",
            "I-Frame Delay: one frame waits, a more important one overwrites it, over rtsp+udp.",
            "as udp+ifd",
        ),
        (
            "rtsp+udp+ifd-optimised",
            "I-Frame Delay, and no frame without its references, over rtsp+udp.",
            "as udp+dependency",
        ),
        (
            "rtsp+udp+dependency",
            "What the fewest frames depend on goes first, and no frame without its references, over rtsp+udp.",
            "as udp+dependency",
        ),
        ("rtsp+udp+leaky", "As GStreamer's queue leaky=downstream, over rtsp+udp.", "as udp-blocking"),
        (
            "rtsp+udp+keyframe",
            "As GStreamer's tcpserversink recover-policy=keyframe, over rtsp+udp.",
            "as udp-blocking",
        ),
        ("rtsp+udp+obs", "As the RTMP output of OBS Studio, over rtsp+udp.", "as udp-blocking"),
        (
            "rtsp+udp-whole",
            "One frame at a time: the frame clock waits while it is written, and none is given up, over rtsp+udp-whole.",
            "as udp-whole",
        ),
    ];
    let (streams, others): (Vec<_>, Vec<_>) =
        made.into_iter().partition(|(name, ..)| name.starts_with("ts") || name.starts_with("http+"));
    assert_eq!(others, [&expected[..], &over_udp].concat());
    let streams: Vec<_> = streams.into_iter().map(|(name, _, reason)| (name, reason)).collect();
    let queues = Queue::ALL.iter().filter(|queue| **queue != Queue::Direct);
    let expected = ["ts", "ts+rtp", "ts+tcp", "http+ts", "http+fmp4"].into_iter().flat_map(|carrier| {
        let reason = move |queue: Queue| match (carrier, queue) {
            ("ts+tcp" | "http+ts" | "http+fmp4", queue) => format!("as tcp+{queue}"),
            (_, Queue::Ifd) => "as udp+ifd".to_owned(),
            (_, queue) if queue.is_rival() => format!("as {carrier}"),
            _ => "as udp+dependency".to_owned(),
        };
        queues.clone().map(move |&queue| (format!("{carrier}+{queue}"), reason(queue)))
    });
    let sockets = ["ts", "ts+rtp"]
        .into_iter()
        .flat_map(|carrier| ["udp", "udp-whole"].map(|socket| (format!("{carrier}+{socket}"), format!("as {socket}"))));
    let expected: Vec<_> = expected.chain(sockets).collect();
    assert!(
        streams.iter().map(|&(name, reason)| (name, reason)).eq(expected.iter().map(|(n, r)| (&n[..], &r[..]))),
        "{streams:?}"
    );
    for kind in TransportKind::ALL.into_iter().chain(TransportKind::combinations()) {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(TransportKind::of(kind.profile().parts), Ok(kind));
    }
    for (other, name) in [
        ("rtp+udp", "udp"),
        ("rtp", "udp-blocking"),
        ("rtp+dependency", "udp+dependency"),
        ("udp-blocking+ifd", "udp+ifd"),
        ("elementary-stream+tcp", "tcp"),
        ("ts+udp-blocking", "ts"),
        ("mp4+tcp", "http"),
        ("http+mp4", "http"),
    ] {
        assert_eq!(kind(other).name(), name);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let refused = |name: &str| name.parse::<TransportKind>().unwrap_err().to_string();
    assert!(refused("udp-whole+ifd").contains("empties the frame queue at once"));
    assert!(refused("elementary-stream+udp").contains("which frame it is of"));
    assert!(refused("rtp+udp+rtp").contains("is not a transport"));
    assert!(refused("ts+rtp+tcp").contains("in datagrams"));
    assert!(refused("rtp+rtp").contains("have frames or a transport stream in them"));
    assert!(refused("mp4+rtp").contains("no payload format for an MP4 file"));
    assert!(refused("ts+rtp+rtp").contains("have frames or a transport stream in them"));
    assert!(refused("http+rtp+ts").contains("carries the frames themselves"));
    let of_parts = |format, session, socket| {
        TransportKind::of(Parts { queue: Queue::Direct, format, session, socket }).unwrap_err()
    };
    let datagrams = SocketKind::Datagram(Overflow::Wait);
    assert!(of_parts(Format::Mp4, Session::None, SocketKind::Stream).contains("fetched by its receiver"));
    assert!(of_parts(Format::Mp4, Session::Http, datagrams).contains("may be missing"));
    assert!(of_parts(Format::FragmentedMp4, Session::Http, datagrams).contains("may be missing"));
    assert!(of_parts(Format::FragmentedMp4, Session::None, SocketKind::Stream).contains("fetched by its receiver"));
    assert!(of_parts(Format::FragmentedMp4, Session::Rtsp, SocketKind::Stream).contains("carries packets of RTP"));
    assert!(of_parts(Format::Ts, Session::Http, datagrams).contains("over a stream of bytes"));
    let frames_in_rtp = Format::Rtp(RtpContent::Frames);
    let ts_in_rtp = Format::Rtp(RtpContent::TransportStream);
    assert!(of_parts(frames_in_rtp, Session::Http, SocketKind::Stream).contains("files and transport streams"));
    assert!(refused("http+dependency").contains("before the first one is sent, so that none can be given up"));
    assert!(refused("http+rtp").contains("files and transport streams"));
    assert!(of_parts(Format::Ts, Session::Rfc4571, SocketKind::Stream).contains("188 bytes"));
    for session in [Session::None, Session::Rfc4571, Session::Http] {
        assert!(of_parts(ts_in_rtp, session, SocketKind::Stream).contains("in datagrams"));
    }
    assert!(of_parts(ts_in_rtp, Session::Rtsp, datagrams).contains("with frames in them"));
    assert!(of_parts(Format::Ts, Session::Rtsp, SocketKind::Stream).contains("carries packets of RTP"));
    assert!(refused("rtsp+udp-whole+ifd").contains("empties the frame queue at once"));
    for name in [
        "rtsp+tcp",
        "rtsp+udp+udp",
        "rtsp+ifd+ifd",
        "ts+tcp+rtp",
        "tcp+udp",
        "ifd+tcp",
        "tcp+ifd+ifd",
        "tcp+",
        "+tcp",
        "",
        "vtp",
        "mp4",
        "http+tcp",
        "http+ts+tcp",
    ] {
        assert!(refused(name).contains("is not a transport; udp-blocking, rtp, udp, "), "{name}");
    }
}

#[test]
fn packets_carry_what_has_a_payload_format_and_the_elementary_stream_everything() {
    for kind in ["ts", "ts+rtp", "ts+tcp+dependency", "http", "http+ts", "http+fmp4"].map(kind) {
        for &codec in Codec::ALL {
            let told = kind.check_codec(codec);
            // AOMedia's documents put AV1 in files; for transport streams there are drafts only.
            let has_av1 = kind.profile().parts.format.innermost() != Format::Ts;
            let refuses = codec == Codec::MotionJpeg || codec == Codec::Av1 && !has_av1;
            assert_eq!(told.is_err(), refuses, "{kind}: {told:?}");
            if let Err(told) = told {
                let carried = match has_av1 {
                    true => "MPEG video, MPEG-4 part 2, H.264, H.265 and AV1",
                    false => "MPEG video, MPEG-4 part 2, H.264 and H.265",
                };
                assert!(told.contains(carried) && told.contains(&format!("the movie is {codec}")), "{told}");
                let offer = ": a transport in RTP (udp, rtp+tcp) or over TCP without a container (tcp) carries it";
                assert_eq!(told.ends_with(offer), codec == Codec::Av1, "{told}");
                assert_eq!(told.contains("tcp)"), codec == Codec::Av1, "Motion JPEG has no way that is open: {told}");
            }
        }
        assert!(kind.check_packets(Codec::H264, PacketRule::Full).is_ok());
        let of_thesis = kind.check_packets(Codec::MpegVideo, PacketRule::Thesis);
        let in_packets = kind.profile().parts.format.innermost() == Format::Ts;
        assert!(!in_packets || of_thesis.unwrap_err().contains("188 bytes"));
    }
    let others = TransportKind::ALL.into_iter();
    let has_container = |kind: TransportKind| {
        matches!(kind.profile().parts.format.innermost(), Format::Ts | Format::Mp4 | Format::FragmentedMp4)
    };
    let others = others.filter(|&kind| !has_container(kind));
    for (kind, &codec) in others.flat_map(|kind| Codec::ALL.iter().map(move |codec| (kind, codec))) {
        let has_format = codec != Codec::MotionJpeg;
        let outcome = kind.check_codec(codec);
        let carries_all = kind.profile().parts.format == Format::ElementaryStream;
        assert_eq!(outcome.is_ok(), carries_all || has_format, "{kind}: {outcome:?}");
        if let Err(told) = outcome {
            let carried = "MPEG video (RFC 2250), MPEG-4 part 2 (RFC 6416), H.264 (RFC 6184), H.265 (RFC 7798) and AV1 (AOMedia's";
            assert!(told.contains(carried) && told.ends_with(&format!("; the movie is {codec}")), "{told}");
        }
    }
}
