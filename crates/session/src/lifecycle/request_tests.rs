//! A flow whose receiver opens the connection and asks for the movie.

use super::tests::{FRAME_SIZE, FRAMES, Host, flow, ms};
use super::*;
use crate::MOVIE_CHANNEL;
use crate::exchange::testing::{ScriptedClient, ScriptedServer};
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, Channels, End, Half};
use crate::receiver::RequestChannel;
use crate::sender::ResponseChannel;
use framewire_recording::Samples;
use framewire_recording::record::{FlowSample, FlowStatus, FrameEventKind};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};

const LATEST_WORD: Timestamp = Timestamp::from_millis(700);

/// The ends of a flow over TCP, of which the receiver has to ask.
fn asked_ends() -> (MovieSending, MovieReceiving) {
    let (sender, receiver) = flow("tcp");
    let channels = vec![Channel { id: MOVIE_CHANNEL, kind: ChannelKind::Stream(End::Receiver) }];
    let sender = sender
        .over(channels.clone())
        .with_responses(Some(ResponseChannel::new(Box::new(ScriptedServer::until(LATEST_WORD)), MOVIE_CHANNEL)));
    let receiver = receiver
        .over(channels)
        .with_requests(Some(RequestChannel::new(Box::new(ScriptedClient::default()), MOVIE_CHANNEL)));
    assert_eq!(sender.channels(), receiver.channels());
    let receiving = MovieReceiving::new(receiver, ReceivedMovie::new(MovieSink::Memory(Vec::new())));
    (MovieSending::new(sender, Samples::default()), receiving)
}

/// What the receiver says, as its sender's host has it.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    closed: bool,
    room: usize,
    /// What was read last.
    heard: Vec<u8>,
}

/// The connection as one of its ends sees it: nothing takes any time in it.
enum Seen<'a> {
    /// The sender writes to its host, and hears what was said.
    BySender(&'a mut Host, &'a mut Said),
    /// The receiver reads what has left that host, and says something.
    ByReceiver(&'a mut Host, &'a mut Said),
}

impl Channels for Seen<'_> {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, _: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        panic!("all goes over the connection");
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        panic!("all goes over the connection");
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        match self {
            Self::BySender(host, _) => host.write(channel, bytes),
            Self::ByReceiver(_, said) => {
                let taken = bytes.len().min(said.room);
                said.room -= taken;
                said.bytes.extend_from_slice(&bytes[..taken]);
                Ok(taken)
            }
        }
    }

    fn unsent(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        let (Self::BySender(host, _) | Self::ByReceiver(host, _)) = self;
        host.unsent(channel)
    }

    fn finish(&mut self, channel: ChannelId) -> Result<(), SocketError> {
        let (Self::BySender(host, _) | Self::ByReceiver(host, _)) = self;
        host.finish(channel)
    }
}

impl HostSockets for Seen<'_> {
    fn take(&mut self, at: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError> {
        let said = match self {
            Self::BySender(_, said) if wanted(MOVIE_CHANNEL) => said,
            Self::BySender(..) => return Ok(None),
            Self::ByReceiver(host, _) => return host.take(at, wanted),
        };
        said.heard = std::mem::take(&mut said.bytes);
        let arrival = match (said.heard.is_empty(), said.closed) {
            (false, _) => Arrival::Bytes(&said.heard),
            (true, true) => Arrival::Ended,
            (true, false) => return Ok(None),
        };
        Ok(Some(Came { channel: MOVIE_CHANNEL, at, arrival }))
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        let (Self::BySender(host, _) | Self::ByReceiver(host, _)) = self;
        host.queued()
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        let (Self::BySender(host, _) | Self::ByReceiver(host, _)) = self;
        host.sample(at)
    }
}

/// Lets the sender hear it, and do what is due.
fn hear(sending: &mut MovieSending, host: &mut Host, said: &mut Said, now: Timestamp) {
    let mut seen = Seen::BySender(host, said);
    sending.receive(now, &mut seen);
    if sending.is_due(now, |_| true) {
        sending.drive(now, &mut seen);
    }
}

