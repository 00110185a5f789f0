//! Any bytes as a connection of RTSP: refused, or messages that come out again as they are; and a server and a client to which
//! they come, whose memory stays bounded.

use framewire_units::{Duration, Seed, Timestamp};
use framewire_wire::message::Status;
use framewire_wire::rtsp::{
    Account, Challenge, Client, ClientEvent, ClientSettings, Item, MOST_BODY_BYTES, MOST_HEADER_BYTES, NptRange, Playing,
    Presentation, Reader, RtpInfo, Server, ServerEvent, ServerSettings, StreamStart, Transport, Want, put_interleaved,
};

const MOST_HELD: usize = MOST_HEADER_BYTES + MOST_BODY_BYTES;

pub(crate) fn run(data: &[u8]) {
    let whole = read(data, usize::MAX);
    assert_eq!(read(data, 3), whole, "however it is cut");
    for item in &whole.0 {
        let mut again = Vec::new();
        match item {
            Item::Request(request) => again = request.emit(),
            Item::Response(response) => again = response.emit(),
            Item::Interleaved { channel, packet } => put_interleaved(*channel, packet, &mut again),
        }
        assert_eq!(read(&again, usize::MAX).0, std::slice::from_ref(item));
        fields(item);
    }
    for password in [false, true] {
        serve(data, password);
        play(data, password);
    }
}

/// What the bytes are, in pieces of this length, and whether they end with an error.
fn read(data: &[u8], piece: usize) -> (Vec<Item>, bool) {
    let (mut reader, mut items) = (Reader::default(), Vec::new());
    for piece in data.chunks(piece.min(data.len().max(1))) {
        reader.feed(piece);
        loop {
            match reader.poll() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(_) => return (items, true),
            }
        }
        assert!(reader.buffered() <= MOST_HELD + piece.len() + usize::from(u16::MAX));
    }
    (items, false)
}

fn fields(item: &Item) {
    let (Item::Request(framewire_wire::rtsp::Request { headers, .. })
    | Item::Response(framewire_wire::rtsp::Response { headers, .. })) = item
    else {
        return;
    };
    for transport in headers.all("Transport").flat_map(Transport::parse_all) {
        assert_eq!(Transport::parse_all(&transport.to_string()), [transport]);
    }
    for range in headers.all("Range").filter_map(NptRange::parse) {
        assert!(NptRange::parse(&range.to_string()).is_some() || range.from.is_none());
    }
    for info in headers.all("RTP-Info").flat_map(RtpInfo::parse_all) {
        assert_eq!(RtpInfo::parse_all(&info.to_string()), [info]);
    }
    for challenge in headers.all("WWW-Authenticate").filter_map(Challenge::parse) {
        assert_eq!(Challenge::parse(&challenge.emit()), Some(challenge));
    }
}

fn account() -> Account {
    Account { user: "user".to_owned(), password: "secret".to_owned() }
}

fn serve(data: &[u8], password: bool) {
    let settings = ServerSettings {
        presentations: [Presentation {
            path: "/movie".to_owned(),
            description: "v=0\r\nm=video 1 RTP/AVP 96\r\nm=audio 1 RTP/AVP 97\r\n".to_owned(),
            streams: [1, 2].map(|ssrc| StreamStart { ssrc, sequence: 0, timestamp: 0 }).to_vec(),
            length: Some(Duration::from_secs(9)),
        }]
        .into(),
        over_udp: true,
        account: password.then(|| ("realm".to_owned(), account())),
        timeout: Duration::from_secs(60),
    };
    let mut server = Server::new(settings, Timestamp::ZERO, Seed(1).stream("server", &[]));
    let (mut plays, mut stops) = (0, 0);
    for piece in data.chunks(64) {
        drop(server.handle_bytes(Timestamp::ZERO, piece));
        while let Some(event) = server.poll_event() {
            stops += usize::from(event == ServerEvent::Stop);
            match event {
                ServerEvent::Open { client, .. } => {
                    drop(server.handle_opened(Timestamp::ZERO, (client.0 % 2 == 0).then_some((2, 3))));
                }
                ServerEvent::Play { movie, range, .. } => {
                    let streams = server.presentation(movie).streams.clone();
                    let playing = range.map(|range| Playing { range, streams }).ok_or(Status::INVALID_RANGE);
                    plays += usize::from(playing.is_ok());
                    drop(server.handle_playing(Timestamp::ZERO, playing));
                }
                ServerEvent::Answered(answered) => {
                    assert!(answered.status != Status::OK && answered.asked.is_none_or(|asked| asked.target.len() <= 1_024));
                }
                ServerEvent::Pause | ServerEvent::Rtcp(..) | ServerEvent::Stop => {}
            }
        }
        while let Some(message) = server.poll_transmit() {
            assert!(matches!(read(&message, usize::MAX).0[..], [Item::Response(_)]), "what it says is an answer");
        }
    }
    assert!(stops <= plays.min(1) && !(password && plays > 0), "nobody guesses the session or password");
}

fn play(data: &[u8], password: bool) {
    let settings = ClientSettings {
        url: "rtsp://h/movie".to_owned(),
        want: Want::Interleaved,
        sound: password.then_some(Want::Interleaved),
        account: password.then(account),
        user_agent: None,
    };
    let mut client = Client::new(settings, Timestamp::ZERO, Seed(1).stream("client", &[]));
    let mut ends = 0;
    for piece in data.chunks(64) {
        drop(client.handle_bytes(Timestamp::ZERO, piece));
        while client.poll_transmit().is_some() {}
        while let Some(event) = client.poll_event() {
            ends += usize::from(matches!(event, ClientEvent::Ended(_)));
        }
    }
    assert_eq!(ends, usize::from(client.is_over()));
}
