//! Any bytes as a connection of HTTP: refused, or messages that come out again as they are; and a server and a client to which
//! they come, whose memory stays bounded and whose answers can be read.

use framewire_units::Timestamp;
use framewire_wire::http::{
    RequestedRange, Client, ClientEvent, ContentRange, Fetch, Item, MOST_HEADER_BYTES, Reader, Resource, Server, ServerEvent,
};

pub(crate) fn run(data: &[u8]) {
    let whole = read(data, usize::MAX);
    assert_eq!(read(data, 3), whole, "however it is cut");
    for (item, _) in &whole.0 {
        let headers = match item {
            Item::Request(request) => {
                assert_eq!(first(&request.emit()), Item::Request(request.clone()));
                &request.headers
            }
            Item::Response(response, _) => {
                let Item::Response(again, _) = first(&response.emit()) else { panic!("a response") };
                assert_eq!(again, *response);
                &response.headers
            }
            Item::Body(_) | Item::End => unreachable!("only messages are kept"),
        };
        if let RequestedRange::Part(bytes) = RequestedRange::of(headers, 1_000) {
            assert!(bytes.start < bytes.end && bytes.end <= 1_000);
        }
        for range in headers.all("Content-Range").filter_map(ContentRange::parse) {
            assert_eq!(ContentRange::parse(&range.to_string()), Some(range));
        }
    }
    serve(data);
    fetch(data);
}

/// The message that begins here, whatever comes behind it.
fn first(bytes: &[u8]) -> Item {
    let mut reader = Reader::default();
    reader.feed(bytes);
    reader.poll().expect("what was read is well formed").expect("a message")
}

/// A message, its body, and whether that has ended.
type Message = (Item, (Vec<u8>, bool));

/// The messages, and whether the bytes end with an error.
fn read(data: &[u8], piece: usize) -> (Vec<Message>, bool) {
    let (mut reader, mut messages) = (Reader::default(), Vec::<Message>::new());
    for piece in data.chunks(piece.min(data.len().max(1))) {
        reader.feed(piece);
        loop {
            match (reader.poll(), messages.last_mut()) {
                (Ok(Some(Item::Body(bytes))), Some((_, (body, _)))) => body.extend(&bytes),
                (Ok(Some(Item::End)), Some((_, (_, ended)))) => *ended = true,
                (Ok(Some(item)), _) => messages.push((item, (Vec::new(), false))),
                (Ok(None), _) => break,
                (Err(_), _) => return (messages, true),
            }
        }
        assert!(reader.buffered() <= MOST_HEADER_BYTES);
    }
    (messages, false)
}

fn serve(data: &[u8]) {
    let resource = |path: &str, length| Resource { path: path.to_owned(), media_type: "video/mp4".to_owned(), length };
    let mut server = Server::new(vec![resource("/a", Some(10)), resource("/b", None)], Timestamp::ZERO);
    let (mut serving, mut pieces) = (false, 0);
    for piece in data.chunks(64) {
        drop(server.handle_bytes(Timestamp::ZERO, piece));
        while let Some(message) = server.poll_transmit() {
            assert!(matches!(first(&message), Item::Response(..)), "what it says is an answer");
        }
        while let Some(event) = server.poll_event() {
            match event {
                ServerEvent::Serve(serve) => {
                    assert!(!serving && serve.bytes.start < serve.bytes.end && serve.resource < 2);
                    serving = true;
                }
                ServerEvent::Answered(answered) => {
                    assert!(answered.asked.is_none_or(|asked| asked.target.len() <= 1_024), "four bytes a letter");
                }
                ServerEvent::Stop => assert!(std::mem::take(&mut serving)),
            }
        }
        pieces += 1;
        // Every third time it is told that all is written.
        if pieces % 3 == 0 && std::mem::take(&mut serving) {
            drop(server.handle_served(Timestamp::ZERO));
        }
    }
}

fn fetch(data: &[u8]) {
    let mut client = Client::default();
    client.fetch(&Fetch { host: "h".to_owned(), path: "/a".to_owned(), range: Some(1..5), is_last: false });
    let (mut ends, mut found) = (0, 0);
    for piece in data.chunks(64) {
        drop(client.handle_bytes(piece));
        while let Some(event) = client.poll_event() {
            found += usize::from(matches!(event, ClientEvent::Found { .. }));
            ends += usize::from(matches!(event, ClientEvent::Complete | ClientEvent::Failed(_)));
        }
    }
    drop(client.handle_close());
    ends += std::iter::from_fn(|| client.poll_event()).filter(|event| !matches!(event, ClientEvent::Body(_))).count();
    assert!(client.is_over() && found <= 1 && (1..=2).contains(&ends));
}
