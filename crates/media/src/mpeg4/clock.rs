//! When VOPs are shown, from the seconds and ticks in their headers (6.3.4 and 6.3.5, `time_code`, `modulo_time_base`,
//! `vop_time_increment`).

use crate::mpeg4::headers::VopHeader;
use crate::picture::{PictureType, TimeCode};

/// Counts whole seconds from VOP to VOP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VopClock {
    /// The second of the last anchor, or of the group that has begun since.
    last: i64,
    /// The second of the anchor before it, from which B-VOPs count.
    before_last: i64,
}

impl VopClock {
    /// A group begins at a time of its own.
    pub(crate) fn begin_group(&mut self, code: TimeCode) {
        self.last = (i64::from(code.hours) * 60 + i64::from(code.minutes)) * 60 + i64::from(code.seconds);
    }

    /// The time of the next VOP in decode order, in ticks.
    pub(crate) fn time_of(&mut self, vop: VopHeader, resolution: u32) -> i64 {
        let seconds = match vop.kind {
            PictureType::B => self.before_last.saturating_add(vop.seconds.into()),
            _ => {
                self.before_last = self.last;
                self.last = self.last.saturating_add(vop.seconds.into());
                self.last
            }
        };
        seconds.saturating_mul(resolution.into()).saturating_add(vop.increment.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_vops_count_from_the_anchor_shown_before_them() {
        let mut clock = VopClock::default();
        clock.begin_group(TimeCode { drop_frame: false, hours: 0, minutes: 1, seconds: 1, pictures: 0 });
        let vop = |kind, seconds, increment| VopHeader { kind, seconds, increment, coded: true };
        let vops = [
            vop(PictureType::I, 0, 24),
            vop(PictureType::P, 1, 2),
            vop(PictureType::B, 1, 0),
            vop(PictureType::B, 1, 1),
            vop(PictureType::P, 0, 5),
            vop(PictureType::B, 0, 3),
        ];
        let times = vops.map(|vop| clock.time_of(vop, 25) - 61 * 25);
        assert_eq!(times, [24, 27, 25, 26, 30, 28]);
    }
}
