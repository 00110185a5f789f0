//! Access units of H.264 and H.265 made up for property tests, and a reader of their packets that shares no code with the
//! crate (RFC 6184, RFC 7798).

use framewire_wire::rtp_payload::{PayloadFormat, h264, h265};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    H264,
    H265,
}

impl Codec {
    pub fn format(self) -> &'static PayloadFormat {
        match self {
            Self::H264 => &h264::FORMAT,
            Self::H265 => &h265::FORMAT,
        }
    }

    /// The header of a NAL unit of H.264's type, or H.265's.
    fn header(self, h264: u8, h265: u8) -> Vec<u8> {
        match self {
            Self::H264 => vec![h264],
            Self::H265 => vec![h265 << 1, 1],
        }
    }

    /// The type of a NAL unit, or of a packet.
    pub fn type_of(self, nal: &[u8]) -> u8 {
        match self {
            Self::H264 => nal[0] & 0x1F,
            Self::H265 => nal[0] >> 1 & 0x3F,
        }
    }

    fn header_length(self) -> usize {
        if self == Self::H264 { 1 } else { 2 }
    }
}

impl Codec {
    /// Suffix of files with streams of it, in the test data.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::H265 => "h265",
        }
    }

    /// Whether an access unit may begin with this NAL unit, of those of one picture each.
    fn may_begin(self, nal: &[u8]) -> bool {
        match (self, self.type_of(nal)) {
            (Self::H264, 1 | 5) => nal[1] & 0x80 != 0,
            (Self::H264, kind) => matches!(kind, 6..=9),
            (Self::H265, 0..=31) => nal[2] & 0x80 != 0,
            (Self::H265, kind) => matches!(kind, 32..=35 | 39),
        }
    }

    fn is_slice(self, nal: &[u8]) -> bool {
        match self {
            Self::H264 => matches!(self.type_of(nal), 1..=5),
            Self::H265 => self.type_of(nal) < 32,
        }
    }
}

/// The NAL units of a stream.
pub fn split(stream: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = super::start_codes(stream).map(|(offset, _)| offset).collect();
    let ends = starts.iter().copied().skip(1).chain([stream.len()]);
    starts.iter().zip(ends).map(|(&start, end)| without_zeros(&stream[start + 3..end])).collect()
}

fn without_zeros(nal: &[u8]) -> &[u8] {
    let zeros = nal.iter().rev().take_while(|&&byte| byte == 0).count();
    &nal[..nal.len() - zeros]
}

/// The access units of a stream of frames.
pub fn access_units(codec: Codec, stream: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut units: Vec<Vec<&[u8]>> = vec![];
    let mut after_slice = true;
    for nal in split(stream) {
        if after_slice && codec.may_begin(nal) {
            units.push(vec![]);
        }
        after_slice = codec.is_slice(nal) || (after_slice && !codec.may_begin(nal));
        units.last_mut().expect("a stream begins with an access unit").push(nal);
    }
    units
}

/// NAL units behind long start codes.
pub fn with_start_codes(nals: &[&[u8]]) -> Vec<u8> {
    nals.iter().flat_map(|nal| [&[0, 0, 0, 1][..], *nal]).collect::<Vec<_>>().concat()
}

/// How a sender writes its access units.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub codec: Codec,
    /// Each begins with a delimiter.
    pub delimiters: bool,
    /// Parameter sets stand before each key picture.
    pub sets: bool,
    /// So many messages stand before each picture.
    pub messages: usize,
    /// Each is two fields.
    pub pairs: bool,
}

impl Style {
    /// False where no frame shows by itself that it has its beginning: two messages, of which the first may be missing.
    pub fn shows_beginnings(self) -> bool {
        self.messages < 2 || self.delimiters
    }
}

pub fn style() -> impl Strategy<Value = Style> {
    let codec = prop_oneof![Just(Codec::H264), Just(Codec::H265)];
    (codec, any::<bool>(), any::<bool>(), 0usize..3, any::<bool>())
        .prop_map(|(codec, delimiters, sets, messages, pairs)| Style { codec, delimiters, sets, messages, pairs })
}

/// A made-up access unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// With whatever zeros stand between its NAL units.
    pub bytes: Vec<u8>,
    /// As it is to come out.
    pub canonical: Vec<u8>,
    pub is_key: bool,
    pub nals: Vec<Vec<u8>>,
}

