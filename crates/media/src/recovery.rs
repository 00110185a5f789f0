//! Where a stream without key frames becomes whole again: recovery points of gradual intra refresh (ITU-T H.264, D.2.8;
//! H.265, D.3.8). The message comes with the picture that the refresh begins at, and counts how long it takes.

use std::collections::VecDeque;

/// Refreshes that are followed at a time. One is enough for an encoder that begins the next when the last has ended.
const MOST: usize = 16;

/// What recovery point messages promise of a picture, where they promise exactness (`exact_match_flag`): in four bytes,
/// as there is one of every frame of a movie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// [`BEGINS`](Self::BEGINS), and how many access units before this one the refresh began, plus one; 0 without one.
    packed: u32,
}

impl Recovery {
    const BEGINS: u32 = 1 << 31;

    /// Of access unit `unit`.
    fn new(unit: u64, begins: bool, since: Option<u64>) -> Self {
        let distance = since.and_then(|since| u32::try_from(unit.checked_sub(since)? + 1).ok());
        let distance = distance.filter(|&distance| distance < Self::BEGINS).unwrap_or(0);
        Self { packed: distance | if begins { Self::BEGINS } else { 0 } }
    }

    /// Decoding can begin here though it is no key frame: what is shown becomes right when the count has run out.
    pub fn begins(self) -> bool {
        self.packed & Self::BEGINS != 0
    }

    /// Of access unit `unit`, or the frame of this number: the latest that begins a refresh which has ended where this one
    /// is shown. What was lost before that does no harm to this one.
    pub fn since(self, unit: u64) -> Option<u64> {
        let distance = self.packed & !Self::BEGINS;
        (unit + 1).checked_sub(distance.into()).filter(|_| distance > 0)
    }
}

/// A recovery point message.
#[derive(Clone, Copy, Debug)]
struct Point {
    unit: u64,
    /// Where its count runs out.
    until: Until,
}

#[derive(Clone, Copy, Debug)]
enum Until {
    /// At the reference picture so many frame numbers behind the first picture of the stream.
    FrameNumber(i64),
    /// At this picture order count.
    Order(i64),
}

/// Follows the recovery points of one coded video sequence, picture by picture in decode order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecoveryFollower {
    points: VecDeque<Point>,
    /// `frame_num` of the picture before, and how far it has advanced since the start.
    frame_num: Option<u32>,
    advanced: i64,
}

impl RecoveryFollower {
    /// A coded video sequence begins: nothing after it refers to what came before.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    /// The next picture of H.264; `message` is its `recovery_frame_cnt`.
    pub(crate) fn take_h264(
        &mut self,
        unit: u64,
        frame_num: u32,
        max_frame_num: u32,
        order: i64,
        is_reference: bool,
        message: Option<u32>,
    ) -> Recovery {
        let before = self.frame_num.replace(frame_num).unwrap_or(frame_num);
        self.advanced += i64::from((frame_num + max_frame_num - before % max_frame_num) % max_frame_num);
        let advanced = self.advanced;
        self.begin(unit, message.map(|count| Until::FrameNumber(advanced + i64::from(count))));
        for point in self.points.iter_mut().filter(|_| is_reference) {
            if matches!(point.until, Until::FrameNumber(number) if number <= advanced) {
                point.until = Until::Order(order);
            }
        }
        self.at(unit, order, message.is_some())
    }

    /// The next picture of H.265; `message` is its `recovery_poc_cnt`.
    pub(crate) fn take_h265(&mut self, unit: u64, order: i64, message: Option<i32>) -> Recovery {
        self.begin(unit, message.map(|count| Until::Order(order + i64::from(count))));
        self.at(unit, order, message.is_some())
    }

    fn begin(&mut self, unit: u64, until: Option<Until>) {
        self.points.extend(until.map(|until| Point { unit, until }));
        if self.points.len() > MOST {
            self.points.pop_front();
        }
    }

    fn at(&self, unit: u64, order: i64, begins: bool) -> Recovery {
        let has_ended = |point: &&Point| matches!(point.until, Until::Order(end) if end <= order);
        Recovery::new(unit, begins, self.points.iter().rfind(has_ended).map(|point| point.unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_h264_a_refresh_ends_where_frame_num_has_advanced_by_its_count() {
        let mut follower = RecoveryFollower::default();
        // frame_num wraps at 8; the message at unit 6 counts three frames, that at unit 8 two.
        let since: Vec<_> = (0..13)
            .map(|unit: u64| {
                let message = [(6, 3), (8, 2)].into_iter().find(|(at, _)| *at == unit).map(|(_, count)| count);
                follower.take_h264(unit, (unit % 8) as u32, 8, 2 * unit as i64, true, message).since(unit)
            })
            .collect();
        assert_eq!(since[..9], [None; 9]);
        assert_eq!(since[9..], [Some(6), Some(8), Some(8), Some(8)]);
        follower.restart();
        assert_eq!(follower.take_h264(13, 0, 8, 0, true, None), Recovery::default());
    }

    #[test]
    fn of_h264_what_is_shown_before_its_end_is_not_refreshed() {
        let mut follower = RecoveryFollower::default();
        // I P B B P B B, of which the first P begins a refresh of two frames; B pictures are not referred to.
        let rows = [(0, 0, true), (1, 6, true), (2, 2, false), (2, 4, false), (2, 12, true), (3, 8, false)];
        let mut unit = 0;
        let mut take = |(frame_num, order, is_reference)| {
            unit += 1;
            let taken = follower.take_h264(unit, frame_num, 16, order, is_reference, (order == 6).then_some(1));
            (taken.begins(), taken.since(unit))
        };
        let taken: Vec<_> = rows.into_iter().map(&mut take).collect();
        assert!(taken.iter().map(|(begins, _)| *begins).eq([false, true, false, false, false, false]));
        assert!(taken.iter().map(|(_, since)| *since).eq([None, None, None, None, Some(2), None]));
        assert_eq!(take((3, 14, false)).1, Some(2));
    }

    #[test]
    fn of_h265_a_refresh_ends_at_a_picture_order_count() {
        let mut follower = RecoveryFollower::default();
        let since = [(4, Some(4)), (8, None), (6, None), (7, None), (9, None)]
            .map(|(order, message)| follower.take_h265(order as u64, order, message).since(order as u64));
        assert_eq!(since, [None, Some(4), None, None, Some(4)]);
    }

    #[test]
    fn four_bytes_hold_it() {
        assert_eq!(size_of::<Recovery>(), 4);
        let all =
            [(0, true, None), (9, false, Some(9)), (u64::MAX / 2, true, Some(u64::MAX / 2 - 7)), (5, true, Some(0))];
        for (unit, begins, since) in all {
            let recovery = Recovery::new(unit, begins, since);
            assert_eq!((recovery.begins(), recovery.since(unit)), (begins, since));
        }
        assert_eq!(Recovery::new(1 << 40, true, Some(1)).since(1 << 40), None, "of one so long ago nothing is known");
    }

    #[test]
    fn memory_is_bounded() {
        let mut follower = RecoveryFollower::default();
        for unit in 0..1_000 {
            follower.take_h264(unit, (unit % 16) as u32, 16, unit as i64, true, Some(u32::MAX));
            follower.take_h265(unit, unit as i64, Some(i32::MAX));
        }
        assert!(follower.points.len() <= MOST);
    }
}
