//! The general rule: give up what the viewer misses least, and never send what cannot be decoded.
//!
//! It knows what every frame refers to, of any codec, and has five rules. `docs/transports.md` and `docs/dropping.md`
//! have the measurements that the thresholds (`threshold.rs`) were chosen by.
//!
//! 1. *A disturbed group is given up to its end.* What refers to a frame that was given up goes at once, waiting or not.
//!    Where no key frame ends it, the next recovery point does (`refresh.rs`).
//! 2. *Old groups end early.* When a newer key frame waits, frames go from the end of the group before it, a few at a
//!    time: they cost the fewest frames for their bytes, as nothing follows from them, and the freeze is short. When
//!    more waits, all that is left of that group goes.
//! 3. *The stream goes on without it.* A frame that has waited long goes, oldest first, when nothing refers to it or
//!    only frames that the stream goes on without as well. It is almost too late anyway, and those that others depend on
//!    keep the rest of the limit.
//! 4. *A limit is a limit.* Beyond it, frames go that others depend on: over the limit in time the oldest, as it is too
//!    late; over the others one without which the stream goes on, or else the newest, on which the fewest depend. By
//!    the first rule that is the rest of the group: [`DependencyQueue::needs_key_frame`].
//! 5. *Key frames are delayed, not given up*, but for a newer one, by the second rule. A key frame that waits first does
//!    not count against the limits, and a frame that waits alone is always kept.
//!
//! H.264 and H.265 add a sixth, which is in `display_order.rs`: *the order is kept*. A decoder must be able to derive where
//! each frame is shown. So frames are given up only as far as the next key frame keeps its place, where the limits
//! leave that choice; a CRA picture is made to begin a sequence instead, and an open group of H.264 is renumbered to go
//! on from what was sent (`numbering.rs`); and what has lost its place goes, to the next key frame that has one.

mod display_order;
mod droppable;
mod given_up_references;
mod implied;
mod numbering;
mod refresh;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod threshold;

use bytes::Bytes;
use framewire_media::PictureType;
use framewire_units::{DataSize, Duration};

use crate::backlog::{Backlog, Waiting};
use crate::frame::{OutgoingFrame, Payload};
use crate::limits::Limits;
use crate::queue::{Discard, Level};
use display_order::DisplayOrderTracker;
use given_up_references::GivenUpReferences;
use implied::Implied;
use refresh::Refresh;

const REFERENCE_GIVEN_UP: &str = "dependency: what it refers to was given up";
const LEADING_WITHOUT_REFERENCE: &str = "dependency: leading frame, what it refers to is not in the stream";
const OLD_GROUP: &str = "dependency: end of an old group, a newer key frame waits";
const UNREFRESHED: &str = "dependency: the refresh after what was given up has not ended where it is shown";
const WAITED_TOO_LONG: &str = "dependency: waited too long, and the stream goes on without it";
const MISPLACED: &str = "dependency: after what was given up before it, a decoder would show it at another time";
const LIMIT_REACHED: &str = "dependency: limit reached, the group is given up to its end";

/// For how many of the oldest referenced frames it is worked out who depends on them: in a queue of thousands of frames
/// the rest count as needed, so that the work for each frame that comes is bounded.
const MOST_CHECKS: u32 = 64;

/// A queue that gives up frames by what depends on them.
///
/// Contract: [`offer`](Self::offer) every frame of the stream in decode order, also those that are not to be kept
/// because of what came before them: that is decided here. What the writer has [taken](Self::take) is never touched.
#[derive(Clone, Debug)]
pub struct DependencyQueue<P = Bytes> {
    limits: Limits,
    backlog: Backlog<P>,
    gone: GivenUpReferences,
    implied: Implied,
    display_order: DisplayOrderTracker,
    refresh: Refresh,
    group_lost: bool,
    groups_lost: u64,
}

impl<P> DependencyQueue<P> {
    /// One second: what the receiver of a live stream usually holds back, and what GStreamer's `queue` holds.
    pub const DEFAULT_LIMITS: Limits = Limits::of_time(Duration::from_secs(1));

