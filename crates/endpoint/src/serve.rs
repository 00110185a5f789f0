//! A host of sessions driven by this kernel's sockets and clock.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use framewire_adaptive::datagram::Drops;
use framewire_adaptive::host::{Host, HostEvent};
use framewire_adaptive::server::ServerEvent;
use framewire_units::{Duration, Lateness, Timestamp};

use crate::clock::MonotonicClock;
use crate::error::EndpointError;
use crate::ports::Ports;
use crate::server_loop::{Next, turn};

/// How long the teardown to the clients may take when the server ends.
const TEARDOWN_TIME: Duration = Duration::from_secs(2);

/// A host on two sockets.
///
/// [`run`](Self::run) drives it. To look at the sessions in between, call [`step`](Self::step) and
/// [`poll_event`](Self::poll_event) in turn instead.
pub struct Serving {
    host: Host,
    ports: Ports,
}

/// What came of serving.
#[derive(Clone, Debug)]
pub struct Served {
    /// Sessions that ended.
    pub sessions: u64,
    /// Datagrams that belonged to no session.
    pub drops: Drops,
    /// By how much packets left later than they were due.
    pub lateness: Lateness,
}

impl Serving {
    /// Serves at these addresses: for video, and for control. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When an address is in use or is not this host's.
    pub fn open(host: Host, data: SocketAddr, control: SocketAddr) -> Result<Self, EndpointError> {
        Ok(Self { host, ports: Ports::open([data, control], MonotonicClock::start())? })
    }

    /// Serves on sockets that are open already.
    pub fn on(host: Host, ports: Ports) -> Self {
        Self { host, ports }
    }

    /// The addresses: for video, and for control.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn addresses(&self) -> Result<[SocketAddr; 2], EndpointError> {
        self.ports.addresses()
    }

    /// Serves until `cancelled` (looked at ten times a second and whenever something happens), or until so many
    /// sessions have ended; then sends a teardown to every client. `look` is called with what happens.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn run(
        self,
        sessions: Option<u64>,
        cancelled: impl Fn() -> bool,
        look: impl FnMut(Timestamp, &HostEvent, &Host),
    ) -> Result<Served, EndpointError> {
        self.run_and_watch(sessions, cancelled, look, |_, _| {})
    }

    /// The same; `watch` sees the sessions whenever `cancelled` is looked at.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_and_watch(
        mut self,
        sessions: Option<u64>,
        cancelled: impl Fn() -> bool,
        mut look: impl FnMut(Timestamp, &HostEvent, &Host),
        mut watch: impl FnMut(Timestamp, &Host),
    ) -> Result<Served, EndpointError> {
        let mut ended = 0;
        let mut deadline = None;
        loop {
            self.step()?;
            while let Some(event) = self.poll_event() {
                ended += u64::from(matches!(event.event, ServerEvent::Ended(_)));
                look(self.ports.now(), &event, &self.host);
            }
            watch(self.ports.now(), &self.host);
            let is_enough = sessions.is_some_and(|sessions| ended >= sessions) || cancelled();
            if is_enough && deadline.is_none() {
                deadline = Some(self.ports.now() + TEARDOWN_TIME);
                self.stop();
            }
            if deadline.is_some_and(|deadline| self.host.sessions() == 0 || self.ports.now() >= deadline) {
                let (drops, lateness) = (self.host.drops(), self.host.lateness().clone());
                return Ok(Served { sessions: ended, drops, lateness });
            }
        }
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.host.poll_event()
    }

    /// The sessions.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// A live source has come further: the next steps send that to sessions that wait for it.
    pub fn handle_more(&mut self) {
        self.host.handle_more(self.ports.now());
    }

    /// Ends all sessions; the next steps send that to the clients.
    pub fn stop(&mut self) {
        self.host.stop(self.ports.now());
    }

    /// Sends what is due, reads what came, or waits for either for up to a tenth of a second.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn step(&mut self) -> Result<(), EndpointError> {
        self.step_or(&[])
    }

    /// The same, and waits no longer than until one of `others` can be read.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub(crate) fn step_or(&mut self, others: &[BorrowedFd<'_>]) -> Result<(), EndpointError> {
        let Self { host, ports } = self;
        match turn(host, ports)? {
            Next::Turn => {}
            Next::Pause(until) => ports.pause(until)?,
            Next::Wait(until) => ports.wait_or(until, others)?,
        }
        Ok(())
    }
}
