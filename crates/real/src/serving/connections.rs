//! All clients, one thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use framewire_endpoint::{RunClock, random_session};
use framewire_session::half::ChannelId;
use framewire_session::served::{Catalogue, Client, Record, http_client, rtsp_client};
use framewire_sockets::{Poller, TcpListener, TcpReceiver, Watch};
use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_units::{Duration, Lateness, Seed, Timestamp};
use framewire_wire::http::{self, Status};
use framewire_wire::rtsp;

use super::connection::Connection;
use super::journal::Journal;
use super::ledgers::{Kept, Ledgers};
use super::{Scheme, ServeOptions, Served};
use crate::error::RealError;

/// The number of the listener; connections have those above.
const LISTENER: u64 = 0;

/// Channels of a connection, of which each has a number of its own.
const CHANNELS: u64 = 1 << 8;

/// Connections that are accepted in a row.
const ACCEPTED_IN_A_ROW: usize = 64;

/// How long none is accepted where the system has no room for one.
const WITHOUT_ROOM: Duration = Duration::from_millis(200);

/// Bytes that one read takes.
const READ_SIZE: usize = 16 << 10;

/// Tells a client that there is no room for it, and closes its connection. What it has asked for is read before, as otherwise the
/// connection would be reset (tcp(7)), and what it is told lost.
fn refuse(mut accepted: TcpReceiver, scheme: Scheme, buffer: &mut [u8]) -> Result<(), SocketError> {
    let response = match scheme {
        Scheme::Http => http::Response::new(Status::UNAVAILABLE).with("Connection", "close").emit(),
        Scheme::Rtsp => rtsp::Response::new(Status::UNAVAILABLE).emit(),
    };
    let mut sender = accepted.sender()?;
    accepted.read(buffer)?;
    sender.write(&response)?;
    sender.finish()
}

/// The clients of a server.
pub(super) struct Connections {
    listener: TcpListener,
    poller: Poller,
    clock: RunClock,
    catalogue: Catalogue,
    options: ServeOptions,
    most: usize,
    open: BTreeMap<u64, Connection>,
    /// When which of them is to be driven.
    timeouts: BTreeSet<(Timestamp, u64)>,
    /// Those that have asked for nothing yet, in the order in which they came.
    silent: BTreeSet<u64>,
    next: u64,
    /// Until when none is accepted.
    without_room: Option<Timestamp>,
    records: VecDeque<(u64, SocketAddr, Record)>,
    ledgers: Ledgers,
    /// Connections of which a ledger is kept.
    recorded: BTreeSet<u64>,
    lateness: Lateness,
    refused: u64,
    /// Bytes written to clients that are gone.
    written: u64,
    buffer: Vec<u8>,
}

impl Connections {
    pub(super) fn new(
        listener: TcpListener,
        clock: RunClock,
        catalogue: Catalogue,
        options: &ServeOptions,
        most: usize,
        ledgers: Ledgers,
    ) -> Result<Self, RealError> {
        let poller = Poller::new()?;
        poller.add(listener.as_fd(), LISTENER, Watch { read: true, write: false })?;
        Ok(Self {
            listener,
            poller,
            clock,
            catalogue,
            options: options.clone(),
            most,
            open: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            silent: BTreeSet::new(),
            next: LISTENER + 1,
            without_room: None,
            records: VecDeque::new(),
            ledgers,
            recorded: BTreeSet::new(),
            lateness: Lateness::default(),
            refused: 0,
            written: 0,
            buffer: vec![0; READ_SIZE],
        })
    }

