//! What the payload formats of H.264 (RFC 6184) and H.265 (RFC 7798) have in common: single NAL units, several of them in
//! one packet, and one in several packets, without interleaving. A codec is its [`NalCodec`].
//!
//! # What is kept
//! The packets carry NAL units and no start codes. What comes out is the access unit with start codes as annex B of either
//! standard demands them (B.1.2 of H.264, B.2.2 of H.265): of four bytes (with `zero_byte`) before the first NAL unit and
//! before parameter sets, of three bytes before all others (also before the second field of a frame, which annex B wants to
//! have four). Further zero bytes before start codes and at the end are not
//! kept. So an access unit comes out to the byte where it was written with no more zero bytes than that, as x264, x265 and
//! FFmpeg do; any other with the same NAL units.
//!
//! # Frames after a loss
//! Whether the first packet that arrives of a frame is the first one that was sent, packets do not say. Before the first
//! slice of a picture there may have been parameter sets and messages in packets of their own. So the joiner goes by the
//! habit of the sender ([`Beginnings`]): where all intra frames it has seen began with a sequence parameter set, and all
//! others with a slice, a frame that does so has its beginning. Where some frames of a kind began with a slice and others with
//! a message, as with gradual refreshes, a frame that begins with a slice directly after a loss of more than the end of the
//! frame before it is discarded, whole or not. (`session`'s tests count both over streams of x264 and x265.)

mod beginnings;
pub(crate) mod byte_stream;
mod joiner;
mod packer;
mod payload;

use std::fmt;
use std::ops::RangeInclusive;

pub(super) use beginnings::Beginnings;
pub(super) use joiner::NalJoiner;
pub(super) use packer::NalPacker;
pub(super) use payload::piece;

use super::PacketRule;

/// S of a fragmentation unit: it begins a NAL unit (RFC 6184, section 5.8; RFC 7798, section 4.4.3).
const BEGINS: u8 = 0x80;

/// E: it ends one.
const ENDS: u8 = 0x40;

/// Length of the size before each NAL unit of an aggregation packet (RFC 6184, section 5.7.1; RFC 7798, section 4.4.2).
const SIZE_FIELD: usize = 2;

/// What a NAL unit is to its access unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An access unit delimiter: nothing of its picture stands before it.
    Delimiter,
    /// It may stand before the first slice: parameter sets, messages.
    Before,
    /// The first slice of a picture. Pictures of one class begin alike.
    FirstSlice(Class),
    /// Another slice, or part of one.
    Slice,
    /// Anything else.
    Other,
}

/// What kind of picture a slice is of, as far as senders put other things before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Decoding can begin there.
    KeyPicture,
    /// It refers to no other, by its first slice.
    Intra,
    /// All others.
    Inter,
}

/// What the two formats differ in.
pub(super) trait NalCodec: Copy + fmt::Debug + Send + Sync + 'static {
    /// Length of the header of a NAL unit.
    const HEADER: usize;
    /// Types of NAL units that the format carries.
    const CARRIED: RangeInclusive<u8>;
    /// Type of the aggregation packets that are sent and received.
    const AGGREGATION: u8;
    /// Type of the fragmentation units that are sent and received.
    const FRAGMENTATION: u8;
    /// What stands in a fragmentation unit's header beside S and E: the type of the NAL unit.
    const FRAGMENT_TYPE: u8;

    /// The type in a header, of which this is the first byte.
    fn unit_type(first: u8) -> u8;

    /// The same header with another type.
    fn with_type(header: [u8; 2], unit_type: u8) -> [u8; 2];

    /// The header of an aggregation packet of several NAL units, from the headers of two of them.
    fn merged(one: [u8; 2], other: [u8; 2]) -> [u8; 2];

    /// Why packets of this type are refused, where there is a name for what they are.
    fn refusal(unit_type: u8) -> Option<&'static str>;

    /// True for the parameter sets before which annex B demands a `zero_byte`.
    fn is_parameter_set(unit_type: u8) -> bool;

    /// What a NAL unit is to its access unit.
    fn role(nal: &[u8]) -> Role;
}

/// The header of a NAL unit, in the first [`NalCodec::HEADER`] bytes; `None` where it is cut off.
fn header_of<C: NalCodec>(nal: &[u8]) -> Option<[u8; 2]> {
    let bytes = nal.get(..C::HEADER)?;
    Some([bytes[0], bytes.get(1).copied().unwrap_or(0)])
}

/// The smallest payload that always takes a byte of a NAL unit along: the headers of a fragmentation unit, and that byte.
pub(super) const fn smallest_payload<C: NalCodec>() -> usize {
    C::HEADER + 1 + 1
}

/// The parameter sets of an access unit, with their types.
pub(super) fn parameter_sets<C: NalCodec>(frame: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let units = byte_stream::nal_units(frame).filter(|(_, nal)| nal.len() >= C::HEADER);
    units.map(|(_, nal)| (C::unit_type(nal[0]), nal)).filter(|(unit_type, _)| C::is_parameter_set(*unit_type))
}

/// Rules that make no sense of NAL units.
pub(super) fn refuses(rule: PacketRule) -> Option<&'static str> {
    match rule {
        PacketRule::Full | PacketRule::Slices => None,
        PacketRule::Thesis => Some(
            "it is the sizes that the thesis' encoder made of the slices of MPEG-2 (RFC 2250); NAL units are packed by \
             \"full\" or \"slices\"",
        ),
    }
}