    /// An empty queue.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            backlog: Backlog::default(),
            gone: GivenUpReferences::default(),
            implied: Implied::default(),
            display_order: DisplayOrderTracker::default(),
            refresh: Refresh::default(),
            group_lost: false,
            groups_lost: 0,
        }
    }

    /// Changes how much may wait, from the next frame on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// True from when a frame was given up that the rest of its group depends on, until the next key frame is offered, or
    /// a recovery point.
    pub fn needs_key_frame(&self) -> bool {
        self.group_lost
    }

    /// How many groups were given up to their ends while they were still coming.
    pub fn groups_lost(&self) -> u64 {
        self.groups_lost
    }
}

impl<P: Payload> DependencyQueue<P> {
    /// Takes a frame in, and gives up what the rules say: frames that waited, or itself.
    pub fn offer(&mut self, mut frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
        if frame.dependencies.key.is_some() {
            self.gone.start_group(frame.id);
            self.refresh = Refresh::default();
            self.group_lost = false;
        }
        self.implied.complete(frame.id, &mut frame.dependencies);
        let mut discards = vec![];
        match self.undecodable(&frame) {
            None => {
                if frame.dependencies.begins_recovery {
                    self.refresh.begin(frame.id);
                    if std::mem::take(&mut self.group_lost) {
                        self.refresh.resume(frame.id);
                    }
                }
                self.display_order.push(&mut frame, &self.gone);
                self.backlog.push(frame);
            }
            Some(rule) => {
                if rule == MISPLACED {
                    self.display_order.pass_over(&frame);
                }
                self.refuse(&frame);
                discards.push(Discard { frame, rule });
            }
        }
        let level = self.backlog.level();
        if threshold::END_OF_GROUP.exceeded_by(self.limits, level)
            || threshold::DROPPABLE.exceeded_by(self.limits, level)
        {
            self.end_old_group(&mut discards);
            self.leave_old_groups(&mut discards);
            self.spare_what_is_not_needed(&mut discards);
            self.keep_limits(&mut discards);
            if !discards.is_empty() {
                self.keep_order(&mut discards);
            }
        }
        discards
    }

    /// The oldest frame.
    pub fn take(&mut self) -> Option<OutgoingFrame<P>> {
        let mut frame = self.backlog.pop()?;
        if frame.dependencies.begins_sequence {
            frame.bytes.begin_sequence();
        }
        if !self.display_order.leaves(&mut frame) {
            self.display_order.wait_behind(self.backlog.iter().map(|waiting| &waiting.frame));
        }
        Some(frame)
    }

    /// Gives up all that waits, oldest first: no decoder gets it, so that nothing may refer to it, or be placed by it.
    pub fn flush(&mut self) -> Vec<OutgoingFrame<P>> {
        let frames: Vec<_> = std::iter::from_fn(|| self.backlog.pop()).collect();
        for frame in &frames {
            self.gone.insert(frame);
            self.refresh.lose(frame.id);
        }
        self.display_order.flush();
        frames
    }

    /// What waits.
    pub fn level(&self) -> Level {
        self.backlog.level()
    }

