//! What P and B pictures of MPEG-1 and MPEG-2 video refer to (6.1.1.3, 6.1.1.6).

use crate::access_unit::KeyKind;
use crate::picture::{GopHeader, PictureType};

/// A reference frame.
#[derive(Clone, Copy, Debug)]
struct Anchor<N> {
    kind: PictureType,
    unit: N,
}

/// What one picture refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Referral<N> {
    /// Units that it cannot be decoded without, ascending.
    pub(crate) references: Vec<N>,
    /// It is shown before the I picture it follows, and refers to what came before that.
    pub(crate) leading: bool,
    /// It refers to something that never came.
    pub(crate) missing: bool,
}

/// Remembers the pictures that P and B pictures refer to. `N` numbers the units.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceTracker<N> {
    /// The last two I or P pictures, in decode order.
    anchors: [Option<Anchor<N>>; 2],
    /// I or P pictures since the last GOP header, as long as its leading B pictures may follow.
    anchors_in_group: u32,
    closed: bool,
}

impl<N> Default for ReferenceTracker<N> {
    fn default() -> Self {
        Self { anchors: [None, None], anchors_in_group: 0, closed: false }
    }
}

/// Where decoding can begin. An I picture without a group header begins nothing that is closed, but what is shown after
/// it needs nothing older. A closed group needs nothing of what a broken link has lost, so that `closed_gop` is the
/// stronger of the two flags (6.3.8).
pub(crate) fn key_kind(kind: PictureType, gop: Option<GopHeader>) -> Option<KeyKind> {
    match (kind, gop) {
        (PictureType::P | PictureType::B, _) => None,
        (PictureType::D, _) | (_, Some(GopHeader { closed: true, .. })) => Some(KeyKind::Closed),
        (_, Some(GopHeader { broken_link: true, .. })) => Some(KeyKind::BrokenLink),
        _ => Some(KeyKind::Open),
    }
}

impl<N: Copy> ReferenceTracker<N> {
    /// What a frame, or the first field of one, refers to.
    pub(crate) fn of(&mut self, unit: N, kind: PictureType, gop_header: Option<GopHeader>) -> Referral<N> {
        if let Some(header) = gop_header {
            self.anchors_in_group = 0;
            self.closed = header.closed;
            if header.broken_link && !header.closed {
                // What leading pictures would refer to is not there.
                self.anchors = [None, None];
            }
        }
        let [_, last] = self.anchors;
        let referral = match kind {
            PictureType::I | PictureType::D => refer_to([]),
            PictureType::P => refer_to([last]),
            PictureType::B => self.of_b(),
        };
        if matches!(kind, PictureType::I | PictureType::P) {
            self.anchors = [last, Some(Anchor { kind, unit })];
            self.anchors_in_group += 1;
        }
        referral
    }

    /// What the second field of a frame refers to outside its frame, when it comes as a unit of its own. That of a P
    /// frame refers to the first field and to the frame before, that of an I frame to the first field only (7.6.2.1).
    pub(crate) fn of_second_field(&self, kind: PictureType) -> Referral<N> {
        let [before_last, last] = self.anchors;
        match (kind, last.map(|first| first.kind)) {
            (PictureType::B, _) => self.of_b(),
            (PictureType::P, Some(PictureType::P)) => refer_to([before_last]),
            _ => refer_to([]),
        }
    }

    fn of_b(&self) -> Referral<N> {
        let [before_last, last] = self.anchors;
        // Between the group before and the first anchor of a closed group: backward prediction only (6.3.8).
        if self.closed && self.anchors_in_group < 2 {
            return refer_to([last]);
        }
        let leading = last.is_some_and(|anchor| anchor.kind == PictureType::I);
        Referral { leading, ..refer_to([before_last, last]) }
    }
}

fn refer_to<N: Copy, const COUNT: usize>(anchors: [Option<Anchor<N>>; COUNT]) -> Referral<N> {
    Referral {
        references: anchors.iter().flatten().map(|anchor| anchor.unit).collect(),
        leading: false,
        missing: anchors.iter().any(Option::is_none),
    }
}