/// `count` of them; the first is a key picture.
pub fn units(style: Style, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Unit>> {
    let slice = prop_oneof![10 => 1usize..300, 5 => 300usize..1_600, 1 => 1_600usize..9_000];
    let slices = vec(slice, 1..5);
    vec((0u8..4, slices.clone(), slices, vec(0usize..4, 1..20), any::<u64>(), any::<bool>()), count).prop_map(
        move |units| {
            let build = |(index, (kind, first, second, zeros, seed, ends)): (usize, Made)| {
                let is_key = index == 0 || kind == 0;
                let second = style.pairs.then_some(&second[..]);
                build_unit(style, is_key, &first, second, &zeros, seed, ends)
            };
            units.into_iter().enumerate().map(build).collect()
        },
    )
}

type Made = (u8, Vec<usize>, Vec<usize>, Vec<usize>, u64, bool);

fn build_unit(
    style: Style,
    is_key: bool,
    first: &[usize],
    second: Option<&[usize]>,
    zeros: &[usize],
    seed: u64,
    ends: bool,
) -> Unit {
    let codec = style.codec;
    let mut noise = seed | 1;
    let mut nals: Vec<Vec<u8>> = vec![];
    for (field, slices) in [Some(first), second].into_iter().flatten().enumerate() {
        if style.delimiters {
            nals.push([codec.header(0x09, 35), vec![0x50]].concat());
        }
        if style.sets && is_key && field == 0 {
            if codec == Codec::H265 {
                nals.push([codec.header(0, 32), payload(20, &mut noise)].concat());
            }
            nals.push([codec.header(0x67, 33), payload(12, &mut noise)].concat());
            nals.push([codec.header(0x68, 34), payload(4, &mut noise)].concat());
        }
        for _ in 0..style.messages {
            nals.push([codec.header(0x06, 39), payload(9, &mut noise)].concat());
        }
        for (number, &size) in slices.iter().enumerate() {
            // The first bit says that it is the first of its picture; then, of H.264, a slice of P.
            let start = if number == 0 { 0xC0 } else { 0x40 };
            let header = if is_key { codec.header(0x65, 19) } else { codec.header(0x41, 1) };
            nals.push([header, vec![start], payload(size, &mut noise)].concat());
        }
    }
    if ends {
        nals.push(codec.header(0x0A, 36));
    }
    let with = |zeros: &dyn Fn(usize, &[u8]) -> usize| -> Vec<u8> {
        let coded = |(number, nal): (usize, &Vec<u8>)| [&vec![0; zeros(number, nal)][..], &[0, 0, 1], nal].concat();
        nals.iter().enumerate().flat_map(coded).collect()
    };
    let canonical = with(&|number, nal| usize::from(number == 0 || is_parameter_set(codec, nal)));
    let mut bytes = with(&|number, _| zeros[number % zeros.len()]);
    bytes.extend(vec![0; zeros[0]]);
    Unit { bytes, canonical, is_key, nals }
}

fn is_parameter_set(codec: Codec, nal: &[u8]) -> bool {
    match codec {
        Codec::H264 => matches!(codec.type_of(nal), 7 | 8),
        Codec::H265 => matches!(codec.type_of(nal), 32..=34),
    }
}

/// Any bytes but 0, so that there is no start code in them and none ends with a zero.
fn payload(length: usize, noise: &mut u64) -> Vec<u8> {
    let byte = |_| {
        *noise ^= *noise << 13;
        *noise ^= *noise >> 7;
        *noise ^= *noise << 17;
        (*noise % 255) as u8 + 1
    };
    (0..length).map(byte).collect()
}

/// The NAL units in the payloads of one access unit, which have to be well formed and as full as the rule lets them be.
pub fn nals_of(codec: Codec, payloads: &[&[u8]], largest: usize) -> Vec<Vec<u8>> {
    let header = codec.header_length();
    let (aggregation, fragmentation) = if codec == Codec::H264 { (24, 28) } else { (48, 49) };
    let mut nals: Vec<Vec<u8>> = vec![];
    let mut fragments = 0;
    for payload in payloads {
        assert!(payload.len() > header && payload.len() <= largest || payload.len() == header, "{}", payload.len());
        let kind = codec.type_of(payload);
        if kind == aggregation {
            let mut rest = &payload[header..];
            let mut count = 0;
            while !rest.is_empty() {
                let size = usize::from(rest[0]) << 8 | usize::from(rest[1]);
                nals.push(rest[2..2 + size].to_vec());
                rest = &rest[2 + size..];
                count += 1;
            }
            assert!(count > 1, "one NAL unit is alone in its packet");
            let inside = &nals[nals.len() - count..];
            let expected = inside.iter().map(|nal| nal[0] & 0x60).max().unwrap();
            assert!(codec == Codec::H265 || payload[0] & 0x60 == expected, "NRI is the highest");
        } else if kind == fragmentation {
            let flags = payload[header] & 0xC0;
            assert_eq!(flags & 0x80 != 0, fragments == 0, "S is set in the first one");
            if fragments == 0 {
                let kind = payload[header] & 0x3F;
                nals.push(match codec {
                    Codec::H264 => vec![payload[0] & 0xE0 | kind],
                    Codec::H265 => vec![payload[0] & 0x81 | kind << 1, payload[1]],
                });
            }
            assert!(payload.len() == largest || flags & 0x40 != 0, "fragments fill their packets");
            nals.last_mut().unwrap().extend(&payload[header + 1..]);
            fragments += 1;
            assert!(flags != 0xC0, "a NAL unit that fits is not cut");
            if flags & 0x40 != 0 {
                assert!(nals.last().unwrap().len() > largest);
                fragments = 0;
            }
        } else {
            nals.push(payload.to_vec());
        }
        assert!(kind == fragmentation || fragments == 0, "fragments are not interrupted");
    }
    assert_eq!(fragments, 0, "E is set in the last one");
    nals
}
