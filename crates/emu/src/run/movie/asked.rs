//! The kernel's socket of a sender whose receiver opens the connection.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_session::lifecycle::Taken;
use framewire_sockets::{OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender};
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use crate::run::sockets::READ_SIZE;

/// A socket that listens until a receiver has opened a connection, and then is that.
pub struct AskedSocket {
    kind: Kind,
    buffer: Vec<u8>,
}

enum Kind {
    Listening(TcpListener),
    Open(TcpSender, TcpReceiver),
}

impl AskedSocket {
    /// Listens at this address; the connection has these options.
    ///
    /// # Errors
    /// When the port is taken, or the kernel does not make it as the options say.
    pub fn listen(address: SocketAddr, options: &TcpOptions) -> Result<Self, OpenError> {
        let kind = Kind::Listening(TcpListener::bind(address, options)?);
        Ok(Self { kind, buffer: vec![0; READ_SIZE] })
    }

    /// The direction in which the sender writes, once there is a connection.
    pub fn sender(&mut self) -> Option<&mut TcpSender> {
        if let Kind::Open(sender, _) = &mut self.kind { Some(sender) } else { None }
    }

    /// Accepts the connection, or reads what the receiver says, as of now.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn take(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError> {
        match &mut self.kind {
            Kind::Listening(listener) => {
                let Some(receiver) = listener.accept()? else { return Ok(Taken::Nothing) };
                self.kind = Kind::Open(receiver.sender()?, receiver);
                Ok(Taken::Opened)
            }
            Kind::Open(_, receiver) => Ok(match receiver.read(&mut self.buffer)? {
                TcpRead::Nothing => Taken::Nothing,
                TcpRead::End => Taken::End,
                TcpRead::Bytes { length, .. } => Taken::Bytes(now, &self.buffer[..length]),
            }),
        }
    }

    /// What poll(2) waits for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Listening(listener) => listener.as_fd(),
            Kind::Open(sender, _) => sender.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    use framewire_transport::socket::StreamSocket;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(7);

    /// What comes within ten seconds.
    fn next(socket: &mut AskedSocket) -> Vec<u8> {
        #[allow(clippy::disallowed_methods, reason = "a test of sockets waits in real time")]
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < Duration::from_secs(10), "nothing comes");
            match socket.take(NOW).expect("it is not broken") {
                Taken::Opened => return b"opened".to_vec(),
                Taken::Bytes(at, bytes) => {
                    assert_eq!(at, NOW);
                    return bytes.to_vec();
                }
                Taken::End => return b"end".to_vec(),
                Taken::Nothing | Taken::Datagram(..) => {}
            }
        }
    }

    #[test]
    fn a_sender_listens_and_is_asked_over_the_connection_on_which_it_sends() {
        let options = TcpOptions { congestion: Some("reno".to_owned()), ..TcpOptions::default() };
        let mut socket = AskedSocket::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &options).expect("a port");
        let Kind::Listening(listener) = &socket.kind else { panic!("it listens") };
        let address = listener.local_address().expect("it has one");
        assert!(matches!(socket.take(NOW), Ok(Taken::Nothing)));
        assert!(socket.sender().is_none());
        let patience = Duration::from_secs(10);
        let mut peer = TcpSender::connect(None, address, &TcpOptions::default(), patience).expect("it listens");
        assert_eq!(next(&mut socket), b"opened");
        let sender = socket.sender().expect("it is open");
        assert_eq!(sender.congestion().as_deref(), Ok("reno"), "the options of the listener");
        assert_eq!(peer.write(b"please"), Ok(6));
        assert_eq!(next(&mut socket), b"please");
        assert_eq!(socket.sender().expect("it is open").write(b"here"), Ok(4));
        let (mut answers, mut buffer) = (peer.receiver().expect("a descriptor"), [0; 16]);
        #[allow(clippy::disallowed_methods, reason = "a test of sockets waits in real time")]
        let start = Instant::now();
        let length = loop {
            assert!(start.elapsed() < patience, "no answer");
            if let Ok(TcpRead::Bytes { length, .. }) = answers.read(&mut buffer) {
                break length;
            }
        };
        assert_eq!(&buffer[..length], b"here");
        peer.finish().expect("it is open");
        assert_eq!(next(&mut socket), b"end");
    }
}
