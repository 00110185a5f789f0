//! Both ends of a session, told to each other without a network.

use framewire_units::{Duration, Seed, Timestamp};

use super::*;

const DESCRIPTION: &str = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=framewire\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n\
                           m=video 5004 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n";
const URL: &str = "rtsp://127.0.0.1:8554/movie";
const BEGIN: StreamStart = StreamStart { ssrc: 0xC0FFEE, sequence: 7, timestamp: 90_000 };

fn account() -> Account {
    Account { user: "user".to_owned(), password: "secret".to_owned() }
}

fn server(account: Option<Account>) -> Server {
    let settings = ServerSettings {
        presentations: [Presentation {
            path: "/movie".to_owned(),
            description: DESCRIPTION.to_owned(),
            streams: vec![BEGIN],
            length: None,
        }]
        .into(),
        over_udp: true,
        account: account.map(|account| ("camera".to_owned(), account)),
        timeout: SESSION_TIMEOUT,
    };
    Server::new(settings, Timestamp::ZERO, Seed(1).stream("server", &[]))
}

fn client(want: Want, account: Option<Account>) -> Client {
    let settings =
        ClientSettings { url: URL.to_owned(), want, sound: None, account, user_agent: Some("test/1".to_owned()) };
    Client::new(settings, Timestamp::ZERO, Seed(1).stream("client", &[]))
}

/// Answers for who has the movie: everything can be, from its beginning on. What happened.
fn decide(now: Timestamp, server: &mut Server) -> Vec<ServerEvent> {
    let mut events = Vec::new();
    while let Some(event) = server.poll_event() {
        match event {
            ServerEvent::Open { .. } => server.handle_opened(now, Some((6_000, 6_001))).unwrap(),
            ServerEvent::Play { movie, .. } => {
                let streams = server.presentation(movie).streams.clone();
                let range = NptRange::from(Duration::ZERO, None);
                server.handle_playing(now, Ok(Playing { range, streams })).unwrap();
            }
            _ => {}
        }
        events.push(event);
    }
    events
}

/// Hands over what both say until neither says more; the client's requests, in their order, and what happened at the server.
fn talk(now: Timestamp, client: &mut Client, server: &mut Server) -> (Vec<Request>, Vec<ServerEvent>) {
    let (mut requests, mut wanted, mut reader) = (Vec::new(), Vec::new(), Reader::default());
    loop {
        let mut silent = true;
        while let Some(message) = client.poll_transmit() {
            reader.feed(&message);
            let Some(Item::Request(request)) = reader.poll().unwrap() else { panic!("a request") };
            requests.push(request);
            server.handle_bytes(now, &message).unwrap();
            wanted.extend(decide(now, server));
            silent = false;
        }
        while let Some(message) = server.poll_transmit() {
            client.handle_bytes(now, &message).unwrap();
            silent = false;
        }
        if silent {
            return (requests, wanted);
        }
    }
}

fn events(client: &mut Client) -> Vec<ClientEvent> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

/// What the server answers to the text of a request.
fn answer(server: &mut Server, text: &str) -> Response {
    server.handle_bytes(Timestamp::ZERO, text.as_bytes()).unwrap();
    if server.is_pending() {
        decide(Timestamp::ZERO, server);
    }
    said(server)
}

fn said(server: &mut Server) -> Response {
    let mut reader = Reader::default();
    reader.feed(&server.poll_transmit().expect("an answer"));
    let Ok(Some(Item::Response(response))) = reader.poll() else { panic!("a response") };
    response
}

