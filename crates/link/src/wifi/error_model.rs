//! Which frames survive the channel.

use framewire_units::{DataSize, Duration, Probability, Seed, Timestamp};

use crate::config::WifiConfig;
use crate::wifi::bit_errors::{BitErrors, from_db};
use crate::wifi::oven::{Crossing, Oven};
use crate::wifi::phy::{DataRate, Preamble, ack_frame, data_frame, plcp_header};

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

    /// Probability that an acknowledgement whose preamble begins at `start` arrives whole.
    pub(super) fn ack_survives(&self, start: Timestamp, rate: DataRate, preamble: Preamble) -> f64 {
        match self {
            Self::Constant(_) => 1.0,
            Self::Physical(errors) => errors.survives(start, ack_frame(), rate, preamble),
        }
    }
}

/// Errors of bits, as hazards: minus the logarithm of the probability to survive, which add up over a frame.
#[derive(Clone, Debug)]
pub(super) struct PhysicalErrors {
    bits: BitErrors,
    noise: f64,
    /// Background hazard per bit, at every rate.
    floor: f64,
    oven: Option<Oven>,
}

impl PhysicalErrors {
    fn new(config: &WifiConfig, seed: Seed) -> Self {
        let floor = -libm::log1p(-config.error_floor.get()) / data_frame(FLOOR_PACKET).as_bits() as f64;
        let oven = config.oven.clone().map(|oven| Oven::new(oven, seed));
        Self { bits: BitErrors::new(), noise: from_db(-config.signal_to_noise_db), floor, oven }
    }

    /// The PLCP header at its own rate and the frame at `rate` must both survive. Errors in the preamble's
    /// synchronisation bits do no harm.
    fn survives(&self, start: Timestamp, frame: DataSize, rate: DataRate, preamble: Preamble) -> f64 {
        let preamble = preamble.at(rate);
        let (header_rate, header) = plcp_header(preamble);
        let body_start = start + preamble.duration();
        let body = rate.bitrate().transmit_time(frame);
        let hazard = self.hazard(body_start - header, header, header_rate) + self.hazard(body_start, body, rate);
        libm::exp(-hazard)
    }

    fn hazard(&self, start: Timestamp, duration: Duration, rate: DataRate) -> f64 {
        let quiet = (self.floor + self.bits.hazard(rate, 1.0 / self.noise)) * bits_in(duration, rate);
        let Some(oven) = &self.oven else { return quiet };
        let end = start + duration;
        let disturbed = oven.crossings(start, end).map(|crossing| self.disturbance(crossing, start, end, rate));
        quiet + disturbed.sum::<f64>()
    }

    /// What a crossing adds to the hazard of the time from `start` to `end`.
    fn disturbance(&self, crossing: Crossing, start: Timestamp, end: Timestamp, rate: DataRate) -> f64 {
        let quiet = self.bits.hazard(rate, 1.0 / self.noise);
        let end = end.min(crossing.end);
        let mut from = start.max(crossing.start);
        let mut added = 0.0;
        while from < end {
            let step = STEP.min(end.saturating_since(from));
            let interference = crossing.interference(from + step / 2);
            let hazard = self.bits.hazard(rate, 1.0 / (self.noise + interference));
            added += (hazard - quiet) * bits_in(step, rate);
            from += step;
        }
        added
    }
}

fn bits_in(duration: Duration, rate: DataRate) -> f64 {
    duration.as_nanos() as f64 * rate.bitrate().as_bps() as f64 / 1e9
}
