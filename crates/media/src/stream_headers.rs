//! The headers without which nothing can be decoded, given to every key frame that lacks them.
//!
//! A stream may carry them once: a sequence header at its beginning, parameter sets before the first IDR picture. Decoding
//! could then begin at no other key frame: not where a receiver has connected again, and nowhere once the frame that
//! carried them was given up. In a byte stream a key frame may have them again (ISO/IEC 13818-2, 6.1.1.6; ITU-T H.264 and
//! H.265, 7.4.1.2.1 and 7.4.2.4.2).

use memchr::memmem;

use crate::access_unit::{AccessUnit, AccessUnitError};

use crate::codec::Codec;
use crate::nal::RbspReader;

/// More than this no stream needs: beyond it all are forgotten.
const MOST_BYTES: usize = 1 << 16;

/// The headers of a byte stream in force, in the order in which decoders need them.
#[derive(Debug)]
pub struct StreamHeaders {
    codec: Codec,
    kept: Vec<Header>,
    /// Units read.
    units: u64,
    /// Those that came without a picture, and so stand before the next one.
    waiting: Vec<Place>,
}

/// What replaces what: the order among headers, and an identifier among those of one kind.
type Place = (u8, u32);

#[derive(Clone, Debug)]
struct Header {
    place: Place,
    /// The last unit that carried it.
    unit: u64,
    bytes: Vec<u8>,
}

/// What to put into an access unit, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Its place in the unit.
    pub at: usize,
    /// Headers with their start codes.
    pub bytes: Vec<u8>,
}

/// A piece of a unit, from behind its start code to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// A header that is kept. `renews` is true of one on which the others of its kind and those behind it depend.
    Header { place: Place, renews: bool },
    /// Stands before headers.
    Delimiter,
    /// Stands behind them.
    Other,
    /// Here the picture begins.
    Picture,
}

impl StreamHeaders {
    /// Of a stream of this codec; `None` of one whose headers cannot be recognised, or need not be.
    pub fn of(codec: Codec) -> Option<Self> {
        // Every key frame of AV1 has its sequence header (AV1, 7.5), and every image of Motion JPEG its own.
        codec.has_start_codes().then(|| Self { codec, kept: vec![], units: 0, waiting: vec![] })
    }

    /// Takes in headers that came out of band.
    pub fn know(&mut self, configuration: &[u8]) {
        self.scan(configuration);
    }

    /// Reads an access unit, of which a reader says so much. Of a key frame, returns what it lacks.
    pub fn read(&mut self, unit: &[u8], is: &Result<AccessUnit, AccessUnitError>) -> Option<Insertion> {
        if let Err(AccessUnitError::NoPicture { .. }) = is {
            self.note(unit);
            return None;
        }
        self.complete(unit, is.as_ref().is_ok_and(|unit| unit.key.is_some()))
    }

    /// Takes in headers that came without a picture.
    fn note(&mut self, unit: &[u8]) {
        let (present, _) = self.scan(unit);
        self.waiting.extend(present);
        self.waiting.sort_unstable();
        self.waiting.dedup();
    }

    fn complete(&mut self, unit: &[u8], is_key: bool) -> Option<Insertion> {
        let (present, at) = self.scan(unit);
        let waiting = std::mem::take(&mut self.waiting);
        if !is_key {
            return None;
        }
        let lacks = |header: &&Header| !present.contains(&header.place) && !waiting.contains(&header.place);
        let bytes: Vec<u8> = self.kept.iter().filter(lacks).flat_map(|header| self.behind_start_code(header)).collect();
        (!bytes.is_empty()).then_some(Insertion { at, bytes })
    }

    /// Keeps the headers of a unit. Tells which it has, and where others could be put.
    fn scan(&mut self, unit: &[u8]) -> (Vec<Place>, usize) {
        self.units += 1;
        let (mut present, mut end_of_headers) = (vec![], None);
        let mut starts = memmem::find_iter(unit, &[0, 0, 1]).peekable();
        while let Some(start) = starts.next() {
            let end = starts.peek().copied().unwrap_or(unit.len());
            let content = &unit[start + 3..end];
            let piece = self.piece(content);
            match piece {
                Piece::Header { place, renews } => {
                    present.push(place);
                    self.keep(place, renews, content);
                }
                Piece::Delimiter => {}
                Piece::Other | Piece::Picture => {
                    end_of_headers.get_or_insert(start);
                }
            }
            if piece == Piece::Picture {
                break;
            }
        }
        let at = end_of_headers.unwrap_or(unit.len());
        // `zero_byte` belongs to the start code behind it (annex B of H.264 and H.265).
        let has_zero_byte = self.is_nal() && at > 0 && unit[at - 1] == 0;
        (present, at - usize::from(has_zero_byte))
    }

