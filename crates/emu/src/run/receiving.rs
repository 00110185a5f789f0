//! The receiver's thread of one flow.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use framewire_emu::{Clock, RECEIVER_ADDRESS};
use framewire_session::{DatagramSetup, ReceiverLog, ReceiverSession, SenderLog, StreamSetup};
use framewire_sockets::{OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, UdpOptions, UdpRead, UdpReceiver};
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;
use framewire_world::UDP_RECEIVE_BUFFER;

use super::failure::Failure;
use super::progress::{FlowProgress, FlowState};
use super::stop::StopFlag;
use super::waiting::{Interest, sharpen_timers, wait};

/// Bytes that one read takes: more than any datagram.
pub(super) const READ_SIZE: usize = 65_536;

/// A receiver that listens and has received nothing yet.
pub struct Receiving {
    socket: Socket,
    session: ReceiverSession,
    movie: BufWriter<File>,
    kept_bytes: u64,
    buffer: Vec<u8>,
}

/// What the receiver's thread leaves behind.
pub struct ReceivingOutcome {
    /// What the session recorded.
    pub log: ReceiverLog,
    /// Bytes of the movie as received.
    pub kept_bytes: u64,
    /// What broke, if anything did.
    pub failure: Option<String>,
}

/// A receiver to which nothing more comes.
pub struct Received {
    receiving: Receiving,
    failure: Option<String>,
}

impl Received {
    /// Keeps the last frames, now that it is known what was sent.
    pub fn finish(self, sent: &SenderLog) -> ReceivingOutcome {
        let Self { mut receiving, failure } = self;
        receiving.session.handle_sent(sent);
        let written = receiving.keep_frames().and_then(|()| receiving.movie.flush());
        let unwritten = written.err().map(|error| format!("received movie cannot be written: {error}"));
        let failure = failure.or(unwritten);
        ReceivingOutcome { log: receiving.session.into_log(), kept_bytes: receiving.kept_bytes, failure }
    }
}

enum Socket {
    Udp(UdpReceiver),
    Listening(TcpListener),
    Tcp(TcpReceiver),
}

/// What one look at the socket gave.
enum Taken {
    Something,
    Nothing,
    End,
}

impl Receiving {
    /// Opens the socket of a datagram flow; call it inside the receiver's host. The movie as received is written to
    /// `movie`.
    ///
    /// # Errors
    /// When the port is taken, or the file cannot be created.
    pub fn of_datagrams(setup: &DatagramSetup, port: u16, movie: &Path) -> Result<Self, Failure> {
        let options = UdpOptions { receive_buffer: Some(UDP_RECEIVE_BUFFER), ..UdpOptions::default() };
        let socket = UdpReceiver::bind(address(port), &options).map_err(|error| failed(setup.common.name(), error))?;
        Self::new(Socket::Udp(socket), setup.receiver(), movie)
    }

    /// The same of a stream flow.
    ///
    /// # Errors
    /// As [`of_datagrams`](Self::of_datagrams).
    pub fn of_stream(setup: &StreamSetup, port: u16, movie: &Path) -> Result<Self, Failure> {
        let listener = TcpListener::bind(address(port), &TcpOptions::default());
        let listener = listener.map_err(|error| failed(setup.common.name(), error))?;
        Self::new(Socket::Listening(listener), setup.receiver(), movie)
    }

    fn new(socket: Socket, session: ReceiverSession, movie: &Path) -> Result<Self, Failure> {
        let file = File::create(movie).map_err(|error| Failure::run(format!("{}: {error}", movie.display())))?;
        Ok(Self { socket, session, movie: BufWriter::new(file), kept_bytes: 0, buffer: vec![0; READ_SIZE] })
    }

    /// Receives until the stream ends, or until `end` is raised and nothing is left.
    pub fn run(mut self, clock: Clock, progress: &FlowProgress, end: &StopFlag) -> Received {
        sharpen_timers();
        let failure = self.receive(clock, progress, end).err().map(|error| error.to_string());
        self.session.handle_end(clock.now());
        self.show(0, progress);
        progress.set_state(FlowState::Done);
        Received { receiving: self, failure }
    }

    fn receive(&mut self, clock: Clock, progress: &FlowProgress, end: &StopFlag) -> Result<(), SocketError> {
        loop {
            let now = clock.now();
            self.session.handle_timeout(now);
            let wants = self.session.wants_bytes(now);
            let taken = if wants { self.take(clock, progress)? } else { Taken::Nothing };
            self.keep_frames().map_err(|error| SocketError { operation: "write", reason: error.to_string() })?;
            match taken {
                Taken::End => return Ok(()),
                Taken::Something => continue,
                Taken::Nothing if end.is_raised() => return Ok(()),
                Taken::Nothing => {
                    let interest = if wants { Interest::Readable } else { Interest::Nothing };
                    wait(
                        self.descriptor(),
                        interest,
                        clock,
                        self.session.next_timeout(),
                        end,
                        progress.receiver_wakes(),
                    )
                    .map_err(|error| SocketError { operation: "ppoll", reason: error.to_string() })?;
                }
            }
        }
    }

    /// Takes what one call to the socket gives.
    fn take(&mut self, clock: Clock, progress: &FlowProgress) -> Result<Taken, SocketError> {
        let (length, at) = match &mut self.socket {
            Socket::Listening(listener) => {
                let Some(connection) = listener.accept()? else { return Ok(Taken::Nothing) };
                self.socket = Socket::Tcp(connection);
                return Ok(Taken::Something);
            }
            Socket::Udp(socket) => match socket.receive(&mut self.buffer)? {
                UdpRead::Nothing => return Ok(Taken::Nothing),
                UdpRead::Datagram { length, realtime_nanos, .. } => (length, stamp(clock, realtime_nanos)),
            },
            Socket::Tcp(socket) => match socket.read(&mut self.buffer)? {
                TcpRead::Nothing => return Ok(Taken::Nothing),
                TcpRead::End => return Ok(Taken::End),
                TcpRead::Bytes { length, realtime_nanos } => (length, stamp(clock, realtime_nanos)),
            },
        };
        // A receiver that paces the sender has arrived at a byte when it reads it, not when the kernel got it.
        let at = if self.session.is_paced() { clock.now() } else { at };
        self.session.handle_input(at, &self.buffer[..length]);
        self.show(length as u64, progress);
        Ok(Taken::Something)
    }

    fn show(&self, bytes: u64, progress: &FlowProgress) {
        progress.add_received(bytes, self.session.complete_frames(), self.session.incomplete_frames());
    }

    fn keep_frames(&mut self) -> std::io::Result<()> {
        while let Some(frame) = self.session.poll_frame() {
            self.movie.write_all(&frame)?;
            self.kept_bytes += frame.len() as u64;
        }
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Udp(socket) => socket.as_fd(),
            Socket::Listening(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// Where a receiver listens.
pub(super) fn address(port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(RECEIVER_ADDRESS, port))
}

/// A receiver of this flow that cannot listen.
pub(super) fn failed(flow: &str, error: OpenError) -> Failure {
    Failure::run(format!("flow {flow}: receiver: {error}"))
}

/// The kernel's stamp on the run's clock; now, where there is none.
pub(super) fn stamp(clock: Clock, realtime_nanos: Option<u64>) -> Timestamp {
    framewire_endpoint::Clock::arrival(&clock, realtime_nanos)
}