#[test]
fn the_movie_begins_when_the_receiver_asks_for_it_and_not_before() {
    let (mut sending, mut receiving) = asked_ends();
    let (mut host, mut said) = (Host { room: 1 << 20, ..Host::default() }, Said::default());
    let mut ended = None;
    for now in (0..10_000).map(ms) {
        // The connection stands from 200 ms on, and takes a few bytes at a time.
        said.room += if now >= ms(200) { 2 } else { 0 };
        hear(&mut sending, &mut host, &mut said, now);
        assert!(now >= ms(200) || host.waiting.is_empty(), "nothing is sent unasked");
        while receiving.poll(now, &mut Seen::ByReceiver(&mut host, &mut said)) {}
        let asks = now < ms(203);
        if !receiving.has_ended() {
            let writable = receiving.wait().room.contains(MOVIE_CHANNEL);
            assert_eq!(writable, asks, "{now}: it waits for room while it has something to say");
        }
        if receiving.has_ended() && sending.has_ended() {
            ended = Some(now);
            break;
        }
    }
    // "please\n" has come whole at 204 ms; the last of 25 frames is due 960 ms later.
    let begun = ms(204);
    let ended = ended.expect("it ends");
    assert!((begun + Duration::from_millis(960)..=begun + Duration::from_millis(1_060)).contains(&ended), "{ended}");
    let (outcome, movie) = receiving.into_outcome(sending);
    assert_eq!((outcome.status, outcome.received.complete_frames), (FlowStatus::Complete, FRAMES));
    assert_eq!(movie.len(), FRAME_SIZE * FRAMES as usize + 20);
    assert_eq!(outcome.sent.begun, Some(begun));
    let offered = outcome.sent.frame_events.iter().filter(|event| event.what == FrameEventKind::Offered);
    let times: Vec<Timestamp> = offered.map(|event| event.at).collect();
    let expected: Vec<Timestamp> = (0..FRAMES.into()).map(|frame| begun + Duration::from_millis(40 * frame)).collect();
    assert_eq!(times, expected, "the frame clock starts when it is asked for");
    // Of the bytes of the stream, five are the answer.
    let written = 5 + movie.len() as u64;
    assert_eq!(outcome.sent.frame_ends.last(), Some(&written));
    let reads = outcome.received.reads.to_vec();
    assert_eq!((reads[0].at, reads.last().unwrap().total), (begun, written), "a player counts from the first frame");
}

#[test]
fn a_receiver_that_says_nothing_or_nonsense_or_goes_breaks_the_flow_with_the_reason() {
    let failed = |act: &dyn Fn(&mut Said, Timestamp)| {
        let (mut sending, receiving) = asked_ends();
        let (mut host, mut said) = (Host { room: 1 << 20, ..Host::default() }, Said::default());
        for now in (0..2_000).map(ms) {
            act(&mut said, now);
            hear(&mut sending, &mut host, &mut said, now);
            if sending.has_ended() {
                let FlowStatus::Failed(reason) = receiving.into_outcome(sending).0.status else { panic!("it broke") };
                return (now, reason);
            }
        }
        panic!("it does not end");
    };
    let silent = (LATEST_WORD, "sender: session: the receiver did not ask for the movie".to_owned());
    assert_eq!(failed(&|_, _| {}), silent);
    let rude = (ms(10), "sender: session: the receiver is not polite".to_owned());
    assert_eq!(failed(&|said, now| said.bytes.extend((now == ms(10)).then_some(b'?'))), rude);
    let gone = (ms(300), "sender: session: the receiver ended it before it had all of the movie".to_owned());
    let go = |said: &mut Said, now| {
        said.bytes.extend(if now == ms(10) { &b"please\n"[..] } else { b"" });
        said.closed = now >= ms(300);
    };
    assert_eq!(failed(&go), gone);
}

#[test]
fn a_sender_that_ends_without_an_answer_breaks_the_flow() {
    let (sending, mut receiving) = asked_ends();
    let (mut host, mut said) = (Host { finished: true, ..Host::default() }, Said { room: 100, ..Said::default() });
    while receiving.poll(ms(1), &mut Seen::ByReceiver(&mut host, &mut said)) {}
    assert!(receiving.has_ended());
    assert_eq!(said.bytes, b"please\n");
    let status = receiving.into_outcome(sending).0.status;
    assert_eq!(status, FlowStatus::Failed("receiver: the sender gave no answer".to_owned()));
}
