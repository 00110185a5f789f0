//! From access units to payloads.

use super::access_unit::AccessUnit;
use super::cutter::{Cut, Cutter, OVERHEAD, Surplus};
use super::header::HeaderRepr;
use super::new_header::NewHeaderDetector;
use crate::rtp;
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer, PacketRule};

/// Packs access units behind MPEG video-specific headers.
#[derive(Clone, Debug)]
pub(super) struct VideoPacker {
    rule: PacketRule,
    largest_video: usize,
    access_unit: AccessUnit,
    cuts: Vec<Cut>,
    surplus: Surplus,
    new_header: NewHeaderDetector,
}

impl VideoPacker {
    /// A packer for payloads of so many bytes at most, or fewer where the rule has it so.
    pub(super) fn new(rule: PacketRule, largest_payload: usize) -> Self {
        Self {
            rule,
            largest_video: (rtp::HEADER_LENGTH + largest_payload).min(rule.largest_datagram()) - OVERHEAD,
            access_unit: AccessUnit::default(),
            cuts: Vec::new(),
            surplus: Surplus::default(),
            new_header: NewHeaderDetector::default(),
        }
    }

    fn header(&self, cut: &Cut) -> HeaderRepr {
        let picture = &self.access_unit.pictures[cut.picture];
        HeaderRepr {
            temporal_reference: picture.temporal_reference,
            new_picture_header: picture.mpeg2.then(|| self.new_header.is_new(cut.picture)),
            sequence_header_present: cut.sequence_header,
            beginning_of_slice: cut.begins_slice,
            end_of_slice: cut.ends_slice,
            picture_type: picture.kind,
            motion_vector_codes: picture.motion_vector_codes,
        }
    }
}

impl Packer for VideoPacker {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        self.access_unit.read(frame)?;
        self.new_header.read(frame, &self.access_unit);
        self.cuts.clear();
        Cutter::new(self.rule, self.largest_video, &mut self.surplus, &mut self.cuts).cut(&self.access_unit.units);
        packets.reserve(self.cuts.len(), frame.len() + self.cuts.len() * super::HEADER_LENGTH);
        for cut in &self.cuts {
            packets.begin();
            packets.put_header(&self.header(cut).emit());
            packets.put_media(&frame[cut.start..cut.end]);
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(self.clone())
    }
}
