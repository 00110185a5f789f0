//! What the sockets of all flows have in common.

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;

use framewire_emu::{Clock, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_session::lifecycle::{MovieSink, ReceivedMovie};
use framewire_sockets::OpenError;
use framewire_units::Timestamp;

use crate::control::Failure;

/// Bytes that one read takes: more than any datagram.
pub const READ_SIZE: usize = 65_536;

/// Where a sender is.
pub fn sender_address(port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(SENDER_ADDRESS, port))
}

/// Where a receiver listens.
pub fn receiver_address(port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(RECEIVER_ADDRESS, port))
}

/// The kernel's stamp on the run's clock; now, where there is none.
pub fn stamp(clock: Clock, realtime_nanos: Option<u64>) -> Timestamp {
    framewire_endpoint::Clock::arrival(&clock, realtime_nanos)
}

/// An end of this flow whose sockets cannot be opened.
pub fn cannot_open(flow: &str, end: &str, error: OpenError) -> Failure {
    Failure::run(format!("flow {flow}: {end}: {error}"))
}

/// The file of a movie as received.
///
/// # Errors
/// When it cannot be created.
pub fn create(movie: &Path) -> Result<ReceivedMovie, Failure> {
    let file = File::create(movie).map_err(|error| Failure::run(format!("{}: {error}", movie.display())))?;
    Ok(ReceivedMovie::new(MovieSink::Writer(Box::new(BufWriter::new(file)))))
}
