//! Proportional rate reduction: how many packets each acknowledgement releases while the window is reduced (RFC 6937).
//!
//! As Linux has it, which follows RFC 9937 in the reduction bound: packet conservation, and slow start towards the
//! threshold only while the first unacknowledged number advances and nothing new is lost ("SafeACK").

/// The state of one reduction. Sizes in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window when it began. The RFC's RecoverFS, the flight size, where that is smaller, follows from the cwnd.
    prior_cwnd: u32,
    /// Delivered since (prr_delivered).
    delivered: u32,
    /// Sent since (prr_out).
    sent: u32,
}

impl Reduction {
    /// Begins with a window of `prior_cwnd`.
    pub(super) fn begin(prior_cwnd: u32) -> Self {
        Self { prior_cwnd, delivered: 0, sent: 0 }
    }

    /// Packets are sent.
    pub(super) fn count_sent(&mut self, packets: u32) {
        self.sent += packets;
    }

    /// The window after an acknowledgement that delivered `delivered` packets; `None` leaves it as it is. `is_safe`:
    /// the first unacknowledged number advanced and nothing was newly lost.
    pub(super) fn window(&mut self, delivered: u32, ssthresh: u32, in_flight: u32, is_safe: bool) -> Option<u32> {
        if delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let sent = i64::from(self.sent);
        let release = if in_flight > ssthresh {
            // Proportional rate reduction: sent / delivered = ssthresh / prior_cwnd.
            let target = u64::from(ssthresh) * u64::from(self.delivered);
            target.div_ceil(u64::from(self.prior_cwnd)) as i64 - sent
        } else {
            // Reduction bound: as many as were delivered, and one more to grow back to the threshold.
            let conserved = (i64::from(self.delivered) - sent).max(i64::from(delivered));
            (conserved + i64::from(is_safe)).min(i64::from(ssthresh - in_flight))
        };
        // The first acknowledgement always lets one packet out: the fast retransmission.
        let release = release.max(i64::from(self.sent == 0));
        Some(in_flight.saturating_add_signed(release as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges packet by packet as long as something is in flight; returns what was sent after each.
    fn run(window: u32, ssthresh: u32, lost: u32, acknowledgements: u32, backlog: u32) -> Vec<u32> {
        let mut reduction = Reduction::begin(window);
        let mut in_flight = window - lost;
        let mut backlog = backlog;
        (0..acknowledgements)
            .map(|_| {
                in_flight -= 1;
                let cwnd = reduction.window(1, ssthresh, in_flight, false).unwrap();
                let sent = cwnd.saturating_sub(in_flight).min(backlog);
                reduction.count_sent(sent);
                in_flight += sent;
                backlog -= sent;
                sent
            })
            .collect()
    }

    #[test]
    fn a_single_loss_sends_for_every_second_acknowledgement() {
        // RFC 6937, section 3.1, first example: a window of 20, one packet lost, ssthresh 10. Nineteen acknowledgements
        // come; the first sends the retransmission, and in all half of what was in flight is sent.
        let sent = run(20, 10, 1, 19, 100);
        assert_eq!(sent[0], 1);
        assert_eq!(sent.iter().sum::<u32>(), 10);
        assert!(sent.iter().all(|&packets| packets <= 1), "no bursts: {sent:?}");
        assert_eq!(sent[..6], [1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_burst_loss_is_repaired_at_the_pace_of_the_acknowledgements() {
        // RFC 6937, section 3.1, second example: 15 of 20 packets lost. In flight is far below ssthresh, so that
        // conservation rules: each acknowledgement releases one packet, and none of them more.
        assert_eq!(run(20, 10, 15, 5, 100), [1, 1, 1, 1, 1]);
    }

    #[test]
    fn an_advance_without_new_loss_grows_towards_the_threshold() {
        let mut reduction = Reduction::begin(20);
        reduction.count_sent(1);
        // One delivered, two released; never above the threshold.
        assert_eq!(reduction.window(1, 10, 4, true), Some(6));
        assert_eq!(reduction.window(3, 10, 9, true), Some(10));
        assert_eq!(reduction.window(1, 10, 4, false), Some(4 + 4), "what was not sent is not forgotten");
    }

    #[test]
    fn nothing_delivered_changes_nothing() {
        assert_eq!(Reduction::begin(20).window(0, 10, 15, true), None);
    }
}
