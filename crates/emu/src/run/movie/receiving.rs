//! The receiver's thread of a flow of the movie.

use std::path::PathBuf;

use framewire_session::half::End;
use framewire_session::lifecycle::{MovieReceiving, ReceivingStep};
use framewire_session::{DatagramSetup, ReceiverSession, StreamSetup};
use framewire_sockets::OpenError;
use framewire_units::Timestamp;

use super::MovieFlow;
use super::socket::ReceiverSocket;
use crate::control::{Failure, Interest, StopFlag, sharpen_timers, sleep_until, wait_for_any};
use crate::run::sockets::{cannot_listen, create};
use framewire_world::FlowState;

/// Where what is received of a flow goes.
pub struct Files {
    /// The movie.
    pub movie: PathBuf,
    /// Its sound; `None` where none is sent.
    pub sound: Option<PathBuf>,
}

/// A receiver that listens and has received nothing yet.
pub struct Listening {
    receiving: MovieReceiving,
    socket: ReceiverSocket,
}

impl Listening {
    /// Opens the socket of a datagram flow; call it inside the receiver's host. The movie as received, and its sound where there
    /// is any, are written to these files.
    ///
    /// # Errors
    /// When the port is taken, or the file cannot be created.
    pub fn of_datagrams(setup: &DatagramSetup, port: u16, files: &Files) -> Result<Self, Failure> {
        Self::new(ReceiverSocket::of_datagrams(setup, port), setup.common.name(), setup.receiver(), files)
    }

    /// The same of a stream flow.
    ///
    /// # Errors
    /// As [`of_datagrams`](Self::of_datagrams).
    pub fn of_stream(setup: &StreamSetup, port: u16, files: &Files) -> Result<Self, Failure> {
        let socket = match setup.opened_by() {
            End::Sender => ReceiverSocket::of_stream(port),
            End::Receiver => Ok(ReceiverSocket::asking(port)),
        };
        Self::new(socket, setup.common.name(), setup.receiver(), files)
    }

    fn new(
        socket: Result<ReceiverSocket, OpenError>,
        flow: &str,
        session: ReceiverSession,
        files: &Files,
    ) -> Result<Self, Failure> {
        let socket = socket.map_err(|error| cannot_listen(flow, "receiver", error))?;
        let receiving = MovieReceiving::new(session, create(&files.movie)?);
        let receiving = match &files.sound {
            Some(sound) => receiving.with_sound(create(sound)?),
            None => receiving,
        };
        Ok(Self { receiving, socket })
    }

    /// Receives until the stream ends, or until `end` is raised and nothing is left.
    pub fn receive(self, flow: &MovieFlow<'_>, end: &StopFlag) -> MovieReceiving {
        sharpen_timers();
        let Self { mut receiving, mut socket } = self;
        if socket.asks() {
            sleep_until(flow.clock, Timestamp::ZERO, end);
            let connected = flow.lane.in_receiver(|| socket.connect().map_err(|error| error.to_string()));
            if let Err(error) = connected.map_err(|error| error.to_string()).and_then(|connected| connected) {
                receiving.fail(flow.clock.now(), error);
                return receiving;
            }
        }
        loop {
            let now = flow.clock.now();
            // What came before it was raised is read in any case.
            let is_last = end.is_raised();
            let step = receiving.poll(now, is_last, &mut socket.at(flow.clock));
            let (whole, incomplete) = receiving.frames();
            flow.progress.add_received(socket.take_count(), whole, incomplete);
            let (readable, writable, timeout) = match step {
                ReceivingStep::Again => continue,
                ReceivingStep::Wait { readable, writable, timeout } => (readable, writable, timeout),
                ReceivingStep::Ended => break,
            };
            let interest = if readable { Interest::Readable } else { Interest::Nothing };
            let room = if writable { Interest::Writable } else { Interest::Nothing };
            let beside = socket.beside().map(|socket| (socket, Interest::Readable));
            let own = [(socket.descriptor(), interest), (socket.descriptor(), room)];
            let watched = [(end.descriptor(), Interest::Readable)].into_iter().chain(own);
            let waited = wait_for_any(watched.chain(beside), flow.clock, timeout, flow.progress.receiver_wakes());
            if let Err(error) = waited {
                receiving.fail(flow.clock.now(), format!("ppoll: {error}"));
            }
        }
        flow.progress.set_state(FlowState::Done);
        receiving
    }
}
