//! The decision table of optimised I-Frame Delay, as data. `docs/ifd.md` shows and explains it; a test holds the
//! two together.

use framewire_media::PictureType;
use framewire_media::access_unit::KeyKind;

use crate::frame::OutgoingFrame;

pub(super) const I_OVERWRITTEN: &str = "ifd: waiting I overwritten by the next I";
pub(super) const P_OVERWRITTEN: &str = "ifd: waiting P overwritten by the next I";
pub(super) const B_OVERWRITTEN_BY_I: &str = "ifd: waiting B overwritten by an I";
pub(super) const B_OVERWRITTEN_BY_P: &str = "ifd: waiting B overwritten by a P";
pub(super) const P_WHILE_I_WAITS: &str = "ifd: P while an I waits";
pub(super) const P_WHILE_P_WAITS: &str = "ifd: P while a P waits";
pub(super) const B_WHILE_WAITING: &str = "ifd: B while a frame waits";
const P_OF_DISTURBED: &str = "ifd: P of a disturbed group";
const B_OF_DISTURBED: &str = "ifd: B of a disturbed group";
const B_AFTER_DISTURBED: &str = "ifd: leading B after a disturbed group";
const B_OF_BROKEN_LINK: &str = "ifd: leading B of a broken link";

/// What the header of a group says of its leading B pictures, those between its I and its first P.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// They refer to the last I or P picture of the group before as well.
    Open,
    /// They do not (`closed_gop`, ISO/IEC 13818-2, 6.3.8). Stronger than `broken_link` where both are set:
    /// pictures that refer to nothing before their group cannot miss it.
    Closed,
    /// What they refer to is gone since the stream was edited (`broken_link`).
    BrokenLink,
}

/// The frame in C, as the table sees it. D pictures count as B pictures: nothing refers to them either, and as a
/// sequence of D pictures holds no others (ISO/IEC 11172-2), no flag ever concerns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// An I picture: a group starts.
    I(GroupKind),
    /// A P picture.
    P,
    /// A B picture.
    B,
}

impl Incoming {
    /// What the table sees of a frame.
    pub(crate) fn of<P>(frame: &OutgoingFrame<P>) -> Self {
        match frame.kind {
            PictureType::I => Self::I(match frame.dependencies.key {
                Some(KeyKind::Closed) => GroupKind::Closed,
                Some(KeyKind::BrokenLink) => GroupKind::BrokenLink,
                Some(KeyKind::Open) | None => GroupKind::Open,
            }),
            PictureType::P => Self::P,
            PictureType::B | PictureType::D => Self::B,
        }
    }
}

/// What is in W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Nothing.
    Empty,
    /// An I picture.
    I,
    /// A P picture.
    P,
    /// A B picture (or a D picture).
    B,
}

impl Waiting {
    /// What the table sees of the content of W.
    pub(crate) fn of(kind: Option<PictureType>) -> Self {
        match kind {
            None => Self::Empty,
            Some(PictureType::I) => Self::I,
            Some(PictureType::P) => Self::P,
            Some(PictureType::B | PictureType::D) => Self::B,
        }
    }
}

/// What is known of the B pictures between the I and the first P of the present group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeadingB {
    /// Their references were not given up.
    #[default]
    Decodable,
    /// The last I or P picture of the group before was given up (`prev_GOP_disturbed` in figure 1.2).
    ReferenceDropped,
    /// The stream itself says that their reference is gone.
    BrokenLink,
}

/// What is remembered from frame to frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupState {
    /// An I or P picture of the present group was given up (`GOP_disturbed` in figure 1.2).
    pub disturbed: bool,
    /// What is known of the leading B pictures of the present group.
    pub leading: LeadingB,
}

/// What happens to C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// C moves into the empty W.
    Store,
    /// C overwrites W.
    Replace,
    /// C is given up.
    Drop,
}

/// One row: conditions, action, and the state after it. Rows do not overlap, and together they cover every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The frame in C.
    pub incoming: Incoming,
    /// Allowed contents of W.
    pub waiting: &'static [Waiting],
    /// Required value of [`GroupState::disturbed`]; `None`: any.
    pub disturbed: Option<bool>,
    /// Required value of [`GroupState::leading`]; `None`: any.
    pub leading: Option<LeadingB>,
    /// What happens to C.
    pub action: Action,
    /// Why a frame is given up; empty when none is.
    pub rule: &'static str,
    /// [`GroupState::disturbed`] afterwards; `None`: as before.
    pub disturbed_after: Option<bool>,
    /// [`GroupState::leading`] afterwards; `None`: as before.
    pub leading_after: Option<LeadingB>,
}

impl Row {
    /// True when the row's conditions hold.
    pub(crate) fn matches(&self, incoming: Incoming, waiting: Waiting, state: GroupState) -> bool {
        self.incoming == incoming
            && self.waiting.contains(&waiting)
            && self.disturbed.is_none_or(|disturbed| disturbed == state.disturbed)
            && self.leading.is_none_or(|leading| leading == state.leading)
    }

