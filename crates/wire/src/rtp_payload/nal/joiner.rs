//! From payloads to access units.

use std::fmt;
use std::marker::PhantomData;

use bytes::BytesMut;

use super::byte_stream::{LONG_START_CODE, START_CODE};
use super::payload::{Fragment, Payload};
use super::{Beginnings, NalCodec};
use crate::rtp_payload::Joiner;

/// Joins payloads to access units, as far as nothing is missing in them.
pub(in crate::rtp_payload) struct NalJoiner<C> {
    /// The header of the NAL unit of which the end has not come.
    open: Option<[u8; 2]>,
    beginnings: Beginnings<C>,
    codec: PhantomData<C>,
}

impl<C: NalCodec> Default for NalJoiner<C> {
    fn default() -> Self {
        Self { open: None, beginnings: Beginnings::default(), codec: PhantomData }
    }
}

impl<C: NalCodec> NalJoiner<C> {
    /// False where the fragment does not go on from the one before it.
    fn append_fragment(&mut self, fragment: Fragment<'_>, bytes: &mut BytesMut) -> bool {
        if fragment.begins {
            put_start::<C>(fragment.header[0], bytes);
            bytes.extend_from_slice(&fragment.header[..C::HEADER]);
        }
        bytes.extend_from_slice(fragment.data);
        let goes_on = self.open == (!fragment.begins).then_some(fragment.header);
        self.open = (!fragment.ends).then_some(fragment.header);
        goes_on
    }
}

/// The start code of a NAL unit whose header begins with this byte.
fn put_start<C: NalCodec>(first: u8, bytes: &mut BytesMut) {
    if bytes.is_empty() || C::is_parameter_set(C::unit_type(first)) {
        bytes.extend_from_slice(&LONG_START_CODE);
    } else {
        bytes.extend_from_slice(&START_CODE);
    }
}

impl<C: NalCodec> Joiner for NalJoiner<C> {
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        if !payload.is_empty() {
            Payload::read::<C>(payload)?;
        }
        Ok(payload)
    }

    fn begin(&mut self, payload: &[u8], _is_first: bool) -> bool {
        self.open = None;
        !matches!(Payload::read::<C>(payload), Err(_) | Ok(Payload::Fragment(Fragment { begins: false, .. })))
    }

    fn append(&mut self, payload: &[u8], bytes: &mut BytesMut) -> bool {
        match Payload::read::<C>(payload) {
            Ok(Payload::Fragment(fragment)) => self.append_fragment(fragment, bytes),
            Ok(whole) => {
                for nal in whole.units() {
                    put_start::<C>(nal[0], bytes);
                    bytes.extend_from_slice(nal);
                }
                self.open.is_none()
            }
            Err(_) => payload.is_empty(),
        }
    }

    fn learn(&mut self, bytes: &[u8], is_whole: bool) {
        self.beginnings.learn(bytes, is_whole);
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn has_beginning(&self, bytes: &[u8]) -> bool {
        self.beginnings.has_beginning(bytes)
    }
}

impl<C: NalCodec> fmt::Debug for NalJoiner<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NalJoiner").field("open", &self.open).field("beginnings", &self.beginnings).finish()
    }
}
