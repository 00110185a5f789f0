//! Both sides of the exchange at the port above the stream's: questions of the sender, answers of the receiver.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_endpoint::RunClock;
use framewire_sockets::{Interest, OpenError, UdpOptions, UdpRead, UdpSocket, wait};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{Duration, Timestamp};
use framewire_wire::exchange::{Exchange, Kind};
use framewire_wire::rtcp::Compound;

use crate::clocks::Sample;

/// Questions that are asked when somebody answers: the one with the shortest round trip counts.
const QUESTIONS: usize = 8;

/// Questions that are asked when nobody answers.
const ATTEMPTS: usize = 3;

/// How long an answer is waited for: the longest round trip of a path on earth by wire is under 0.4 s.
const PATIENCE: Duration = Duration::from_millis(400);

/// Time between two questions, so that one does not wait behind the other.
const BETWEEN: Duration = Duration::from_millis(5);

/// Bytes that one read takes: more than any question.
pub(crate) const READ_SIZE: usize = 2_048;

/// Datagrams of RTCP that wait to be taken: more at once are lost, as in a socket that is full.
const MOST_WAITING: usize = 64;

/// The port above a stream's, which RTCP has, too (RFC 3550, section 11); `None` above the last one.
pub(crate) fn above(address: SocketAddr) -> Option<SocketAddr> {
    Some(SocketAddr::new(address.ip(), address.port().checked_add(1)?))
}

/// The sender's side.
pub(crate) struct Questions {
    socket: UdpSocket,
    peer: SocketAddr,
    session: u64,
    ssrc: u32,
    text: String,
    number: u32,
    /// By CLOCK_MONOTONIC of the sender.
    samples: Vec<Sample>,
}

impl Questions {
    /// A side that asks at `peer` and says `text` of its stream.
    ///
    /// # Errors
    /// When no socket can be opened.
    pub(crate) fn new(peer: SocketAddr, session: u64, ssrc: u32, text: String) -> Result<Self, OpenError> {
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 8], 0)),
        };
        let socket = UdpSocket::bind(any, &UdpOptions::default())?;
        Ok(Self { socket, peer, session, ssrc, text, number: 0, samples: Vec::new() })
    }

    /// Asks until it is known how far the clocks are apart, or that nobody answers. With `End`, it says that the stream has
    /// ended. Returns whether somebody answered.
    ///
    /// # Errors
    /// When the socket is broken.
    pub(crate) fn ask(&mut self, kind: Kind, is_stopped: &dyn Fn() -> bool) -> Result<bool, SocketError> {
        let (mut answers, mut unanswered) = (0, 0);
        while answers < QUESTIONS && unanswered < ATTEMPTS && !(is_stopped() && kind == Kind::Question) {
            match self.ask_once(kind)? {
                true => answers += 1,
                false => unanswered += 1,
            }
            std::thread::sleep(BETWEEN);
        }
        Ok(answers > 0)
    }

    /// Question by question, each time counted from the origin of a clock.
    pub(crate) fn samples(&self, clock: RunClock) -> Vec<Sample> {
        let origin = clock.monotonic_nanos(framewire_units::Timestamp::ZERO);
        let counted = |sample: &Sample| Sample {
            asked: sample.asked.saturating_sub(origin),
            arrived: sample.arrived.saturating_sub(origin),
            ..*sample
        };
        self.samples.iter().map(counted).collect()
    }

    fn ask_once(&mut self, kind: Kind) -> Result<bool, SocketError> {
        self.number += 1;
        let asked = RunClock::monotonic_now();
        let (session, number, text) = (self.session, self.number, self.text.as_str());
        let question = Exchange {
            kind,
            ssrc: self.ssrc,
            session,
            number,
            asked: asked.unsigned_abs(),
            came: 0,
            answered: 0,
            text,
        };
        // A peer without a route is one who does not answer: what is sent to it says so.
        if self.socket.send_to(&question.to_bytes(), self.peer).is_err() {
            return Ok(false);
        }
        let deadline = asked.saturating_add(nanos(PATIENCE));
        loop {
            let left = u64::try_from(deadline - RunClock::monotonic_now()).map_or(Duration::ZERO, Duration::from_nanos);
            if left.is_zero() {
                return Ok(false);
            }
            wait(&self.socket, Interest::Read, left)?;
            let mut buffer = [0; READ_SIZE];
            while let UdpRead::Datagram { length, realtime_nanos, .. } = self.socket.receive(&mut buffer)? {
                let arrived = arrival(realtime_nanos);
                let Ok(answer) = Exchange::parse(&buffer[..length]) else { continue };
                if (answer.kind, answer.session, answer.number) == (Kind::Answer, session, number) {
                    let remote = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
                    let (came, answered) = (remote(answer.came), remote(answer.answered));
                    self.samples.push(Sample { asked, came, answered, arrived });
                    return Ok(true);
                }
            }
        }
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// CLOCK_MONOTONIC when the kernel got something that it stamped so; now, where there is no stamp.
fn arrival(realtime_nanos: Option<u64>) -> i64 {
    let stamped = realtime_nanos.and_then(|nanos| i64::try_from(nanos).ok());
    stamped.map_or_else(RunClock::monotonic_now, |nanos| nanos - RunClock::realtime_offset())
}

/// What a question says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// Of which stream.
    pub(crate) session: u64,
    /// What is announced of it.
    pub(crate) text: String,
    /// Who asked.
    pub(crate) from: SocketAddr,
    /// The stream has ended.
    pub(crate) has_ended: bool,
}

