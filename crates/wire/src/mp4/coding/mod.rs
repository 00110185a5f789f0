//! What a stream is in a file: one row for each way of coding, with its sample entry, the box of what its decoder needs first, and
//! how access units become samples and samples access units.

mod aac;
mod av1;
mod nal;
mod opus;
mod parameter_sets;
mod plain;

use bytes::{Bytes, BytesMut};

use super::boxes::{Contents, Kind, name, put, put_full};
use super::descriptors;
use super::index::IndexError;

/// How a track is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coding {
    /// MPEG-1 video (ISO/IEC 11172-2).
    Mpeg1Video,
    /// MPEG-2 video (ISO/IEC 13818-2).
    Mpeg2Video,
    /// MPEG-4 part 2 visual (ISO/IEC 14496-2).
    Mpeg4Part2,
    /// H.264 (ITU-T H.264).
    H264,
    /// H.265 (ITU-T H.265).
    H265,
    /// AV1 (AOMedia AV1 bitstream and decoding process).
    Av1,
    /// MPEG-1 audio (ISO/IEC 11172-3).
    Mpeg1Audio,
    /// MPEG-2 audio (ISO/IEC 13818-3).
    Mpeg2Audio,
    /// AAC, whose access units have ADTS headers (ISO/IEC 14496-3).
    Aac,
    /// Opus (RFC 6716).
    Opus,
}

/// What a coding is in a file.
pub(super) struct Row {
    coding: Coding,
    is_video: bool,
    /// Sample entries: the one that is written, and others that are read.
    entries: &'static [(&'static Kind, HeadersBefore)],
    /// Among the compatible brands of a file with such a track (ISO/IEC 14496-12, 4.3).
    brand: Option<&'static Kind>,
    configuration: ConfigurationBox,
    /// What an access unit holds for its decoder, as it stands in the box; `None` where it has nothing of that, and a later one may.
    of_unit: fn(&[u8], Shape) -> Found,
    samples: Samples,
    /// The access unit that a sample is, with the headers of the index where they are wanted; `None` where it is none.
    unit: fn(&Configuration, &Bytes, bool) -> Option<Bytes>,
}

/// A configuration that was found, or not.
type Found = Result<Option<Vec<u8>>, SampleError>;

/// Takes a piece of a sample.
type Put<'a> = &'a mut dyn FnMut(&[u8]);

/// Where what a decoder needs first stands in a sample entry.
enum ConfigurationBox {
    /// In descriptors (`esds`), which say one of these object types (ISO/IEC 14496-1, table 5): the first one is written.
    Descriptors(&'static [u8]),
    /// In a box of its own, read so.
    Own(&'static Kind, fn(Contents<'_>) -> Result<Configuration, IndexError>),
}

/// How an access unit becomes a sample.
enum Samples {
    /// As it is, without so many bytes in front.
    Without(fn(&[u8]) -> Result<usize, SampleError>),
    /// In pieces one behind the other.
    Pieces(fn(&[u8], Put<'_>) -> Result<(), SampleError>),
}

/// What an index says for the decoder of a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    /// Bytes of the length before a NAL unit.
    length_size: usize,
    /// Of NAL units the parameter sets, of others the headers.
    headers: Vec<Bytes>,
    /// What units do not say themselves.
    shape: Option<Shape>,
}

/// Before which samples the headers of the index belong, where they have none of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadersBefore {
    /// Before each with which decoding begins: entries that have all parameter sets (ISO/IEC 14496-15, 5.4.2.1.1).
    Syncs,
    /// Before the first: others may be in samples (8.4.1.1.1), and where they are is not changed.
    First,
    /// None: sound.
    None,
}

static ROWS: [&Row; 10] = [
    &plain::MPEG_1_VIDEO,
    &plain::MPEG_2_VIDEO,
    &plain::MPEG_4_PART_2,
    &parameter_sets::H264,
    &parameter_sets::H265,
    &av1::AV1,
    &plain::MPEG_1_AUDIO,
    &plain::MPEG_2_AUDIO,
    &aac::AAC,
    &opus::OPUS,
];

