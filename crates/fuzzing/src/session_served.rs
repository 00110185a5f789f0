//! Any bytes as what a client says to a server of movies, by HTTP and by RTSP: it is answered in that protocol, or put off.

use std::sync::{Arc, LazyLock};

use framewire_scenario::{Pacing, Scenario};
use framewire_session::half::Arrival;
use framewire_session::served::{CONNECTION, Catalogue, Client, ServingPolicy, Opening, Title, http_client, rtsp_client};
use framewire_session::{FlowSetup, RtpSeed, SendingPlan, StreamSetup};
use framewire_units::{Duration, Seed, Timestamp};
use framewire_wire::rtsp::{Item, Reader};

use crate::sent_bytes::{SentBytes, movie};

/// The most that is said to this input: the movie, at every few bytes of it.
const MOST_SAID: usize = 1 << 21;

const POLICY: ServingPolicy = ServingPolicy {
    pacing: Pacing::Sender,
    ahead: Duration::from_millis(40),
    is_endless: false,
    first_request: Duration::from_secs(10),
    next_request: Duration::from_secs(60),
};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let file = Some((Arc::new(bytes::Bytes::from_static(b"as it is")) as Arc<_>, 8, "video/mpeg".to_owned()));
    let [mp4, fragments, ts, rtsp] = ["http", "http+fmp4", "http+ts", "rtsp"].map(|transport| Some(setup(transport)));
    Catalogue::new(&[Title { name: "a.mpg".to_owned(), about: String::new(), file, mp4, fragments, ts, rtsp }])
});

fn setup(transport: &str) -> StreamSetup {
    let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]);
    let scenario = scenario.expect("invariant: it is well formed");
    let plan = SendingPlan::new(movie(), Timestamp::ZERO);
    match FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).expect("invariant: it carries MPEG video") {
        FlowSetup::Stream(setup) => setup,
        _ => panic!("it goes over a connection"),
    }
}

pub(crate) fn run(data: &[u8]) {
    let Some((pieces, room, millis, data)) = crate::decoded::<(u8, u8, u8, &[u8])>(data) else { return };
    // More is no other, and costs time.
    let data = &data[..data.len().min(8 << 10)];
    let (piece, step) = (usize::from(pieces) + 1, Duration::from_millis(u64::from(millis) * 20));
    let room = if room == u8::MAX { usize::MAX } else { 8 * (usize::from(room) + 1) };
    let mut http = http_client(&CATALOGUE, POLICY, None, Timestamp::ZERO);
    let said = talk(&mut *http, data, piece, room, step);
    assert!(said.is_empty() || b"HTTP/1.1 ".starts_with(&said[..said.len().min(9)]));
    let random = || Seed(1).stream("served", &[]);
    // What is asked for in a session that is called so is asked for in the one that there is.
    let session = format!("{:016X}", random().next_u64());
    let data = replaced(data, b"THE-SESSION-HERE", session.as_bytes());
    let mut rtsp = rtsp_client(&CATALOGUE, POLICY, None, Timestamp::ZERO, random());
    let said = talk(&mut *rtsp, &data, piece, room, step);
    let mut reader = Reader::default();
    reader.feed(&said);
    while let Some(item) = reader.poll().expect("what it says is RTSP") {
        assert!(!matches!(item, Item::Request(_)), "it asks nothing");
    }
}

/// The same bytes with another word in place of each of the same length.
fn replaced(data: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(word)).collect();
    places.into_iter().for_each(|at| bytes[at..at + word.len()].copy_from_slice(by));
    bytes
}

/// What is said by one that hears this in pieces, so much time apart, and the end of the connection.
fn talk(client: &mut dyn Client, data: &[u8], piece: usize, room: usize, step: Duration) -> Vec<u8> {
    let (mut said, mut now) = (SentBytes::on(CONNECTION, MOST_SAID), Timestamp::ZERO);
    for arrival in data.chunks(piece).map(Arrival::Bytes).chain([Arrival::Ended]) {
        client.handle_arrival(now, CONNECTION, arrival);
        while let Some(Opening { channels, client: (rtp, _) }) = client.poll_opening() {
            client.handle_opened(now, (rtp % 3 > 0).then_some((6_000, 6_001)));
            if let Arrival::Bytes(bytes) = arrival {
                let ids = channels.iter().map(|setup| setup.id);
                ids.for_each(|id| client.handle_arrival(now, id, Arrival::Datagram(bytes)));
            }
        }
        said.room = room;
        match client.drive(now, &mut said).expect("a connection that stands breaks nothing") {
            wait if wait.finished => break,
            _ => now += step,
        }
    }
    client.stop(now);
    let (mut written, mut records) = (0, 0);
    while let Some(record) = client.poll_record() {
        assert!(record.began <= record.ended && record.sent <= client.written());
        (written, records) = (written + record.sent, records + 1);
    }
    assert!(written <= client.written() && records <= data.len() && client.written() <= (said.bytes.len() + said.beside) as u64);
    assert!(client.written() >= said.bytes.len() as u64);
    said.bytes
}
