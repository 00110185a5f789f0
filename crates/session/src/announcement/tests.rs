use super::*;

const WHOLE: &str = "transport=ts+rtp codec=h264 mpeg2=0 ssrc=77 seq=65535 sound=aac/48000/2 rate=30000/1001";

const AAC: &str = "transport=udp codec=h264 mpeg2=0 ssrc=7 seq=65530,9 sound=aac/48000/2 fmtp=mode=AAC-hbr;config=1190";

#[test]
fn what_is_announced_is_read_again() {
    let least = "transport=tcp codec=obu mpeg2=0";
    let opus = "transport=rtp+tcp codec=h264 mpeg2=0 ssrc=7 seq=0,65535 sound=opus/48000/2/312";
    let mpeg = "transport=udp codec=m2v mpeg2=1 ssrc=1 seq=1,2 sound=mp2/44100/1";
    let reports = format!("{AAC} rtcp=25000:75000,1600:4800");
    for text in [WHOLE, &reports, "transport=udp+dependency codec=m2v mpeg2=1 ssrc=1 seq=7", least, opus, mpeg, AAC] {
        let announced = Announcement::parse(text).unwrap();
        assert_eq!(announced.to_string(), text);
        assert!(announced.receiver(&FlowRecording::default()).is_ok(), "{text}");
    }
    let announced = Announcement::parse(&format!("{least} of-a-later-version=1")).unwrap();
    assert_eq!((announced.transport, announced.sound), (TransportKind::TCP, None));
    let announced = Announcement::parse("transport=udp codec=m2v mpeg2=1 ssrc=1").unwrap();
    assert_eq!(announced.origin, Some(StreamOrigin { ssrc: 1, initial_sequence: 0 }), "as earlier versions began");
}

#[test]
fn sound_in_rtp_has_a_port_of_its_own_over_udp_alone() {
    let port = |text: &str| Announcement::parse(text).unwrap().sound_channel().map(|channel| channel.port);
    assert_eq!((port(AAC), port(&AAC.replace("udp", "rtp+tcp")), port(WHOLE)), (Some(2), None, None));
    let to = SocketAddr::from(([127, 0, 0, 1], 5_004));
    let text = Announcement::parse(AAC).unwrap().session_description(to, &[]).unwrap();
    assert!(text.contains("m=video 5004 RTP/AVP 96\r\n") && text.contains("m=audio 5006 RTP/AVP 97\r\n"), "{text}");
    assert!(text.ends_with("a=rtpmap:97 mpeg4-generic/48000/2\r\na=fmtp:97 mode=AAC-hbr;config=1190\r\n"), "{text}");
}

#[test]
fn a_receiver_reports_of_the_sessions_of_which_that_is_announced() {
    let sessions = |text: &str| {
        let sessions = Announcement::parse(text).unwrap().reported_sessions();
        sessions.into_iter().map(|session| (session.media, session.reports, session.port)).collect::<Vec<_>>()
    };
    assert_eq!(sessions(AAC), []);
    let both = [(MOVIE_CHANNEL, rtcp_of(MOVIE_CHANNEL), 1), (SOUND_CHANNEL, rtcp_of(SOUND_CHANNEL), 3)];
    assert_eq!(sessions(&format!("{AAC} rtcp=1:3,1:3")), both);
    assert_eq!(sessions(&format!("{AAC} rtcp=1:3")), both[..1]);
    assert_eq!(sessions("transport=udp codec=h264 ssrc=7 rtcp=1:3,1:3"), both[..1], "there is no sound");
    assert_eq!(sessions("transport=tcp codec=h264 rtcp=1:3"), [], "nor RTP");
    assert_eq!(sessions("transport=ts codec=h264 ssrc=7 rtcp=1:3"), [], "nor there");
    assert_eq!(sessions("transport=rtp+tcp codec=h264 ssrc=7 rtcp=1:3"), [], "nor a port beside it");
    assert_eq!(sessions("transport=ts+rtp codec=h264 rtcp=1:3"), both[..1], "its source is not known");
    let reporting = Announcement::parse(&format!("{AAC} rtcp=1:3,1:3")).unwrap();
    let receiver = reporting.reporting_receiver(&FlowRecording::default(), Timestamp::ZERO, Seed(1)).unwrap();
    assert!(receiver.next_timeout().is_some());
}

#[test]
fn what_cannot_be_received_is_refused_with_the_reason() {
    let refused = |text: &str| Announcement::parse(text).unwrap_err().to_string();
    assert!(refused("").contains("transport"));
    assert!(refused("transport=udp").contains("codec"));
    assert!(refused("transport=rtmp codec=h264").contains("transport=rtmp"));
    assert!(refused("transport=udp codec=theora").contains("codec=theora"));
    assert!(refused("transport=udp codec=mjpeg").contains("udp"), "RTP has no such payload here");
    assert!(refused(AAC.split(" fmtp").next().unwrap()).contains("its sound: a description of AAC without its"));
    assert!(refused(&AAC.replace(" ssrc=7 seq=65530,9", "")).contains("it does not say its ssrc"));
    assert!(refused("transport=http codec=h264").contains("asks for the movie itself"));
    assert!(refused("transport=tcp codec=h264 sound=aac/48000/2").contains("no sound"));
    assert!(
        refused("transport=ts codec=h264 sound=opus/48000/2/312").contains("the sound is Opus: RTP (udp, rtp+tcp)")
    );
    for wrong in [
        "ssrc=-1",
        "sound=aac",
        "sound=opus/48000/2",
        "sound=aac/48000/2/1",
        "rate=25",
        "rate=0/1",
        "ssrc=4294967296",
        "seq=65536",
        "seq=1,",
        "seq=1,2,3",
        "rtcp=1",
        "rtcp=1:0",
        "rtcp=1:1,1:1,1:1",
        "rtcp=1:1000000000001",
    ] {
        assert!(refused(&format!("transport=ts codec=h264 {wrong}")).contains(wrong), "{wrong}");
    }
}
