//! The connection of one client.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_session::MOVIE_CHANNEL;
use framewire_session::half::{Arrival, ChannelId, Channels, Wait};
use framewire_session::served::Client;
use framewire_sockets::{TcpRead, TcpReceiver, TcpSender, Watch};
use framewire_transport::socket::{DatagramSend, SocketError, StreamSocket};
use framewire_units::{DataSize, Duration, Timestamp};

/// How long the end of a connection waits for the client to close it, too: what was sent is lost where it is closed with
/// something unread (RFC 9112, section 9.6).
const LINGERING: Duration = Duration::from_secs(2);

/// What a client may say in a turn.
const MOST_READ: usize = 16 << 10;

/// A client, and its socket.
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    pub(super) client: Box<dyn Client>,
    reading: TcpReceiver,
    writing: Stream,
    /// What the poller watches for.
    pub(super) watch: Watch,
    /// When it is to be driven.
    pub(super) timeout: Option<Timestamp>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The client says nothing more.
    HalfClosed,
    /// All is said; until this time the client may close it.
    Lingering(Timestamp),
    Closed,
}

/// The stream of a client, as its half writes to it.
struct Stream(TcpSender);

impl Connection {
    pub(super) fn new(
        reading: TcpReceiver,
        peer: SocketAddr,
        client: Box<dyn Client>,
        patience: Duration,
        now: Timestamp,
    ) -> Result<Self, SocketError> {
        let sender = reading.sender()?;
        sender.set_user_timeout(patience)?;
        let (writing, state) = (Stream(sender), State::Open);
        let watch = Watch { read: true, write: false };
        Ok(Self { peer, client, reading, writing, watch, timeout: Some(now), state })
    }

    /// True when it is to be dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.reading.as_fd()
    }

    /// Hands what came to the client's half.
    pub(super) fn read(&mut self, now: Timestamp, buffer: &mut [u8]) {
        let length = buffer.len().min(MOST_READ);
        let buffer = &mut buffer[..length];
        match (self.state, self.reading.read(buffer)) {
            (State::Closed, _) | (_, Ok(TcpRead::Nothing)) => {}
            (State::Lingering(_), Ok(TcpRead::Bytes { .. })) => {}
            (State::Lingering(_), Ok(TcpRead::End) | Err(_)) => self.state = State::Closed,
            (_, Ok(TcpRead::Bytes { length, .. })) => {
                self.client.handle_arrival(now, MOVIE_CHANNEL, Arrival::Bytes(&buffer[..length]));
            }
            (_, Ok(TcpRead::End)) => {
                self.state = State::HalfClosed;
                self.client.handle_arrival(now, MOVIE_CHANNEL, Arrival::Ended);
            }
            (_, Err(error)) => self.fail(now, &error),
        }
    }

    /// Lets the half do what is due, and notes what it waits for.
    pub(super) fn drive(&mut self, now: Timestamp) {
        match self.state {
            State::Closed => return,
            State::Lingering(until) => {
                if now >= until {
                    self.state = State::Closed;
                }
                return;
            }
            State::Open | State::HalfClosed => {}
        }
        match self.client.drive(now, &mut self.writing) {
            Ok(Wait { finished: true, .. }) => {
                let is_over = self.state == State::HalfClosed;
                let until = now + LINGERING;
                self.state = if is_over { State::Closed } else { State::Lingering(until) };
                (self.timeout, self.watch) = (Some(until), Watch { read: true, write: false });
            }
            Ok(wait) => {
                self.timeout = wait.timeout;
                self.watch = Watch { read: self.state == State::Open, write: wait.room.is_some() };
            }
            Err(error) => self.fail(now, &error),
        }
    }

    /// Ends it at once.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.client.stop(now);
        self.state = State::Closed;
    }

    fn fail(&mut self, now: Timestamp, error: &SocketError) {
        self.client.handle_failure(now, &error.to_string());
        self.state = State::Closed;
    }
}

impl Channels for Stream {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, _: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        Err(no_datagrams("send"))
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Err(no_datagrams("free_room"))
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.0.write(bytes)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.0.unsent()
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.0.finish()
    }
}

/// The error of an operation on a socket of another kind: errno(3) has the words of EOPNOTSUPP.
fn no_datagrams(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}
