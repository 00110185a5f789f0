//! RFC 2250, sections 3.1, 3.3 and 3.4, as a check of packets against the frame that they carry. It reads bits on its
//! own and shares no code with the crate.

use super::start_codes;

const HEADERS: usize = 12 + 4;

/// A part of a frame from one start code to the next.
#[derive(Clone, Copy, Debug)]
struct Unit {
    code: u8,
    start: usize,
    end: usize,
}

impl Unit {
    fn is_slice(&self) -> bool {
        (0x01..=0xAF).contains(&self.code)
    }
}

/// Reads `count` bits from bit `position` of `bytes`.
pub fn bits(bytes: &[u8], position: usize, count: usize) -> u64 {
    (position..position + count).fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
}

/// Parameters of the last picture of every type, for N.
pub type LastPictures = [Option<Vec<Vec<u8>>>; 5];

/// What one call of the packetizer must fulfil.
pub struct Expected<'a> {
    pub frame: &'a [u8],
    pub rtp_timestamp: u32,
    pub ssrc: u32,
    pub first_sequence: u16,
    pub largest_datagram: usize,
}

impl Expected<'_> {
    /// Panics, naming the packet and the rule, when the packets are not as the RFC has them.
    pub fn check(&self, packets: &[&[u8]], last_pictures: &mut LastPictures) {
        let units = units(self.frame);
        let changed = changed_pictures(self.frame, &units, last_pictures);
        let mut start = 0;
        for (index, packet) in packets.iter().enumerate() {
            assert!(packet.len() <= self.largest_datagram, "packet {index} has {} bytes", packet.len());
            self.check_rtp(packet, index, index + 1 == packets.len());
            let end = start + packet.len() - HEADERS;
            assert!(
                end > start && packet[HEADERS..] == self.frame[start..end],
                "packet {index}: not the frame's bytes"
            );
            check_cut(&units, start, end);
            check_header(self.frame, &units, &packet[12..16], start, end, &changed);
            start = end;
        }
        assert_eq!(start, self.frame.len(), "the packets are the whole frame");
    }

    fn check_rtp(&self, packet: &[u8], index: usize, last: bool) {
        assert_eq!(packet[0], 0x80, "version 2, no padding, extension or sources");
        assert_eq!(bits(packet, 8, 1) == 1, last, "the marker is on the last packet only");
        assert_eq!(bits(packet, 9, 7), 32);
        assert_eq!(bits(packet, 16, 16), u64::from(self.first_sequence.wrapping_add(index as u16)));
        assert_eq!(bits(packet, 32, 32), u64::from(self.rtp_timestamp));
        assert_eq!(bits(packet, 64, 32), u64::from(self.ssrc));
    }
}

fn units(frame: &[u8]) -> Vec<Unit> {
    let starts: Vec<_> = start_codes(frame).collect();
    let ends = starts.iter().skip(1).map(|&(offset, _)| offset).chain([frame.len()]);
    starts.iter().zip(ends).map(|(&(start, code), end)| Unit { code, start, end }).collect()
}

/// Section 3.1 for the packet `start..end` of the frame.
fn check_cut(units: &[Unit], start: usize, end: usize) {
    let begins_in_middle = units.iter().any(|unit| unit.start < start && start < unit.end);
    for (index, unit) in units.iter().enumerate().filter(|(_, unit)| (start..end).contains(&unit.start)) {
        let before: Vec<u8> = units[..index].iter().filter(|unit| unit.start >= start).map(|unit| unit.code).collect();
        let at_start = before.is_empty() && !begins_in_middle;
        // Extensions and user data go with the header before them.
        let follows = before.iter().rev().find(|code| !matches!(code, 0xB5 | 0xB2)).copied();
        match unit.code {
            0xB3 => assert!(at_start, "a sequence header at {} is not at the start of a payload", unit.start),
            0xB8 => assert!(at_start || follows == Some(0xB3), "a GOP header at {} is misplaced", unit.start),
            0x00 => assert!(at_start || follows == Some(0xB8), "a picture header at {} is misplaced", unit.start),
            _ => {}
        }
        if unit.is_slice() {
            assert!(!begins_in_middle, "the slice at {} follows the tail of another unit", unit.start);
        } else if unit.code != 0xB2 {
            assert!(unit.end <= end, "the header at {} is split", unit.start);
        }
    }
}

/// Section 3.4 for the packet `start..end` of the frame.
fn check_header(frame: &[u8], units: &[Unit], header: &[u8], start: usize, end: usize, changed: &[Option<bool>]) {
    let inside = || units.iter().filter(|unit| (start..end).contains(&unit.start));
    let first_slice = inside().find(|unit| unit.is_slice());
    let at_unit = units.iter().any(|unit| unit.start == start) || start == 0;
    let field = |position, count| bits(header, position, count);

    // Headers are of the picture after them, anything else of the one before.
    let pictures: Vec<&Unit> = units.iter().filter(|unit| unit.code == 0x00).collect();
    let begun = pictures.iter().filter(|picture| picture.start < end).count();
    let number = begun.max(1) - 1;
    let picture = &frame[pictures[number].start + 4..];
    let kind = bits(picture, 10, 3);

    assert_eq!(field(0, 6), 0, "MBZ and T");
    assert_eq!(field(6, 10), bits(picture, 0, 10), "TR");
    assert_eq!(field(16, 1) == 1, changed[number].is_some(), "AN");
    assert_eq!(field(17, 1) == 1, changed[number] == Some(true), "N");
    assert_eq!(field(18, 1) == 1, inside().any(|unit| unit.code == 0xB3), "S");
    assert_eq!(field(19, 1) == 1, at_unit && first_slice.is_some(), "B of the packet at {start}");
    assert_eq!(field(20, 1) == 1, units.iter().any(|unit| unit.is_slice() && unit.end == end), "E at {end}");
    assert_eq!(field(21, 3), kind, "P");
    let forward = if kind == 2 || kind == 3 { bits(picture, 29, 4) } else { 0 };
    let backward = if kind == 3 { bits(picture, 33, 4) } else { 0 };
    assert_eq!(field(24, 4), backward, "FBV and BFC");
    assert_eq!(field(28, 4), forward, "FFV and FFC");
}

/// For every picture `None` for MPEG-1, otherwise whether its parameters differ from the last picture of its type.
fn changed_pictures(frame: &[u8], units: &[Unit], last_pictures: &mut LastPictures) -> Vec<Option<bool>> {
    let mut changed = Vec::new();
    for (index, picture) in units.iter().enumerate().filter(|(_, unit)| unit.code == 0x00) {
        let body = &frame[picture.start + 4..picture.end];
        let kind = bits(body, 10, 3) as usize;
        let codes = if kind == 2 {
            bits(body, 29, 4)
        } else if kind == 3 {
            bits(body, 29, 8)
        } else {
            0
        };
        let extensions = units[index + 1..].iter().take_while(|unit| !unit.is_slice()).filter(|unit| unit.code == 0xB5);
        let extensions: Vec<_> = extensions.map(|unit| trim_zeros(&frame[unit.start..unit.end]).to_vec()).collect();
        let is_mpeg2 = extensions.iter().any(|extension| extension[4] >> 4 == 8);
        let parameters: Vec<_> = [vec![codes as u8]].into_iter().chain(extensions).collect();
        let differs = last_pictures[kind].as_ref() != Some(&parameters);
        last_pictures[kind] = Some(parameters);
        changed.push(is_mpeg2.then_some(differs));
    }
    changed
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    &bytes[..bytes.len() - zeros]
}
