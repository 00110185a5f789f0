//! A writer and its receiver over this kernel's loopback interface.

use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use framewire_media::PictureType;
use framewire_media::picture_order::{PictureNumbers, Renumbering};
use framewire_transport::frame::{Dependencies, Payload};
use framewire_transport::registry::Queue;
use framewire_units::DataSize;

use super::*;

/// What an application keeps of a frame.
#[derive(Clone, Debug)]
struct Kept(u64);

impl Payload for Kept {
    fn size(&self) -> u64 {
        SIZE as u64
    }

    fn begin_sequence(&mut self) {}

    fn renumber(&mut self, _: PictureNumbers, _: Renumbering) -> bool {
        false
    }

    fn allow_gaps(&mut self) {}
}

impl Placed for Kept {
    fn number(&self) -> u64 {
        self.0
    }

    fn group(&self) -> u64 {
        0
    }

    fn lasts(&self) -> Duration {
        Duration::from_millis(40)
    }
}

const SIZE: usize = 1_000;

fn plan(port: u16) -> Plan {
    Plan {
        host: "127.0.0.1".to_owned(),
        port,
        protocol: Protocol::Tcp,
        queue: Queue::Dependency.kind(),
        unsent_limit: None,
        congestion: None,
        connect_timeout: Duration::from_secs(10),
        receiver_timeout: None,
        drain_timeout: None,
        reconnect_attempts: 0,
        reconnect_delay: Duration::ZERO,
        rtp: Rtp {
            mtu: DataSize::from_bytes(1_500),
            ssrc: 1,
            initial_sequence: 0,
            initial_timestamp: 0,
            payload_type: 32,
        },
    }
}

fn started(port: u16) -> (Writer<Kept>, mpsc::Receiver<Notice<Kept>>) {
    let (sender, notices) = mpsc::channel();
    let sender = Mutex::new(sender);
    let notify = Box::new(move |notice| {
        let _ = sender.lock().expect("nobody panics with it").send(notice);
    });
    (Writer::start(plan(port), notify).expect("a thread"), notices)
}

fn offer(writer: &Writer<Kept>, id: u32) -> bool {
    let kept = OutgoingFrame {
        id,
        kind: PictureType::P,
        dependencies: Dependencies::default(),
        duration: Duration::from_millis(40),
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes: Kept(id.into()),
    };
    let frame = OutgoingFrame {
        id,
        kind: PictureType::P,
        dependencies: Dependencies::default(),
        duration: Duration::from_millis(40),
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes: vec![id as u8; SIZE].into(),
    };
    writer.offer(kept, frame)
}

#[test]
fn what_is_offered_arrives_in_order_and_the_end_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (writer, _notices) = started(listener.local_addr().expect("bound").port());
    let (mut receiver, _) = listener.accept().expect("a connection");
    let since = writer.interruptions();
    assert_eq!(writer.wait_connected(since), Waited::Done);
    assert!((0..3).all(|id| offer(&writer, id)));
    writer.end(None);
    assert_eq!(writer.wait_finished(since), Waited::Done);
    let mut came = vec![];
    receiver.read_to_end(&mut came).expect("a whole stream");
    assert_eq!(came, [[0_u8; SIZE], [1; SIZE], [2; SIZE]].concat());
    let counts = writer.stop().counts;
    assert_eq!((counts.accepted.frames, counts.sent.frames, counts.dropped.frames), (3, 3, 0));
}

#[test]
fn without_a_receiver_it_fails_in_words_and_takes_no_more() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let (writer, notices) = started(nobody.port());
    let since = writer.interruptions();
    assert_eq!(writer.wait_connected(since), Waited::Failed);
    assert!(matches!(notices.recv(), Ok(Notice::Failed(reason)) if reason.contains("127.0.0.1")));
    assert!(!writer.is_alive() && !offer(&writer, 0));
    let counts = writer.stop().counts;
    assert_eq!((counts.accepted.frames, counts.sent.frames, counts.dropped.frames), (1, 0, 1));
}

#[test]
fn an_interruption_ends_a_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (writer, _notices) = started(listener.local_addr().expect("bound").port());
    let since = writer.interruptions();
    writer.interrupt();
    assert_eq!(writer.wait_finished(since), Waited::Interrupted);
    writer.resume();
    assert_eq!(writer.wait_finished(since), Waited::Interrupted, "also one that is over by now");
}
