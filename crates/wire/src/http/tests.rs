//! Both ends of a connection, told to each other without a network.

use framewire_units::{Duration, Timestamp};

use super::*;

const MOVIE: &[u8] = b"a movie of 24 bytes, it.";

fn resources() -> Vec<Resource> {
    let file = |path: &str, length| Resource { path: path.to_owned(), media_type: "video/mp4".to_owned(), length };
    vec![file("/movie.mp4", Some(MOVIE.len() as u64)), file("/live film.ts", None)]
}

fn server() -> Server {
    Server::new(resources(), Timestamp::ZERO)
}

fn fetch(path: &str, range: Option<std::ops::Range<u64>>) -> Fetch {
    Fetch { host: "host:8080".to_owned(), path: path.to_owned(), range, is_last: false }
}

/// Hands over what both say until neither says more; of what goes on without end, the movie once.
fn talk(client: &mut Client, server: &mut Server) -> Vec<ClientEvent> {
    let mut events = Vec::new();
    loop {
        let mut silent = true;
        while let Some(request) = client.poll_transmit() {
            server.handle_bytes(Timestamp::ZERO, &request).unwrap();
            silent = false;
        }
        while let Some(response) = server.poll_transmit() {
            client.handle_bytes(&response).unwrap();
            silent = false;
        }
        while let Some(ServerEvent::Serve(serve)) = server.poll_event() {
            let end = serve.bytes.end.min(MOVIE.len() as u64) as usize;
            client.handle_bytes(&MOVIE[serve.bytes.start as usize..end]).unwrap();
            server.handle_served(Timestamp::ZERO).unwrap();
            silent = false;
        }
        events.extend(std::iter::from_fn(|| client.poll_event()));
        if silent {
            return events;
        }
    }
}

fn found(length: Option<u64>, part: Option<std::ops::Range<u64>>) -> ClientEvent {
    let part = part.map(|bytes| ContentRange { bytes: Some(bytes), length: Some(MOVIE.len() as u64) });
    ClientEvent::Found { media_type: Some("video/mp4".to_owned()), length, part }
}

fn body(bytes: &'static [u8]) -> ClientEvent {
    ClientEvent::Body(bytes::Bytes::from_static(bytes))
}

#[test]
fn one_connection_fetches_a_resource_its_parts_and_what_goes_on_until_it_is_closed() {
    let (mut client, mut server) = (Client::default(), server());
    client.fetch(&fetch("/movie.mp4", None));
    assert_eq!(talk(&mut client, &mut server), [found(Some(24), None), body(MOVIE), ClientEvent::Complete]);
    for (range, part) in [(2..7, 2..7), (20..99, 20..24), (5..u64::MAX, 5..24)] {
        client.fetch(&fetch("/movie.mp4", Some(range)));
        let bytes = &MOVIE[part.start as usize..part.end as usize];
        let expected = [found(Some(part.end - part.start), Some(part)), body(bytes), ClientEvent::Complete];
        assert_eq!(talk(&mut client, &mut server), expected);
    }
    assert!(client.is_idle() && !server.is_over());
    client.fetch(&fetch("/live%20film.ts?at=now", None));
    assert_eq!(talk(&mut client, &mut server), [found(None, None), body(MOVIE)]);
    assert!(server.is_over(), "it ends with the connection");
    client.handle_close().unwrap();
    assert_eq!((client.poll_event(), client.is_over()), (Some(ClientEvent::Complete), true));
}

