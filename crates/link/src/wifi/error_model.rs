//! Which frames survive the channel.

use framewire_units::{DataSize, Duration, Probability, Seed, Timestamp};

use crate::config::WifiConfig;
use crate::wifi::bit_errors::{self, from_db};
use crate::wifi::bss::Standard;
use crate::wifi::oven::{Crossing, Oven};
use crate::wifi::phy::{DataRate, Preamble, data_frame, phy_header};

/// IP size of the frame that the error floor is stated for.
const FLOOR_PACKET: DataSize = DataSize::from_bytes(1500);
/// Step of the integration over interference: a fifteenth to a twentieth of a crossing.
const STEP: Duration = Duration::from_micros(50);

/// The channel's effect on frames.
#[derive(Clone, Debug)]
pub(super) enum ErrorModel {
    /// Every data frame fails with the same probability, and no acknowledgement.
    Constant(Probability),
    /// Noise, background errors, and an oven, by rate, length and time.
    Physical(Box<PhysicalErrors>),
}

impl ErrorModel {
    pub(super) fn new(config: &WifiConfig, seed: Seed) -> Self {
        Self::Physical(Box::new(PhysicalErrors::new(config, seed)))
    }

    /// Probability that a data frame whose preamble begins at `start` arrives whole.
    pub(super) fn data_frame_survives(
        &self,
        start: Timestamp,
        ip: DataSize,
        rate: DataRate,
        preamble: Preamble,
    ) -> f64 {
        match self {
            Self::Constant(probability) => 1.0 - probability.get(),
            Self::Physical(errors) => errors.survives(start, data_frame(ip), rate, preamble),
        }
    }

    /// Probability that an acknowledgement, a request or a clear to send whose preamble begins at `start` arrives whole.
    pub(super) fn control_frame_survives(
        &self,
        start: Timestamp,
        frame: DataSize,
        rate: DataRate,
        preamble: Preamble,
    ) -> f64 {
        match self {
            Self::Constant(_) => 1.0,
            Self::Physical(errors) => errors.survives(start, frame, rate, preamble),
        }
    }
}

/// Errors of bits, as hazards: minus the logarithm of the probability to survive, which add up over a frame.
#[derive(Clone, Debug)]
pub(super) struct PhysicalErrors {
    noise: f64,
    /// Hazard per bit of the noise alone, by rate: it is asked for with each frame.
    quiet: [f64; DataRate::COUNT],
    /// Background hazard per bit, at every rate.
    floor: f64,
    oven: Option<Oven>,
}

impl PhysicalErrors {
    fn new(config: &WifiConfig, seed: Seed) -> Self {
        let floor = -libm::log1p(-config.error_floor.get()) / data_frame(FLOOR_PACKET).as_bits() as f64;
        // An oven radiates at 2.4 GHz; 802.11a is at 5 GHz.
        let oven = config.oven.clone().filter(|_| config.standard != Standard::Ieee80211a);
        let oven = oven.map(|oven| Oven::new(oven, seed));
        let noise = from_db(-config.signal_to_noise_db);
        let mut quiet = [0.0; DataRate::COUNT];
        for rate in DataRate::DSSS.into_iter().chain(DataRate::OFDM) {
            quiet[rate as usize] = bit_errors::hazard(rate, 1.0 / noise);
        }
        Self { noise, quiet, floor, oven }
    }

    /// The PLCP header or SIGNAL field at its own rate and the frame at `rate` must both survive. Errors in the
    /// preamble's synchronisation bits do no harm.
    fn survives(&self, start: Timestamp, frame: DataSize, rate: DataRate, preamble: Preamble) -> f64 {
        let before = phy_header(rate, preamble);
        let body_start = start + before.duration;
        let body = rate.bitrate().transmit_time(frame);
        let header = self.hazard(body_start - before.header, before.header, before.rate);
        let hazard = header + self.hazard(body_start, body, rate);
        libm::exp(-hazard)
    }

    fn hazard(&self, start: Timestamp, duration: Duration, rate: DataRate) -> f64 {
        let quiet = (self.floor + self.quiet[rate as usize]) * bits_in(duration, rate);
        let Some(oven) = &self.oven else { return quiet };
        let end = start + duration;
        let disturbed = oven.crossings(start, end).map(|crossing| self.disturbance(crossing, start, end, rate));
        quiet + disturbed.sum::<f64>()
    }

    /// What a crossing adds to the hazard of the time from `start` to `end`.
    fn disturbance(&self, crossing: Crossing, start: Timestamp, end: Timestamp, rate: DataRate) -> f64 {
        let quiet = self.quiet[rate as usize];
        let end = end.min(crossing.end);
        let mut from = start.max(crossing.start);
        let mut added = 0.0;
        while from < end {
            let step = STEP.min(end.saturating_since(from));
            let interference = crossing.interference(from + step / 2);
            let hazard = bit_errors::hazard(rate, 1.0 / (self.noise + interference));
            added += (hazard - quiet) * bits_in(step, rate);
            from += step;
        }
        added
    }
}

