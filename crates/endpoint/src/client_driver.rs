//! A client driven by this kernel's sockets and clock.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use framewire_adaptive::client::{Client, ClientEvent, ClientState};
use framewire_adaptive::datagram::Channel;
use framewire_units::{DataSize, Duration, Timestamp};

use crate::allowance::Allowance;
use crate::client_outcome::{ClientOutcome, Tally};
use crate::clock::MonotonicClock;
use crate::error::EndpointError;
use crate::ports::Ports;

/// A client on two sockets.
///
/// [`run`](Self::run) drives it to the end. To fetch frames at a pace of one's own, call [`step`](Self::step) and
/// [`poll_event`](Self::poll_event) in turn instead, until [`is_finished`](Self::is_finished).
pub struct ClientDriver {
    client: Client,
    ports: Ports,
    server: [SocketAddr; 2],
    allowance: Allowance,
}

impl ClientDriver {
    /// A client of the server at these addresses.
    ///
    /// # Errors
    /// When no socket can be opened.
    pub fn open(client: Client, data: SocketAddr, control: SocketAddr) -> Result<Self, EndpointError> {
        let ports = Ports::open([any_port_towards(data), any_port_towards(control)], MonotonicClock::start())?;
        Ok(Self { client, ports, server: [data, control], allowance: Allowance::unlimited() })
    }

    /// The same, with no more for [`run`](Self::run) to write than this: where more comes, it stops the session.
    pub fn within(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    /// Receives until the session has ended; `cancelled`, looked at ten times a second, ends it from this side. Whole
    /// frames go to `sink` in their order, and everything that happens to `look`.
    ///
    /// # Errors
    /// When a socket is broken, or `sink` takes no more.
    pub fn run(
        self,
        sink: impl Write,
        cancelled: impl Fn() -> bool,
        look: impl FnMut(Timestamp, &ClientEvent),
    ) -> Result<ClientOutcome, EndpointError> {
        self.run_and_watch(sink, cancelled, look, |_| {})
    }

    /// The same; `watch` is given the time whenever `cancelled` is looked at.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_and_watch(
        mut self,
        mut sink: impl Write,
        cancelled: impl Fn() -> bool,
        mut look: impl FnMut(Timestamp, &ClientEvent),
        mut watch: impl FnMut(Timestamp),
    ) -> Result<ClientOutcome, EndpointError> {
        let mut stopped = false;
        let mut tally = Tally::default();
        let mut ended = None;
        loop {
            self.step()?;
            while let Some(event) = self.poll_event() {
                if let ClientEvent::FrameComplete(frame) = &event
                    && !self.allowance.take(frame.bytes.len())
                {
                    continue;
                }
                look(self.ports.now(), &event);
                tally.handle(&event);
                match event {
                    ClientEvent::FrameComplete(frame) => {
                        sink.write_all(&frame.bytes).map_err(EndpointError::Write)?;
                    }
                    ClientEvent::Ended(reason) => ended = Some(reason),
                    _ => {}
                }
            }
            if let (Some(ended), true) = (ended, self.is_finished()) {
                sink.flush().map_err(EndpointError::Write)?;
                return Ok(tally.conclude(self.state(), ended, self.allowance.is_used_up()));
            }
            if !stopped {
                watch(self.ports.now());
                if cancelled() || self.allowance.is_used_up() {
                    stopped = true;
                    self.stop();
                }
            }
        }
    }

    /// The time, in the count that events have.
    pub fn now(&self) -> Timestamp {
        self.ports.now()
    }

    /// What happened. Frames that are not fetched count against the client's buffer.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.client.poll_event()
    }

    /// Whether the session is over and everything was sent.
    pub fn is_finished(&self) -> bool {
        self.client.is_finished()
    }

    /// What the client knows.
    pub fn state(&self) -> ClientState {
        self.client.state()
    }

    /// Tells how much room the player has, for the server to know.
    pub fn set_player_buffer(&mut self, free: DataSize) {
        self.client.set_player_buffer(free);
    }

    /// Reports which moment of the movie the player shows now. One that stands still is reported again after each step.
    pub fn set_player_position(&mut self, shown: Duration) {
        self.client.set_player_position(self.ports.now(), shown);
    }

    /// Ends the session from this side; the next steps send that to the server.
    pub fn stop(&mut self) {
        self.client.stop(self.ports.now());
    }

    /// Sends what is due and reads what came, or waits for either for up to a tenth of a second.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn step(&mut self) -> Result<(), EndpointError> {
        self.ports.flush();
        let Self { client, ports, server, allowance: _ } = self;
        let [data, control] = *server;
        let to = |channel| if channel == Channel::Data { data } else { control };
        while let Some(sent) = client.poll_transmit(ports.now()) {
            ports.send(sent.channel, to(sent.channel), sent.bytes);
        }
        let any = ports.receive(|at, channel, from, bytes| {
            if from == to(channel) {
                client.handle_datagram(at, channel, bytes);
            }
        })?;
        if !any && !client.is_finished() {
            ports.wait(client.next_timeout())?;
        }
        Ok(())
    }
}

/// Any port of the addresses from which a server can be reached: towards this host, only those of this host.
fn any_port_towards(server: SocketAddr) -> SocketAddr {
    let any: IpAddr = match server.ip() {
        IpAddr::V4(address) if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_loopback() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(any, 0)
}
