//! Receivers of TCP streams, as good or bad as a test wants them.
#![allow(dead_code, reason = "every test program uses its part")]

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use framewire_units::Bitrate;

/// Listens at a free port, with a receive buffer as of a small device: what the kernels hold is then little.
pub fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::RcvBuf, &16_384).unwrap();
    nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::TcpMaxSeg, &1_400).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A receiver that runs: its port, and what it will have received.
pub struct Receiver {
    pub port: u16,
    thread: JoinHandle<Vec<u8>>,
}

impl Receiver {
    /// Takes as much as comes: the kernel does, for a second or so, also when this thread is not scheduled.
    pub fn fast() -> Self {
        let (listener, port) = listen();
        nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::RcvBuf, &1_000_000).unwrap();
        let thread = std::thread::spawn(move || {
            let mut all = vec![];
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            all
        });
        Self { port, thread }
    }

    /// Reads at a rate, as the far end of a slow link.
    pub fn at(rate: Bitrate) -> Self {
        Self::with(move |mut stream| {
            let (mut all, mut buffer, start) = (vec![], [0; 2_000], Instant::now());
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                all.extend_from_slice(&buffer[..length]);
                let due = rate.transmit_time(framewire_units::DataSize::from_bytes(all.len() as u64));
                std::thread::sleep(due.saturating_sub(start.elapsed()));
            }
            all
        })
    }

    /// Does as given with the first connection.
    pub fn with(receive: impl FnOnce(TcpStream) -> Vec<u8> + Send + 'static) -> Self {
        let (listener, port) = listen();
        let thread = std::thread::spawn(move || receive(listener.accept().unwrap().0));
        Self { port, thread }
    }

    /// Everything that came, once the sender has ended the stream.
    pub fn received(self) -> Vec<u8> {
        self.thread.join().unwrap()
    }

    /// Whether the stream has ended.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }
}

/// Breaks a connection as a receiver does that has crashed: with a reset.
pub fn reset(stream: TcpStream) {
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
    drop(stream);
}

/// A port without a listener, which no other program gets while this program runs: it is bound, but refuses.
pub fn free_port() -> u16 {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
    let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap().into_raw_fd();
    bind(held, &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    getsockname::<SockaddrIn>(held).unwrap().port()
}

/// An address from which nothing ever comes back (RFC 5737: TEST-NET-1).
pub const NOWHERE: &str = "192.0.2.1";

/// Reads for a while, then reads no more but keeps the connection.
pub fn read_some(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut some = vec![0; bytes];
    stream.read_exact(&mut some).unwrap();
    some
}

/// What must come soon comes within this, on a busy machine too; everything that it might wait for instead takes longer
/// (`drain-timeout` is 5 s, `connect-timeout` 10 s, unless a test says otherwise).
pub const SOON: Duration = Duration::from_secs(3);
