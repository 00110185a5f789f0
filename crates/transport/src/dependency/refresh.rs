//! Going on at a recovery point, in streams that are refreshed bit by bit and have no key frames (H.264, D.2.8).

use super::references;
use crate::frame::{Dependencies, OutgoingFrame};

/// The recovery points of what waits or was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refresh {
    /// The frame that began the latest refresh.
    latest: Option<u32>,
    /// The frame with which the stream went on after frames were given up.
    resumed: Option<u32>,
}

impl Refresh {
    /// A frame that begins a refresh is kept.
    pub(super) fn begin(&mut self, id: u32) {
        self.latest = Some(id);
    }

    /// What a frame that begins a refresh refers to was given up: the stream goes on with it.
    pub(super) fn resume(&mut self, id: u32) {
        self.resumed = Some(id);
    }

    /// A frame was given up.
    pub(super) fn lose(&mut self, id: u32) {
        if self.latest == Some(id) {
            *self = Self::default();
        }
    }

    /// Whether a frame can do without one that it refers to and that was given up: because it begins a refresh, or follows
    /// one that began after that.
    pub(super) fn covers<P>(&self, frame: &OutgoingFrame<P>, reference: u32) -> bool {
        frame.dependencies.begins_recovery || self.latest.is_some_and(|latest| reference < latest)
    }

    /// Whether a frame is damaged because the refresh that the stream went on with has not ended where it is shown, and
    /// needed by no other: those that others refer to carry the refresh on.
    pub(super) fn is_spoilt<P>(&self, frame: &OutgoingFrame<P>) -> bool {
        self.resumed.is_some_and(|resumed| is_spoilt(&frame.dependencies, resumed))
    }
}

/// After the stream went on with frame `resumed`.
fn is_spoilt(dependencies: &Dependencies, resumed: u32) -> bool {
    !dependencies.referenced && dependencies.recovers_from.is_none_or(|since| since < resumed)
}

/// Ids of the waiting frames that are lost with `victim`, up to the next key frame, or to a frame that begins a refresh:
/// that one too, if the stream goes on with it. What the refresh does not carry on and does not make whole is lost as well.
pub(super) fn lost_until_refresh<'a, P: 'a>(
    waiting: impl Iterator<Item = &'a OutgoingFrame<P>>,
    victim: u32,
) -> (Vec<u32>, Option<u32>) {
    let mut lost: Vec<u32> = vec![];
    let mut resumed = None;
    for frame in waiting.skip_while(|frame| frame.id < victim) {
        let dependencies = &frame.dependencies;
        let refers_to_lost = || {
            let matter = |reference: &&u32| resumed.is_none_or(|resumed| **reference >= resumed);
            references(frame).iter().filter(matter).any(|reference| lost.binary_search(reference).is_ok())
        };
        let is_lost = match () {
            () if frame.id == victim => true,
            () if dependencies.key.is_some() => return (lost, resumed),
            () => refers_to_lost(),
        };
        if is_lost && dependencies.begins_recovery && frame.id != victim {
            resumed = Some(frame.id);
        } else if is_lost || resumed.is_some_and(|resumed| is_spoilt(dependencies, resumed)) {
            lost.push(frame.id);
        }
    }
    (lost, resumed)
}

#[cfg(test)]
mod tests {
    use framewire_media::PictureType::{B, I, P};
    use framewire_media::access_unit::KeyKind;

    use super::super::DependencyQueue;
    use super::super::{REFERENCE_GIVEN_UP, UNREFRESHED};
    use super::*;
    use crate::limits::Limits;

    /// One key frame, and then P frames that refer to the one before, with a B frame behind each. Every tenth frame
    /// begins a refresh of four.
    fn frame(id: u32) -> OutgoingFrame {
        let (is_key, is_b) = (id == 0, id % 2 == 1);
        let begins = |id: u32| id > 0 && id.is_multiple_of(10);
        let references = match id {
            0 => vec![],
            _ if is_b => vec![id - 1],
            _ => vec![id - 2],
        };
        let dependencies = Dependencies {
            key: is_key.then_some(KeyKind::Closed),
            referenced: !is_b,
            references: Some(references),
            begins_recovery: begins(id),
            recovers_from: (0..=id.saturating_sub(4)).rfind(|&id| begins(id)),
            ..Dependencies::default()
        };
        OutgoingFrame {
            id,
            kind: [P, B, I][if is_key { 2 } else { usize::from(is_b) }],
            dependencies,
            duration: framewire_units::Duration::from_millis(40),
            rtp_timestamp: 0,
            decode_timestamp: 0,
            bytes: bytes::Bytes::from_static(b"frame"),
        }
    }

    fn given_up(queue: &mut DependencyQueue, ids: std::ops::Range<u32>) -> Vec<(u32, &'static str)> {
        let discards = ids.flat_map(|id| queue.offer(frame(id)));
        discards.map(|discard| (discard.frame.id, discard.rule)).collect()
    }

    #[test]
    fn a_stream_without_key_frames_goes_on_where_a_refresh_begins() {
        let mut queue = DependencyQueue::new(Limits { frames: Some(3), ..Limits::default() });
        let before = given_up(&mut queue, 0..10);
        assert!(queue.needs_key_frame() && before.iter().all(|(_, rule)| *rule != UNREFRESHED));
        while queue.take().is_some() {}
        // The B frames before the end of the refresh are damaged, and nothing needs them.
        let mut sent = vec![];
        for id in 10..16 {
            let spoilt = if id == 11 || id == 13 { vec![(id, UNREFRESHED)] } else { vec![] };
            assert_eq!(given_up(&mut queue, id..id + 1), spoilt);
            assert!(!queue.needs_key_frame());
            sent.extend(queue.take().map(|frame| frame.id));
        }
        assert_eq!(sent, [10, 12, 14, 15]);
        assert_eq!(queue.groups_lost(), 1);
    }

    #[test]
    fn what_is_too_late_goes_up_to_a_refresh_that_waits() {
        let waiting: Vec<_> = (7..16).map(frame).collect();
        let lost = |victim| lost_until_refresh(waiting.iter(), victim);
        assert_eq!(lost(8), (vec![8, 9, 11, 13], Some(10)));
        assert_eq!(lost(10), ((10..16).collect(), None));
        assert_eq!(lost(9), (vec![9], None));
        let waiting: Vec<_> = (7..25).map(frame).collect();
        assert_eq!(lost_until_refresh(waiting.iter(), 12).1, Some(20));
        assert_eq!(lost_until_refresh(waiting.iter(), 12).0, [12, 13, 14, 15, 16, 17, 18, 19, 21, 23]);
    }

    #[test]
    fn a_refresh_that_is_given_up_itself_covers_nothing() {
        let mut queue = DependencyQueue::new(Limits::default());
        given_up(&mut queue, 0..11);
        assert_eq!(queue.flush().len(), 11);
        assert_eq!(given_up(&mut queue, 12..13), [(12, REFERENCE_GIVEN_UP)]);
        assert!(queue.needs_key_frame());
        assert_eq!(given_up(&mut queue, 20..24), [(21, UNREFRESHED), (23, UNREFRESHED)]);
    }
}
