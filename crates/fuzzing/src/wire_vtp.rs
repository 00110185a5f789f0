//! Hostile packets of VTP: whatever parses is written back to the same bytes, with and without a tag.

use framewire_wire::vtp::{Key, Origin, Packet, VERSION};

fn check(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes) {
        let mut again = Vec::new();
        packet.emit(&mut again);
        assert_eq!(again, bytes);
    }
}

pub(crate) fn run(data: &[u8]) {
    check(data);
    // Past the version, the type and the reserved bits, which would cost the fuzzer its time.
    let mut led = data.to_vec();
    if let [version, kind, reserved @ ..] = &mut led[..] {
        (*version, *kind) = (VERSION, *kind % 10);
        reserved.iter_mut().take(2).for_each(|byte| *byte = 0);
        check(&led);
    }
    let key = Key::new(&[9; 16]).expect("invariant: 16 bytes are enough");
    assert!(key.open(Origin::Client, data).is_err());
    key.seal(Origin::Client, &mut led);
    assert!(key.open(Origin::Client, &led).is_ok());
}