    /// Waits until something is to be done, for `most` at the longest, and does it.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub(super) fn turn(&mut self, most: Duration) -> Result<(), SocketError> {
        let clock = self.clock;
        let now = || clock.now();
        let first = self.timeouts.first().map(|(at, _)| *at).into_iter().chain(self.without_room).min();
        let left = first.map_or(most, |at| at.saturating_since(now()).min(most));
        let ready: Vec<_> = self.poller.wait(left)?.collect();
        for polled in ready {
            match (polled.token / CHANNELS, ChannelId((polled.token % CHANNELS) as u8)) {
                (LISTENER, _) => self.accept(now())?,
                (number, channel) => {
                    let Some(connection) = self.open.get_mut(&number) else { continue };
                    if polled.ready.read || polled.ready.broken {
                        connection.client.set_recording(self.ledgers.recording(self.recorded.len()));
                        connection.read(now(), channel, &mut self.buffer);
                    }
                    self.drive(number, now());
                }
            }
        }
        if self.without_room.is_some_and(|until| until <= now()) {
            self.without_room = None;
            self.poller.change(self.listener.as_fd(), LISTENER, Watch { read: true, write: false })?;
        }
        // Those whose time comes meanwhile have their turn the next time.
        let until = now();
        while let Some((at, number)) = self.timeouts.pop_first() {
            if at > until {
                self.timeouts.insert((at, number));
                break;
            }
            if let Some(connection) = self.open.get_mut(&number) {
                connection.timeout = None;
            }
            self.drive(number, now());
        }
        Ok(())
    }

    /// What a client was sent.
    pub(super) fn poll_record(&mut self) -> Option<(u64, SocketAddr, Record)> {
        self.records.pop_front()
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written + self.open.values().map(|connection| connection.client.written()).sum::<u64>()
    }

    /// Ends all of them.
    pub(super) fn stop(&mut self, now: Timestamp) {
        for number in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(number, now);
        }
    }

    /// All ledgers are written; how many that is.
    pub(super) fn finish(self) -> Result<usize, RealError> {
        self.ledgers.finish()
    }

    pub(super) fn served(&self, journal: &Journal) -> Served {
        let quantile = |per_mille| self.lateness.quantile(per_mille).map(|late| late.as_secs_f64());
        let most = (self.lateness.count() > 0).then(|| self.lateness.most().as_secs_f64());
        Served {
            connections: self.next - 1 - LISTENER,
            refused: self.refused,
            answers: journal.answers(),
            refusals: journal.refusals(),
            ledgers: 0,
            without_ledger: journal.without_ledger(),
            bytes: self.written(),
            lateness: (self.lateness.count(), [quantile(500), quantile(990), most]),
        }
    }

    /// Takes the connections that wait. Where there are as many as there may be, the oldest that has asked for nothing makes
    /// room, so that connections that say nothing shut nobody out; where all have asked, the new one is told so (503) and closed.
    fn accept(&mut self, now: Timestamp) -> Result<(), SocketError> {
        for _ in 0..ACCEPTED_IN_A_ROW {
            let accepted = match self.listener.accept() {
                Ok(None) => return Ok(()),
                Ok(Some(accepted)) => accepted,
                Err(_) => {
                    self.without_room = Some(now + WITHOUT_ROOM);
                    return self.poller.change(self.listener.as_fd(), LISTENER, Watch::default());
                }
            };
            let number = self.next;
            self.next += 1;
            if self.open.len() >= self.most {
                self.refused += 1;
                match self.silent.first().copied() {
                    Some(silent) => self.close(silent, now),
                    None => {
                        // A client that is gone, or takes nothing, is told nothing.
                        let _ = refuse(accepted, self.options.scheme, &mut self.buffer);
                        continue;
                    }
                }
            }
            let Some(client) = self.client(number, now) else { continue };
            // One that is gone already has no address.
            let connection = Connection::new(accepted, client, self.options.patience, self.clock, now);
            let Ok(connection) = connection else { continue };
            self.open.insert(number, connection);
            self.silent.insert(number);
            self.drive(number, now);
        }
        Ok(())
    }

    /// The half for one more connection; `None` where the system has no random numbers for it.
    fn client(&self, number: u64, now: Timestamp) -> Option<Box<dyn Client>> {
        let policy = self.options.policy;
        Some(match self.options.scheme {
            Scheme::Http => http_client(&self.catalogue, policy, Some(self.clock.to_unix(Timestamp::ZERO)), now),
            Scheme::Rtsp => {
                let random = Seed(random_session().ok()?).stream("rtsp", &[number]);
                rtsp_client(&self.catalogue, policy, self.options.account.clone(), now, random)
            }
        })
    }

    /// Lets a client's half do what is due.
    fn drive(&mut self, number: u64, now: Timestamp) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        let before = connection.timeout;
        // A request that waited behind another may begin a movie, too.
        connection.client.set_recording(self.ledgers.recording(self.recorded.len()));
        connection.drive(now);
        let timeout = connection.timeout;
        if connection.client.has_asked() {
            self.silent.remove(&number);
        }
        while let Some(record) = connection.client.poll_record() {
            self.records.push_back((number, connection.peer, record));
        }
        while let Some(ledger) = connection.client.poll_ledger() {
            self.ledgers.write(Kept { connection: number, peer: connection.peer, ledger });
        }
        match connection.client.has_ledger() {
            true => self.recorded.insert(number),
            false => self.recorded.remove(&number),
        };
        connection.client.take_lateness().into_iter().for_each(|late| self.lateness.add(late));
        if timeout != before {
            before.map(|at| self.timeouts.remove(&(at, number)));
        }
        self.timeouts.extend(timeout.map(|at| (at, number)));
        let is_lost = connection.watch(&self.poller, |channel| number * CHANNELS + u64::from(channel.0)).is_err();
        if is_lost || connection.is_closed() {
            self.close(number, now);
        }
    }

    fn close(&mut self, number: u64, now: Timestamp) {
        let Some(mut connection) = self.open.remove(&number) else { return };
        connection.close(now);
        while let Some(record) = connection.client.poll_record() {
            self.records.push_back((number, connection.peer, record));
        }
        while let Some(ledger) = connection.client.poll_ledger() {
            self.ledgers.write(Kept { connection: number, peer: connection.peer, ledger });
        }
        self.recorded.remove(&number);
        self.written += connection.client.written();
        connection.timeout.map(|at| self.timeouts.remove(&(at, number)));
        self.silent.remove(&number);
    }
}
