//! A packet socket as the plug of a wire: a receive ring in shared memory with the kernel's time stamps, and batched
//! sends that go straight to the device (packet(7), Documentation/networking/packet_mmap.rst, TPACKET_V2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::check;

const ETH_P_IP: u16 = 0x0800;
/// Length of an Ethernet header.
pub(crate) const ETHERNET_HEADER: usize = 14;
/// Frames of the ring: 80 ms of 100,000 packets per second.
const RING_FRAMES: usize = 8_192;
/// What the kernel puts before the packet in a frame of the ring (tpacket2_hdr, sockaddr_ll, alignment), rounded up.
const FRAME_OVERHEAD: usize = 128;
/// Frames sent by one call.
pub(crate) const SEND_BATCH: usize = 64;

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Frames that the device refused.
    pub(crate) refused: u64,
}

/// A packet socket bound to one device.
#[derive(Debug)]
pub(crate) struct PacketRing {
    fd: OwnedFd,
    ring: Mapping,
    frame_size: usize,
    head: AtomicUsize,
}

impl PacketRing {
    /// Opens a socket on a device of the calling thread's namespace. It sees incoming IPv4 only, never what it sends.
    pub(crate) fn open(device_index: u32, mtu: u16) -> io::Result<Self> {
        // Protocol 0: nothing is received until the ring stands and the socket is bound.
        // SAFETY: no pointers are passed.
        let raw = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: `raw` was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        set_option(&fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)?;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &(libc::SOF_TIMESTAMPING_SOFTWARE as libc::c_int))?;
        // Makes the kernel stamp packets when they reach the device, not when the socket gets them.
        set_option(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        let frame_size = (usize::from(mtu) + ETHERNET_HEADER + FRAME_OVERHEAD).next_power_of_two();
        let length = frame_size * RING_FRAMES;
        let block = frame_size.max(64 << 10);
        let request = libc::tpacket_req {
            tp_block_size: block as libc::c_uint,
            tp_block_nr: (length / block) as libc::c_uint,
            tp_frame_size: frame_size as libc::c_uint,
            tp_frame_nr: RING_FRAMES as libc::c_uint,
        };
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring = Mapping::new(&fd, length)?;
        bind(&fd, device_index)?;
        Ok(Self { fd, ring, frame_size, head: AtomicUsize::new(0) })
    }

    /// True when a frame waits. Reads memory only; any thread may ask.
    pub(crate) fn has_frame(&self) -> bool {
        self.status(self.head.load(Ordering::Relaxed)).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Gives at most `limit` waiting frames to `take` as (CLOCK_REALTIME stamp in ns, Ethernet frame), and returns how
    /// many there were. Only one thread at a time may call it.
    pub(crate) fn read(&self, limit: usize, mut take: impl FnMut(i64, &[u8])) -> usize {
        let mut count = 0;
        while count < limit && self.has_frame() {
            let head = self.head.load(Ordering::Relaxed);
            let (stamp, frame) = self.frame(head);
            take(stamp, frame);
            self.status(head).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.head.store((head + 1) % RING_FRAMES, Ordering::Relaxed);
            count += 1;
        }
        count
    }

    fn status(&self, number: usize) -> &AtomicU32 {
        // SAFETY: every frame of the ring begins with the 32-bit status word, shared with the kernel.
        unsafe { &*self.ring.at(number * self.frame_size).cast::<AtomicU32>() }
    }

    /// The stamp and the bytes of a frame that belongs to this program.
    fn frame(&self, number: usize) -> (i64, &[u8]) {
        let start = self.ring.at(number * self.frame_size);
        // SAFETY: the status says that the kernel has written the header and will not touch the frame until it is
        // given back; the header lies at its start.
        let header = unsafe { start.cast::<libc::tpacket2_hdr>().read() };
        let offset = usize::from(header.tp_mac).min(self.frame_size);
        let length = (header.tp_snaplen as usize).min(self.frame_size - offset);
        // SAFETY: offset and length lie within the frame, as just clamped.
        let bytes = unsafe { std::slice::from_raw_parts(start.add(offset), length) };
        (i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec), bytes)
    }

    /// Sends Ethernet frames in order, without waiting. A frame that the device refuses is lost and counted.
    pub(crate) fn send<'a>(&self, frames: impl IntoIterator<Item = &'a [u8]>) -> Sent {
        // SAFETY: mmsghdr is plain data, for which zeros are valid.
        let mut messages: [libc::mmsghdr; SEND_BATCH] = unsafe { std::mem::zeroed() };
        let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; SEND_BATCH];
        let mut count = 0;
        for (vector, frame) in vectors.iter_mut().zip(frames) {
            *vector = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            count += 1;
        }
        for (message, vector) in messages[..count].iter_mut().zip(&mut vectors) {
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        self.send_messages(&mut messages[..count])
    }

    fn send_messages(&self, mut messages: &mut [libc::mmsghdr]) -> Sent {
        let mut outcome = Sent::default();
        while !messages.is_empty() {
            // SAFETY: the messages point to vectors, and those to frames, that all outlive the call.
            let sent = unsafe {
                libc::sendmmsg(
                    self.fd.as_raw_fd(),
                    messages.as_mut_ptr(),
                    messages.len() as libc::c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            let done = usize::try_from(sent).unwrap_or_else(|_| {
                outcome.refused += 1;
                1
            });
            messages = &mut messages[done.max(1)..];
        }
        outcome
    }

    /// Frames that found no room in the ring since the last call.
    pub(crate) fn drops(&self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `statistics` has room for `length` bytes.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &mut length,
            )
        };
        if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// linux/if_packet.h, since Linux 4.20.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

fn set_option<T>(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for `length` bytes.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length) })
        .map(drop)
}

fn bind(fd: &OwnedFd, device_index: u32) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain data, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ETH_P_IP.to_be();
    address.sll_ifindex = device_index as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is valid for `length` bytes.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is memory like any other; access to it is synchronised by the status words of the frames.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(fd: &OwnedFd, length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { start, length })
    }

    fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "invariant: offsets lie within the ring");
        // SAFETY: the offset lies within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
