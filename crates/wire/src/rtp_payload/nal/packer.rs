//! From access units to payloads: single NAL units, aggregation packets, fragmentation units.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use super::byte_stream::{self, ByteStreamError};
use super::{BEGINS, ENDS, NalCodec, SIZE_FIELD, header_of};
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer, PacketRule};

/// Packs the NAL units of access units, in their order.
///
/// Under [`PacketRule::Full`] as many whole NAL units as fit go into a packet, which is the fewest packets that there can
/// be; under [`PacketRule::Slices`] each has a packet of its own. One that is larger than a packet goes in fragments that
/// fill theirs.
#[derive(Clone)]
pub(in crate::rtp_payload) struct NalPacker<C> {
    aggregates: bool,
    largest_payload: usize,
    units: Vec<Range<usize>>,
    codec: PhantomData<C>,
}

impl<C: NalCodec> NalPacker<C> {
    /// A packer for payloads of so many bytes at most.
    pub(in crate::rtp_payload) fn new(rule: PacketRule, largest_payload: usize) -> Self {
        let aggregates = rule == PacketRule::Full;
        Self { aggregates, largest_payload, units: Vec::new(), codec: PhantomData }
    }

    fn read(&mut self, frame: &[u8]) -> Result<(), ByteStreamError> {
        byte_stream::check_beginning(frame)?;
        self.units.clear();
        for (offset, nal) in byte_stream::nal_units(frame) {
            let header = header_of::<C>(nal).ok_or(ByteStreamError::Short { offset, length: nal.len() })?;
            let unit_type = C::unit_type(header[0]);
            if !C::CARRIED.contains(&unit_type) {
                return Err(ByteStreamError::Type { offset, unit_type });
            }
            self.units.push(offset..offset + nal.len());
        }
        Ok(())
    }

    /// How many of these units, which are one or more, fit into one payload.
    fn fitting(&self, units: &[Range<usize>]) -> usize {
        if !self.aggregates {
            return 1;
        }
        let mut length = C::HEADER;
        let fits = |unit: &&Range<usize>| {
            length += SIZE_FIELD + unit.len();
            length <= self.largest_payload
        };
        units.iter().take_while(fits).count().max(1)
    }

    /// One packet of one NAL unit.
    fn put_whole(&self, nal: &[u8], packets: &mut Packets) {
        packets.begin();
        packets.put_media(nal);
    }

    /// STAP-A (RFC 6184, section 5.7.1); aggregation packet (RFC 7798, section 4.4.2).
    fn put_aggregated(frame: &[u8], units: &[Range<usize>], packets: &mut Packets) {
        let headers = units.iter().filter_map(|unit| header_of::<C>(&frame[unit.clone()]));
        let header = headers.reduce(C::merged).expect("invariant: there are units, with headers");
        packets.begin();
        packets.put_header(&C::with_type(header, C::AGGREGATION)[..C::HEADER]);
        for unit in units {
            let size = u16::try_from(unit.len()).expect("invariant: it fits into a packet");
            packets.put_header(&size.to_be_bytes());
            packets.put_media(&frame[unit.clone()]);
        }
    }

    /// FU-A (RFC 6184, section 5.8); fragmentation unit (RFC 7798, section 4.4.3).
    fn put_fragments(&self, nal: &[u8], packets: &mut Packets) {
        let header = header_of::<C>(nal).expect("invariant: it was read");
        let unit_type = C::unit_type(header[0]);
        let indicator = C::with_type(header, C::FRAGMENTATION);
        let room = self.largest_payload - C::HEADER - 1;
        let data = &nal[C::HEADER..];
        let last = data.len().div_ceil(room) - 1;
        for (index, fragment) in data.chunks(room).enumerate() {
            let begins = if index == 0 { BEGINS } else { 0 };
            let ends = if index == last { ENDS } else { 0 };
            packets.begin();
            packets.put_header(&indicator[..C::HEADER]);
            packets.put_header(&[begins | ends | unit_type]);
            packets.put_media(fragment);
        }
    }
}

impl<C: NalCodec> Packer for NalPacker<C> {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        self.read(frame)?;
        packets.reserve(self.units.len() + frame.len() / self.largest_payload, frame.len());
        let mut rest = &self.units[..];
        while let Some(first) = rest.first() {
            let (packet, behind) = rest.split_at(self.fitting(rest));
            rest = behind;
            match packet {
                [unit] if unit.len() > self.largest_payload => self.put_fragments(&frame[first.clone()], packets),
                [unit] => self.put_whole(&frame[unit.clone()], packets),
                units => Self::put_aggregated(frame, units, packets),
            }
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(self.clone())
    }
}

impl<C: NalCodec> fmt::Debug for NalPacker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NalPacker")
            .field("aggregates", &self.aggregates)
            .field("largest_payload", &self.largest_payload)
            .finish_non_exhaustive()
    }
}
