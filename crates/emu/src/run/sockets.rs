//! What the sockets of all flows have in common.

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;

use framewire_emu::{Clock, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_recording::record::FlowSample;
use framewire_session::ConnectionSettings;
use framewire_session::lifecycle::{MovieSink, ReceivedMovie};
use framewire_sockets::{OpenError, TcpOptions, TcpSender};
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};

use crate::control::Failure;

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1) without options.
const IP_AND_TCP_HEADERS: u16 = 40;

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

/// The options of a sender's connection.
pub fn tcp_options(settings: ConnectionSettings) -> TcpOptions {
    TcpOptions {
        send_buffer: settings.send_buffer,
        unsent_limit: settings.unsent_limit,
        congestion: settings.congestion,
        maximum_segment: Some(settings.mtu - IP_AND_TCP_HEADERS),
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        ..TcpOptions::default()
    }
}

/// What the kernel knows of a connection; `None` when it reports nothing.
pub fn sample_connection(socket: &TcpSender, at: Timestamp) -> Option<FlowSample> {
    let info = socket.info().ok()?;
    Some(FlowSample {
        at,
        cwnd_packets: Some(info.cwnd_packets),
        ssthresh_packets: info.ssthresh_packets,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.unacked_packets),
        unsent_bytes: info.unsent.map(DataSize::as_bytes),
        queued_bytes: Some(socket.queued().ok()?.as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(info.total_retransmissions),
        timeouts: info.total_timeouts,
        ..FlowSample::default()
    })
}

/// The kernel's stamp on the run's clock; now, where there is none.
pub fn stamp(clock: Clock, realtime_nanos: Option<u64>) -> Timestamp {
    framewire_endpoint::Clock::arrival(&clock, realtime_nanos)
}

/// The error of an operation on a socket of another kind: errno(3) has the words of EOPNOTSUPP.
pub fn wrong_kind(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}

/// An end of this flow that cannot listen.
pub fn cannot_listen(flow: &str, end: &str, error: OpenError) -> Failure {
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