fn bits_in(duration: Duration, rate: DataRate) -> f64 {
    duration.as_nanos() as u64 as f64 * rate.bitrate().as_bps() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::bit_errors::to_db;
    use crate::wifi::phy::ACK;

    /// Bits of a PLCP header, whatever its rate.
    const HEADER_BITS: f64 = 48.0;

    fn errors(signal_to_noise_db: f64, error_floor: f64) -> PhysicalErrors {
        let error_floor = Probability::clamped(error_floor);
        let config = WifiConfig { signal_to_noise_db, error_floor, oven: None, ..WifiConfig::default() };
        PhysicalErrors::new(&config, Seed(1))
    }

    fn total_hazard(errors: &PhysicalErrors, frame: DataSize, rate: DataRate, preamble: Preamble) -> f64 {
        -libm::log(errors.survives(Timestamp::from_secs(1), frame, rate, preamble))
    }

    fn assert_close(value: f64, expected: f64, what: &str) {
        assert!((value / expected - 1.0).abs() < 1e-6, "{what}: {value} against {expected}");
    }

    #[test]
    fn the_plcp_header_has_its_share_of_the_errors_of_the_background() {
        // One hazard per bit at all rates: 48 of the 160 bits on the air of an acknowledgement are the header's.
        let errors = errors(100.0, 0.9);
        let per_bit = -libm::log(0.1) / (1536.0 * 8.0);
        for rate in DataRate::DSSS {
            for preamble in [Preamble::Long, Preamble::Short] {
                let total = total_hazard(&errors, ACK, rate, preamble);
                assert!((total / per_bit - 160.0).abs() < 0.02, "{rate:?} {preamble:?}: {}", total / per_bit);
            }
        }
    }

    #[test]
    fn noise_damages_the_plcp_header_at_the_headers_own_rate() {
        // At -5 dB, DBPSK loses one bit in two thousand.
        let errors = errors(-5.0, 0.0);
        let bit_at_1 = -libm::log1p(-0.5 * libm::exp(-22.0 * libm::exp10(-0.5)));
        let ack_bits = ACK.as_bits() as f64;
        for preamble in [Preamble::Long, Preamble::Short] {
            let total = total_hazard(&errors, ACK, DataRate::Mbps1, preamble);
            assert_close(total, (HEADER_BITS + ack_bits) * bit_at_1, "a frame at 1 Mbit/s always has the long header");
        }
        let long = total_hazard(&errors, ACK, DataRate::Mbps2, Preamble::Long);
        let short = total_hazard(&errors, ACK, DataRate::Mbps2, Preamble::Short);
        let bit_at_2 = short / (HEADER_BITS + ack_bits);
        assert!(bit_at_2 > 3.0 * bit_at_1, "{bit_at_2} against {bit_at_1}");
        assert_close(long, HEADER_BITS * bit_at_1 + ack_bits * bit_at_2, "a long header at 1 Mbit/s");
    }

    /// Ratio in dB at which half of the frames of 1,536 bytes survive: a bit's hazard is then ln 2 / 12,288 = 5.64e-5.
    /// Each line is that equation for the textbook's formula, solved by hand, and the ratio that belongs to it.
    fn half_of_the_frames_at(rate: DataRate) -> f64 {
        to_db(match rate {
            // exp(-x) / 2 at x = 9.09; x is 22 times the ratio.
            DataRate::Mbps1 => 9.09 / 22.0,
            // 0.405 exp(-0.586 x) / sqrt(x) at x = 12.97; x is 11 times the ratio.
            DataRate::Mbps2 => 12.97 / 11.0,
            // A symbol of four bits errs with 14 Q(sqrt(x)) = 4 * 5.64e-5 at x = 4.155^2; x is 8 times the ratio.
            DataRate::Mbps5_5 => 4.155 * 4.155 / 8.0,
            // Two such symbols with half of the energy each.
            DataRate::Mbps11 => 4.155 * 4.155 / 4.0,
            ofdm => unreachable!("{ofdm:?} is held to another reference"),
        })
    }

    #[test]
    fn the_default_signal_is_this_far_over_what_each_rate_needs() {
        let default = WifiConfig::default().signal_to_noise_db;
        let frame = data_frame(FLOOR_PACKET);
        let lost = |rate, lowered_db: f64| {
            1.0 - errors(default - lowered_db, 0.0).survives(Timestamp::ZERO, frame, rate, Preamble::Long)
        };
        for rate in DataRate::DSSS {
            // 43.8, 39.3, 36.7 and 33.6 dB.
            let margin = 40.0 - half_of_the_frames_at(rate);
            let (under, over) = (lost(rate, margin - 1.0), lost(rate, margin + 1.0));
            assert!((0.005..0.25).contains(&under), "{rate:?}, 1 dB within {margin} dB: {under}");
            assert!(over > 0.75, "{rate:?}, 1 dB beyond {margin} dB: {over}");
            assert!(lost(rate, 0.0) < 1e-12, "{rate:?}: noise alone does no harm");
        }
    }
}
