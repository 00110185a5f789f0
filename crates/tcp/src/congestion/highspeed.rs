//! HighSpeed TCP (RFC 3649): Reno below 38 packets, above it the faster and the gentler the larger the window.
//!
//! Linux: `tcp_highspeed.c`.

use std::sync::LazyLock;

use framewire_units::Timestamp;

use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, Window};

/// RFC 3649, section 5: Low_Window, up to which it is Reno.
const LOW_WINDOW: f64 = 38.0;
/// RFC 3649, section 5: High_Window.
const HIGH_WINDOW: f64 = 83_000.0;
/// RFC 3649, section 5: High_Decrease, the decrease at High_Window.
const HIGH_DECREASE: f64 = 0.1;
/// RFC 3649, appendix B: 1/0.078 of p(w) = 0.078 / w^1.2 as the table's program writes it.
const RESPONSE: f64 = 12.8;
/// RFC 3649, appendix B: the table stops below this window.
const TABLE_END: u32 = 100_000;

/// A row of the table: for windows up to `window`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    window: u32,
    /// b(w) in 1/256, rounded down as Linux has it.
    decrease: u32,
}

/// RFC 3649, appendix B: the windows where a(w) has grown by one, and b(w) there.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(table);

/// b(w) (RFC 3649, section 5).
fn decrease(window: f64) -> f64 {
    (HIGH_DECREASE - 0.5) * libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW) + 0.5
}

/// a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) (RFC 3649, section 5).
fn increase(window: f64) -> f64 {
    let decrease = decrease(window);
    libm::pow(window, 0.8) * 2.0 * decrease / ((2.0 - decrease) * RESPONSE)
}

fn table() -> Vec<Row> {
    let row = |window: u32| Row { window, decrease: (decrease(f64::from(window)) * 256.0) as u32 };
    let mut rows = vec![row(LOW_WINDOW as u32)];
    let mut reached = 1.0;
    let mut from = LOW_WINDOW as u32;
    while let Some(window) = first_window_above(reached + 1.0, from) {
        rows.push(row(window));
        reached = increase(f64::from(window));
        from = window;
    }
    rows
}

/// The least window whose a(w) is above `target`; a(w) grows with w.
fn first_window_above(target: f64, from: u32) -> Option<u32> {
    let (mut low, mut high) = (from, TABLE_END);
    while low < high {
        let middle = low + (high - low) / 2;
        if increase(f64::from(middle)) > target { high = middle } else { low = middle + 1 }
    }
    (low < TABLE_END).then_some(low)
}

/// The algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HighSpeed {
    /// The row of the table that the window is in; a(w) is one more.
    row: usize,
}

impl HighSpeed {
    /// The first row that is not below the window.
    fn find_row(&mut self, cwnd: u32) {
        let rows = &*TABLE;
        while cwnd > rows[self.row].window && self.row + 1 < rows.len() {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= rows[self.row - 1].window {
            self.row -= 1;
        }
    }
}

impl CongestionControl for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    /// Grows by a(w)/w per acknowledgement, not per packet acknowledged: so does `hstcp_cong_avoid`, and so does RFC
    /// 3649, section 5.
    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.acked_or_sacked);
            return;
        }
        self.find_row(window.cwnd);
        window.cwnd_count += self.row as u32 + 1;
        if window.cwnd_count >= window.cwnd {
            window.cwnd_count -= window.cwnd;
            window.cwnd += 1;
        }
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        let decrease = u64::from(window.cwnd) * u64::from(TABLE[self.row].decrease) / 256;
        (window.cwnd - decrease as u32).max(MINIMUM_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649, appendix B, Table 12: w, a(w), b(w).
    const PUBLISHED: [(u32, usize, f64); 12] = [
        (38, 1, 0.50),
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
        (663, 6, 0.35),
        (1058, 8, 0.33),
        (2378, 13, 0.28),
        (5036, 20, 0.25),
        (10_661, 30, 0.21),
        (30_975, 50, 0.15),
        (84_035, 71, 0.10),
    ];

    #[test]
    fn the_table_is_that_of_the_rfc() {
        for (window, increase, decrease) in PUBLISHED {
            let row = TABLE[increase - 1];
            assert_eq!(row.window, window);
            assert!((f64::from(row.decrease) / 256.0 - decrease).abs() < 0.009, "{row:?}");
        }
        assert_eq!((TABLE.len(), TABLE[71].window), (73, 89_053));
    }
}
