//! Any bytes as RTP in a connection (RFC 4571): packets are the same however the connection is cut, come out as they are when they are
//! written again, and what is held is less than one packet.

use bytes::{Bytes, BytesMut};
use framewire_wire::rfc4571::{LENGTH_FIELD, PacketReader, put_packet};

pub(crate) fn run(data: &[u8]) {
    let (packets, held) = read(data, usize::MAX);
    for piece in [1, 3, 1_460] {
        assert_eq!(read(data, piece), (packets.clone(), held), "however it is cut");
    }
    let mut again = BytesMut::new();
    packets.iter().for_each(|packet| put_packet(packet, &mut again));
    assert!(again.len() + held <= data.len(), "but packets of no bytes are not written");
    assert_eq!(read(&again, usize::MAX), (packets, 0));
}

fn read(data: &[u8], piece: usize) -> (Vec<Bytes>, usize) {
    let (mut reader, mut packets) = (PacketReader::default(), Vec::new());
    for piece in data.chunks(piece.min(data.len().max(1))) {
        reader.feed(piece);
        packets.extend(std::iter::from_fn(|| reader.poll_packet()));
        assert!(reader.buffered() < LENGTH_FIELD + usize::from(u16::MAX));
    }
    assert!(packets.iter().all(|packet| !packet.is_empty()));
    (packets, reader.buffered())
}
