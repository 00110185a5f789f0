//! The kernel's sockets behind the two socket traits of `framewire-transport`.
//!
//! Everything is non-blocking: a call does what it can now, and [`wait`] (or the world's own poll loop, through
//! [`AsFd`](std::os::fd::AsFd)) waits for more. A socket keeps the network namespace in which it was opened, so a
//! thread may enter a namespace, open sockets and leave again. Addresses are always explicit; nothing here listens on
//! more than it was set to.
//!
//! ```
//! use framewire_sockets::{TcpListener, TcpOptions, TcpRead, TcpSender, Interest, wait};
//! use framewire_transport::socket::StreamSocket;
//! use std::time::Duration;
//!
//! let options = TcpOptions::default();
//! let mut listener = TcpListener::bind("127.0.0.1:0".parse()?, &options)?;
//! let mut sender = TcpSender::connect(None, listener.local_address()?, &options, Duration::from_secs(1))?;
//! wait(&listener, Interest::Read, Duration::from_secs(1))?;
//! let mut receiver = listener.accept()?.expect("the listener was readable");
//!
//! assert_eq!(sender.write(b"a frame")?, 7);
//! sender.finish()?;
//! let mut buffer = [0; 64];
//! wait(&receiver, Interest::Read, Duration::from_secs(1))?;
//! assert!(matches!(receiver.read(&mut buffer)?, TcpRead::Bytes { length: 7, .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is the edge to the kernel: it opens sockets and waits"
)]

mod congestion;
mod error;
mod error_queue;
mod option;
mod poller;
mod punctual;
mod readiness;
mod receive;
mod tcp;
mod tcp_info;
mod udp;
mod udp_socket;
mod waker;

pub use congestion::available_congestion_controls;
pub use error::OpenError;
pub use poller::{Polled, Poller};
pub use punctual::{make_punctual, pin_to, processors};
pub use readiness::{Interest, wait, wait_any, wait_watching};
pub use tcp::{TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender};
pub use tcp_info::TcpInfo;
pub use udp::{UdpOptions, UdpRead, UdpReceiver, UdpSender};
pub use udp_socket::{SEND_MOST, UdpSocket};
pub use waker::{Ready, Waker, Watch};
