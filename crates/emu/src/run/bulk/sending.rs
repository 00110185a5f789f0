//! The sender's thread of a bulk flow: connections whose application always has data, as iperf3 has.

use std::os::fd::AsFd;

use framewire_emu::Clock;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_sockets::{OpenError, TcpSender};
use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_units::Timestamp;
use framewire_world::SAMPLE_INTERVAL;

use super::BulkPlan;
use crate::run::receiving::address;
use crate::run::sending::{sample_connection, sleep_until, tcp_options};
use crate::run::stop::StopFlag;
use crate::run::waiting::{Interest, earlier, wait_for_any};
use crate::run::wakes::Wakes;

/// What the application writes at once, as iperf3 does by default.
static CHUNK: [u8; 131_072] = [0; 131_072];

/// What the sender's thread leaves behind.
pub struct BulkSent {
    /// Of each connection, the port that it sends from and samples of its state.
    pub connections: Vec<(u16, Vec<FlowSample>)>,
    /// When the application had written its last.
    pub ended: Timestamp,
    /// How it ended.
    pub status: FlowStatus,
}

/// Fills the flow's connections from inside the sender's host, from the flow's start to its stop; all that was written is
/// acknowledged then when this returns. It ends at once when `over` is raised, because there is nobody left to compete
/// with, or `stop`.
pub fn send(plan: &BulkPlan, clock: Clock, wakes: &Wakes, over: &StopFlag, stop: &StopFlag) -> BulkSent {
    sleep_until(clock, plan.start, stop);
    let mut sending = BulkSending { plan, clock, wakes, over, stop, connections: Vec::new() };
    let filled = sending.open().and_then(|()| sending.fill());
    let ended = clock.now();
    let cut_short = stop.is_raised();
    let drained = filled.and_then(|()| sending.drain());
    let status = match drained {
        Ok(()) if cut_short => FlowStatus::Partial,
        Ok(()) => FlowStatus::Complete,
        Err(reason) => FlowStatus::Failed(reason),
    };
    BulkSent { connections: sending.connections.into_iter().map(Connection::into_record).collect(), ended, status }
}

struct BulkSending<'a> {
    plan: &'a BulkPlan,
    clock: Clock,
    wakes: &'a Wakes,
    over: &'a StopFlag,
    stop: &'a StopFlag,
    connections: Vec<Connection>,
}

struct Connection {
    socket: TcpSender,
    samples: Vec<FlowSample>,
}

impl Connection {
    fn open(plan: &BulkPlan) -> Result<Self, OpenError> {
        let socket = TcpSender::start(None, address(plan.port), &tcp_options(plan.connection.clone()))?;
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

impl BulkSending<'_> {
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
        let mut next_sample = Timestamp::ZERO;
        loop {
            let now = self.clock.now();
            if self.is_over() {
                return Ok(());
            }
            if self.plan.stop.is_some_and(|stop| now >= stop) {
                return self.each(|connection| connection.socket.finish());
            }
            if now >= next_sample {
                self.connections.iter_mut().for_each(|connection| connection.sample(now));
                next_sample = now + SAMPLE_INTERVAL;
            }
            self.each(Connection::fill)?;
            self.wait(Interest::Writable, earlier(self.plan.stop, Some(next_sample)))?;
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
        self.over.is_raised() || self.stop.is_raised()
    }

    fn each(&mut self, mut work: impl FnMut(&mut Connection) -> Result<(), SocketError>) -> Result<(), String> {
        let outcomes: Vec<_> = self.connections.iter_mut().map(&mut work).collect();
        let failed = outcomes.into_iter().enumerate().find_map(|(number, outcome)| Some((number, outcome.err()?)));
        failed.map_or(Ok(()), |(number, error)| Err(self.of(number, error)))
    }

    fn wait(&self, interest: Interest, deadline: Option<Timestamp>) -> Result<(), String> {
        let sockets = self.connections.iter().map(|connection| (connection.socket.as_fd(), interest));
        let flags = [self.over, self.stop].map(|flag| (flag.descriptor(), Interest::Readable));
        wait_for_any(sockets.chain(flags), self.clock, deadline, self.wakes).map_err(|error| format!("ppoll: {error}"))
    }
}