#[test]
fn a_client_plays_a_stream_step_by_step_and_ends_it() {
    for (want, delivery, agreed) in [
        (Want::Interleaved, Delivery::Interleaved(0, 1), "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=00C0FFEE"),
        (
            Want::InterleavedWithoutReports,
            Delivery::Interleaved(0, 1),
            "RTP/AVP/TCP;unicast;interleaved=0;ssrc=00C0FFEE",
        ),
        (
            Want::Udp(5_000, 5_001),
            Delivery::Udp(5_000, 5_001),
            "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=00C0FFEE",
        ),
    ] {
        for account in [None, Some(account())] {
            let (mut client, mut server) = (client(want, account.clone()), server(account.clone()));
            let (asked, wanted) = talk(Timestamp::ZERO, &mut client, &mut server);
            let methods: Vec<&str> = asked.iter().map(|request| request.method.as_str()).collect();
            let twice = if account.is_some() { &["DESCRIBE"][..] } else { &[] };
            assert_eq!(methods, [&["OPTIONS", "DESCRIBE"], twice, &["SETUP", "PLAY"]].concat());
            let last: Vec<&str> = asked.iter().rev().take(2).map(|request| request.uri.as_str()).collect();
            assert_eq!(last, ["rtsp://127.0.0.1:8554/movie/", "rtsp://127.0.0.1:8554/movie/track0"]);
            let range = Some(NptRange::from(Duration::ZERO, None));
            let plays = ServerEvent::Play { movie: 0, deliveries: vec![Some(delivery)], range };
            let opens = ServerEvent::Open { movie: 0, stream: 0, client: (5_000, 5_001) };
            let is_udp = matches!(want, Want::Udp(..));
            // The first request without the password is no refusal.
            let happened = [is_udp.then_some(opens), Some(plays)];
            assert_eq!(wanted, happened.into_iter().flatten().collect::<Vec<_>>());
            let learnt = events(&mut client);
            let [ClientEvent::Described(text), ClientEvent::Playing(played)] = &learnt[..] else {
                panic!("{learnt:?}")
            };
            assert!(text.contains("m=video 0 RTP/AVP 96\r\n") && text.ends_with("a=control:track0\r\n"), "{text}");
            let [PlayedStream { transport, first: Some(first) }] = &played[..] else { panic!("{played:?}") };
            let said = (first.sequence_number, first.timestamp);
            assert_eq!((transport.to_string().as_str(), said), (agreed, (BEGIN.sequence, Some(BEGIN.timestamp))));
            client.stop(Timestamp::from_secs(1));
            let (asked, wanted) = talk(Timestamp::from_secs(1), &mut client, &mut server);
            assert_eq!((asked[0].method.as_str(), wanted), ("TEARDOWN", vec![ServerEvent::Stop]));
            assert!(server.is_over());
            assert_eq!((events(&mut client), client.is_over()), (vec![ClientEvent::Ended(None)], true));
        }
    }
}

