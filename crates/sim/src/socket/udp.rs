//! The sending side of a UDP socket: a send buffer that counts kernel memory.

use framewire_link::Port;
use framewire_session::MOVIE_CHANNEL;
use framewire_session::half::ChannelId;
use framewire_transport::socket::DatagramSend;
use framewire_units::{DataSize, Timestamp};

use super::memory::truesize;
use crate::cargo::Cargo;
use crate::record::FlowWires;

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and UDP (RFC 768).
const IP_AND_UDP_HEADERS: u64 = 28;

/// What the kernel knows of a UDP socket.
#[derive(Debug)]
pub(crate) struct UdpSender {
    flow: usize,
    channel: ChannelId,
    station: usize,
    send_buffer: u64,
    /// Memory of datagrams that the own device still holds (`sk_wmem_alloc`).
    used: u64,
    pool: BufferPool,
}

impl UdpSender {
    /// A socket of flow number `flow` on a wireless station, whose SO_SNDBUF is `send_buffer`, as getsockopt reports it.
    pub(crate) fn new(flow: usize, station: usize, send_buffer: DataSize) -> Self {
        let (channel, send_buffer) = (MOVIE_CHANNEL, send_buffer.as_bytes());
        Self { flow, channel, station, send_buffer, used: 0, pool: BufferPool::default() }
    }

    /// The same of this channel.
    pub(crate) fn of_channel(self, channel: ChannelId) -> Self {
        Self { channel, ..self }
    }

    /// The device has let go of a datagram.
    pub(crate) fn handle_released(&mut self, payload: DataSize) {
        self.used -= truesize(payload).as_bytes();
    }

    /// Takes back the buffer of a datagram that has come out.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.pool.give(buffer);
    }

    /// Whether poll(2) says `POLLOUT`: less than half of the buffer is in use (`sock_writeable` in Linux, which counts
    /// one byte of its own).
    pub(crate) fn is_writable(&self) -> bool {
        self.used + 1 < self.send_buffer / 2
    }

    /// Memory of what has not left this host (SIOCOUTQ).
    pub(crate) fn queued(&self) -> DataSize {
        DataSize::from_bytes(self.used)
    }

    /// Takes a datagram into account, if there is room for it.
    ///
    /// The kernel looks before each datagram whether less than the buffer is in use, so the last one may go over it
    /// (`sock_alloc_send_pskb`).
    pub(crate) fn admit(&mut self, payload: DataSize, wires: &FlowWires) -> bool {
        if !wires.is_local() {
            return true;
        }
        let fits = self.used < self.send_buffer;
        self.used += if fits { truesize(payload).as_bytes() } else { 0 };
        fits
    }

    /// Sends a datagram of a movie's transport, if there is room. What a full device queue refuses is lost silently, as
    /// behind the emulated device.
    pub(crate) fn send(&mut self, now: Timestamp, datagram: &[u8], wires: &mut FlowWires) -> DatagramSend {
        let bytes = DataSize::from_bytes(datagram.len() as u64);
        if !self.admit(bytes, wires) {
            return DatagramSend::WouldBlock;
        }
        let cargo = Cargo::datagram(self.flow, self.channel, self.filled(datagram));
        wires.send(now, Port::Sender, self.station, packet_size(bytes), cargo);
        DatagramSend::Sent
    }

    /// Sends a datagram of RTCP from one of the flow's two ends on this channel, by a socket of its own that always has room.
    pub(crate) fn report(
        &mut self,
        now: Timestamp,
        (from, channel): (Port, ChannelId),
        datagram: &[u8],
        wires: &mut FlowWires,
    ) {
        let cargo = Cargo::report(self.flow, channel, datagram.to_vec());
        wires.send(now, from, self.station, packet_size(DataSize::from_bytes(datagram.len() as u64)), cargo);
    }

    /// Kernel memory that the send buffer still admits.
    pub(crate) fn free_room(&self) -> DataSize {
        DataSize::from_bytes(self.send_buffer) - self.queued()
    }

    /// A buffer of these bytes.
    pub(crate) fn filled(&mut self, datagram: &[u8]) -> Vec<u8> {
        self.pool.filled(datagram)
    }
}

/// IP bytes of a datagram of so many bytes.
pub(crate) fn packet_size(datagram: DataSize) -> DataSize {
    DataSize::from_bytes(datagram.as_bytes() + IP_AND_UDP_HEADERS)
}

/// Buffers of datagrams that have arrived, to be used again.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    fn filled(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        buffer
    }

    fn give(&mut self, buffer: Vec<u8>) {
        self.0.push(buffer);
    }
}