/// The receiver's side: it answers all who ask, of one stream, each question with one datagram that is not longer.
pub(crate) struct Answers {
    socket: UdpSocket,
    clock: RunClock,
    session: Option<u64>,
    buffer: Vec<u8>,
    /// A sender that does not announce itself has said that it leaves.
    pub(crate) has_left: bool,
    /// What came beside questions, and is kept where there are reports.
    beside: Option<VecDeque<Beside>>,
}

/// A datagram that is no question.
pub(crate) struct Beside {
    pub(crate) from: SocketAddr,
    pub(crate) came: Timestamp,
    pub(crate) bytes: Vec<u8>,
}

impl Answers {
    /// A side that listens at `address` and has the time of `clock`.
    ///
    /// # Errors
    /// When the port is taken, or the address is none of this host.
    pub(crate) fn listen(address: SocketAddr, clock: RunClock) -> Result<Self, OpenError> {
        let socket = UdpSocket::bind(address, &UdpOptions::default())?;
        Ok(Self { socket, clock, session: None, buffer: vec![0; READ_SIZE], has_left: false, beside: None })
    }

    /// From now on only questions of this stream are answered.
    pub(crate) fn settle_on(&mut self, session: u64) {
        self.session = Some(session);
    }

    /// From now on what is no question is kept until it is [taken](Self::take_beside).
    pub(crate) fn keep_beside(&mut self) {
        self.beside = Some(VecDeque::new());
    }

    /// What came beside questions, in order of arrival.
    pub(crate) fn take_beside(&mut self) -> VecDeque<Beside> {
        self.beside.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sends a report from its port.
    ///
    /// # Errors
    /// When it cannot be sent there.
    pub(crate) fn send_to(&mut self, report: &[u8], to: SocketAddr) -> Result<DatagramSend, SocketError> {
        self.socket.send_to(report, to)
    }

    /// Answers the next question, and says what it was; `None` when there is none. What is none is thrown away.
    ///
    /// # Errors
    /// When the socket is broken.
    pub(crate) fn answer(&mut self) -> Result<Option<Question>, SocketError> {
        loop {
            let UdpRead::Datagram { length, realtime_nanos, from, .. } = self.socket.receive(&mut self.buffer)? else {
                return Ok(None);
            };
            let came = framewire_endpoint::Clock::arrival(&self.clock, realtime_nanos).as_nanos();
            let Ok(message) = Exchange::parse(&self.buffer[..length]) else {
                // Of other programs there is RTCP, which says when they leave (RFC 3550, section 6.6).
                let leaves = Compound::parse(&self.buffer[..length]).is_ok_and(|compound| !compound.leaving.is_empty());
                self.has_left |= leaves;
                if let Some(kept) = self.beside.as_mut().filter(|kept| kept.len() < MOST_WAITING) {
                    let (came, bytes) = (Timestamp::from_nanos(came), self.buffer[..length].to_vec());
                    kept.push_back(Beside { from, came, bytes });
                }
                continue;
            };
            let is_other = self.session.is_some_and(|session| session != message.session);
            if message.kind == Kind::Answer || is_other {
                continue;
            }
            let answer = message.answer(came, self.clock.now().as_nanos()).to_bytes();
            let question = Question {
                session: message.session,
                text: message.text.to_owned(),
                from,
                has_ended: message.kind == Kind::End,
            };
            // Those that cannot be answered ask again.
            let _ = self.socket.send_to(&answer, from);
            return Ok(Some(question));
        }
    }

    /// What poll(2) waits for.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
