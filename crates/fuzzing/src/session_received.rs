//! Any datagrams, and any bytes of a connection, to a receiver of each kind of stream that is not its own movie: announced
//! by a sender, described by another program, or asked for. It goes on or ends with a reason, keeps no more than came, and
//! of what it says nothing grows beyond that.

use framewire_media::access_unit::Codec;
use framewire_session::half::{Arrival, ChannelId, ChannelKind, Channels, Half};
use framewire_session::{Announcement, ClientRequest, DescribedSound, FlowRecording, MOVIE_CHANNEL, ReceiverSession};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_wire::sdp;

use crate::wire_depacketizer::datagrams;

/// A stream of every format, socket and codec; without `ssrc` it is of another program.
const ANNOUNCED: [&str; 14] = [
    "transport=udp codec=m2v mpeg2=1 ssrc=1",
    "transport=udp codec=h264 ssrc=1 rtcp=25000:75000",
    "transport=udp codec=h265",
    "transport=udp codec=obu",
    "transport=ts codec=h264 ssrc=1 sound=aac/48000/2",
    "transport=ts codec=h265",
    "transport=ts+rtp codec=m2v mpeg2=1 ssrc=1",
    "transport=ts+rtp codec=h264",
    "transport=tcp codec=m4v",
    "transport=tcp codec=obu",
    "transport=tcp codec=h264",
    "transport=rtp+tcp codec=h264 ssrc=1 sound=opus/48000/2/312",
    "transport=rtp+tcp codec=m4v",
    "transport=ts+tcp codec=h264",
];

/// Bytes that a receiver may hand on beyond those that came, for each frame: start codes and a temporal delimiter.
const BESIDE: usize = 64;

/// The most that one says to such an input: a report each time that one is due, and requests.
const MOST_SAID: usize = 1 << 20;

pub(crate) fn run(data: &[u8]) {
    let [choice, pieces, millis, data @ ..] = data else { return };
    let step = Duration::from_millis(u64::from(*millis) * 20);
    let of_kind = usize::from(*choice) % (ANNOUNCED.len() + 4);
    match ANNOUNCED.get(of_kind) {
        Some(text) => {
            let announced = Announcement::parse(text).expect("invariant: it is one");
            let receiver = announced.reporting_receiver(&FlowRecording::default(), Timestamp::ZERO, Seed(1));
            listen(receiver.expect("invariant: it can be received"), data, *pieces, step);
        }
        None => {
            let (description, data) = cut(data);
            if let Some(asked) = asked(of_kind - ANNOUNCED.len(), &String::from_utf8_lossy(description))
                && let Ok(receiver) = asked.receiver(&FlowRecording::default(), "fuzz", Timestamp::ZERO, Seed(1))
            {
                listen(receiver, data, *pieces, step);
            }
        }
    }
}

/// What stands before a zero byte, and behind it.
fn cut(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}

/// What is asked for of a server; of RTSP what its description says, if that can be received.
fn asked(kind: usize, description: &str) -> Option<ClientRequest> {
    if kind < 2 {
        return Some(ClientRequest::Http { host: "h".to_owned(), path: "/m".to_owned(), is_file: kind == 0 });
    }
    let video = sdp::read(description).ok();
    let sound = sdp::read_sound(description).ok().and_then(|one| DescribedSound::of(&one).ok()).map(Box::new);
    let codec = video.as_ref().and_then(|one| Announcement::codec_in_rtp(&one.encoding_name)).unwrap_or(Codec::H264);
    let payload_type = video.map_or(96, |one| one.payload_type);
    let ports = if kind == 3 { vec![(5_000, 5_001), (5_002, 5_003)] } else { vec![] };
    let ports = ports.into_iter().take(1 + usize::from(sound.is_some())).collect();
    Some(ClientRequest::Rtsp { url: "rtsp://h/m".to_owned(), account: None, codec, payload_type, sound, ports })
}

fn listen(mut receiver: ReceiverSession, data: &[u8], pieces: u8, step: Duration) {
    let is_stream = receiver.channels().iter().any(|one| one.id == MOVIE_CHANNEL && matches!(one.kind, ChannelKind::Stream(_)));
    let inputs: Vec<Vec<u8>> = match is_stream {
        true => data.chunks(usize::from(pieces) + 1).map(<[u8]>::to_vec).collect(),
        // Of what type packets of RTP are, the input says.
        false => datagrams(data, pieces & 0x7F).collect(),
    };
    let came: usize = inputs.iter().map(Vec::len).sum();
    let (mut said, mut now) = (0, Timestamp::ZERO);
    let (mut frames, mut bytes) = (0, 0);
    let arrivals = inputs.iter().map(|input| if is_stream { Arrival::Bytes(input) } else { Arrival::Datagram(input) });
    for arrival in [Arrival::Opened].into_iter().chain(arrivals).chain([Arrival::Ended]) {
        receiver.handle_arrival(now, MOVIE_CHANNEL, arrival);
        while let Some(frame) = receiver.poll_frame() {
            (frames, bytes) = (frames + 1, bytes + frame.len());
            assert!(!frame.is_empty());
        }
        match receiver.drive(now, &mut SentBytes(&mut said)) {
            Ok(wait) if wait.finished => break,
            Ok(_) => now += step,
            Err(_) => break,
        }
    }
    receiver.stop(now);
    while let Some(frame) = receiver.poll_frame() {
        (frames, bytes) = (frames + 1, bytes + frame.len());
    }
    assert!(frames <= came && bytes <= came + BESIDE * (frames + came / 8), "{frames} frames of {bytes} bytes of {came}");
    let log = receiver.into_log();
    assert!(log.datagrams.len() <= inputs.len() && log.rejections.len() <= 16, "what is kept of reasons is bounded");
}

/// What takes all that is said.
struct SentBytes<'a>(&'a mut usize);

impl Channels for SentBytes<'_> {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, bytes: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        self.write(channel, bytes).map(|_| DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(1 << 20))
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        *self.0 += bytes.len();
        assert!(*self.0 <= MOST_SAID);
        Ok(bytes.len())
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        Ok(())
    }
}