    fn keep(&mut self, place: Place, renews: bool, content: &[u8]) {
        let content = if self.is_nal() { without_trailing_zeros(content) } else { content };
        let unit = self.units;
        if let Some(known) = self.kept.iter_mut().find(|header| header.place == place && header.bytes == content) {
            known.unit = unit;
            return;
        }
        self.kept.retain(|header| match renews {
            true => header.place.0 < place.0 || header.unit == unit,
            false => header.place != place,
        });
        if self.kept.iter().map(|header| header.bytes.len()).sum::<usize>() + content.len() > MOST_BYTES {
            self.kept.clear();
        }
        let at = self.kept.partition_point(|header| header.place <= place);
        self.kept.insert(at, Header { place, unit, bytes: content.to_vec() });
    }

    fn behind_start_code<'a>(&self, header: &'a Header) -> impl Iterator<Item = u8> + 'a {
        let start: &[u8] = if self.is_nal() { &[0, 0, 0, 1] } else { &[0, 0, 1] };
        start.iter().chain(&header.bytes).copied().collect::<Vec<u8>>().into_iter()
    }

    fn is_nal(&self) -> bool {
        matches!(self.codec, Codec::H264 | Codec::H265)
    }

    fn piece(&self, content: &[u8]) -> Piece {
        let (Some(&first), second) = (content.first(), content.get(1).copied().unwrap_or(0)) else {
            return Piece::Other;
        };
        let header = |order, identifier, renews| Piece::Header { place: (order, identifier), renews };
        match self.codec {
            // ISO/IEC 13818-2, table 6-1. The extension of a sequence has its identifier in four bits (6.3.1).
            Codec::MpegVideo => match first {
                0xb3 => header(0, 0, true),
                0xb5 => header(1, u32::from(second >> 4), false),
                0x00..=0xaf | 0xb8 => Piece::Picture,
                _ => Piece::Other,
            },
            // ISO/IEC 14496-2, table 6-3: sequence, visual object, video object, its layer; group, plane.
            Codec::Mpeg4Part2 => match first {
                0xb0 => header(0, 0, true),
                0xb5 => header(1, 0, false),
                0x00..=0x1f => header(2, 0, false),
                0x20..=0x2f => header(3, 0, false),
                0xb3 | 0xb6 => Piece::Picture,
                _ => Piece::Other,
            },
            // ITU-T H.264, table 7-1.
            Codec::H264 => match first & 0x1f {
                7 => header(0, 0, true),
                13 => header(1, 0, false),
                15 => header(2, 0, false),
                8 => header(3, exp_golomb(&content[1..]), false),
                9 => Piece::Delimiter,
                1..=5 => Piece::Picture,
                _ => Piece::Other,
            },
            // ITU-T H.265, table 7-1; a NAL unit header has two bytes.
            Codec::H265 => match (first >> 1) & 0x3f {
                32 => header(0, content.get(2).map_or(0, |byte| u32::from(byte >> 4)), false),
                33 => header(1, 0, true),
                34 => header(2, exp_golomb(content.get(2..).unwrap_or(&[])), false),
                35 => Piece::Delimiter,
                0..=31 => Piece::Picture,
                _ => Piece::Other,
            },
            Codec::Av1 | Codec::MotionJpeg => Piece::Other,
        }
    }
}

/// The first `ue(v)`, as parameter sets begin with their identifier; 0 where there is none.
fn exp_golomb(bytes: &[u8]) -> u32 {
    RbspReader::new(bytes).ue().unwrap_or(0)
}