#[test]
fn a_client_says_why_it_has_nothing() {
    let failed = |path: &str, range| {
        let mut client = Client::default();
        client.fetch(&fetch(path, range));
        let events = talk(&mut client, &mut server());
        assert!(client.is_over());
        let [ClientEvent::Failed(reason)] = &events[..] else { panic!("{events:?}") };
        reason.clone()
    };
    assert_eq!(failed("/other.mp4", None), "the server answers 404 (Not Found)");
    assert_eq!(failed("/movie.mp4", Some(24..25)), "the server answers 416 (Range Not Satisfiable)");
    let answered = |text: &str| {
        let mut client = Client::default();
        client.fetch(&fetch("/movie.mp4", Some(3..4)));
        drop(client.handle_bytes(text.as_bytes()));
        drop(client.handle_close());
        client.poll_event()
    };
    let reason = |text: &str| Some(ClientEvent::Failed(text.to_owned()));
    let other = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\na";
    assert_eq!(answered(other), reason("the server answers with another part"));
    assert_eq!(answered("GET / HTTP/1.1\r\n\r\n"), reason("the server asks something of its client"));
    assert_eq!(answered(""), reason("the server closed the connection"));
    assert_eq!(answered("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), reason("the server answers 302 (Unknown)"));
}

/// The status that a server answers with, the fields, and whether the connection ends with that.
fn answer(request: &str) -> (u16, Headers, bool) {
    let mut server = server();
    drop(server.handle_bytes(Timestamp::ZERO, request.as_bytes()));
    let mut reader = Reader::default();
    reader.feed(&server.poll_transmit().expect("an answer"));
    let Ok(Some(Item::Response(response, _))) = reader.poll() else { panic!("a response") };
    (response.status.0, response.headers, server.is_over())
}

#[test]
fn requests_are_answered_as_the_document_says() {
    let status = |request: &str| {
        let (status, _, over) = answer(&format!("{request}\r\n\r\n"));
        (status, over)
    };
    assert_eq!(status("GET /movie.mp4 HTTP/1.1\r\nHost: h"), (200, false));
    assert_eq!(status("GET http://h/movie.mp4 HTTP/1.1\r\nHost: h"), (200, false), "the absolute form");
    assert_eq!(status("HEAD /movie.mp4 HTTP/1.0"), (200, true));
    assert_eq!(status("HEAD /movie.mp4 HTTP/1.0\r\nConnection: Keep-Alive"), (200, false));
    assert_eq!(status("HEAD /movie.mp4 HTTP/1.1\r\nHost: h\r\nConnection: x, Close"), (200, true));
    assert_eq!(status("GET /movie.mp4 HTTP/1.1"), (400, false), "without a host");
    assert_eq!(status("GET /movie.mp4 HTTP/1.1\r\nHost: a\r\nHost: b"), (400, false));
    assert_eq!(status("GET movie.mp4 HTTP/1.1\r\nHost: h"), (400, false));
    assert_eq!(status("GET /%zz HTTP/1.1\r\nHost: h"), (400, false));
    assert_eq!(status("GET /../movie.mp4 HTTP/1.1\r\nHost: h"), (404, false));
    assert_eq!(status("POST /movie.mp4 HTTP/1.1\r\nHost: h"), (405, true));
    assert_eq!(status("BREW /movie.mp4 HTTP/1.1\r\nHost: h"), (501, true));
    assert_eq!(status("GET / HTTP/2.0"), (505, true));
    assert_eq!(status("HTTP/1.1 200 OK"), (400, true));
    assert_eq!(status(&format!("GET /{} HTTP/1.1\r\nHost: h", "x".repeat(17_000))), (414, true));
    let (_, fields, _) = answer("HEAD /movie.mp4 HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n");
    assert_eq!((fields.get("Accept-Ranges"), fields.get("Content-Range")), (Some("bytes"), None));
    let (status, fields, _) = answer("GET /movie.mp4 HTTP/1.1\r\nHost: h\r\nRange: bytes=24-\r\n\r\n");
    assert_eq!((status, fields.get("Content-Range")), (416, Some("bytes */24")));
    let (_, fields, _) = answer("DELETE /movie.mp4 HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(fields.get("Allow"), Some("GET, HEAD"));
}

#[test]
fn requests_behind_each_other_are_answered_one_by_one() {
    let mut server = server();
    let request = "GET /movie.mp4 HTTP/1.1\r\nHost: h\r\n\r\n";
    server.handle_bytes(Timestamp::ZERO, request.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        assert!(server.poll_transmit().is_some() && server.poll_transmit().is_none());
        let all = Serve { resource: 0, bytes: 0..24 };
        assert_eq!((server.poll_event(), server.poll_event()), (Some(ServerEvent::Serve(all)), None));
        server.handle_served(Timestamp::ZERO).unwrap();
    }
    assert!(server.poll_transmit().is_none() && !server.is_over());
}

#[test]
fn who_is_silent_greedy_or_guesses_is_put_off() {
    let mut silent = server();
    assert_eq!(silent.next_timeout(), Some(Timestamp::from_secs(60)));
    silent.handle_timeout(Timestamp::from_secs(59));
    assert!(!silent.is_over());
    silent.handle_timeout(Timestamp::from_secs(60));
    assert!(silent.is_over() && silent.poll_transmit().is_none());
    let mut slow = server();
    for second in 0..60 {
        slow.handle_bytes(Timestamp::from_secs(second), b"G").unwrap();
    }
    slow.handle_timeout(Timestamp::from_secs(60));
    assert!(String::from_utf8(slow.poll_transmit().unwrap()).unwrap().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    let mut guesses = server();
    let tries = (0..100).take_while(|_| {
        guesses.handle_bytes(Timestamp::ZERO, b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        guesses.poll_transmit();
        !guesses.is_over()
    });
    assert_eq!(tries.count(), 32);
    let mut greedy = server();
    let request = b"GET /movie.mp4 HTTP/1.1\r\nHost: h\r\n\r\n";
    let taken = (0..10_000).take_while(|_| greedy.handle_bytes(Timestamp::ZERO, request).is_ok() && !greedy.is_over());
    assert_eq!(taken.count(), 1 + 65_536 / request.len());
    assert_eq!((greedy.poll_event().is_some(), greedy.poll_event()), (true, Some(ServerEvent::Stop)));
    let mut served = server();
    served.handle_bytes(Timestamp::ZERO, request).unwrap();
    assert_eq!(served.next_timeout(), None, "while it is served");
    served.handle_served(Timestamp::from_secs(100)).unwrap();
    assert_eq!(served.next_timeout(), Some(Timestamp::from_secs(100) + Duration::from_secs(60)));
}

#[test]
fn the_first_request_may_have_less_time_than_the_next() {
    let secs = |secs| Timestamp::from_secs(secs);
    let server = || Server::new(Vec::new(), secs(100)).with_patience(Duration::from_secs(5), Duration::from_secs(60));
    let mut silent = server();
    assert_eq!((silent.next_timeout(), silent.was_asked()), (Some(secs(105)), false));
    // Half of a request is none.
    silent.handle_bytes(secs(103), b"GET / HTTP/1.1\r\n").unwrap();
    silent.handle_timeout(secs(104));
    assert!(!silent.is_over());
    silent.handle_timeout(secs(105));
    assert!(silent.is_over() && silent.poll_transmit().unwrap().starts_with(b"HTTP/1.1 408 "));
    let mut asked = server();
    asked.handle_bytes(secs(104), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!((asked.next_timeout(), asked.was_asked()), (Some(secs(164)), true));
}

#[test]
fn what_is_huge_is_not_kept_at_either_end() {
    let mut client = Client::default();
    client.fetch(&fetch("/movie.mp4", None));
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(3_000));
    assert_eq!(client.handle_bytes(endless.as_bytes()).unwrap_err().to_string(), "bytes of a header: more than 16384");
    let reason = "bytes of a header: more than 16384".to_owned();
    assert_eq!((client.poll_event(), client.is_over()), (Some(ClientEvent::Failed(reason)), true));
    // What a request has behind it means nothing: it is passed over, and is no sign of life either.
    let mut server = server();
    let request = format!("GET /none HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", u64::MAX);
    server.handle_bytes(Timestamp::ZERO, request.as_bytes()).unwrap();
    assert!(server.poll_transmit().unwrap().starts_with(b"HTTP/1.1 404 "));
    for second in 1..60 {
        server.handle_bytes(Timestamp::from_secs(second), &[b'x'; 65_536]).unwrap();
        server.handle_timeout(Timestamp::from_secs(second));
    }
    assert!(!server.is_over() && server.poll_transmit().is_none());
    server.handle_timeout(Timestamp::from_secs(60));
    assert!(server.is_over() && server.poll_transmit().is_none(), "nothing of it waits");
}

#[test]
fn responses_have_a_date_where_the_time_of_day_is_known() {
    let dates = |mut server: Server| {
        for (second, request) in [(1, "HEAD /movie.mp4"), (2, "GET /none"), (61, "GET /movie.mp4")] {
            let request = format!("{request} HTTP/1.1\r\nHost: h\r\n\r\n");
            server.handle_bytes(Timestamp::from_millis(second * 1_000 + 999), request.as_bytes()).unwrap();
        }
        let dates = std::iter::from_fn(|| server.poll_transmit()).map(|response| {
            let text = String::from_utf8(response).unwrap();
            text.lines().filter_map(|line| line.strip_prefix("Date: ").map(str::to_owned)).collect::<Vec<_>>()
        });
        dates.collect::<Vec<_>>()
    };
    // The time of RFC 9110, section 5.6.7.
    let known = dates(server().with_time_of_day(Duration::from_secs(784_111_777)));
    let expected = ["49:38", "49:39", "50:38"].map(|time| vec![format!("Sun, 06 Nov 1994 08:{time} GMT")]);
    assert_eq!(known, expected, "when each was made, once, whatever its status");
    assert_eq!(dates(server()), [(); 3].map(|()| Vec::<String>::new()), "one without a clock sends none");
}