#[test]
fn who_is_asked_for_a_password_is_refused_where_the_next_request_has_none_that_is_right() {
    let right = account();
    let wrong = Account { password: "guess".to_owned(), ..account() };
    let refusal = |events: Vec<ServerEvent>| {
        let is_refusal = |event: &ServerEvent| {
            matches!(event, ServerEvent::Answered(Answered { status, asked: Some(asked) })
                if *status == Status::UNAUTHORIZED && asked.method == "DESCRIBE")
        };
        events.iter().filter(|event| is_refusal(event)).count()
    };
    for (known, refusals) in [(Some(right), 0), (Some(wrong), 1), (None, 1)] {
        let (mut client, mut server) = (client(Want::Interleaved, known), server(Some(account())));
        let (_, mut told) = talk(Timestamp::ZERO, &mut client, &mut server);
        server.handle_close();
        told.extend(std::iter::from_fn(|| server.poll_event()));
        assert_eq!(refusal(told), refusals);
    }
    // Who asks again and again without is refused each time but the first.
    let (request, mut server) = (format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 1\r\n\r\n"), server(Some(account())));
    for _ in 0..3 {
        server.handle_bytes(Timestamp::ZERO, request.as_bytes()).unwrap();
    }
    assert_eq!(refusal(std::iter::from_fn(|| server.poll_event()).collect()), 2);
    server.handle_close();
    assert_eq!(server.poll_event(), None);
}

#[test]
fn signs_of_life_keep_a_session_and_silence_ends_it() {
    let (mut client, mut server) = (client(Want::Interleaved, None), server(None));
    talk(Timestamp::ZERO, &mut client, &mut server);
    let mut now = Timestamp::ZERO;
    for _ in 0..5 {
        let due = client.next_timeout().expect("a sign of life");
        assert_eq!(due.saturating_since(now), Duration::from_secs(30), "half of the timeout");
        now = due;
        client.handle_timeout(now);
        server.handle_timeout(now);
        assert_eq!(talk(now, &mut client, &mut server).0[0].method, "GET_PARAMETER");
    }
    assert!(!server.is_over() && !client.is_over());
    let mut frame = Vec::new();
    put_interleaved(1, b"a report", &mut frame);
    server.handle_bytes(now + Duration::from_secs(50), &frame).unwrap();
    assert_eq!(server.poll_event(), Some(ServerEvent::Rtcp(0, bytes::Bytes::from_static(b"a report"))));
    server.handle_timeout(now + Duration::from_secs(109));
    assert!(!server.is_over(), "reports are signs of life");
    server.handle_timeout(now + Duration::from_secs(110));
    assert_eq!((server.poll_event(), server.is_over()), (Some(ServerEvent::Stop), true));
}

#[test]
fn packets_come_on_their_channels() {
    let (mut client, mut server) = (client(Want::Interleaved, None), server(None));
    talk(Timestamp::ZERO, &mut client, &mut server);
    events(&mut client);
    let mut stream = Vec::new();
    for (channel, packet) in [(0, &b"video"[..]), (1, b"report"), (7, b"nobody's")] {
        put_interleaved(channel, packet, &mut stream);
    }
    client.handle_bytes(Timestamp::ZERO, &stream).unwrap();
    let (video, report) = (bytes::Bytes::from_static(b"video"), bytes::Bytes::from_static(b"report"));
    assert_eq!(events(&mut client), [ClientEvent::Rtp(0, video), ClientEvent::Rtcp(0, report)]);
}

#[test]
fn a_client_says_why_it_does_not_play() {
    let failed = |account: Option<Account>, url: &str| {
        let settings =
            ClientSettings { url: url.to_owned(), want: Want::Interleaved, sound: None, account, user_agent: None };
        let mut client = Client::new(settings, Timestamp::ZERO, Seed(1).stream("client", &[]));
        let mut server = server(Some(self::account()));
        talk(Timestamp::ZERO, &mut client, &mut server);
        assert!(client.is_over());
        let Some(ClientEvent::Ended(Some(reason))) = client.poll_event() else { panic!("it ended") };
        reason
    };
    assert_eq!(failed(None, URL), "the server asks for a user and password");
    let wrong = Account { password: "guess".to_owned(), ..account() };
    assert_eq!(failed(Some(wrong), URL), "the server does not accept the user and password");
    assert_eq!(failed(Some(account()), "rtsp://127.0.0.1/other"), "the server answers 404 (Not Found)");
}

#[test]
fn a_server_may_refuse_before_it_reads_a_request() {
    let mut client = client(Want::Interleaved, None);
    client.handle_bytes(Timestamp::ZERO, b"RTSP/1.0 200 OK\r\n\r\n").unwrap();
    assert!(!client.is_over(), "it is of no request");
    client.handle_bytes(Timestamp::ZERO, b"RTSP/1.0 503 Service Unavailable\r\n\r\n").unwrap();
    let ended = "the server answers 503 (Service Unavailable)".to_owned();
    assert_eq!(events(&mut client), [ClientEvent::Ended(Some(ended))]);
}

#[test]
fn of_a_transport_that_a_server_refuses_the_other_one_is_named() {
    for (want, said) in [
        (Want::Udp(5_000, 5_001), "it sends no datagrams; ask for the transport rtsp, which goes in its connection"),
        (
            Want::Interleaved,
            "it sends nothing in its connection; ask for the transport rtsp+udp, which goes in datagrams",
        ),
    ] {
        let mut client = client(want, None);
        let body = "v=0\r\nm=video 0 RTP/AVP 96\r\n";
        for answer in [
            "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n".to_owned(),
            format!("RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            "RTSP/1.0 461 Unsupported Transport\r\nCSeq: 3\r\n\r\n".to_owned(),
        ] {
            assert!(client.poll_transmit().is_some());
            drop(client.handle_bytes(Timestamp::ZERO, answer.as_bytes()));
        }
        let ended = format!("the server answers 461 (Unsupported Transport): {said}");
        assert_eq!(events(&mut client).last(), Some(&ClientEvent::Ended(Some(ended))));
    }
}

#[test]
fn a_description_leads_to_no_request_that_is_none() {
    let described = |control: &str| {
        let body = format!("v=0\r\nm=video 0 RTP/AVP 96\r\na=control:{control}\r\n");
        let mut client = client(Want::Interleaved, None);
        let options = "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n".to_owned();
        let description = format!("RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        for answer in [options, description] {
            assert!(client.poll_transmit().is_some());
            drop(client.handle_bytes(Timestamp::ZERO, answer.as_bytes()));
        }
        client
    };
    let mut well = described("track0");
    let request = String::from_utf8(well.poll_transmit().unwrap()).unwrap();
    assert!(request.starts_with(&format!("SETUP {URL}/track0 RTSP/1.0\r\n")), "{request}");
    for control in ["a b", "track\0", "rtsp://h/a\tRTSP/1.0"] {
        let mut client = described(control);
        let Some(ClientEvent::Ended(Some(reason))) = client.poll_event() else { panic!("it ended") };
        assert!(reason.contains("the description has a URL that cannot be asked for"), "{reason}");
    }
}

#[test]
fn requests_that_cannot_be_answered_have_a_status_that_says_why() {
    let mut server = server(None);
    let mut status = |request: &str| answer(&mut server, &format!("{request}\r\n\r\n")).status.0;
    assert_eq!(status("DESCRIBE rtsp://h/movie RTSP/1.0"), 400, "without a number");
    assert_eq!(status("DESCRIBE rtsp://h/films RTSP/1.0\r\nCSeq: 1"), 404);
    assert_eq!(status("DESCRIBE rtsp://h/movie/x RTSP/1.0\r\nCSeq: 1"), 404);
    assert_eq!(status("DESCRIBE http://h/movie RTSP/1.0\r\nCSeq: 1"), 404);
    assert_eq!(status("DESCRIBE rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nAccept: application/rtsl"), 406);
    assert_eq!(status("DESCRIBE rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nRequire: com.example"), 551);
    assert_eq!(status("RECORD rtsp://h/movie RTSP/1.0\r\nCSeq: 1"), 405);
    assert_eq!(status("PAUSE rtsp://h/movie RTSP/1.0\r\nCSeq: 1"), 454, "before SETUP");
    assert_eq!(status("DANCE rtsp://h/movie RTSP/1.0\r\nCSeq: 1"), 501);
    assert_eq!(status("PLAY rtsp://h/movie RTSP/1.0\r\nCSeq: 1"), 454, "before SETUP");
    assert_eq!(status("SETUP rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP;multicast"), 461);
    assert_eq!(status("SETUP rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;interleaved=3-3"), 461);
    assert_eq!(status("SETUP rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;interleaved=0-1"), 200);
    assert_eq!(status("PLAY rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nSession: 1"), 454);
    assert_eq!(status("GET_PARAMETER rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 3\r\n\r\nabc"), 451);
}

#[test]
fn who_guesses_is_put_off_and_what_is_no_rtsp_ends_a_connection() {
    let mut guessed = server(Some(account()));
    let mut tries = 0;
    while !guessed.is_over() {
        let response =
            answer(&mut guessed, "DESCRIBE rtsp://h/movie RTSP/1.0\r\nCSeq: 1\r\nAuthorization: Digest a=b\r\n\r\n");
        assert_eq!(response.status, Status::UNAUTHORIZED);
        tries += 1;
    }
    assert_eq!(tries, 33);
    let mut greedy = server(None);
    for _ in 0..1_000 {
        greedy.handle_bytes(Timestamp::ZERO, b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n").unwrap();
    }
    assert!(greedy.is_over() && std::iter::from_fn(|| greedy.poll_transmit()).count() <= 65);
    for (text, code) in [("GET / HTTP/1.1\r\n\r\n", 400), ("OPTIONS * RTSP/2.0\r\n\r\n", 505)] {
        let mut server = server(None);
        assert!(server.handle_bytes(Timestamp::ZERO, text.as_bytes()).is_err());
        let refusal = String::from_utf8(server.poll_transmit().unwrap()).unwrap();
        assert!(refusal.starts_with(&format!("RTSP/1.0 {code} ")) && server.is_over(), "{refusal}");
    }
    let mut silent = server(None);
    silent.handle_timeout(Timestamp::from_secs(60));
    assert!(silent.is_over(), "a connection that says nothing");
}

/// A server of two movies, of which the second has a name with an escape, and sound.
fn two_movies() -> Server {
    two_movies_over(false)
}

fn two_movies_over(over_udp: bool) -> Server {
    let sound = format!("{DESCRIPTION}m=audio 5006 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n");
    let movie = |path: &str, description: &str, ssrcs: &[u32]| {
        let streams = ssrcs.iter().map(|&ssrc| StreamStart { ssrc, sequence: 7, timestamp: ssrc * 100 }).collect();
        let length = Some(Duration::from_millis(62_500));
        Presentation { path: path.to_owned(), description: description.to_owned(), streams, length }
    };
    let settings = ServerSettings {
        presentations: [movie("/movie", DESCRIPTION, &[1]), movie("/old film", &sound, &[2, 3])].into(),
        over_udp,
        account: None,
        timeout: SESSION_TIMEOUT,
    };
    Server::new(settings, Timestamp::ZERO, Seed(1).stream("server", &[]))
}

#[test]
fn each_stream_of_a_movie_is_set_up_by_itself_and_all_are_played_together() {
    let mut server = two_movies();
    let mut ask = |method: &str, path: &str, more: &str| {
        answer(&mut server, &format!("{method} rtsp://h/{path} RTSP/1.0\r\nCSeq: 1\r\n{more}\r\n"))
    };
    let described = String::from_utf8(ask("DESCRIBE", "old%20film", "").body).unwrap();
    let named = |line: &&str| line.starts_with("m=") || line.contains("control") || line.contains("range");
    let media: Vec<&str> = described.lines().filter(named).collect();
    let video = ["a=control:*", "a=range:npt=0-62.500", "m=video 0 RTP/AVP 96", "a=control:track0"];
    assert_eq!(media, [&video[..], &["m=audio 0 RTP/AVP 97", "a=control:track1"]].concat());
    assert_eq!(ask("SETUP", "old%20film", "Transport: RTP/AVP/TCP;interleaved=0-1\r\n").status.0, 459);
    assert_eq!(ask("SETUP", "old%20film/track2", "Transport: RTP/AVP/TCP;interleaved=0-1\r\n").status.0, 404);
    let first = ask("SETUP", "old%20film/track0", "Transport: RTP/AVP/TCP;interleaved=0-1\r\n");
    let session = first.headers.get("Session").unwrap().split(';').next().unwrap();
    let session = format!("Session: {session}\r\n");
    let taken = ask("SETUP", "old%20film/track1", &format!("Transport: RTP/AVP/TCP;interleaved=1-2\r\n{session}"));
    assert_eq!(taken.status.0, 461, "channel 1 is of the other stream");
    let other = ask("SETUP", "movie/track0", &format!("Transport: RTP/AVP/TCP;interleaved=4-5\r\n{session}"));
    assert_eq!(other.status.0, 455, "a session is of one movie");
    let second = ask("SETUP", "old%20film/track1", &format!("Transport: RTP/AVP/TCP;interleaved=2-3\r\n{session}"));
    assert_eq!(second.headers.get("Transport"), Some("RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=00000003"));
    let played = ask("PLAY", "old%20film/", &session);
    let begins = "url=rtsp://h/old%20film/track0;seq=7;rtptime=200,url=rtsp://h/old%20film/track1;seq=7;rtptime=300";
    assert_eq!(played.headers.get("RTP-Info"), Some(begins));
    assert_eq!(server.poll_event(), None);
    let mut frame = Vec::new();
    put_interleaved(3, b"a report", &mut frame);
    server.handle_bytes(Timestamp::ZERO, &frame).unwrap();
    assert_eq!(server.poll_event(), Some(ServerEvent::Rtcp(1, bytes::Bytes::from_static(b"a report"))));
}

#[test]
fn sound_may_be_left_out() {
    let mut server = two_movies();
    let set_up = "SETUP rtsp://h/old%20film/track0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP\r\n\r\n";
    let session = answer(&mut server, set_up).headers.get("Session").unwrap().split(';').next().unwrap().to_owned();
    let play = format!("PLAY rtsp://h/old%20film RTSP/1.0\r\nCSeq: 2\r\nSession: {session}\r\n\r\n");
    server.handle_bytes(Timestamp::ZERO, play.as_bytes()).unwrap();
    assert_eq!(server.poll_transmit(), None, "who has the movie says from where");
    let deliveries = vec![Some(Delivery::Interleaved(0, 1)), None];
    assert_eq!(decide(Timestamp::ZERO, &mut server), [ServerEvent::Play { movie: 1, deliveries, range: None }]);
    let played = said(&mut server);
    assert_eq!(played.headers.get("RTP-Info"), Some("url=rtsp://h/old%20film/track0;seq=7;rtptime=200"));
}

/// A session of the second movie with both of its streams, over UDP where that is offered; its header.
fn set_up_both(server: &mut Server, transports: [&str; 2]) -> String {
    let mut session = String::new();
    for (stream, transport) in transports.iter().enumerate() {
        let text = format!(
            "SETUP rtsp://h/old%20film/track{stream} RTSP/1.0\r\nCSeq: 1\r\n{session}Transport: {transport}\r\n\r\n"
        );
        let agreed = answer(server, &text);
        assert_eq!(agreed.status, Status::OK);
        session = format!("Session: {}\r\n", agreed.headers.get("Session").unwrap().split(';').next().unwrap());
    }
    session
}

#[test]
fn a_movie_is_paused_goes_on_and_is_played_from_another_place() {
    let mut server = two_movies();
    let session = set_up_both(&mut server, ["RTP/AVP/TCP;interleaved=0-1", "RTP/AVP/TCP;interleaved=2-3"]);
    let now = Timestamp::ZERO;
    let say = |server: &mut Server, method: &str, more: &str| {
        let text = format!("{method} rtsp://h/old%20film RTSP/1.0\r\nCSeq: 9\r\n{session}{more}\r\n");
        server.handle_bytes(now, text.as_bytes()).unwrap();
        let is_wanted = |event: &ServerEvent| !matches!(event, ServerEvent::Answered(_));
        std::iter::from_fn(|| server.poll_event()).filter(is_wanted).collect::<Vec<_>>()
    };
    let range_of = |events: &[ServerEvent]| match events {
        [ServerEvent::Play { range, .. }] => *range,
        other => panic!("{other:?}"),
    };
    assert_eq!((say(&mut server, "PAUSE", ""), said(&mut server).status.0), (vec![], 455));
    assert_eq!(range_of(&say(&mut server, "PLAY", "Range: npt=10.5-\r\n")), Some(NptRange::from(ms(10_500), None)));
    // What comes behind is not looked at before it is answered.
    server.handle_bytes(now, b"OPTIONS * RTSP/1.0\r\nCSeq: 10\r\n\r\n").unwrap();
    assert!(server.is_pending() && server.poll_transmit().is_none());
    let streams = vec![
        StreamStart { ssrc: 2, sequence: 60, timestamp: 900 },
        StreamStart { ssrc: 3, sequence: 80, timestamp: 5 },
    ];
    let playing = Playing { range: NptRange::from(ms(10_000), None), streams };
    server.handle_playing(now, Ok(playing.clone())).unwrap();
    let played = said(&mut server);
    assert_eq!((played.headers.get("Range"), played.headers.get("CSeq")), (Some("npt=10.000-"), Some("9")));
    let begins = "url=rtsp://h/old%20film/track0;seq=60;rtptime=900,url=rtsp://h/old%20film/track1;seq=80;rtptime=5";
    assert_eq!((played.headers.get("RTP-Info"), said(&mut server).headers.get("CSeq")), (Some(begins), Some("10")));
    assert_eq!((say(&mut server, "PLAY", ""), said(&mut server).status.0), (vec![], 200), "it goes on");
    assert_eq!((say(&mut server, "PAUSE", ""), said(&mut server).status.0), (vec![ServerEvent::Pause], 200));
    assert_eq!((say(&mut server, "PAUSE", ""), said(&mut server).status.0), (vec![], 455));
    let again = answer(
        &mut server,
        &format!("SETUP rtsp://h/old%20film/track0 RTSP/1.0\r\nCSeq: 1\r\n{session}Transport: RTP/AVP/TCP\r\n\r\n"),
    );
    assert_eq!(again.status.0, 455, "what was played is not set up anew");
    assert_eq!(range_of(&say(&mut server, "PLAY", "")), None, "where it was");
    server.handle_playing(now, Ok(playing)).unwrap();
    assert_eq!(said(&mut server).status.0, 200);
    assert_eq!(range_of(&say(&mut server, "PLAY", "Range: npt=90-\r\n")), Some(NptRange::from(ms(90_000), None)));
    server.handle_playing(now, Err(Status::INVALID_RANGE)).unwrap();
    assert_eq!(said(&mut server).status.0, 457);
    assert_eq!(
        (say(&mut server, "PLAY", "Range: clock=19961108T142300Z-\r\n"), said(&mut server).status.0),
        (vec![], 501)
    );
    assert_eq!((say(&mut server, "PAUSE", ""), said(&mut server).status.0), (vec![ServerEvent::Pause], 200));
    server.handle_close();
    assert_eq!(server.poll_event(), Some(ServerEvent::Stop), "also of a movie that is paused");
}

#[test]
fn ports_are_agreed_upon_stream_by_stream_and_what_cannot_be_is_passed_over() {
    let mut server = two_movies_over(true);
    let offered = "RTP/AVP;unicast;client_port=5000-5001,RTP/AVP/TCP;unicast;interleaved=0-1";
    let set_up = |stream: usize, offered: &str, session: &str| {
        format!("SETUP rtsp://h/old%20film/track{stream} RTSP/1.0\r\nCSeq: 1\r\n{session}Transport: {offered}\r\n\r\n")
    };
    server.handle_bytes(Timestamp::ZERO, set_up(0, offered, "").as_bytes()).unwrap();
    assert_eq!(server.poll_event(), Some(ServerEvent::Open { movie: 1, stream: 0, client: (5_000, 5_001) }));
    server.handle_opened(Timestamp::ZERO, None).unwrap();
    let agreed = said(&mut server);
    assert_eq!(agreed.headers.get("Transport"), Some("RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=00000002"));
    let session = format!("Session: {}\r\n", agreed.headers.get("Session").unwrap().split(';').next().unwrap());
    let mixed = answer(&mut server, &set_up(1, "RTP/AVP;unicast;client_port=5002-5003", &session));
    assert_eq!(mixed.status.0, 461, "one carriage for all streams of a session");
    let mut server = two_movies_over(true);
    let session =
        set_up_both(&mut server, ["RTP/AVP;unicast;client_port=5000-5001", "RTP/AVP/UDP;unicast;client_port=5002"]);
    let play = format!("PLAY rtsp://h/old%20film RTSP/1.0\r\nCSeq: 2\r\n{session}\r\n");
    server.handle_bytes(Timestamp::ZERO, play.as_bytes()).unwrap();
    let deliveries = vec![Some(Delivery::Udp(5_000, 5_001)), Some(Delivery::Udp(5_002, 5_003))];
    assert_eq!(server.poll_event(), Some(ServerEvent::Play { movie: 1, deliveries, range: None }));
    for refused in [
        "RTP/AVP;unicast;client_port=0-1",
        "RTP/AVP;unicast;client_port=65535",
        "RTP/AVP;unicast;client_port=7-7",
        "RTP/AVP;unicast",
    ] {
        let mut server = two_movies_over(true);
        assert_eq!(answer(&mut server, &set_up(0, refused, "")).status.0, 461, "{refused}");
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_client_plays_sound_beside_video_where_there_is_some() {
    let settings = |url: &str, sound| {
        let (url, want) = (url.to_owned(), Want::Interleaved);
        ClientSettings { url, want, sound, account: None, user_agent: None }
    };
    let client_of = |settings| Client::new(settings, Timestamp::ZERO, Seed(1).stream("client", &[]));
    let mut client = client_of(settings("rtsp://h/old%20film", Some(Want::Interleaved)));
    let mut server = two_movies();
    let (asked, _) = talk(Timestamp::ZERO, &mut client, &mut server);
    let set_up: Vec<_> = asked.iter().filter(|request| request.method == "SETUP").collect();
    let [video, sound] = set_up[..] else { panic!("{asked:?}") };
    assert!(video.uri.ends_with("/track0") && sound.uri.ends_with("/track1"), "{asked:?}");
    assert_eq!(sound.headers.get("Transport"), Some("RTP/AVP/TCP;unicast;interleaved=2-3"));
    events(&mut client);
    let mut stream = Vec::new();
    for (channel, packet) in [(0, &b"video"[..]), (2, b"sound"), (3, b"report"), (4, b"nobody's")] {
        put_interleaved(channel, packet, &mut stream);
    }
    client.handle_bytes(Timestamp::ZERO, &stream).unwrap();
    let [video, sound, report] = [&b"video"[..], b"sound", b"report"].map(bytes::Bytes::from_static);
    let came = [ClientEvent::Rtp(0, video), ClientEvent::Rtp(1, sound), ClientEvent::Rtcp(1, report)];
    assert_eq!(events(&mut client), came);
    for (url, sound) in [("rtsp://h/old%20film", None), ("rtsp://h/movie", Some(Want::Interleaved))] {
        let mut client = client_of(settings(url, sound));
        let (asked, _) = talk(Timestamp::ZERO, &mut client, &mut two_movies());
        assert_eq!(asked.iter().filter(|request| request.method == "SETUP").count(), 1, "{url}");
    }
}

#[test]
fn requests_that_are_huge_or_slow_end_a_connection_and_are_not_kept() {
    let path = "x".repeat(16_400);
    let begun = "OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n";
    for (huge, what, answer) in [
        (
            format!("DESCRIBE rtsp://h/{path} RTSP/1.0\r\nCSeq: 7\r\n"),
            "bytes of the first line",
            "414 URI Too Long\r\n\r\n",
        ),
        (format!("{begun}X: {path}"), "bytes of a header", "413 Request Entity Too Large\r\nCSeq: 7\r\n\r\n"),
        (
            format!("{begun}{}\r\n", "X: y\r\n".repeat(101)),
            "fields of a header",
            "413 Request Entity Too Large\r\nCSeq: 7\r\n\r\n",
        ),
        (
            "SET_PARAMETER rtsp://h/movie RTSP/1.0\r\nCSeq: 7\r\nContent-Length: 262145\r\n\r\n".to_owned(),
            "bytes of a body",
            "413 Request Entity Too Large\r\nCSeq: 7\r\n\r\n",
        ),
        ("OPTIONS * RTSP/1.0\r\nCSeq: a b\r\nno field\r\n\r\n".to_owned(), "not a field", "400 Bad Request\r\n\r\n"),
    ] {
        let mut server = server(None);
        let refused = server.handle_bytes(Timestamp::ZERO, huge.as_bytes()).unwrap_err().to_string();
        assert!(refused.starts_with(what), "{refused}");
        let said = String::from_utf8(server.poll_transmit().unwrap()).unwrap();
        assert_eq!((said, server.is_over()), (format!("RTSP/1.0 {answer}"), true));
        let told = server.poll_event();
        let Some(ServerEvent::Answered(Answered { asked: None, status })) = told else { panic!("{told:?}") };
        assert!(answer.starts_with(&status.0.to_string()), "{status:?}");
        server.handle_bytes(Timestamp::ZERO, huge.as_bytes()).unwrap();
        assert_eq!((server.poll_transmit(), server.poll_event()), (None, None), "what follows is not looked at");
    }
    // Neither a part of a request nor a packet on a channel that nobody agreed upon is a sign of life, as a whole request is.
    let request = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n";
    for (piece, ends) in [(&b"O"[..], 60), (b"$\x01\0\x02ab", 60), (request, 119)] {
        let mut slow = server(None);
        for second in 0..60 {
            let now = Timestamp::from_secs(second);
            slow.handle_timeout(now);
            slow.handle_bytes(now, piece).unwrap();
            while slow.poll_transmit().is_some() {}
        }
        assert_eq!((slow.next_timeout(), slow.poll_event()), (Some(Timestamp::from_secs(ends)), None));
        slow.handle_timeout(Timestamp::from_secs(ends));
        assert!(slow.is_over());
    }
}

/// A client that plays by what a server says, which names its session so.
fn playing(session: &str) -> Client {
    let mut client = client(Want::Interleaved, None);
    let described = "v=0\r\nm=video 0 RTP/AVP 96\r\na=control:track0\r\n";
    let transport = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n";
    let described = format!("Content-Length: {}\r\n\r\n{described}", described.len());
    let answers = ["\r\n".to_owned(), described, format!("Session: {session}\r\n{transport}\r\n"), "\r\n".to_owned()];
    for (number, more) in (1..).zip(answers) {
        assert!(client.poll_transmit().is_some(), "request {number}");
        let answer = format!("RTSP/1.0 200 OK\r\nCSeq: {number}\r\n{more}");
        client.handle_bytes(Timestamp::ZERO, answer.as_bytes()).unwrap();
    }
    assert!(matches!(events(&mut client)[..], [ClientEvent::Described(_), ClientEvent::Playing(_)]));
    client
}

#[test]
fn what_a_server_says_of_time_makes_no_client_hurry_or_fail() {
    let first = |session: &str| playing(session).next_timeout().expect("signs of life");
    assert_eq!(first("a;timeout=20"), Timestamp::from_secs(10));
    for (session, seconds) in
        [("a;timeout=0", 1), ("a;timeout=1", 1), ("a;timeout=-1", 30), ("a;timeout=", 30), ("a", 30)]
    {
        assert_eq!(first(session), Timestamp::from_secs(seconds), "{session}");
    }
    // The most that the text can say: later than any run.
    assert!(first(&format!("a;timeout={}", u64::MAX)) > Timestamp::from_secs(1 << 30));
}

#[test]
fn a_server_that_says_too_much_is_left() {
    let after = |said: &str| {
        let mut client = playing("a");
        drop(client.handle_bytes(Timestamp::ZERO, said.as_bytes()));
        let ended = events(&mut client).pop();
        (client, ended)
    };
    let ended = |reason: &str| Some(ClientEvent::Ended(Some(reason.to_owned())));
    let header = format!("RTSP/1.0 200 OK\r\nX: {}", "y".repeat(16_400));
    assert_eq!(after(&header).1, ended("bytes of a header: more than 16384"));
    let body = "RTSP/1.0 200 OK\r\nCSeq: 5\r\nContent-Length: 262145\r\n\r\n";
    assert_eq!(after(body).1, ended("bytes of a body: more than 262144"));
    // Requests of it are answered only as fast as it takes the answers.
    let (mut flooded, none) = after(&"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(1_000));
    assert_eq!((none, std::iter::from_fn(|| flooded.poll_transmit()).count()), (None, 16));
}
