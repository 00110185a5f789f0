//! How many frames of a flow are where, as far as its ends know while it goes on.

/// What one end of a flow knows of its frames, without those of sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Given to the transport, as its sender knows.
    pub offered: u32,
    /// Given up by its sender, by a rule.
    pub given_up: u32,
    /// Arrived whole, as its receiver knows.
    pub arrived: u32,
    /// Known to be lost: at the sender, because its socket or its device had no room for all of them; at the receiver, because
    /// something of them did not come.
    pub lost: u32,
    /// What the sender still had when it was stopped.
    pub cut_off: u32,
    /// The sender was stopped: what is on its way then is neither lost nor given up.
    pub stopped: bool,
}

/// Where the frames of a flow are. Those that were offered are all others together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameFates {
    /// Given to the transport.
    pub offered: u32,
    /// Arrived whole.
    pub arrived: u32,
    /// Given up by the sender, by a rule.
    pub given_up: u32,
    /// Known to be lost.
    pub lost: u32,
    /// Waiting at the sender or in the network, at the end of a flow that was stopped, too; or lost as a whole, which nobody
    /// knows yet.
    pub under_way: u32,
}

impl FrameCounts {
    /// What did not leave the sender whole: given up, cut off, or known to be lost.
    pub fn missing(self) -> u32 {
        self.given_up + self.cut_off + self.lost
    }
}

impl FrameFates {
    /// Of what both ends know; `has_ended` where nothing more will come. Of a flow that was stopped nobody knows whether what
    /// is missing would have come.
    ///
    /// A frame of which its sender's device dropped a part comes with something missing: both ends know of it. So before the end
    /// the larger count is what is known to be lost, which is never too large.
    pub fn of(sender: FrameCounts, receiver: FrameCounts, has_ended: bool) -> Self {
        let offered = sender.offered;
        let arrived = receiver.arrived.min(offered);
        let given_up = sender.given_up.min(offered - arrived);
        let rest = offered - arrived - given_up;
        let is_all_known = has_ended && !sender.stopped;
        let lost = if is_all_known { rest } else { sender.lost.max(receiver.lost).min(rest) };
        Self { offered, arrived, given_up, lost, under_way: rest - lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: FrameCounts = FrameCounts { offered: 0, given_up: 0, arrived: 0, lost: 0, cut_off: 0, stopped: false };
    const SENDER: FrameCounts = FrameCounts { offered: 100, given_up: 20, lost: 7, ..NONE };
    const RECEIVER: FrameCounts = FrameCounts { arrived: 60, lost: 5, ..NONE };

    #[test]
    fn a_frame_of_which_both_ends_know_is_lost_once_and_the_rest_is_under_way() {
        let fates = FrameFates { offered: 100, arrived: 60, given_up: 20, lost: 7, under_way: 13 };
        assert_eq!(FrameFates::of(SENDER, RECEIVER, false), fates);
        let receiver = FrameCounts { lost: 9, ..RECEIVER };
        assert_eq!(FrameFates::of(SENDER, receiver, false), FrameFates { lost: 9, under_way: 11, ..fates });
    }

    #[test]
    fn what_is_under_way_at_the_end_is_lost() {
        let fates = FrameFates { offered: 100, arrived: 60, given_up: 20, lost: 20, under_way: 0 };
        assert_eq!(FrameFates::of(SENDER, RECEIVER, true), fates);
    }

    #[test]
    fn what_is_under_way_when_a_flow_is_stopped_stays_so() {
        let sender = FrameCounts { cut_off: 3, stopped: true, ..SENDER };
        let fates = FrameFates { offered: 100, arrived: 60, given_up: 20, lost: 7, under_way: 13 };
        assert_eq!(FrameFates::of(sender, RECEIVER, true), fates);
        assert_eq!(sender.missing(), 30, "none of these has left as a whole");
    }

    #[test]
    fn counts_that_were_read_one_after_the_other_never_come_to_more_than_was_offered() {
        for (offered, given_up, arrived, lost) in [(0, 0, 1, 0), (5, 5, 1, 1), (5, 1, 4, 3), (5, 0, 9, 9)] {
            let sender = FrameCounts { offered, given_up, ..FrameCounts::default() };
            let receiver = FrameCounts { arrived, lost, ..FrameCounts::default() };
            for has_ended in [false, true] {
                let fates = FrameFates::of(sender, receiver, has_ended);
                assert_eq!(fates.arrived + fates.given_up + fates.lost + fates.under_way, fates.offered);
            }
        }
    }
}
