//! The receiver's thread of a bulk flow: it takes what comes, and counts it.

use std::os::fd::AsFd;

use framewire_emu::Clock;
use framewire_kernel::receiver_options;
use framewire_recording::record::StreamRead;
use framewire_sockets::{TcpListener, TcpRead, TcpReceiver};
use framewire_transport::socket::SocketError;

use super::BulkPlan;
use crate::control::{Failure, FlowProgress, Interest, StopFlag, wait_for_any};
use crate::run::sockets::{READ_SIZE, cannot_open, receiver_address, stamp};
use framewire_world::FlowState;

/// A receiver that listens and has received nothing yet.
pub struct BulkReceiving {
    listener: TcpListener,
    awaited: u8,
    connections: Vec<Connection>,
    buffer: Vec<u8>,
}

/// What the receiver's thread leaves behind.
#[derive(Debug, Default)]
pub struct BulkReceived {
    /// Of each connection that came, the port that it came from and what the application read.
    pub connections: Vec<(u16, Vec<StreamRead>)>,
    /// What broke, if anything did.
    pub failure: Option<String>,
}

struct Connection {
    /// `None` once it has ended.
    socket: Option<TcpReceiver>,
    port: u16,
    reads: Vec<StreamRead>,
}

impl BulkReceiving {
    /// Listens; call it inside the receiver's host.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn open(plan: &BulkPlan) -> Result<Self, Failure> {
        let listener = TcpListener::bind_for(
            receiver_address(plan.port),
            &receiver_options(&plan.connection),
            plan.connections.into(),
        );
        Ok(Self {
            listener: listener.map_err(|error| cannot_open(&plan.name, "receiver", error))?,
            awaited: plan.connections,
            connections: Vec::new(),
            buffer: vec![0; READ_SIZE],
        })
    }

    /// Receives until every connection has ended, or until `end` is raised and nothing is left.
    pub fn run(mut self, clock: Clock, progress: &FlowProgress, end: &StopFlag) -> BulkReceived {
        let outcome = self.receive(clock, progress, end);
        progress.set_state(FlowState::Done);
        BulkReceived {
            connections: self.connections.into_iter().map(|connection| (connection.port, connection.reads)).collect(),
            failure: outcome.err().map(|error| error.to_string()),
        }
    }

    fn receive(&mut self, clock: Clock, progress: &FlowProgress, end: &StopFlag) -> Result<(), SocketError> {
        while self.awaited > 0 || self.connections.iter().any(|connection| connection.socket.is_some()) {
            // What came before `end` was raised is read in any case.
            let last = end.is_raised();
            let mut something = self.accept()?;
            for connection in &mut self.connections {
                something |= connection.read(&mut self.buffer, clock, progress)?;
            }
            if something {
                continue;
            }
            if last {
                break;
            }
            let sockets = self.connections.iter().filter_map(|connection| Some(connection.socket.as_ref()?.as_fd()));
            let descriptors = sockets.chain([self.listener.as_fd(), end.descriptor()]);
            wait_for_any(descriptors.map(|fd| (fd, Interest::Readable)), clock, None, progress.receiver_wakes())
                .map_err(|error| SocketError { operation: "ppoll", reason: error.to_string() })?;
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<bool, SocketError> {
        let Some(socket) = self.listener.accept()? else { return Ok(false) };
        let port = socket.peer_address()?.port();
        self.awaited = self.awaited.saturating_sub(1);
        self.connections.push(Connection { socket: Some(socket), port, reads: Vec::new() });
        Ok(true)
    }
}

impl Connection {
    /// Reads once; true when something came.
    fn read(&mut self, buffer: &mut [u8], clock: Clock, progress: &FlowProgress) -> Result<bool, SocketError> {
        let Some(socket) = &mut self.socket else { return Ok(false) };
        match socket.read(buffer)? {
            TcpRead::Nothing => return Ok(false),
            TcpRead::End => self.socket = None,
            TcpRead::Bytes { length, realtime_nanos } => {
                let before = self.reads.last().map_or(0, |read| read.total);
                self.reads.push(StreamRead { total: before + length as u64, at: stamp(clock, realtime_nanos) });
                progress.add_received(length as u64, 0, 0);
            }
        }
        Ok(true)
    }
}
