use framewire_units::Timestamp;

/// Memory of these statistics: about the time in which BBR looks for a shorter path (`MIN_RTT_WINDOW`, 10 s), and some
/// cycles of loss-based flows.
const MEMORY_S: f64 = 10.0;

/// Standard deviations of the round trip over its mean below which the windows behind it shrink as CUBIC's, and above
/// which they shrink as reno's. In step, a window that halves makes 0.19 (a line from 1/2 to 1) and one of CUBIC 0.09
/// (RFC 9438: from 0.7 to 1, flat at the end). Measured in the table's simulator on 60 paths of 1 to 20 Mbit/s with 1
/// to 9 flows: 0.05 to 0.09 beside all but a single one of CUBIC, and 0.106 to 0.20 beside all of reno but nine on 1
/// Mbit/s. 0.10 to 0.14 and 0.12 to 0.15 leave a stream beside a single CUBIC flow less.
const SWAY: std::ops::Range<f64> = 0.09..0.12;

/// Above this it is the path itself whose rate changes, and gives no information on windows. Reno's makes 0.22 or less
/// for nine tenths of the time, on the paths above. Beside one CUBIC flow on recorded LTE links, where there was no
/// such bound, the levels were lower by up to 0.65.
const TOO_MUCH_SWAY: std::ops::Range<f64> = 0.24..0.32;

/// What CUBIC's term counts (as an exponent of its ratio to reno's) beside flows of either kind. Neither is certain,
/// and an error in the exponent is one in the share: with 0 for reno one CUBIC flow beside a long queue leaves 0.47 of
/// the share, with 1 for CUBIC five of them 1.6. Measured: see `docs/vtp-hybrid.md`.
const RENO_WEIGHT: f64 = 0.4;
const CUBIC_WEIGHT: f64 = 0.8;

/// The queue counts as full above this part of the longest one lately, and as nearly empty below this one. With 0.49
/// reno's and CUBIC's queues count as BBR's, with 0.98 none does; the other one is flat.
const FULL: f64 = 0.7;
const NEARLY_EMPTY: f64 = 0.35;

/// Part of the time for which a queue that BBR flows fill is full. They answer no loss, and drain it for a moment each
/// 10 s (`PROBE_RTT`), all at once. Measured as above: medians of 0.89 to 0.96 beside 2 to 7 of them, and at most 0.83
/// beside reno and CUBIC flows that lose as much.
const BBR_FULL: std::ops::Range<f64> = 0.83..0.88;

/// Part of the time for which it is drained: 200 ms and a round trip of each 10 s (`PROBE_RTT`), or a few reports.
const BBR_DRAINED: std::ops::Range<f64> = 0.01..0.12;

/// Share of lost packets from which, and from which on fully, the equation is not what rivals go by that fill a queue
/// so.
const BBR_LOSS: std::ops::Range<f64> = 0.01..0.03;

/// Over the equation, beside BBR flows. Measured on three paths with 3 and 7 of them: 2 leaves 0.43 to 0.78 of the
/// share, 4 takes 0.74 to 1.41.
const BESIDE_BBR: f64 = 2.5;

/// What kind of flows fill the queue, as far as the round trip shows: it grows and shrinks with the windows of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rivals {
    mean: f64,
    variance: f64,
    full: f64,
    drained: f64,
    last: Option<Timestamp>,
}

impl Rivals {
    /// Takes a sample: the smoothed round trip, and the part of the longest queue lately that waits now.
    pub(crate) fn update(&mut self, now: Timestamp, round_trip: f64, filled: f64) {
        let Some(last) = self.last.replace(now) else {
            self.mean = round_trip;
            return;
        };
        let weight = 1.0 - libm::exp(-now.saturating_since(last).as_secs_f64() / MEMORY_S);
        let off = round_trip - self.mean;
        self.mean += weight * off;
        self.variance = (1.0 - weight) * (self.variance + weight * off * off);
        let part = |is: bool| if is { 1.0 } else { 0.0 };
        self.full += weight * (part(filled > FULL) - self.full);
        self.drained += weight * (part(filled < NEARLY_EMPTY) - self.drained);
    }

    /// Standard deviation of the round trip over its mean.
    pub(crate) fn sway(&self) -> f64 {
        if self.mean > 0.0 { libm::sqrt(self.variance) / self.mean } else { 0.0 }
    }

    /// The weight of CUBIC's term, from that of reno flows to that of CUBIC ones.
    pub(crate) fn cubic_weight(&self) -> f64 {
        let sway = self.sway();
        let like_reno = way_through(&SWAY, sway) * (1.0 - way_through(&TOO_MUCH_SWAY, sway));
        CUBIC_WEIGHT + (RENO_WEIGHT - CUBIC_WEIGHT) * like_reno
    }

    /// What is allowed over the equation: more than 1 where the queue is one of BBR flows, and this share is lost in
    /// it.
    pub(crate) fn over_equation(&self, lost: f64) -> f64 {
        if !BBR_DRAINED.contains(&self.drained) {
            return 1.0;
        }
        libm::pow(BESIDE_BBR, way_through(&BBR_FULL, self.full) * way_through(&BBR_LOSS, lost))
    }
}

/// 0 up to the start of the range, 1 from its end on.
fn way_through(range: &std::ops::Range<f64>, value: f64) -> f64 {
    ((value - range.start) / (range.end - range.start)).clamp(0.0, 1.0)
}
