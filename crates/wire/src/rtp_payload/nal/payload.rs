//! What a payload is: whole NAL units, or a fragment of one.

use std::borrow::Cow;

use super::byte_stream::START_CODE;
use super::{BEGINS, ENDS, NalCodec, SIZE_FIELD, header_of};

/// A payload that is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// One NAL unit.
    Single(&'a [u8]),
    /// Several, each behind its size.
    Several(&'a [u8]),
    /// A part of one.
    Fragment(Fragment<'a>),
}

/// A part of a NAL unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment<'a> {
    /// The header of the NAL unit, in as many bytes as it has.
    pub(super) header: [u8; 2],
    pub(super) begins: bool,
    pub(super) ends: bool,
    /// What of the NAL unit behind its header is in it.
    pub(super) data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload that is not empty.
    ///
    /// # Errors
    /// When it is not one that the format has, or none that is received; in words.
    pub(super) fn read<C: NalCodec>(payload: &'a [u8]) -> Result<Self, String> {
        let header = header_of::<C>(payload).ok_or("the header of the payload is cut off")?;
        let unit_type = C::unit_type(header[0]);
        if C::CARRIED.contains(&unit_type) {
            Ok(Self::Single(payload))
        } else if unit_type == C::AGGREGATION {
            check_aggregated::<C>(&payload[C::HEADER..]).map(Self::Several)
        } else if unit_type == C::FRAGMENTATION {
            Fragment::read::<C>(header, &payload[C::HEADER..]).map(Self::Fragment)
        } else {
            Err(match C::refusal(unit_type) {
                Some(reason) => format!("a packet of type {unit_type}, {reason}, is not received"),
                None => format!("type {unit_type} is of no packet and no NAL unit"),
            })
        }
    }

    /// The whole NAL units in it.
    pub(super) fn units(self) -> impl Iterator<Item = &'a [u8]> {
        let (single, mut several) = match self {
            Self::Single(nal) => (Some(nal), &[][..]),
            Self::Several(units) => (None, units),
            Self::Fragment(_) => (None, &[][..]),
        };
        single.into_iter().chain(std::iter::from_fn(move || {
            let (nal, behind) = next_unit(several)?;
            several = behind;
            Some(nal)
        }))
    }
}

impl<'a> Fragment<'a> {
    /// One that both begins and ends a NAL unit, which neither RFC lets a sender make, says all the same what it is.
    fn read<C: NalCodec>(header: [u8; 2], payload: &'a [u8]) -> Result<Self, String> {
        let (&fragment, data) = payload.split_first().ok_or("the header of the fragment is cut off")?;
        let unit_type = fragment & C::FRAGMENT_TYPE;
        let (begins, ends) = (fragment & BEGINS != 0, fragment & ENDS != 0);
        if !C::CARRIED.contains(&unit_type) {
            return Err(format!("a fragment of a NAL unit of type {unit_type}, which is none"));
        }
        Ok(Self { header: C::with_type(header, unit_type), begins, ends, data })
    }
}

/// NAL units behind their sizes: at least one, all of them whole, with headers, and none a packet itself.
fn check_aggregated<C: NalCodec>(units: &[u8]) -> Result<&[u8], String> {
    let mut rest = units;
    while !rest.is_empty() {
        let (nal, behind) = next_unit(rest).ok_or("a NAL unit in an aggregation packet is cut off")?;
        let header = header_of::<C>(nal).ok_or("a NAL unit in an aggregation packet has no header")?;
        let unit_type = C::unit_type(header[0]);
        if !C::CARRIED.contains(&unit_type) {
            return Err(format!("type {unit_type} in an aggregation packet"));
        }
        rest = behind;
    }
    if units.is_empty() { Err("an aggregation packet of nothing".to_owned()) } else { Ok(units) }
}

/// The next NAL unit behind its size, and the rest.
fn next_unit(units: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, rest) = units.split_first_chunk::<SIZE_FIELD>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*size)))
}

/// The piece of the byte stream that a payload carries; `None` where it is none that is received.
pub(in crate::rtp_payload) fn piece<C: NalCodec>(payload: &[u8]) -> Option<Cow<'_, [u8]>> {
    let payload = Payload::read::<C>(payload).ok()?;
    Some(match payload {
        Payload::Fragment(Fragment { begins: true, header, data, .. }) => {
            [&START_CODE, &header[..C::HEADER], data].concat().into()
        }
        Payload::Fragment(Fragment { data, .. }) => data.into(),
        whole => whole.units().flat_map(|nal| [&START_CODE, nal]).collect::<Vec<_>>().concat().into(),
    })
}
