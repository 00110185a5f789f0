//! Packets held in the kernel, each charged to its socket, until this program gives a verdict
//! (linux/netfilter/nfnetlink_queue.h).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::netlink::{Message, NLM_F_ACK, NetlinkSocket, send, split_attributes, split_messages};

const NFNL_SUBSYS_QUEUE: u16 = 3;
const NFQNL_MSG_PACKET: u16 = NFNL_SUBSYS_QUEUE << 8;
const NFQNL_MSG_VERDICT: u16 = (NFNL_SUBSYS_QUEUE << 8) | 1;
const NFQNL_MSG_CONFIG: u16 = (NFNL_SUBSYS_QUEUE << 8) | 2;
const NFQA_CFG_CMD: u16 = 1;
const NFQA_CFG_PARAMS: u16 = 2;
const NFQA_CFG_QUEUE_MAXLEN: u16 = 3;
const NFQNL_CFG_CMD_BIND: u8 = 1;
const NFQNL_COPY_PACKET: u8 = 2;
const NFQA_PACKET_HDR: u16 = 1;
const NFQA_VERDICT_HDR: u16 = 2;
const NFQA_PAYLOAD: u16 = 10;
const NF_DROP: u32 = 0;

/// Packets that may be held: far more than the send buffers of a namespace admit.
const HELD_AT_MOST: u32 = 1_000_000;
/// Room for messages that were not read yet, in bytes.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Packets read by one call.
pub(crate) const READ_BATCH: usize = 32;
/// A message holds one packet of at most 65,535 bytes and its attributes.
const MESSAGE_ROOM: usize = 68 << 10;

/// The number by which the kernel knows a held packet; they count up from 1.
pub(crate) type HeldId = u32;

/// A packet queue of a network namespace.
pub(crate) struct PacketQueue {
    fd: OwnedFd,
    buffers: Vec<u8>,
    overruns: u64,
    last_id: HeldId,
    missed: u64,
    verdicts: Vec<u8>,
}

impl PacketQueue {
    /// Binds a queue in the namespace of the calling thread; packets are copied whole.
    pub(crate) fn open(number: u16) -> io::Result<Self> {
        let mut socket = NetlinkSocket::open(libc::NETLINK_NETFILTER)?;
        let configure = || Message::new(NFQNL_MSG_CONFIG, NLM_F_ACK, &header(number));
        socket.request(configure().attribute(NFQA_CFG_CMD, &[NFQNL_CFG_CMD_BIND, 0, 0, 0]))?;
        socket.request(configure().attribute(NFQA_CFG_PARAMS, &[0, 0, 0xff, 0xff, NFQNL_COPY_PACKET]))?;
        socket.request(configure().attribute_be32(NFQA_CFG_QUEUE_MAXLEN, HELD_AT_MOST))?;
        let fd = socket.into_fd();
        enlarge_receive_buffer(&fd);
        Ok(Self {
            fd,
            buffers: vec![0; READ_BATCH * MESSAGE_ROOM],
            overruns: 0,
            last_id: 0,
            missed: 0,
            verdicts: Vec::new(),
        })
    }

    /// Reads what waits, at most [`READ_BATCH`] packets, gives each to `take` as (number, IP datagram), and returns
    /// how many there were.
    pub(crate) fn read(&mut self, mut take: impl FnMut(HeldId, &[u8])) -> usize {
        let mut lengths = [0; READ_BATCH];
        let count = match receive_many(&self.fd, &mut self.buffers, &mut lengths) {
            Ok(count) => count,
            Err(error) => {
                // ENOBUFS: the kernel dropped packets that found no room in the socket.
                self.overruns += u64::from(error.raw_os_error() == Some(libc::ENOBUFS));
                return 0;
            }
        };
        for (buffer, &length) in self.buffers.chunks(MESSAGE_ROOM).zip(&lengths[..count]) {
            for (_, _, body) in split_messages(&buffer[..length]).filter(|(kind, ..)| *kind == NFQNL_MSG_PACKET) {
                if let Some((id, datagram)) = parse_packet(body) {
                    self.missed += u64::from(id.wrapping_sub(self.last_id).saturating_sub(1));
                    self.last_id = id;
                    take(id, datagram);
                }
            }
        }
        count
    }