/// What a stream looks or sounds like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Of video.
    Picture {
        /// Width in pixels.
        width: u16,
        /// Height in pixels.
        height: u16,
    },
    /// Of sound.
    Sound {
        /// How many channels.
        channels: u8,
        /// Samples per second and channel.
        sample_rate: u32,
        /// Of Opus, samples in front that are decoded and not played (RFC 7845, 4.2); else 0.
        pre_skip: u16,
    },
}

/// An access unit that cannot stand in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// It is not NAL units behind start codes.
    #[error("the access unit does not begin with a start code")]
    NoStartCode,
    /// It is not open bitstream units.
    #[error("the access unit is no temporal unit of AV1 in the low-overhead format")]
    NoUnits,
    /// It does not begin with a header of ADTS, or is no longer than that.
    #[error("the packet of AAC has no ADTS header")]
    NoHeader,
    /// It is 4 GiB or more.
    #[error("the access unit is too large")]
    TooLarge,
    /// What a decoder needs first has not come.
    #[error("the stream has no parameter sets, which the index of an MP4 file needs")]
    NoParameterSets,
    /// No access unit came.
    #[error("a track has no access unit")]
    Empty,
    /// Its parameter sets cannot be read.
    #[error("the parameter sets of the stream cannot be read")]
    ParameterSets,
    /// More channels than the configuration of Opus says without a table of them.
    #[error("{0} channels of Opus, of which an MP4 file here has one or two")]
    Channels(u8),
}

impl Coding {
    /// All of them.
    pub const ALL: [Self; ROWS.len()] = [
        Self::Mpeg1Video,
        Self::Mpeg2Video,
        Self::Mpeg4Part2,
        Self::H264,
        Self::H265,
        Self::Av1,
        Self::Mpeg1Audio,
        Self::Mpeg2Audio,
        Self::Aac,
        Self::Opus,
    ];

    /// True for video.
    pub fn is_video(self) -> bool {
        self.row().is_video
    }

    /// Among the compatible brands of a file that has it.
    pub(super) fn brand(self) -> Option<&'static Kind> {
        self.row().brand
    }

    /// The configuration that an access unit holds for its decoder; `None` where it has none, and a later one may.
    pub(super) fn configuration(self, unit: &[u8], shape: Shape) -> Result<Option<Vec<u8>>, SampleError> {
        (self.row().of_unit)(unit, shape)
    }

    fn row(self) -> &'static Row {
        ROWS.into_iter().find(|row| row.coding == self).expect("invariant: each coding has a row")
    }
}

/// The bytes of an access unit in the file.
///
/// # Errors
/// When it is not one of this kind of stream.
pub fn sample(coding: Coding, unit: &Bytes) -> Result<Bytes, SampleError> {
    match coding.row().samples {
        Samples::Without(before) => Ok(unit.slice(before(unit)?..)),
        Samples::Pieces(_) => {
            let mut sample = BytesMut::with_capacity(unit.len() + 16);
            put_sample(coding, unit, &mut sample)?;
            Ok(sample.freeze())
        }
    }
}

/// Appends the same.
pub(super) fn put_sample(coding: Coding, unit: &[u8], out: &mut BytesMut) -> Result<(), SampleError> {
    match coding.row().samples {
        Samples::Without(before) => out.extend_from_slice(&unit[before(unit)?..]),
        Samples::Pieces(pieces) => pieces(unit, &mut |piece| out.extend_from_slice(piece))?,
    }
    Ok(())
}

/// How many bytes it has there.
pub(super) fn sample_size(coding: Coding, unit: &[u8]) -> Result<u32, SampleError> {
    let mut size = 0;
    match coding.row().samples {
        Samples::Without(before) => size = unit.len() - before(unit)?,
        Samples::Pieces(pieces) => pieces(unit, &mut |piece| size += piece.len())?,
    }
    u32::try_from(size).map_err(|_| SampleError::TooLarge)
}

