//! Any bytes as what the other end of a flow says by RTSP: either end ends with a reason or goes on, and what it says is RTSP.

use std::sync::LazyLock;

use framewire_scenario::Scenario;
use framewire_session::half::{Arrival, ChannelId, Half};
use framewire_session::{FlowSetup, ReceiverSession, RtpSeed, SenderSession, SendingPlan};
use framewire_units::{Duration, Timestamp};
use framewire_wire::rtsp::{Item, Reader};

use crate::sent_bytes::{SentBytes, movie};

const CONNECTION: ChannelId = ChannelId(0);

/// That beside a movie in datagrams.
const BESIDE: ChannelId = ChannelId(4);

/// The most that any end says to this input: the movie, and an answer to every few bytes.
const MOST_SAID: usize = 1 << 20;

static FLOWS: LazyLock<[FlowSetup; 4]> = LazyLock::new(|| {
    [("rtsp", "full"), ("rtsp", "none"), ("rtsp+udp", "full"), ("rtsp+udp", "none")].map(|(transport, rtcp)| {
        let text = format!("[[flow]]\ntransport = \"{transport}\"\nrtcp = \"{rtcp}\"");
        let scenario = Scenario::parse(&text, &[]).expect("invariant: it is well formed");
        let plan = SendingPlan::new(movie(), Timestamp::ZERO);
        FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).expect("invariant: RTP carries MPEG video")
    })
});

pub(crate) fn run(data: &[u8]) {
    let Some((pieces, millis, data)) = crate::decoded::<(u8, u8, &[u8])>(data) else { return };
    let step = Duration::from_millis(u64::from(millis) * 50);
    for flow in FLOWS.iter() {
        let (mut sender, mut receiver): (SenderSession, ReceiverSession) = match flow {
            FlowSetup::Stream(setup) => (setup.sender(), setup.receiver()),
            FlowSetup::Datagram(setup) => (setup.sender(), setup.receiver()),
            _ => panic!("it has two halves"),
        };
        talk(&mut sender, data, usize::from(pieces) + 1, step);
        talk(&mut receiver, data, usize::from(pieces) + 1, step);
        assert!(receiver.complete_frames() as usize <= data.len());
    }
}

/// Lets an end hear this in pieces, so much time apart, on each of its channels, and the end of the connection.
fn talk(half: &mut dyn Half, data: &[u8], piece: usize, step: Duration) {
    let channels: Vec<ChannelId> = half.channels().iter().map(|channel| channel.id).collect();
    let connection = if channels.contains(&BESIDE) { BESIDE } else { CONNECTION };
    let mut said = SentBytes::on(connection, MOST_SAID);
    let mut now = Timestamp::ZERO;
    let arrivals = data.chunks(piece).map(Arrival::Bytes).chain([Arrival::Ended]);
    for arrival in [Arrival::Opened].into_iter().chain(arrivals) {
        half.handle_arrival(now, connection, arrival);
        if let Arrival::Bytes(bytes) = arrival {
            let beside = channels.iter().filter(|&&channel| channel != connection);
            beside.for_each(|&channel| half.handle_arrival(now, channel, Arrival::Datagram(bytes)));
        }
        match half.drive(now, &mut said) {
            Ok(wait) if wait.finished => break,
            Ok(_) => now += step,
            Err(_) => break,
        }
    }
    half.stop(now);
    assert!(connection == BESIDE || said.beside == 0, "no datagrams without a connection beside them");
    let mut reader = Reader::default();
    reader.feed(&said.bytes);
    while let Some(item) = reader.poll().expect("what it says is RTSP") {
        if let Item::Interleaved { channel, .. } = item {
            assert!(channel <= 1);
        }
    }
    assert_eq!(reader.buffered(), 0, "whole messages between whole packets");
}
