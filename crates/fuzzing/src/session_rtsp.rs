//! Any bytes as what the other end of a flow says by RTSP: either end ends with a reason or goes on, and what it says is RTSP.

use std::sync::LazyLock;

use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_session::half::{Arrival, ChannelId, Channels, Half};
use framewire_session::{FlowSetup, ReceiverSession, SenderSession, SendingPlan};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::rtsp::{Item, Reader};

const CONNECTION: ChannelId = ChannelId(0);

/// The most that any end says to this input: the movie, and an answer to every few bytes.
const MOST_SAID: usize = 1 << 20;

static FLOWS: LazyLock<[FlowSetup; 2]> = LazyLock::new(|| {
    ["full", "none"].map(|rtcp| {
        let text = format!("[[flow]]\ntransport = \"rtsp\"\nrtcp = \"{rtcp}\"");
        let scenario = Scenario::parse(&text, &[]).expect("invariant: it is well formed");
        let plan = SendingPlan::new(movie(), Timestamp::ZERO);
        FlowSetup::of_movie(&scenario.flows[0], plan, 1).expect("invariant: RTP carries MPEG video")
    })
});

/// Three I pictures of MPEG-2 of one slice (ISO/IEC 13818-2, 6.2), at 25 Hz.
fn movie() -> Movie {
    let mut bytes = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
    for reference in 0..3 {
        bytes.extend([0, 0, 1, 0, 0, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80, 0x81]);
    }
    Movie::parse(bytes.into()).expect("invariant: it is a movie")
}

/// The connection, which takes what is said.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    finished: bool,
}

impl Channels for Said {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, _: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        panic!("all goes over the connection")
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        panic!("all goes over the connection")
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        assert!(channel == CONNECTION && !self.finished);
        self.bytes.extend_from_slice(bytes);
        assert!(self.bytes.len() <= MOST_SAID);
        Ok(bytes.len())
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.finished = true;
        Ok(())
    }
}

pub(crate) fn run(data: &[u8]) {
    let Some((pieces, millis, data)) = crate::decoded::<(u8, u8, &[u8])>(data) else { return };
    let step = Duration::from_millis(u64::from(millis) * 50);
    for flow in FLOWS.iter() {
        let FlowSetup::Stream(setup) = flow else { panic!("it goes over a connection") };
        let mut sender: SenderSession = setup.sender();
        talk(&mut sender, data, usize::from(pieces) + 1, step);
        let mut receiver: ReceiverSession = setup.receiver();
        talk(&mut receiver, data, usize::from(pieces) + 1, step);
        assert!(receiver.complete_frames() as usize <= data.len());
    }
}

/// Lets an end hear this in pieces, so much time apart, and the end of the connection.
fn talk(half: &mut dyn Half, data: &[u8], piece: usize, step: Duration) {
    let (mut said, mut now) = (Said::default(), Timestamp::ZERO);
    let arrivals = data.chunks(piece).map(Arrival::Bytes).chain([Arrival::Ended]);
    for arrival in [Arrival::Opened].into_iter().chain(arrivals) {
        half.handle_arrival(now, CONNECTION, arrival);
        match half.drive(now, &mut said) {
            Ok(wait) if wait.finished => break,
            Ok(_) => now += step,
            Err(_) => break,
        }
    }
    half.stop(now);
    let mut reader = Reader::default();
    reader.feed(&said.bytes);
    while let Some(item) = reader.poll().expect("what it says is RTSP") {
        if let Item::Interleaved { channel, .. } = item {
            assert!(channel <= 1);
        }
    }
    assert_eq!(reader.buffered(), 0, "whole messages between whole packets");
}
