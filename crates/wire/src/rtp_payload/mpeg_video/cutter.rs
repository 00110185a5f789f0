//! Where one access unit is cut into packets, by the rules of RFC 2250, section 3.1, and a [`PacketRule`].

use super::access_unit::{Unit, UnitKind};
use crate::rtp;
use crate::rtp_payload::PacketRule;
use crate::rtp_payload::rule::{THESIS_MEAN_DATAGRAM, THESIS_SMALLEST_DATAGRAM};

/// Bytes of every datagram before its video.
pub(crate) const OVERHEAD: usize = rtp::HEADER_LENGTH + super::HEADER_LENGTH;

/// One packet: a range of the frame, and what the MPEG video-specific header says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub start: usize,
    pub end: usize,
    /// Index of the picture that the packet belongs to.
    pub picture: usize,
    /// S.
    pub sequence_header: bool,
    /// B.
    pub begins_slice: bool,
    /// E.
    pub ends_slice: bool,
}

/// What the packet under construction holds so far, which decides what may follow in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    /// A sequence header and what belongs to it.
    Sequence,
    /// A GOP header, after a sequence header or not.
    Group,
    /// A picture header, after other headers or not.
    Picture,
    /// What is left of headers that an earlier packet had no room for: extensions, user data.
    Rest,
    /// Whole slices, after headers or not.
    Slices,
}

/// A slice is not begun in less room than this: its start code and header (ISO/IEC 13818-2, 6.2.4) stay in one piece.
const SMALLEST_FRAGMENT: usize = 16;

/// What the rule `Thesis` remembers of the packets so far: by how many bytes they are larger, together, than as many
/// packets of the mean size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surplus(i64);

impl Surplus {
    fn count(&mut self, video: usize) {
        self.0 += (OVERHEAD + video) as i64 - THESIS_MEAN_DATAGRAM as i64;
    }
}

/// Fills one packet after the other.
pub(crate) struct Cutter<'a> {
    rule: PacketRule,
    limit: usize,
    surplus: &'a mut Surplus,
    cuts: &'a mut Vec<Cut>,
    packet: Cut,
    content: Content,
}

impl<'a> Cutter<'a> {
    /// A cutter for packets with up to `limit` bytes of video; cuts are appended to `cuts`.
    pub(super) fn new(rule: PacketRule, limit: usize, surplus: &'a mut Surplus, cuts: &'a mut Vec<Cut>) -> Self {
        let packet =
            Cut { start: 0, end: 0, picture: 0, sequence_header: false, begins_slice: false, ends_slice: false };
        Self { rule, limit, surplus, cuts, packet, content: Content::Nothing }
    }

    /// Cuts a frame made of `units`, which lie one behind the other from its first byte on.
    pub(super) fn cut(mut self, units: &[Unit]) {
        for unit in units {
            match unit.kind {
                UnitKind::Slice => self.add_slice(unit),
                _ => self.add_header(unit),
            }
        }
        self.finish_packet();
    }

    fn length(&self) -> usize {
        self.packet.end - self.packet.start
    }

    fn room(&self) -> usize {
        self.limit - self.length()
    }

    fn finish_packet(&mut self) {
        if self.packet.end > self.packet.start {
            self.surplus.count(self.length());
            self.cuts.push(self.packet);
        }
        let end = self.packet.end;
        self.packet =
            Cut { start: end, end, sequence_header: false, begins_slice: false, ends_slice: false, ..self.packet };
        self.content = Content::Nothing;
    }

    fn add_header(&mut self, unit: &Unit) {
        let length = unit.end - unit.start;
        if !self.may_follow(unit.kind) || (length > self.room() && self.content != Content::Nothing) {
            self.finish_packet();
        }
        self.packet.picture = unit.picture;
        self.packet.sequence_header |= unit.kind == UnitKind::SequenceHeader;
        self.packet.ends_slice = false;
        self.content = match unit.kind {
            UnitKind::SequenceHeader => Content::Sequence,
            UnitKind::GroupHeader => Content::Group,
            UnitKind::PictureHeader => Content::Picture,
            UnitKind::Slice | UnitKind::Other if self.content == Content::Nothing => Content::Rest,
            // Extensions and user data belong to the header before them.
            UnitKind::Slice | UnitKind::Other => self.content,
        };
        if self.append_in_pieces(unit.end) {
            self.content = Content::Rest;
        }
    }

    /// The three rules on headers of section 3.1. What is no such header may stand anywhere.
    fn may_follow(&self, kind: UnitKind) -> bool {
        match kind {
            UnitKind::SequenceHeader => self.content == Content::Nothing,
            UnitKind::GroupHeader => matches!(self.content, Content::Nothing | Content::Sequence),
            UnitKind::PictureHeader => matches!(self.content, Content::Nothing | Content::Group),
            UnitKind::Slice | UnitKind::Other => true,
        }
    }

    fn add_slice(&mut self, unit: &Unit) {
        let length = unit.end - unit.start;
        if self.starts_packet(length) {
            self.finish_packet();
        }
        self.packet.picture = unit.picture;
        self.packet.begins_slice |= self.content != Content::Slices;
        self.packet.ends_slice = false;
        self.content = Content::Slices;
        let fragmented = self.append_in_pieces(unit.end);
        self.packet.ends_slice = true;
        if fragmented {
            // The next slice must not follow this tail.
            self.finish_packet();
        }
    }

    /// Whether a slice of `length` bytes starts a new packet.
    fn starts_packet(&self, length: usize) -> bool {
        if length <= self.room() {
            return self.is_large_enough();
        }
        let after_slices = self.content == Content::Slices;
        let may_start_here = match self.rule {
            PacketRule::Full => length > self.limit,
            // Headers alone would be a packet of a few bytes.
            PacketRule::Slices => length > self.limit && !after_slices,
            PacketRule::Thesis => !after_slices,
        };
        !may_start_here || self.room() < SMALLEST_FRAGMENT
    }

    /// Under `Thesis`, a packet with whole slices is closed although there is room, as long as the mean is too high.
    fn is_large_enough(&self) -> bool {
        self.rule == PacketRule::Thesis
            && self.content == Content::Slices
            && self.surplus.0 > 0
            && OVERHEAD + self.length() >= THESIS_SMALLEST_DATAGRAM
    }

    /// Appends everything up to `end`, starting new packets as they fill up; true when it took more than one.
    fn append_in_pieces(&mut self, end: usize) -> bool {
        let mut cut = false;
        while end - self.packet.end > self.room() {
            self.packet.end += self.piece(end - self.packet.end);
            self.finish_packet();
            cut = true;
        }
        self.packet.end = end;
        cut
    }

    /// How much of the `left` bytes, which are more than there is room for, goes into this packet.
    fn piece(&self, left: usize) -> usize {
        let tail = left - self.room();
        let smallest_tail = match self.rule {
            PacketRule::Full | PacketRule::Slices => 0,
            PacketRule::Thesis => THESIS_SMALLEST_DATAGRAM - OVERHEAD,
        };
        self.room() - smallest_tail.saturating_sub(tail).min(self.room().saturating_sub(SMALLEST_FRAGMENT))
    }
}
