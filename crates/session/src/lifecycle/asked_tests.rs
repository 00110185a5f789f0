//! A flow whose receiver opens the connection and asks for the movie.

use super::tests::{FRAME_SIZE, FRAMES, Host, flow, ms};
use super::*;
use crate::exchange::testing::{Asks, Polite};
use crate::half::{ChannelId, ChannelKind, End, Half};
use framewire_recording::Samples;
use framewire_recording::record::{FlowStatus, FrameEventKind};
use framewire_transport::socket::SocketError;
use framewire_units::{Duration, Timestamp};

const LATEST_WORD: Timestamp = Timestamp::from_millis(700);

/// The ends of a flow over TCP, of which the receiver has to ask.
fn asked_ends() -> (MovieSending, MovieReceiving) {
    let (sender, receiver) = flow("tcp");
    let sender = sender.with_serving(Some(Box::new(Polite::until(LATEST_WORD))));
    let receiver = receiver.with_asking(Some(Box::new(Asks::default())));
    let channel = sender.channels()[0];
    assert_eq!((channel.kind, receiver.channels()[0]), (ChannelKind::Stream(End::Receiver), channel));
    let receiving = MovieReceiving::new(receiver, ReceivedMovie::new(MovieSink::Memory(Vec::new())));
    (MovieSending::new(sender, Samples::default()), receiving)
}

/// What the receiver says, as its sender's host has it.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    closed: bool,
    room: usize,
}

/// Both ends' view of the connection: nothing takes any time in it.
struct Ends<'a>(&'a mut Host, &'a mut Said);

impl ReceivingSocket for Ends<'_> {
    fn take(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError> {
        self.0.take(now)
    }

    fn report(&mut self, _: Timestamp, _: ChannelId, _: &[u8]) -> Result<bool, SocketError> {
        panic!("nothing here has RTCP");
    }

    fn write_request(&mut self, _: Timestamp, bytes: &[u8]) -> Result<usize, SocketError> {
        let taken = bytes.len().min(self.1.room);
        self.1.room -= taken;
        self.1.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }
}

/// Lets the sender hear it, and do what is due.
fn hear(sending: &mut MovieSending, host: &mut Host, said: &mut Said, now: Timestamp) {
    host.requests.extend(std::mem::take(&mut said.bytes));
    host.requests_end = said.closed;
    if sending.listens() {
        sending.listen(now, host);
    }
    if sending.is_due(now, || true) {
        sending.poll(now, host);
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
        let mut ends = Ends(&mut host, &mut said);
        let step = loop {
            match receiving.poll(now, false, &mut ends) {
                ReceivingStep::Again => {}
                step => break step,
            }
        };
        let asks = now < ms(203);
        if let ReceivingStep::Wait { writable, .. } = step {
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
    let mut ends = Ends(&mut host, &mut said);
    while receiving.poll(ms(1), false, &mut ends) == ReceivingStep::Again {}
    assert!(receiving.has_ended());
    assert_eq!(said.bytes, b"please\n");
    let status = receiving.into_outcome(sending).0.status;
    assert_eq!(status, FlowStatus::Failed("receiver: the sender gave no answer".to_owned()));
}
