//! What the kernel counted: device statistics and the losses of UDP sockets and packet queues.

use std::fs;
use std::io;

use serde::Serialize;

use super::link::link_header;
use super::netlink::{Message, NetlinkSocket, split_attributes};

const RTM_GETLINK: u16 = 18;
const IFLA_STATS64: u16 = 23;

/// Counters of one network device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceCounters {
    /// Packets that came in.
    pub received: u64,
    /// Packets that went out.
    pub transmitted: u64,
    /// Packets lost in either direction, by errors or for want of room.
    pub lost: u64,
}

/// Reads the counters of a device in the namespace of `socket`.
pub(crate) fn device_counters(socket: &mut NetlinkSocket, index: u32) -> io::Result<DeviceCounters> {
    let body = socket.query(Message::new(RTM_GETLINK, 0, &link_header(index, 0)))?;
    let attributes = body.get(16..).unwrap_or(&[]);
    let statistics = split_attributes(attributes)
        .find_map(|(kind, value)| (kind == IFLA_STATS64).then_some(value))
        .ok_or(io::ErrorKind::InvalidData)?;
    // struct rtnl_link_stats64: rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped, tx_dropped
    let field = |number: usize| {
        let bytes = statistics.get(number * 8..number * 8 + 8).and_then(|bytes| bytes.first_chunk::<8>());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    Ok(DeviceCounters { received: field(0), transmitted: field(1), lost: field(4) + field(5) + field(6) + field(7) })
}

/// Datagrams that the sockets of the thread's namespace had no room for (`RcvbufErrors` of /proc/net/snmp).
pub(crate) fn udp_receive_overflows() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut fields = names.split(' ').zip(values.split(' '));
    fields.find(|(name, _)| *name == "RcvbufErrors").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Packets that the kernel dropped before this program could read them from its packet queue (both the queue's own
/// limit and the socket's buffer; columns 6 and 7 of /proc/net/netfilter/nfnetlink_queue).
pub(crate) fn packet_queue_drops() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap_or_default();
    let column = |line: &str, number: usize| -> u64 {
        line.split_whitespace().nth(number).and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    text.lines().map(|line| column(line, 5) + column(line, 6)).sum()
}