/// Appends the sample entry of a track (ISO/IEC 14496-12, 8.5.2.2).
pub(super) fn put_entry(out: &mut Vec<u8>, coding: Coding, configuration: &[u8], fields: impl FnOnce(&mut Vec<u8>)) {
    let row = coding.row();
    put(out, row.entries[0].0, |out| {
        fields(out);
        match row.configuration {
            ConfigurationBox::Own(kind, _) => put(out, kind, |out| out.extend(configuration)),
            ConfigurationBox::Descriptors(object_types) => put_full(out, b"esds", 0, 0, |out| {
                descriptors::put_stream(out, object_types[0], row.is_video, configuration);
            }),
        }
    });
}

/// A track of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTrack {
    /// How it is coded.
    pub coding: Coding,
    configuration: Configuration,
    /// Before which samples its headers may have to come.
    headers: HeadersBefore,
}

impl ReadTrack {
    /// The track that a sample entry describes.
    pub(super) fn of_entry(mut entry: Contents<'_>) -> Result<Self, IndexError> {
        let kind = entry.kind();
        let refused = || IndexError::Entry(name(kind));
        let has_entry = |row: &&Row| row.entries.iter().any(|(one, _)| **one == kind);
        let first = ROWS.into_iter().find(has_entry).ok_or_else(refused)?;
        // What entries of pictures and of sound have in front of their boxes.
        entry.bytes(if first.is_video { 78 } else { 28 })?;
        let (row, configuration) = match first.configuration {
            ConfigurationBox::Own(kind, read) => (first, read(entry.get(kind)?)?),
            ConfigurationBox::Descriptors(_) => {
                let (number, specific) = descriptors::read_stream(entry.get(b"esds")?)?.ok_or_else(refused)?;
                let row = ROWS.into_iter().filter(has_entry).find(|row| row.has_object_type(number));
                let configuration = Configuration { headers: vec![specific.into()], ..Configuration::default() };
                (row.ok_or_else(refused)?, configuration)
            }
        };
        let headers = row.entries.iter().find(|(one, _)| **one == kind).map_or(HeadersBefore::None, |entry| entry.1);
        Ok(Self { coding: row.coding, configuration, headers })
    }

    /// What the index says of sound whose packets do not say it themselves: Opus of one or two channels; `None` of any other.
    pub fn shape(&self) -> Option<Shape> {
        self.configuration.shape
    }

    /// Bytes of the headers of the index.
    pub(super) fn configuration_size(&self) -> usize {
        self.configuration.headers.iter().map(Bytes::len).sum()
    }

    /// The headers of the index belong before a sample.
    pub(super) fn wants_headers(&self, is_sync: bool, is_first: bool) -> bool {
        match self.headers {
            HeadersBefore::Syncs => is_sync,
            HeadersBefore::First => is_first,
            HeadersBefore::None => false,
        }
    }

    /// The access unit that a sample is; `None` where it is none.
    pub(super) fn unit(&self, sample: &Bytes, wants_headers: bool) -> Option<Bytes> {
        (self.coding.row().unit)(&self.configuration, sample, wants_headers)
    }
}

impl Row {
    fn has_object_type(&self, number: u8) -> bool {
        matches!(self.configuration, ConfigurationBox::Descriptors(types) if types.contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_coding_has_a_row_of_its_own() {
        for (row, coding) in ROWS.iter().zip(Coding::ALL) {
            assert!(row.coding == coding && !row.entries.is_empty());
            // Where rows share an entry, its descriptors tell them apart.
            for other in ROWS.iter().filter(|other| other.coding != coding) {
                let shared = row.entries.iter().any(|(one, _)| other.entries.iter().any(|(kind, _)| kind == one));
                match row.configuration {
                    ConfigurationBox::Descriptors(types) => {
                        assert!(!types.iter().any(|&one| other.has_object_type(one)))
                    }
                    ConfigurationBox::Own(..) => assert!(!shared, "{coding:?}"),
                }
                assert!(!shared || row.is_video == other.is_video);
            }
        }
    }
}
