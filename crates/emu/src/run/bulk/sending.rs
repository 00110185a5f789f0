//! The sender's thread of a bulk flow: connections whose application always has data, as iperf3 has.

use std::os::fd::AsFd;

use framewire_emu::Clock;
use framewire_kernel::{Wakes, sample_connection, tcp_options};
use framewire_recording::record::FlowSample;
use framewire_session::lifecycle::{BulkSending, SAMPLE_INTERVAL};
use framewire_sockets::{OpenError, TcpSender};
use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_units::Timestamp;

use super::BulkPlan;
use crate::control::{Interest, StopFlag, sleep_until, wait_for_any};
use crate::run::sockets::receiver_address;

/// What the application writes at once, as iperf3 does by default.
static CHUNK: [u8; 131_072] = [0; 131_072];

/// What the sender's thread leaves behind.
pub struct BulkSent {
    /// The application, which has ended.
    pub sending: BulkSending,
    /// Of each connection, the port that it sends from and samples of its state.
    pub connections: Vec<(u16, Vec<FlowSample>)>,
}

/// Fills the flow's connections from inside the sender's host, from the flow's start to its stop; all that was written
/// is acknowledged then when this returns. It ends at once when the first flag is raised, because no receiver is left
/// to compete with, or the second, which stops the run.
pub fn send(plan: &BulkPlan, sending: BulkSending, clock: Clock, wakes: &Wakes, flags: [&StopFlag; 2]) -> BulkSent {
    sleep_until(clock, sending.start(), flags[1]);
    let mut thread = Sending { plan, sending, clock, wakes, flags, connections: Vec::new() };
    let filled = thread.open().and_then(|()| thread.fill());
    thread.sending.end(clock.now(), flags[1].is_raised());
    if let Err(reason) = filled.and_then(|()| thread.drain()) {
        thread.sending.fail(reason);
    }
    let connections = thread.connections.into_iter().map(Connection::into_record).collect();
    BulkSent { sending: thread.sending, connections }
}

struct Sending<'a> {
    plan: &'a BulkPlan,
    sending: BulkSending,
    clock: Clock,
    wakes: &'a Wakes,
    flags: [&'a StopFlag; 2],
    connections: Vec<Connection>,
}

struct Connection {
    socket: TcpSender,
    samples: Vec<FlowSample>,
}

impl Connection {
    fn open(plan: &BulkPlan) -> Result<Self, OpenError> {
        let socket = TcpSender::start(None, receiver_address(plan.port), &tcp_options(plan.connection.clone()))?;
        Ok(Self { socket, samples: Vec::new() })
    }

    /// Writes until the socket takes no more.
    fn fill(&mut self) -> Result<(), SocketError> {
        while self.socket.write(&CHUNK)? > 0 {}
        Ok(())
    }

    fn into_record(self) -> (u16, Vec<FlowSample>) {
        (self.socket.local_address().map_or(0, |address| address.port()), self.samples)
    }

    fn sample(&mut self, now: Timestamp) {
        self.samples.extend(sample_connection(&self.socket, now));
    }
}

impl Sending<'_> {
    fn open(&mut self) -> Result<(), String> {
        for number in 0..usize::from(self.plan.connections) {
            let opened = Connection::open(self.plan).map_err(|error| self.of(number, error))?;
            self.connections.push(opened);
        }
        Ok(())
    }

    /// What went wrong, with the number of the connection where there are several.
    fn of(&self, number: usize, error: impl std::fmt::Display) -> String {
        match self.plan.connections {
            1 => error.to_string(),
            all => format!("connection {} of {all}: {error}", number + 1),
        }
    }

    /// Writes until it is to stop, and ends the streams.
    fn fill(&mut self) -> Result<(), String> {
        loop {
            let now = self.clock.now();
            if self.is_over() {
                return Ok(());
            }
            if self.sending.poll_end(now) {
                return self.each(|connection| connection.socket.finish());
            }
            if self.sending.is_sample_due(now, || true) {
                self.connections.iter_mut().for_each(|connection| connection.sample(now));
                self.sending.sample(now, []);
            }
            self.each(Connection::fill)?;
            self.wait(Interest::Writable, self.sending.next_timeout(|| true))?;
        }
    }

    /// Waits until everything that was written is acknowledged.
    fn drain(&mut self) -> Result<(), String> {
        loop {
            let now = self.clock.now();
            self.connections.iter_mut().for_each(|connection| connection.sample(now));
            let mut queued = 0;
            self.each(|connection| {
                queued += connection.socket.queued()?.as_bytes();
                connection.socket.check()
            })?;
            if queued == 0 || self.is_over() {
                return Ok(());
            }
            self.wait(Interest::Nothing, Some(now + SAMPLE_INTERVAL))?;
        }
    }

    fn is_over(&self) -> bool {
        self.flags.iter().any(|flag| flag.is_raised())
    }

    fn each(&mut self, mut work: impl FnMut(&mut Connection) -> Result<(), SocketError>) -> Result<(), String> {
        let outcomes: Vec<_> = self.connections.iter_mut().map(&mut work).collect();
        let failed = outcomes.into_iter().enumerate().find_map(|(number, outcome)| Some((number, outcome.err()?)));
        failed.map_or(Ok(()), |(number, error)| Err(self.of(number, error)))
    }

    fn wait(&self, interest: Interest, deadline: Option<Timestamp>) -> Result<(), String> {
        let sockets = self.connections.iter().map(|connection| (connection.socket.as_fd(), interest));
        let flags = self.flags.map(|flag| (flag.descriptor(), Interest::Readable));
        wait_for_any(sockets.chain(flags), self.clock, deadline, self.wakes).map_err(|error| format!("ppoll: {error}"))
    }
}