    /// Notes that a held packet is to be freed; [`flush`](Self::flush) gives the list to the kernel.
    ///
    /// The verdict is always to drop: what travels on is the copy.
    pub(crate) fn free(&mut self, id: HeldId) {
        let mut verdict = [0; 8];
        verdict[..4].copy_from_slice(&NF_DROP.to_be_bytes());
        verdict[4..].copy_from_slice(&id.to_be_bytes());
        let message = Message::new(NFQNL_MSG_VERDICT, 0, &header(0)).attribute(NFQA_VERDICT_HDR, &verdict);
        self.verdicts.extend_from_slice(&message.finish(0));
    }

    /// Sends the verdicts noted since the last time.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let result = send(&self.fd, &self.verdicts);
        self.verdicts.clear();
        result
    }

    /// Packets that the kernel numbered but this program never saw, and reads that reported an overrun.
    pub(crate) fn losses(&self) -> u64 {
        self.missed.max(self.overruns)
    }
}

impl AsFd for PacketQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A `struct nfgenmsg` that names a queue.
fn header(queue: u16) -> [u8; 4] {
    let number = queue.to_be_bytes();
    [0, 0, number[0], number[1]]
}

/// The number and the datagram of a packet message.
fn parse_packet(body: &[u8]) -> Option<(HeldId, &[u8])> {
    let attributes = body.get(4..)?;
    let find = |wanted: u16| split_attributes(attributes).find_map(|(kind, value)| (kind == wanted).then_some(value));
    let id = u32::from_be_bytes(*find(NFQA_PACKET_HDR)?.first_chunk::<4>()?);
    Some((id, find(NFQA_PAYLOAD).unwrap_or(&[])))
}

/// As much room as the kernel gives: beyond its limit only with CAP_NET_ADMIN in the initial user namespace.
fn enlarge_receive_buffer(fd: &OwnedFd) {
    let size = RECEIVE_BUFFER;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
        // SAFETY: the option's value is a C int that lives until the call returns.
        let result = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const size).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if result == 0 {
            return;
        }
    }
}

fn receive_many(fd: &OwnedFd, buffers: &mut [u8], lengths: &mut [usize; READ_BATCH]) -> io::Result<usize> {
    let mut vectors: [libc::iovec; READ_BATCH] = std::array::from_fn(|number| libc::iovec {
        iov_base: buffers[number * MESSAGE_ROOM..].as_mut_ptr().cast(),
        iov_len: MESSAGE_ROOM,
    });
    // SAFETY: mmsghdr is plain data, for which zeros are valid.
    let mut messages: [libc::mmsghdr; READ_BATCH] = unsafe { std::mem::zeroed() };
    for (message, vector) in messages.iter_mut().zip(&mut vectors) {
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: every message points to one vector, every vector to a part of `buffers` of its own.
    let count = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            messages.as_mut_ptr(),
            READ_BATCH as libc::c_uint,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
        )
    };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    for (length, message) in lengths.iter_mut().zip(&messages[..count]) {
        *length = message.msg_len as usize;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_message_body_is_read_without_harm(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_packet(&body);
        }
    }

    #[test]
    fn number_and_datagram_are_found() {
        let message = Message::new(NFQNL_MSG_PACKET, 0, &header(0))
            .attribute(NFQA_PACKET_HDR, &[0, 0, 0, 7, 8, 0, 4])
            .attribute(NFQA_PAYLOAD, b"datagram")
            .finish(0);
        let (_, _, body) = split_messages(&message).next().unwrap();
        assert_eq!(parse_packet(body), Some((7, b"datagram".as_slice())));
    }
}
