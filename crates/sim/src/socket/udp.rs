//! The sending side of a UDP socket: a send buffer that counts kernel memory.

use framewire_units::DataSize;

use super::memory::truesize;

/// The send buffer of a UDP socket, as the kernel counts it.
#[derive(Debug)]
pub(crate) struct SendMemory {
    size: u64,
    /// Memory of datagrams that the own device still holds (`sk_wmem_alloc`).
    used: u64,
}

impl SendMemory {
    /// An empty one, whose SO_SNDBUF is `size`, as getsockopt reports it.
    pub(crate) fn new(size: DataSize) -> Self {
        Self { size: size.as_bytes(), used: 0 }
    }

    /// The device has let go of a datagram.
    pub(crate) fn release(&mut self, payload: DataSize) {
        self.used -= truesize(payload).as_bytes();
    }

    /// Whether poll(2) says `POLLOUT`: less than half of the buffer is in use (`sock_writeable` in Linux, which counts
    /// one byte of its own).
    pub(crate) fn is_writable(&self) -> bool {
        self.used + 1 < self.size / 2
    }

    /// Memory of what has not left this host (SIOCOUTQ).
    pub(crate) fn used(&self) -> DataSize {
        DataSize::from_bytes(self.used)
    }

    /// Takes a datagram into account that the own device will hold, if there is room for it.
    ///
    /// The kernel looks before each datagram whether less than the buffer is in use, so the last one may go over it
    /// (`sock_alloc_send_pskb`).
    pub(crate) fn admit(&mut self, payload: DataSize) -> bool {
        let fits = self.used < self.size;
        self.used += if fits { truesize(payload).as_bytes() } else { 0 };
        fits
    }

    /// Kernel memory that the send buffer still admits.
    pub(crate) fn free(&self) -> DataSize {
        DataSize::from_bytes(self.size) - self.used()
    }
}

/// Buffers of datagrams that have arrived, to be used again.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    /// A buffer of these bytes.
    pub(crate) fn filled(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Takes back one.
    pub(crate) fn give(&mut self, buffer: Vec<u8>) {
        self.0.push(buffer);
    }
}
