//! Any bytes as an IPv4 datagram that an application sent: headers are read without failing, and no payload is longer
//! than the datagram.

use framewire_emu::Headers;

pub(crate) fn run(data: &[u8]) {
    let headers = Headers::parse(data);
    assert!(headers.payload as usize <= data.len());
    // Behind a well-formed header without options, which would cost the fuzzer its time: UDP and TCP.
    for protocol in [6, 17] {
        let length = (20 + data.len()).min(usize::from(u16::MAX)) as u16;
        let mut datagram = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        datagram[2..4].copy_from_slice(&length.to_be_bytes());
        datagram.extend(data);
        assert!(Headers::parse(&datagram).payload as usize <= data.len());
    }
}
