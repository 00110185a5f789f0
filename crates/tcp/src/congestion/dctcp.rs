//! Data Center TCP: the window is cut by half the part of packets that were marked.
//!
//! RFC 8257; Alizadeh et al., "Data Center TCP (DCTCP)" (SIGCOMM 2010). Linux: `tcp_dctcp.c`, which counts packets where
//! the RFC counts bytes, and halves the window after a loss (RFC 8257, section 3.5). Where the peer does not agree to ECN
//! nothing is ever marked, and it is Reno, as there (`dctcp_reno`). What the receiver does is the endpoint's
//! ([`EcnUse::Exact`]).

use framewire_units::Timestamp;

use super::{Acknowledgement, CongestionControl, Deliveries, EcnUse, Event, MINIMUM_THRESHOLD, State, Window, reno};

/// Weight of a window's part of marked packets, as a power of 1/2: g = 1/16 (RFC 8257, section 4.2). Linux:
/// `dctcp_shift_g`.
const GAIN_SHIFT: u32 = 4;
/// The part is counted in units of 2^-10. Linux: `DCTCP_MAX_ALPHA`.
const WHOLE: u64 = 1 << WHOLE_SHIFT;
const WHOLE_SHIFT: u32 = 10;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    /// Estimated part of packets that are marked (DCTCP.Alpha). 1 at first, so that the first mark halves the window
    /// (RFC 8257, section 4.2).
    alpha: u64,
    /// Where the observation window ends (DCTCP.WindowEnd), and the packets delivered and marked at its beginning. The
    /// first is the handshake, whose packet counts as delivered.
    window_end: u64,
    prior: [u64; 2],
    /// The window before the last reduction. Linux: `loss_cwnd`.
    prior_cwnd: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { alpha: WHOLE, window_end: 1, prior: [1, 0], prior_cwnd: 0 }
    }
}

impl Dctcp {
    /// RFC 8257, section 3.5: as any other TCP. Linux: `dctcp_react_to_loss`.
    fn react_to_loss(&mut self, window: &mut Window) {
        self.prior_cwnd = window.cwnd;
        window.ssthresh = reno::reduced_threshold(window);
    }
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Exact
    }

    /// Once per window, alpha = (1 - g) alpha + g M (RFC 8257, section 3.3). Linux: `dctcp_update_alpha`, with its
    /// rounding.
    fn handle_deliveries(&mut self, _window: &Window, deliveries: &Deliveries) {
        if deliveries.first_unacknowledged < self.window_end {
            return;
        }
        let [delivered, marked] = self.prior;
        let (delivered, marked) = (deliveries.delivered - delivered, deliveries.delivered_ce - marked);
        // What is too small to be shifted away goes as a whole.
        self.alpha -= match self.alpha >> GAIN_SHIFT {
            0 => self.alpha,
            part => part,
        };
        self.alpha = (self.alpha + (marked << (WHOLE_SHIFT - GAIN_SHIFT)) / delivered.max(1)).min(WHOLE);
        self.window_end = deliveries.next_sequence;
        self.prior = [deliveries.delivered, deliveries.delivered_ce];
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        reno::grow(window, ack);
    }

    /// cwnd (1 - alpha / 2) (RFC 8257, section 3.4).
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        self.prior_cwnd = window.cwnd;
        let cut = (u64::from(window.cwnd) * self.alpha) >> (WHOLE_SHIFT + 1);
        (window.cwnd - cut as u32).max(MINIMUM_THRESHOLD)
    }

    fn undo(&mut self, window: &Window) -> u32 {
        window.cwnd.max(self.prior_cwnd)
    }

    fn handle_state(&mut self, window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Recovery {
            self.react_to_loss(window);
        }
    }

    fn handle_event(&mut self, window: &mut Window, event: Event) {
        if matches!(event, Event::Timeout { .. }) {
            self.react_to_loss(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 packets of which `marked` are marked; alpha after each.
    fn windows(dctcp: &mut Dctcp, count: u64, marked: u64) {
        let [delivered, delivered_ce] = dctcp.prior;
        let mut deliveries =
            Deliveries { first_unacknowledged: dctcp.window_end, next_sequence: 0, delivered, delivered_ce };
        for _ in 0..count {
            deliveries.next_sequence = deliveries.first_unacknowledged + 100;
            deliveries.delivered += 100;
            deliveries.delivered_ce += marked;
            dctcp.handle_deliveries(&WINDOW, &deliveries);
            deliveries.first_unacknowledged = deliveries.next_sequence;
        }
    }

    const WINDOW: Window =
        Window { cwnd: 100, ssthresh: u32::MAX, cwnd_count: 0, prior_cwnd: 0, flight_size: 0, maximum_segment: 1460 };

    #[test]
    fn the_first_mark_halves_the_window() {
        assert_eq!(Dctcp::default().reduced_threshold(&WINDOW, Timestamp::ZERO), 50);
    }

    #[test]
    fn alpha_follows_the_share_of_marks_with_a_gain_of_one_sixteenth() {
        let mut dctcp = Dctcp::default();
        windows(&mut dctcp, 16, 0);
        // (15/16)^16 = 0.356, by steps that are rounded up.
        assert!((355..=375).contains(&dctcp.alpha), "{}", dctcp.alpha);
        for marked in [25, 75, 10] {
            windows(&mut dctcp, 200, marked);
            let found = dctcp.alpha as f64 / WHOLE as f64;
            // Both steps are rounded down, to whole thousandths.
            assert!((found - marked as f64 / 100.0).abs() < 0.02, "{found} for {marked} %");
            let wanted = 100 - (50.0 * found).floor() as u32;
            assert_eq!(dctcp.reduced_threshold(&WINDOW, Timestamp::ZERO), wanted);
        }
        windows(&mut dctcp, 200, 0);
        assert_eq!(dctcp.alpha, 0);
        assert_eq!(dctcp.reduced_threshold(&WINDOW, Timestamp::ZERO), 100);
    }

    #[test]
    fn a_loss_halves_the_window_whatever_was_marked() {
        let mut dctcp = Dctcp::default();
        windows(&mut dctcp, 200, 0);
        let mut window = WINDOW;
        dctcp.handle_state(&mut window, State::Recovery, Timestamp::ZERO);
        assert_eq!((window.ssthresh, dctcp.undo(&Window { cwnd: 50, ..window })), (50, 100));
        let mut window = WINDOW;
        dctcp.handle_event(&mut window, Event::Timeout { now: Timestamp::ZERO });
        assert_eq!(window.ssthresh, 50);
    }
}
