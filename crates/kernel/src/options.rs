//! What sockets are to be like, and what the kernel knows of a connection.

use framewire_recording::record::FlowSample;
use framewire_session::half::End;
use framewire_session::{ConnectionSettings, DatagramSocketSetup, SendBuffer};
use framewire_sockets::{TcpOptions, TcpSender, UdpOptions};
use framewire_units::{DataSize, Timestamp};

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1) without options.
const IP_AND_TCP_HEADERS: u16 = 40;

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

/// The options of the receiving end: the kernel's own settings, and the sender's congestion control where that needs both.
pub fn receiver_options(settings: &ConnectionSettings) -> TcpOptions {
    TcpOptions { congestion: settings.receiver_congestion().map(str::to_owned), ..TcpOptions::default() }
}

/// The options of one end's connection: the receiver has the kernel's own settings, but what it says is said at once.
pub(crate) fn options_of(end: End, settings: &ConnectionSettings) -> TcpOptions {
    match end {
        End::Sender => tcp_options(settings.clone()),
        End::Receiver => TcpOptions { no_delay: true, ..receiver_options(settings) },
    }
}

/// The options of a socket of datagrams; `shared` is the send buffer of the channel whose buffer it shares elsewhere.
pub(crate) fn udp_options(setup: &DatagramSocketSetup, shared: Option<DataSize>) -> UdpOptions {
    let send_buffer = match setup.send_buffer {
        SendBuffer::Own(size) => size,
        SendBuffer::Of(_) => shared,
        SendBuffer::Ample => None,
    };
    UdpOptions { send_buffer, receive_buffer: setup.receive_buffer, report_errors: setup.reports_errors }
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
