use crate::probability::Probability;

/// The seed of a run. Every draw is a function of the seed and of the place that draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// A stream for one place, named by numbers such as (station, packet count).
    ///
    /// Streams of different places are independent, and nothing that another place draws moves them:
    /// this is what lets two transports meet the same channel.
    pub fn stream(self, domain: &str, place: &[u64]) -> RandomStream {
        self.domain(domain).stream(place)
    }

    /// All streams of one domain, for a place that draws often: the name is hashed once.
    pub fn domain(self, name: &str) -> Domain {
        let mut state = mix(self.0 ^ 0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Domain(state)
    }
}

/// The streams of one domain of a [`Seed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain(u64);

impl Domain {
    /// The stream for one place; see [`Seed::stream`].
    pub fn stream(self, place: &[u64]) -> RandomStream {
        let mut state = self.0;
        for &part in place {
            state = mix(state ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        RandomStream::new(state)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// PCG64 (PCG-XSL-RR 128/64; O'Neill, "PCG: A family of simple fast space-efficient statistically good
/// algorithms for random number generation", 2014, section 6.3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream {
    state: u128,
}

const PCG_MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const PCG_INCREMENT: u128 = 0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f;

impl RandomStream {
    fn new(seed: u64) -> Self {
        let wide = (u128::from(mix(seed)) << 64) | u128::from(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        let mut stream = Self { state: PCG_INCREMENT.wrapping_add(wide) };
        stream.next_u64();
        stream
    }

    /// 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(PCG_MULTIPLIER).wrapping_add(PCG_INCREMENT);
        let rotation = (self.state >> 122) as u32;
        ((self.state >> 64) as u64 ^ self.state as u64).rotate_right(rotation)
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform whole number from 0 to `bound`, inclusive (Lemire's multiply-shift; bias under 2^-32 for 32-bit bounds).
    pub fn next_inclusive(&mut self, bound: u32) -> u32 {
        let span = u128::from(bound) + 1;
        ((u128::from(self.next_u64()) * span) >> 64) as u32
    }

    /// True with the given probability. Always takes one draw, so that streams stay in step.
    pub fn chance(&mut self, probability: Probability) -> bool {
        self.next_f64() < probability.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pinned() {
        let mut stream = Seed(1).stream("pinned", &[2, 3]);
        let draws: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        let mut again = Seed(1).stream("pinned", &[2, 3]);
        assert_eq!(draws, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        assert_ne!(draws[0], Seed(2).stream("pinned", &[2, 3]).next_u64());
        assert_ne!(draws[0], Seed(1).stream("pinned", &[3, 2]).next_u64());
        assert_ne!(draws[0], Seed(1).stream("pinnee", &[2, 3]).next_u64());
    }

    #[test]
    fn first_draws_of_neighbouring_places_are_uniform() {
        // Chi-square over 16 bins, 15 degrees of freedom: 99.9 % of fair streams stay under 37.7.
        let mut bins = [0u32; 16];
        for place in 0..16_000 {
            bins[Seed(7).stream("channel", &[0, place]).next_inclusive(15) as usize] += 1;
        }
        let chi_square: f64 = bins.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 37.7 && chi_square > 3.0, "{chi_square} {bins:?}");
    }
}
