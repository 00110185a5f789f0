//! The connection of one client.

use std::net::SocketAddr;

use framewire_endpoint::RunClock;
use framewire_kernel::FlowSockets;
use framewire_session::half::{Arrival, ChannelId, ChannelSet, Wait};
use framewire_session::served::{CONNECTION, Client, Opening};
use framewire_sockets::{Poller, TcpReceiver, Watch};
use framewire_transport::socket::SocketError;
use framewire_units::{Duration, Timestamp};

/// How long the end of a connection waits for the client to close it, too: what was sent is lost where it is closed with
/// something unread (RFC 9112, section 9.6).
const LINGERING: Duration = Duration::from_secs(2);

/// A client, and its sockets.
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    /// This end's address, from which it also sends datagrams.
    own: SocketAddr,
    pub(super) client: Box<dyn Client>,
    sockets: FlowSockets<RunClock>,
    /// What the poller watches for on each channel.
    watched: Vec<(ChannelId, Watch)>,
    /// The channels in which it waits for room.
    room: ChannelSet,
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

impl Connection {
    pub(super) fn new(
        accepted: TcpReceiver,
        client: Box<dyn Client>,
        patience: Duration,
        clock: RunClock,
        now: Timestamp,
    ) -> Result<Self, SocketError> {
        let (peer, own) = (accepted.peer_address()?, accepted.sender()?.local_address()?);
        let sockets = FlowSockets::of_connection(accepted, CONNECTION, patience, clock)?;
        let (watched, timeout, state) = (Vec::new(), Some(now), State::Open);
        Ok(Self { peer, own, client, sockets, watched, room: ChannelSet::NONE, timeout, state })
    }

    /// True when it is to be dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Hands what came on a channel to the client's half.
    pub(super) fn read(&mut self, now: Timestamp, channel: ChannelId, buffer: &mut [u8]) {
        let came = self.sockets.take_into(buffer, &|id| id == channel);
        match (self.state, came.map(|came| came.map(|came| came.arrival))) {
            (State::Closed, _) | (_, Ok(None)) => {}
            (State::Lingering(_), Ok(Some(Arrival::Ended)) | Err(_)) => self.state = State::Closed,
            (State::Lingering(_), Ok(Some(_))) => {}
            (_, Ok(Some(arrival))) => {
                if arrival == Arrival::Ended {
                    self.state = State::HalfClosed;
                }
                self.client.handle_arrival(now, channel, arrival);
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
        let driven = self.client.drive(now, &mut self.sockets);
        let driven = if self.open(now) { self.client.drive(now, &mut self.sockets) } else { driven };
        match driven {
            Ok(Wait { finished: true, .. }) => {
                let is_over = self.state == State::HalfClosed;
                let until = now + LINGERING;
                self.state = if is_over { State::Closed } else { State::Lingering(until) };
                (self.timeout, self.room) = (Some(until), ChannelSet::NONE);
            }
            Ok(wait) => (self.timeout, self.room) = (wait.timeout, wait.room),
            Err(error) => self.fail(now, &error),
        }
    }

    /// Opens the channels that the half wants beside its connection; true where it did, and there is something to be said.
    fn open(&mut self, now: Timestamp) -> bool {
        let mut has_answered = false;
        while let Some(Opening { channels, client }) = self.client.poll_opening() {
            let peers = [client.0, client.1].map(|port| SocketAddr::new(self.peer.ip(), port));
            let ports = self.sockets.open_pair(&channels, self.own.ip(), peers);
            self.watched.retain(|(id, _)| channels.iter().all(|setup| setup.id != *id));
            self.client.handle_opened(now, ports.ok());
            has_answered = true;
        }
        has_answered
    }

    /// Has the poller watch for what it waits for, where that is something else than before; `token` is the number by which a channel
    /// is told of.
    ///
    /// # Errors
    /// When the kernel has no room for one more socket.
    pub(super) fn watch(&mut self, poller: &Poller, token: impl Fn(ChannelId) -> u64) -> Result<(), SocketError> {
        let Self { sockets, watched, .. } = self;
        for (id, descriptor, watch) in sockets.watches(self.room, |_| true) {
            match watched.iter_mut().find(|(of, _)| *of == id) {
                Some((_, before)) if *before == watch => {}
                Some((_, before)) => {
                    poller.change(descriptor, token(id), watch)?;
                    *before = watch;
                }
                None => {
                    poller.add(descriptor, token(id), watch)?;
                    watched.push((id, watch));
                }
            }
        }
        Ok(())
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