    /// Rule 1 for a frame that comes. Decoding can begin at a key frame, whatever its headers allow it to refer to. What
    /// refers to something that never came is given up only where the stream itself is made to be shown without it:
    /// otherwise decoders conceal it, and the viewer gains by having it.
    fn undecodable(&self, frame: &OutgoingFrame<P>) -> Option<&'static str> {
        let dependencies = &frame.dependencies;
        let is_misplaced = || (!self.display_order.keeps_place(frame)).then_some(MISPLACED);
        if dependencies.key.is_some() {
            is_misplaced()
        } else if references(frame).iter().any(|&id| self.gone.contains(id) && !self.refresh.covers(frame, id)) {
            Some(REFERENCE_GIVEN_UP)
        } else if self.refresh.is_spoilt(frame) {
            Some(UNREFRESHED)
        } else if dependencies.leading && (dependencies.missing_reference || self.display_order.skips_leading()) {
            Some(LEADING_WITHOUT_REFERENCE)
        } else {
            is_misplaced()
        }
    }

    fn refuse(&mut self, frame: &OutgoingFrame<P>) {
        self.backlog.pass_over(frame);
        self.gone.insert(frame);
        if frame.dependencies.referenced {
            // The stream did not go on without the frame that was given up.
            let is_needed = frame.kind == PictureType::P && frame.dependencies.temporal_layer == 0;
            if is_needed || frame.dependencies.key.is_some() {
                self.lose_group();
            }
        }
    }

    fn lose_group(&mut self) {
        self.groups_lost += u64::from(!self.group_lost);
        self.group_lost = true;
    }

    /// Rule 2, while it is enough.
    fn end_old_group(&mut self, discards: &mut Vec<Discard<P>>) {
        if threshold::END_OF_GROUP.exceeded_by(self.limits, self.backlog.level())
            && let Some((end, key)) = self.end_of_old_group()
        {
            let lost = self.lost_with(|frame| (end..key).contains(&frame.id));
            self.give_up(&lost, discards, |id| if id < key { OLD_GROUP } else { REFERENCE_GIVEN_UP });
        }
    }

    /// Where the oldest group that can be shortened is to end, so that no more is left than is to be, and the key frame
    /// behind it.
    fn end_of_old_group(&self) -> Option<(u32, u32)> {
        let frames = || self.backlog.iter().map(|waiting| &waiting.frame);
        let mut shortens = false;
        let key = frames().find(|frame| match (frame.dependencies.key, shortens) {
            (Some(_), true) => true,
            (Some(_), false) => false,
            (None, _) => {
                shortens |= frame.dependencies.referenced;
                false
            }
        })?;
        let mut left = self.backlog.kept();
        let mut end = None;
        for frame in frames().rev().skip_while(|frame| frame.id >= key.id) {
            if frame.dependencies.key.is_some() || !threshold::LEFT.exceeded_by(self.limits, left) {
                break;
            }
            left.frames -= 1;
            left.bytes = left.bytes - DataSize::from_bytes(frame.bytes.size());
            left.time = left.time.saturating_sub(frame.duration);
            end = if frame.dependencies.referenced { Some(frame.id) } else { end };
        }
        let end = end?;
        // A gap is as long as the key frame behind it keeps its place.
        let in_group = frames().filter(|frame| (end..key.id).contains(&frame.id) && frame.dependencies.referenced);
        let mut ends = in_group.map(|frame| frame.id).take(MOST_CHECKS as usize);
        let end = ends.find(|&end| self.keeps_place_without(key.id, |frame| (end..key.id).contains(&frame.id)))?;
        Some((end, key.id))
    }

    /// Whether a key frame that waits keeps its place when the frames that are `given_up` go, and all that refer to them.
    fn keeps_place_without(&self, key: u32, given_up: impl Fn(&OutgoingFrame<P>) -> bool) -> bool {
        let lost = self.lost_with(given_up);
        let stays = |frame: &&OutgoingFrame<P>| lost.binary_search(&frame.id).is_err();
        let before = self.backlog.iter().map(|waiting| &waiting.frame).take_while(|frame| frame.id <= key);
        self.display_order.keep_last_place(before.filter(stays))
    }

    /// Rule 2, when it is not.
    fn leave_old_groups(&mut self, discards: &mut Vec<Discard<P>>) {
        while threshold::OLD_GROUP.exceeded_by(self.limits, self.backlog.level())
            || threshold::END_OF_GROUP.exceeded_by(self.limits, self.backlog.kept())
        {
            let Some(key) = self.newer_key_frame() else { return };
            let lost = self.lost_with(|frame| frame.id < key);
            self.give_up(&lost, discards, |id| if id < key { OLD_GROUP } else { REFERENCE_GIVEN_UP });
        }
    }

    /// The first key frame behind the oldest frame.
    fn newer_key_frame(&self) -> Option<u32> {
        let behind_oldest = self.backlog.iter().skip(1).map(|waiting| &waiting.frame);
        let mut keys = behind_oldest.filter(|frame| frame.dependencies.key.is_some()).take(MOST_CHECKS as usize);
        keys.find(|key| self.display_order.keep_last_place(std::iter::once(*key))).map(|key| key.id)
    }

    /// After frames were given up: what has lost its place goes too, with all that refers to it.
    fn keep_order(&mut self, discards: &mut Vec<Discard<P>>) {
        let Self { display_order, backlog, gone, .. } = self;
        let lost = display_order.place_anew(backlog.iter_mut(), gone);
        if lost.is_empty() {
            return;
        }
        let newest_key = self.backlog.iter().rfind(|waiting| waiting.frame.dependencies.key.is_some());
        let loses_group = match newest_key {
            Some(Waiting { frame, .. }) => lost.binary_search_by_key(&frame.id, |lost| lost.0).is_ok(),
            None => lost.iter().any(|(_, rule)| *rule == MISPLACED),
        };
        let Self { backlog, gone, refresh, .. } = self;
        backlog.give_up(discards, |Waiting { frame, .. }| {
            let at = lost.binary_search_by_key(&frame.id, |lost| lost.0).ok()?;
            gone.insert(frame);
            refresh.lose(frame.id);
            Some(lost[at].1)
        });
        if loses_group {
            self.lose_group();
        }
    }

    /// Rule 3.
    fn spare_what_is_not_needed(&mut self, discards: &mut Vec<Discard<P>>) {
        while let Some(lost) = self.find_droppable(|rest| threshold::DROPPABLE.exceeded_by(self.limits, rest)) {
            self.give_up(&lost, discards, |id| if id == lost[0] { WAITED_TOO_LONG } else { REFERENCE_GIVEN_UP });
        }
    }

    /// Rule 4.
    fn keep_limits(&mut self, discards: &mut Vec<Discard<P>>) {
        while self.backlog.len() > 1 && self.limits.exceeded_by(self.level_behind_key_frame()) {
            if !self.limits.time_exceeded_by(self.level_behind_key_frame())
                && let Some(lost) = self.find_droppable(|_| true)
            {
                self.give_up(&lost, discards, |id| if id == lost[0] { WAITED_TOO_LONG } else { REFERENCE_GIVEN_UP });
                continue;
            }
            let Some(victim) = self.victim() else { return };
            let (lost, resumed) =
                refresh::lost_until_refresh(self.backlog.iter().map(|waiting| &waiting.frame), victim);
            self.give_up(&lost, discards, |_| LIMIT_REACHED);
            match resumed {
                Some(id) => self.refresh.resume(id),
                None => self.lose_group(),
            }
        }
    }

    /// The frame to begin with when the stream does not go on without any.
    fn victim(&self) -> Option<u32> {
        let mut candidates = self.backlog.iter().filter(|waiting| waiting.frame.dependencies.key.is_none());
        let too_late = self.limits.time_exceeded_by(self.level_behind_key_frame());
        let victim = if too_late { candidates.next() } else { candidates.next_back() };
        victim.map(|waiting| waiting.frame.id)
    }

    /// Ids of the waiting frames that are `given_up`, and of those that refer to one of them.
    fn lost_with(&self, given_up: impl Fn(&OutgoingFrame<P>) -> bool) -> Vec<u32> {
        let mut lost = vec![];
        for Waiting { frame, .. } in self.backlog.iter() {
            let begins_anew = frame.dependencies.key.is_some();
            let refers_to_lost = || references(frame).iter().any(|reference| lost.binary_search(reference).is_ok());
            if given_up(frame) || (!begins_anew && refers_to_lost()) {
                lost.push(frame.id);
            }
        }
        lost
    }

    fn give_up(&mut self, lost: &[u32], discards: &mut Vec<Discard<P>>, rule: impl Fn(u32) -> &'static str) {
        let Self { backlog, gone, refresh, .. } = self;
        backlog.give_up(discards, |Waiting { frame, .. }| {
            lost.binary_search(&frame.id).is_ok().then(|| {
                gone.insert(frame);
                refresh.lose(frame.id);
                rule(frame.id)
            })
        });
    }

    /// Every frame with what waits from it on, oldest first.
    fn rests(&self) -> impl Iterator<Item = (&Waiting<P>, Level)> {
        let mut next = self.backlog.level();
        let end = self.backlog.end();
        self.backlog.iter().map(move |waiting| {
            let rest = Level { time: end.saturating_sub(waiting.begins), ..next };
            next.frames -= 1;
            next.bytes = next.bytes - DataSize::from_bytes(waiting.frame.bytes.size());
            (waiting, rest)
        })
    }

    /// What counts against the limits.
    fn level_behind_key_frame(&self) -> Level {
        let mut rests = self.rests();
        match rests.next() {
            Some((oldest, rest)) if oldest.frame.dependencies.key.is_none() => rest,
            _ => rests.next().map_or(Level::default(), |(_, rest)| rest),
        }
    }
}

/// Known from when the frame was offered.
fn references<P>(frame: &OutgoingFrame<P>) -> &[u32] {
    frame.dependencies.references.as_deref().unwrap_or_default()
}