    /// The state after the row was applied to `before`.
    pub(crate) fn state_after(&self, before: GroupState) -> GroupState {
        GroupState {
            disturbed: self.disturbed_after.unwrap_or(before.disturbed),
            leading: self.leading_after.unwrap_or(before.leading),
        }
    }
}

/// The one row for a case.
pub(super) fn lookup(incoming: Incoming, waiting: Waiting, state: GroupState) -> &'static Row {
    let mut rows = TABLE.iter();
    rows.find(|row| row.matches(incoming, waiting, state)).expect("invariant: the table covers every case (tested)")
}

const EMPTY: &[Waiting] = &[Waiting::Empty];
const I_WAITS: &[Waiting] = &[Waiting::I];
const P_WAITS: &[Waiting] = &[Waiting::P];
const B_WAITS: &[Waiting] = &[Waiting::B];
const FRAME_WAITS: &[Waiting] = &[Waiting::I, Waiting::P, Waiting::B];
const ANY: &[Waiting] = &[Waiting::Empty, Waiting::I, Waiting::P, Waiting::B];

/// An I picture always gets into W and starts an undisturbed group.
const fn group_start(
    kind: GroupKind,
    waiting: &'static [Waiting],
    disturbed: Option<bool>,
    rule: &'static str,
    leading_after: LeadingB,
) -> Row {
    Row {
        incoming: Incoming::I(kind),
        waiting,
        disturbed,
        leading: None,
        action: if rule.is_empty() { Action::Store } else { Action::Replace },
        rule,
        disturbed_after: Some(false),
        leading_after: Some(leading_after),
    }
}

/// A P picture ends the leading B pictures of its group.
const fn predicted(
    waiting: &'static [Waiting],
    disturbed: bool,
    action: Action,
    rule: &'static str,
    disturbed_after: bool,
) -> Row {
    Row {
        incoming: Incoming::P,
        waiting,
        disturbed: Some(disturbed),
        leading: None,
        action,
        rule,
        disturbed_after: Some(disturbed_after),
        leading_after: Some(LeadingB::Decodable),
    }
}

/// A B picture changes nothing, whatever becomes of it.
const fn bidirectional(
    waiting: &'static [Waiting],
    disturbed: bool,
    leading: Option<LeadingB>,
    action: Action,
    rule: &'static str,
) -> Row {
    Row {
        incoming: Incoming::B,
        waiting,
        disturbed: Some(disturbed),
        leading,
        action,
        rule,
        disturbed_after: None,
        leading_after: None,
    }
}

/// Every rule of optimised I-Frame Delay.
pub(crate) const TABLE: &[Row] = {
    use Action::{Drop, Replace, Store};
    use GroupKind::{BrokenLink, Closed, Open};
    use LeadingB::{BrokenLink as Gone, Decodable, ReferenceDropped};
    &[
        group_start(Open, EMPTY, Some(false), "", Decodable),
        group_start(Open, EMPTY, Some(true), "", ReferenceDropped),
        group_start(Open, B_WAITS, Some(false), B_OVERWRITTEN_BY_I, Decodable),
        group_start(Open, B_WAITS, Some(true), B_OVERWRITTEN_BY_I, ReferenceDropped),
        group_start(Open, P_WAITS, None, P_OVERWRITTEN, ReferenceDropped),
        group_start(Open, I_WAITS, None, I_OVERWRITTEN, ReferenceDropped),
        group_start(Closed, EMPTY, None, "", Decodable),
        group_start(Closed, B_WAITS, None, B_OVERWRITTEN_BY_I, Decodable),
        group_start(Closed, P_WAITS, None, P_OVERWRITTEN, Decodable),
        group_start(Closed, I_WAITS, None, I_OVERWRITTEN, Decodable),
        group_start(BrokenLink, EMPTY, None, "", Gone),
        group_start(BrokenLink, B_WAITS, None, B_OVERWRITTEN_BY_I, Gone),
        group_start(BrokenLink, P_WAITS, None, P_OVERWRITTEN, Gone),
        group_start(BrokenLink, I_WAITS, None, I_OVERWRITTEN, Gone),
        predicted(ANY, true, Drop, P_OF_DISTURBED, true),
        predicted(EMPTY, false, Store, "", false),
        predicted(B_WAITS, false, Replace, B_OVERWRITTEN_BY_P, false),
        predicted(P_WAITS, false, Drop, P_WHILE_P_WAITS, true),
        predicted(I_WAITS, false, Drop, P_WHILE_I_WAITS, true),
        bidirectional(ANY, true, None, Drop, B_OF_DISTURBED),
        bidirectional(ANY, false, Some(ReferenceDropped), Drop, B_AFTER_DISTURBED),
        bidirectional(ANY, false, Some(Gone), Drop, B_OF_BROKEN_LINK),
        bidirectional(EMPTY, false, Some(Decodable), Store, ""),
        bidirectional(FRAME_WAITS, false, Some(Decodable), Drop, B_WHILE_WAITING),
    ]
};
