//! Bit errors of OFDM in noise, after the convolutional decoder.
//!
//! The model of Pei and Henderson, "Validation of OFDM error rate model in ns-3", 2010 (ns-3's `NistErrorRateModel`):
//! the error rate of each modulation with Gray coding in white noise, then the union bound of hard-decision decoding
//! with the weights of the punctured codes of constraint length 7 (Frenger, Orten and Ottosson, "Multi-rate
//! convolutional codes", 1998).

use crate::wifi::phy::DataRate;

/// Errors per bit above which the union bound is of no use: a guess.
const GUESS: f64 = 0.5;

/// A code of constraint length 7: a path of `free_distance`, then one of each distance after it (code rate 1/2: of each
/// second), with the number of bits that err along all paths of that distance.
struct Code {
    free_distance: i32,
    step: i32,
    /// Information bits per puncturing period.
    period: f64,
    weights: &'static [f64],
}

const HALF: Code = Code {
    free_distance: 10,
    step: 2,
    period: 1.0,
    weights: &[36.0, 211.0, 1404.0, 11633.0, 77433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
};
const TWO_THIRDS: Code = Code {
    free_distance: 6,
    step: 1,
    period: 2.0,
    weights: &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const THREE_QUARTERS: Code = Code {
    free_distance: 5,
    step: 1,
    period: 3.0,
    weights: &[
        42.0,
        201.0,
        1492.0,
        10469.0,
        62935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};

/// Error probability of a decoded bit at this ratio of signal to noise and interference over the channel; `rate` is
/// one of OFDM.
pub(super) fn bit_error(rate: DataRate, sinr: f64) -> f64 {
    let (channel_error, code) = match rate {
        DataRate::Mbps6 => (pulse_amplitude(1.0, sinr), &HALF),
        DataRate::Mbps9 => (pulse_amplitude(1.0, sinr), &THREE_QUARTERS),
        DataRate::Mbps12 => (pulse_amplitude(1.0, sinr / 2.0), &HALF),
        DataRate::Mbps18 => (pulse_amplitude(1.0, sinr / 2.0), &THREE_QUARTERS),
        // Three quarters and seven twelfths of neighbouring levels' errors are errors of a bit (Proakis, 5.2-79).
        DataRate::Mbps24 => (pulse_amplitude(0.75, sinr / 10.0), &HALF),
        DataRate::Mbps36 => (pulse_amplitude(0.75, sinr / 10.0), &THREE_QUARTERS),
        DataRate::Mbps48 => (pulse_amplitude(7.0 / 12.0, sinr / 42.0), &TWO_THIRDS),
        _ => (pulse_amplitude(7.0 / 12.0, sinr / 42.0), &THREE_QUARTERS),
    };
    code.decoded_error(channel_error)
}

/// Error probability of a bit before the decoder.
fn pulse_amplitude(factor: f64, ratio: f64) -> f64 {
    factor * 0.5 * libm::erfc(libm::sqrt(ratio))
}

impl Code {
    /// Chernoff's bound of each path's probability, D to the power of its distance, summed over paths.
    fn decoded_error(&self, channel_error: f64) -> f64 {
        let chernoff = libm::sqrt(4.0 * channel_error * (1.0 - channel_error));
        let step = libm::pow(chernoff, f64::from(self.step));
        let sum = self.weights.iter().rev().fold(0.0, |sum, weight| sum * step + weight);
        let bound = sum * libm::pow(chernoff, f64::from(self.free_distance)) / (2.0 * self.period);
        bound.min(GUESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::bit_errors::from_db;

    /// Ratio in dB at which half of the frames of 1,536 bytes survive, by bisection.
    fn half_of_the_frames_at(rate: DataRate) -> f64 {
        let lost = |db: f64| 1.0 - libm::pow(1.0 - bit_error(rate, from_db(db)), 12_288.0);
        let (mut low, mut high) = (-5.0, 40.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if lost(middle) > 0.5 { low = middle } else { high = middle }
        }
        low
    }

    /// Where the union bound reaches 5.64e-5 errors per bit, by a calculation apart in another language.
    #[test]
    fn each_rate_needs_the_signal_of_the_published_model() {
        let expected = [3.43, 6.29, 6.44, 9.3, 12.92, 16.02, 20.76, 22.0];
        for (rate, db) in DataRate::OFDM.into_iter().zip(expected) {
            let found = half_of_the_frames_at(rate);
            assert!((found - db).abs() < 0.01, "{rate:?}: {found} dB against {db} dB");
        }
    }

    #[test]
    fn errors_fall_with_the_signal_and_end() {
        for rate in DataRate::OFDM {
            let mut last = 1.0;
            for tenth_db in -100..400 {
                let error = bit_error(rate, from_db(f64::from(tenth_db) / 10.0));
                assert!((0.0..=last).contains(&error), "{rate:?} {tenth_db}");
                last = error;
            }
            assert!(last < 1e-30, "{rate:?}: {last}");
        }
    }
}
