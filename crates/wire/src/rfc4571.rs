//! RFC 4571: RTP packets in a stream of bytes, each behind its length.

use bytes::{Buf, Bytes, BytesMut};

/// Length of the field that says how long a packet is (section 2): 16 bits, in network byte order.
pub const LENGTH_FIELD: usize = 2;

/// Appends a packet behind its length.
///
/// # Panics
/// When the packet is longer than 65,535 bytes, which no packet over IP is.
pub fn put_packet(packet: &[u8], out: &mut BytesMut) {
    let length = u16::try_from(packet.len()).expect("invariant: a packet of RTP fits into one of IP");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(packet);
}

/// Takes a stream of bytes apart into packets.
///
/// Hand in bytes with [`feed`](Self::feed), however they are cut, and drain [`poll_packet`](Self::poll_packet) after each.
/// What it holds then is less than one packet. Whatever arrives is taken for lengths and packets, as the stream has
/// nothing else by which a wrong length could be detected.
#[derive(Clone, Debug, Default)]
pub struct PacketReader {
    buffer: BytesMut,
}

impl PacketReader {
    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next packet that is there whole. Packets of no bytes are skipped, as section 2 requires.
    pub fn poll_packet(&mut self) -> Option<Bytes> {
        loop {
            let length = self.buffer.first_chunk::<LENGTH_FIELD>().copied().map(u16::from_be_bytes)?;
            let length = usize::from(length);
            if self.buffer.len() < LENGTH_FIELD + length {
                return None;
            }
            self.buffer.advance(LENGTH_FIELD);
            let packet = self.buffer.split_to(length);
            if length > 0 {
                return Some(packet.freeze());
            }
        }
    }

    /// Bytes of a packet that is not there whole.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_length_is_two_bytes_of_network_order_before_the_packet() {
        let mut out = BytesMut::new();
        put_packet(&[0x80; 300], &mut out);
        assert_eq!(out[..3], [0x01, 0x2C, 0x80]);
        assert_eq!(out.len(), 302);
    }

    proptest! {
        #[test]
        fn packets_come_out_as_they_went_in_however_the_stream_is_cut(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2_000), 0..20),
            cuts in prop::collection::vec(1usize..900, 1..50),
        ) {
            let mut stream = BytesMut::new();
            packets.iter().for_each(|packet| put_packet(packet, &mut stream));
            let (mut reader, mut read, mut cuts) = (PacketReader::default(), Vec::new(), cuts.into_iter().cycle());
            while !stream.is_empty() {
                let cut = cuts.next().unwrap().min(stream.len());
                reader.feed(&stream.split_to(cut));
                read.extend(std::iter::from_fn(|| reader.poll_packet()));
            }
            let sent: Vec<Bytes> = packets.into_iter().filter(|packet| !packet.is_empty()).map(Bytes::from).collect();
            prop_assert_eq!(read, sent);
            prop_assert_eq!(reader.buffered(), 0);
        }
    }
}