fn without_trailing_zeros(nal: &[u8]) -> &[u8] {
    let end = nal.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &nal[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: &[u8] = &[0, 0, 1, 0xb3, 0x2d, 0x02, 0x40, 0x23, 0x0e, 0xa6, 0x23, 0x80];
    const EXTENSION: &[u8] = &[0, 0, 1, 0xb5, 0x14, 0x82, 0, 1, 0, 0];
    const PICTURE: &[u8] = &[0, 0, 1, 0, 0, 0x0f, 0xff, 0xf8, 0, 0, 1, 0xb5, 0x8f, 0, 0, 1, 1, 0x12];

    const DELIMITER: &[u8] = &[0, 0, 0, 1, 9, 0xf0];
    const SPS: &[u8] = &[0, 0, 0, 1, 0x67, 0x42, 0, 0x1f, 0x80];
    const OTHER_SPS: &[u8] = &[0, 0, 0, 1, 0x67, 0x42, 0, 0x28, 0x80];
    /// Picture parameter sets 0 and 1.
    const PPS: &[u8] = &[0, 0, 0, 1, 0x68, 0x88];
    const PPS_1: &[u8] = &[0, 0, 0, 1, 0x68, 0x48];
    const SEI: &[u8] = &[0, 0, 1, 6, 6, 1, 0xc4, 0x80];
    const SLICE: &[u8] = &[0, 0, 1, 0x41, 0x9a, 0x12, 0x34];

    fn with(insertion: Option<Insertion>, unit: &[u8]) -> Vec<u8> {
        let mut whole = unit.to_vec();
        if let Some(Insertion { at, bytes }) = insertion {
            whole.splice(at..at, bytes);
        }
        whole
    }

    /// What becomes of the last of these units, a key frame, after the others.
    fn last_of(codec: Codec, units: &[&[&[u8]]]) -> Vec<u8> {
        let mut headers = StreamHeaders::of(codec).unwrap();
        let (last, before) = units.split_last().unwrap();
        before.iter().for_each(|unit| assert_eq!(headers.complete(&unit.concat(), false), None));
        with(headers.complete(&last.concat(), true), &last.concat())
    }

    #[test]
    fn a_key_frame_without_its_sequence_header_gets_it() {
        let complete = [SEQUENCE, EXTENSION, PICTURE];
        assert_eq!(last_of(Codec::MpegVideo, &[&complete, &[PICTURE]]), complete.concat());
        assert_eq!(last_of(Codec::MpegVideo, &[&complete, &complete]), complete.concat(), "it has it");
        assert_eq!(last_of(Codec::MpegVideo, &[&[PICTURE], &[PICTURE]]), PICTURE.to_vec(), "there is none");
        let mpeg1 = [SEQUENCE, PICTURE];
        let mut another = SEQUENCE.to_vec();
        another[4] = 0x16;
        let expected = [&another, PICTURE].concat();
        assert_eq!(last_of(Codec::MpegVideo, &[&complete, &mpeg1, &[&another, PICTURE], &[PICTURE]]), expected);
    }

    #[test]
    fn parameter_sets_stand_behind_the_delimiter_and_before_the_rest() {
        let first = [DELIMITER, SPS, PPS, PPS_1, SLICE];
        let expected = [DELIMITER, SPS, PPS, PPS_1, SEI, SLICE].concat();
        assert_eq!(last_of(Codec::H264, &[&first, &[DELIMITER, SEI, SLICE]]), expected);
        assert_eq!(last_of(Codec::H264, &[&first, &[DELIMITER, SPS, PPS, SEI, SLICE]]), expected);
        let behind_a_zero_byte = [DELIMITER, &[0], SLICE].concat();
        let expected = [DELIMITER, SPS, PPS, PPS_1, &[0], SLICE].concat();
        assert_eq!(last_of(Codec::H264, &[&first, &[&behind_a_zero_byte]]), expected);
    }

    #[test]
    fn another_sequence_ends_the_picture_parameter_sets_of_the_one_before() {
        let units: [&[&[u8]]; 3] = [&[SPS, PPS, PPS_1, SLICE], &[OTHER_SPS, PPS, SLICE], &[SLICE]];
        assert_eq!(last_of(Codec::H264, &units), [OTHER_SPS, PPS, SLICE].concat());
    }

    #[test]
    fn headers_that_came_by_themselves_are_not_repeated_at_once() {
        let mut headers = StreamHeaders::of(Codec::H264).unwrap();
        headers.note(&[SPS, PPS].concat());
        assert_eq!(headers.complete(SLICE, true), None);
        let whole = with(headers.complete(SLICE, true), SLICE);
        assert_eq!(whole, [SPS, PPS, SLICE].concat());
    }

    #[test]
    fn memory_is_bounded() {
        let mut headers = StreamHeaders::of(Codec::H264).unwrap();
        for id in 0..100_000u32 {
            let mut pps = vec![0, 0, 1, 0x68, 0x80 | (id as u8 >> 1)];
            pps.extend(id.to_be_bytes().map(|byte| byte | 1));
            pps.resize(3_000, 0x55);
            headers.note(&pps);
        }
        assert!(headers.kept.iter().map(|header| header.bytes.len()).sum::<usize>() <= MOST_BYTES);
    }

    #[test]
    fn identifiers_are_those_of_the_standard() {
        for (bytes, value) in [(&[0x80][..], 0), (&[0x40], 1), (&[0x60], 2), (&[0x20], 3), (&[0, 0x80, 0x80], 256)] {
            assert_eq!(exp_golomb(bytes), value, "{bytes:x?}");
        }
        assert_eq!(exp_golomb(&[]), 0);
        assert_eq!(exp_golomb(&[0, 0, 1]), 0, "longer than any identifier");
    }
}
