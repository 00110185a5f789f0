//! Netlink messages: a builder, a socket that waits for the kernel's answer, and a reader of attributes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::check;

const HEADER: usize = 16; // struct nlmsghdr
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLA_TYPE_MASK: u16 = 0x3fff; // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
const NLA_F_NESTED: u16 = 0x8000;

pub(crate) const NLM_F_REQUEST: u16 = 1;
pub(crate) const NLM_F_ACK: u16 = 4;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_CREATE: u16 = 0x400;
pub(crate) const NLM_F_APPEND: u16 = 0x800;

/// A message under construction.
#[derive(Debug)]
pub(crate) struct Message {
    buffer: Vec<u8>,
}

impl Message {
    /// A message of a type, with NLM_F_REQUEST and these flags, starting with the family's fixed header.
    pub(crate) fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut buffer = vec![0; HEADER];
        buffer[4..6].copy_from_slice(&kind.to_ne_bytes());
        buffer[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        buffer.extend_from_slice(fixed);
        Self { buffer }
    }

    /// Adds an attribute.
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(4 + value.len()).expect("invariant: attributes here are short");
        self.buffer.extend_from_slice(&length.to_ne_bytes());
        self.buffer.extend_from_slice(&kind.to_ne_bytes());
        self.buffer.extend_from_slice(value);
        self.pad()
    }

    /// Adds a 32-bit attribute in host order.
    pub(crate) fn attribute_u32(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds a 32-bit attribute in network order, as netfilter expects it.
    pub(crate) fn attribute_be32(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Adds a text attribute with its closing zero.
    pub(crate) fn attribute_text(self, kind: u16, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute that holds what `inside` adds.
    pub(crate) fn nested(mut self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        let mut message = inside(self);
        let length = u16::try_from(message.buffer.len() - start).expect("invariant: nests here are short");
        message.buffer[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        message.buffer[start + 2..start + 4].copy_from_slice(&(kind | NLA_F_NESTED).to_ne_bytes());
        message
    }

    /// Adds bytes that are not an attribute, such as a header inside a nest.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.buffer.extend_from_slice(bytes);
        self.pad()
    }

    fn pad(mut self) -> Self {
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        self
    }

    /// The bytes, with length and sequence number filled in.
    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.buffer.len()).expect("invariant: messages here are short");
        self.buffer[0..4].copy_from_slice(&length.to_ne_bytes());
        self.buffer[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.buffer
    }
}

/// A netlink socket of the thread's network namespace at the time of opening.
#[derive(Debug)]
pub(crate) struct NetlinkSocket {
    fd: OwnedFd,
    sequence: u32,
}

impl NetlinkSocket {
    /// Opens a socket of a protocol (`NETLINK_ROUTE`, `NETLINK_NETFILTER`).
    pub(crate) fn open(protocol: libc::c_int) -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let raw = check(unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) })?;
        // SAFETY: `raw` was just opened and has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) }, sequence: 0 })
    }

    /// Sends one message and waits for its acknowledgement.
    pub(crate) fn request(&mut self, message: Message) -> io::Result<()> {
        self.batch(vec![message])
    }

    /// Sends several messages at once; succeeds when the last one that asks for it is acknowledged.
    ///
    /// The messages must carry NLM_F_ACK where an answer is due: [`Message::new`] with that flag.
    pub(crate) fn batch(&mut self, messages: Vec<Message>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut awaited = 0;
        for message in messages {
            self.sequence += 1;
            let asks = u16::from_ne_bytes([message.buffer[6], message.buffer[7]]) & NLM_F_ACK != 0;
            awaited = if asks { self.sequence } else { awaited };
            bytes.extend_from_slice(&message.finish(self.sequence));
        }
        send(&self.fd, &bytes)?;
        self.await_acknowledgement(awaited)
    }

    /// Sends one message and returns the body of the one message that answers it.
    pub(crate) fn query(&mut self, message: Message) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        send(&self.fd, &message.finish(self.sequence))?;
        let mut buffer = vec![0; 65_536];
        let length = receive(&self.fd, &mut buffer)?;
        let (kind, _, body) = split_messages(&buffer[..length]).next().ok_or(io::ErrorKind::UnexpectedEof)?;
        if kind == NLMSG_ERROR {
            acknowledgement(body)?;
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(body.to_vec())
    }

    fn await_acknowledgement(&mut self, awaited: u32) -> io::Result<()> {
        let mut buffer = vec![0; 65_536];
        loop {
            let length = receive(&self.fd, &mut buffer)?;
            for (kind, sequence, body) in split_messages(&buffer[..length]) {
                if kind == NLMSG_ERROR {
                    acknowledgement(body)?;
                }
                if sequence == awaited && (kind == NLMSG_ERROR || kind == NLMSG_DONE) {
                    return Ok(());
                }
            }
        }
    }

    /// Gives up the descriptor.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

/// The error number that starts the body of an NLMSG_ERROR; 0 is success.
fn acknowledgement(body: &[u8]) -> io::Result<()> {
    let number = body.first_chunk::<4>().map_or(-libc::EIO, |bytes| i32::from_ne_bytes(*bytes));
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-number)) }
}

/// Sends bytes to the kernel.
pub(crate) fn send(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: `bytes` is valid for its length.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn receive(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `buffer` is valid for its length.
    let length = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// Splits a read from a netlink socket into (type, sequence number, body). Stops at the first malformed message.
pub(crate) fn split_messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.get(..HEADER)?;
        let length = u32::from_ne_bytes(header[0..4].try_into().ok()?) as usize;
        let body = bytes.get(HEADER..length)?;
        let kind = u16::from_ne_bytes(header[4..6].try_into().ok()?);
        let sequence = u32::from_ne_bytes(header[8..12].try_into().ok()?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, sequence, body))
    })
}

/// Splits bytes into attributes (type, value). Stops at the first malformed one.
pub(crate) fn split_attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = bytes.get(4..length)?;
        let kind = u16::from_ne_bytes([header[2], header[3]]) & NLA_TYPE_MASK;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_and_nests_come_back() {
        let message = Message::new(7, NLM_F_ACK, &[9; 4])
            .attribute_text(1, "abc")
            .nested(2, |nest| nest.attribute_u32(3, 5).attribute_be32(4, 6));
        let bytes = message.finish(42);
        let messages: Vec<_> = split_messages(&bytes).collect();
        assert_eq!(messages.len(), 1);
        let (kind, sequence, body) = messages[0];
        assert_eq!((kind, sequence), (7, 42));
        let attributes: Vec<_> = split_attributes(&body[4..]).collect();
        assert_eq!(attributes[0], (1, b"abc\0".as_slice()));
        let inner: Vec<_> = split_attributes(attributes[1].1).collect();
        assert_eq!(inner, vec![(3, 5u32.to_ne_bytes().as_slice()), (4, 6u32.to_be_bytes().as_slice())]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(split_messages(&bytes).count() <= bytes.len() / HEADER + 1);
            prop_assert!(split_attributes(&bytes).count() <= bytes.len() / 4 + 1);
        }
    }
}
