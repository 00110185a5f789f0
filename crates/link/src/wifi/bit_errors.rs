//! Bit errors of the modulations in noise.
//!
//! DBPSK and DQPSK after Proakis, "Digital communications", with the bandwidth of 22 MHz over the bit rate as the
//! processing gain; CCK as biorthogonal keying after Pursley and Royster, "High-rate direct-sequence spread spectrum
//! with error-control coding", IEEE Trans. Commun. 54(9), 2006, and Fainberg, "A performance analysis of the IEEE
//! 802.11b local area network in the presence of Bluetooth personal area network", 2001: the formulas that Pei and
//! Henderson, "Validation of ns-3 802.11b PHY model", 2009, checked against measurements.

use std::sync::LazyLock;

use crate::wifi::ofdm_errors;
use crate::wifi::phy::DataRate;

/// Bandwidth of the channel over the chip groups that make a CCK symbol: 22 MHz / 1.375 Msymbol/s.
const CCK_SYMBOL_GAIN: f64 = 16.0;
/// Bandwidth of the channel over the symbol rate of the Barker modulations: 22 MHz / 1 Msymbol/s.
const BARKER_SYMBOL_GAIN: f64 = 22.0;

/// Range and step of the table of the CCK integral, in dB of its argument. Above, errors are rarer than 1e-40;
/// below, a symbol is a guess.
const TABLE_FROM_DB: f64 = -10.0;
const TABLE_TO_DB: f64 = 20.0;
const TABLE_STEP_DB: f64 = 0.25;

/// Natural logarithm of the symbol error probability of 16-ary biorthogonal keying, by decibels of the argument.
/// Computed once: it is the same for every medium, and takes milliseconds.
static LOG_SYMBOL_ERROR: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let entries = ((TABLE_TO_DB - TABLE_FROM_DB) / TABLE_STEP_DB) as usize + 1;
    let entry = |n| {
        let argument = from_db(TABLE_FROM_DB + n as f64 * TABLE_STEP_DB);
        libm::log(biorthogonal_symbol_error(argument).max(f64::MIN_POSITIVE))
    };
    (0..entries).map(entry).collect()
});

/// Hazard of one bit, minus the logarithm of the probability that it survives, at this ratio of signal to noise and
/// interference over 22 MHz.
pub(super) fn hazard(rate: DataRate, sinr: f64) -> f64 {
    match rate {
        DataRate::Mbps1 => -libm::log1p(-dbpsk(sinr * BARKER_SYMBOL_GAIN)),
        DataRate::Mbps2 => -libm::log1p(-dqpsk(sinr * BARKER_SYMBOL_GAIN / 2.0)),
        // Four bits a symbol.
        DataRate::Mbps5_5 => -libm::log1p(-symbol_error(sinr * CCK_SYMBOL_GAIN / 2.0)) / 4.0,
        // Eight bits a symbol: two independent 16-ary decisions with half of the energy each.
        DataRate::Mbps11 => -libm::log1p(-symbol_error(sinr * CCK_SYMBOL_GAIN / 4.0)) / 4.0,
        ofdm => -libm::log1p(-ofdm_errors::bit_error(ofdm, sinr)),
    }
}

fn symbol_error(argument: f64) -> f64 {
    let table = &*LOG_SYMBOL_ERROR;
    let position = (to_db(argument) - TABLE_FROM_DB) / TABLE_STEP_DB;
    let last = table.len() - 1;
    if position >= last as f64 {
        return 0.0;
    }
    let position = position.max(0.0);
    let index = position as usize;
    let fraction = position - index as f64;
    let (low, high) = (table[index], table[index + 1]);
    libm::exp(low + (high - low) * fraction)
}

/// A ratio from decibels.
pub(super) fn from_db(db: f64) -> f64 {
    libm::exp10(db / 10.0)
}

/// Decibels of a ratio.
pub(super) fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio.max(f64::MIN_POSITIVE))
}

/// Bit error probability of DBPSK; `ratio` is the energy of a bit over the noise density.
fn dbpsk(ratio: f64) -> f64 {
    0.5 * libm::exp(-ratio)
}

/// Bit error probability of DQPSK with Gray coding, the closed approximation for high ratios, at most a guess.
fn dqpsk(ratio: f64) -> f64 {
    let root_two = std::f64::consts::SQRT_2;
    let factor = (root_two + 1.0) / libm::sqrt(8.0 * std::f64::consts::PI * root_two);
    (factor / libm::sqrt(ratio.max(f64::MIN_POSITIVE)) * libm::exp(-(2.0 - root_two) * ratio)).min(0.5)
}

/// Symbol error probability of 16 biorthogonal signals (Proakis, equation 4.4-31 with M = 16): one minus the integral
/// over x of (2 Phi(x + beta) - 1)^7 phi(x) from -beta, with beta the root of twice the argument.
fn biorthogonal_symbol_error(argument: f64) -> f64 {
    let beta = libm::sqrt(2.0 * argument);
    let error_at = |x: f64| {
        let outside = libm::erfc((x + beta) * std::f64::consts::FRAC_1_SQRT_2);
        -libm::expm1(7.0 * libm::log1p(-outside.min(1.0))) * standard_normal(x)
    };
    let below = 0.5 * libm::erfc(beta * std::f64::consts::FRAC_1_SQRT_2);
    below + simpson(error_at, (-beta).max(-16.0), 9.0, 200)
}

fn standard_normal(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI)
}

/// Simpson's rule with an even number of steps.
fn simpson(f: impl Fn(f64) -> f64, from: f64, to: f64, steps: u32) -> f64 {
    let step = (to - from) / f64::from(steps);
    let weight = |n| if n == 0 || n == steps { 1.0 } else { 2.0 + 2.0 * f64::from(n % 2) };
    (0..=steps).map(|n| weight(n) * f(from + step * f64::from(n))).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_rate_needs_a_better_signal() {
        for sinr_db in [-6.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0] {
            let hazards: Vec<f64> = DataRate::DSSS.iter().map(|&rate| hazard(rate, from_db(sinr_db))).collect();
            assert!(hazards.windows(2).all(|pair| pair[0] < pair[1]), "{sinr_db} dB: {hazards:?}");
        }
    }

    #[test]
    fn hazards_fall_with_the_signal() {
        for rate in DataRate::DSSS {
            let mut last = f64::INFINITY;
            for tenth_db in -150..250 {
                let now = hazard(rate, from_db(f64::from(tenth_db) / 10.0));
                assert!(now <= last && now >= 0.0 && now.is_finite(), "{rate:?} {tenth_db}");
                last = now;
            }
            assert!(last < 1e-30, "{rate:?} {last}");
        }
    }

    #[test]
    fn the_integral_has_its_known_ends() {
        // Without signal one guesses among 16; with a strong one the union bound holds: 14 Q(sqrt(e)) + Q(sqrt(2 e)).
        assert!((biorthogonal_symbol_error(1e-9) - 15.0 / 16.0).abs() < 1e-3);
        for argument in [10.0, 20.0, 40.0] {
            let q = |x: f64| 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
            let bound = 14.0 * q(libm::sqrt(argument)) + q(libm::sqrt(2.0 * argument));
            let value = biorthogonal_symbol_error(argument);
            assert!(value < bound && value > 0.75 * bound, "{argument}: {value} against {bound}");
        }
    }
}
