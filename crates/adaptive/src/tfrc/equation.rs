//! The throughput of a TCP flow as a function of its loss event rate and round-trip time (RFC 5348, section 3.1), and
//! its inverse.

use std::num::NonZeroU8;

use framewire_units::Duration;

/// t_RTO of the equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionTimeout {
    /// 4R: the RFC's, close enough to what TCP implementations do.
    FourRoundTrips,
    /// max(4R, the least timeout of a TCP): RFC 5348, section 3.1, names 1 s, the minimum of RFC 6298.
    AtLeast(Duration),
    /// A given time: t_RTO of equation 6 of the paper stands for itself.
    Fixed(Duration),
}

/// The throughput equation with its parameters.
///
/// ```text
///                                s
/// X = ----------------------------------------------------------
///     R*sqrt(2*b*p/3) + t_RTO * 3*sqrt(3*b*p/8) * p * (1+32*p^2)
/// ```
///
/// The rate is in packets per second: times s, the bytes of a packet, it is the RFC's X_Bps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equation {
    /// b: packets that an acknowledgement of TCP acknowledges.
    pub packets_per_acknowledgement: NonZeroU8,
    /// t_RTO.
    pub timeout: RetransmissionTimeout,
}

impl Equation {
    /// b = 1 and t_RTO = 4R, as RFC 5348 recommends.
    pub const RFC: Self =
        Self { packets_per_acknowledgement: NonZeroU8::MIN, timeout: RetransmissionTimeout::FourRoundTrips };

    /// Equation 6 of the paper, which is the RFC's for b = 1, with the timeout of a TCP: "t_RTO the value of the TCP
    /// retransmit timeout", 1 s at least by RFC 2988 of the paper's time.
    pub const PAPER: Self = Self {
        packets_per_acknowledgement: NonZeroU8::MIN,
        timeout: RetransmissionTimeout::AtLeast(Duration::from_secs(1)),
    };

    /// Packets per second that a TCP flow would send. Infinite without loss or without a round trip; a loss event rate
    /// above 1, or that is not a number, counts as 1.
    pub fn packets_per_second(&self, round_trip: Duration, loss_event_rate: f64) -> f64 {
        let p = if loss_event_rate.is_nan() { 1.0 } else { loss_event_rate.clamp(0.0, 1.0) };
        let b = f64::from(self.packets_per_acknowledgement.get());
        let timeouts = self.timeout_seconds(round_trip) * 3.0 * (3.0 * b * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        1.0 / (round_trip.as_secs_f64() * (2.0 * b * p / 3.0).sqrt() + timeouts)
    }

    fn timeout_seconds(&self, round_trip: Duration) -> f64 {
        let four = 4.0 * round_trip.as_secs_f64();
        match self.timeout {
            RetransmissionTimeout::FourRoundTrips => four,
            RetransmissionTimeout::AtLeast(least) => four.max(least.as_secs_f64()),
            RetransmissionTimeout::Fixed(timeout) => timeout.as_secs_f64(),
        }
    }

    /// The loss event rate at which the equation gives this rate: by bisection, because the RFC's 5 % (section 6.3.1)
    /// is there only for senders that cannot afford better. Rates beyond the equation's range give the nearest loss
    /// event rate, [`LEAST_RATE`] or 1.
    pub fn loss_event_rate(&self, round_trip: Duration, packets_per_second: f64) -> f64 {
        let exceeds = |p: f64| self.packets_per_second(round_trip, p) > packets_per_second;
        if exceeds(1.0) || packets_per_second.is_nan() {
            return 1.0;
        }
        let (mut low, mut high) = (LEAST_RATE, 1.0f64);
        // The equation falls in p. Halving the logarithm of 1e15 until it is less than a rounding error takes 57 steps.
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if exceeds(middle) { low = middle } else { high = middle }
        }
        high
    }
}

/// The smallest loss event rate that the inverse gives: a loss in 10^15 packets.
pub(crate) const LEAST_RATE: f64 = 1e-15;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (R in milliseconds, p, packets per second for b = 1 and t_RTO = 4R, the same for t_RTO = 1 s): the equation in
    /// arithmetic of 50 digits, by
    ///
    /// ```text
    /// python3 -c "from mpmath import mp, mpf, sqrt; mp.dps = 50
    /// x = lambda R, p, t: 1 / (R * sqrt(2 * p / 3) + t * 3 * sqrt(3 * p / 8) * p * (1 + 32 * p**2))
    /// for R in ('1', '10', '40', '100', '449', '1000'):
    ///  for p in ('1e-8', '1e-4', '0.001', '0.01', '0.05', '0.25', '1.0'):
    ///   r, q = mpf(R) / 1000, mpf(p); print(f'({R}, {p}, {float(x(r, q, 4*r))}, {float(x(r, q, 1))}),')"
    /// ```
    const VECTORS: &[(u64, f64, f64, f64)] = &[
        (1, 1e-8, 12247447.611645605, 12247173.152519958),
        (1, 1e-4, 122364.35918065537, 99979.16729849702),
        (1, 0.001, 38384.36313912545, 11916.60783578769),
        (1, 0.01, 11233.223436299299, 519.5761375324915),
        (1, 0.05, 3685.885312955357, 44.712045510625806),
        (1, 0.25, 316.06319261718426, 1.4506898091697826),
        (1, 1.0, 4.109882118763721, 0.01649465827250258),
        (10, 1e-8, 1224744.7611645604, 1224742.1157218288),
        (10, 1e-4, 12236.435918065537, 11977.944868141503),
        (10, 0.001, 3838.4363139125458, 3161.6004756604016),
        (10, 0.01, 1123.32234362993, 376.0115655752146),
        (10, 0.05, 368.58853129553574, 41.65190551370085),
        (10, 0.25, 31.606319261718426, 1.4429983757191034),
        (10, 1.0, 0.4109882118763722, 0.016492659189221506),
        (40, 1e-8, 306186.1902911401, 306186.0456182466),
        (40, 1e-4, 3059.1089795163844, 3044.7355356106386),
        (40, 0.001, 959.6090784781364, 916.6808866520788),
        (40, 0.01, 280.8305859074825, 195.73369420692788),
        (40, 0.05, 92.14713282388394, 33.914709443044345),
        (40, 0.25, 7.901579815429606, 1.4179390696284677),
        (40, 1.0, 0.10274705296909305, 0.016485999076478516),
        (100, 1e-8, 122474.47611645605, 122474.4595824055),
        (100, 1e-4, 1223.6435918065538, 1221.9953809047167),
        (100, 0.001, 383.8436313912546, 378.77561066239804),
        (100, 0.01, 112.33223436299299, 99.92044442381531),
        (100, 0.05, 36.85885312955357, 24.7278807000075),
        (100, 0.25, 3.1606319261718427, 1.3703439120465333),
        (100, 1.0, 0.04109882118763722, 0.01647269497500456),
        (449, 1e-8, 27277.16617293008, 27277.167260979124),
        (449, 1e-4, 272.5264124290766, 272.6350650999592),
        (449, 0.001, 85.4885593299008, 85.82787209411053),
        (449, 0.01, 25.01831500289376, 25.971535023105464),
        (449, 0.05, 8.209098692550908, 9.600745968539284),
        (449, 0.25, 0.703926932332259, 1.1464964862079),
        (449, 1.0, 0.009153412291233233, 0.016395733160973897),
        (1000, 1e-8, 12247.447611645606, 12247.448438348301),
        (1000, 1e-4, 122.36435918065538, 122.44693656961456),
        (1000, 0.001, 38.384363139125455, 38.6428841903582),
        (1000, 0.01, 11.2332234362993, 11.977101577117201),
        (1000, 0.05, 3.6858853129553575, 4.883839121758057),
        (1000, 0.25, 0.3160631926171843, 0.9114380438262988),
        (1000, 1.0, 0.0041098821187637215, 0.01627567935404105),
    ];

    #[test]
    fn it_is_the_equation_of_the_rfc_to_nine_digits() {
        let one_second = Equation { timeout: RetransmissionTimeout::Fixed(Duration::from_secs(1)), ..Equation::RFC };
        for &(millis, p, four_round_trips, fixed) in VECTORS {
            let round_trip = Duration::from_millis(millis);
            for (equation, expected) in [(Equation::RFC, four_round_trips), (one_second, fixed)] {
                let rate = equation.packets_per_second(round_trip, p);
                assert!((rate / expected - 1.0).abs() < 1e-12, "R = {millis} ms, p = {p}: {rate}, not {expected}");
            }
        }
    }

    #[test]
    fn the_papers_timeout_is_a_tcps() {
        let (short, long) = (Duration::from_millis(10), Duration::from_millis(300));
        let second = Equation { timeout: RetransmissionTimeout::Fixed(Duration::from_secs(1)), ..Equation::RFC };
        let rate = |equation: Equation, round_trip| equation.packets_per_second(round_trip, 0.05);
        assert_eq!(rate(Equation::PAPER, short), rate(second, short));
        assert_eq!(rate(Equation::PAPER, long), rate(Equation::RFC, long));
        assert!(rate(Equation::PAPER, short) < 0.12 * rate(Equation::RFC, short));
    }

    #[test]
    fn two_packets_an_acknowledgement_are_the_equation_at_twice_the_loss_under_the_roots() {
        let delayed = Equation { packets_per_acknowledgement: NonZeroU8::new(2).unwrap(), ..Equation::RFC };
        let ratio = delayed.packets_per_second(Duration::from_millis(40), 1e-8)
            / Equation::RFC.packets_per_second(Duration::from_millis(40), 1e-8);
        assert!((ratio - 0.5f64.sqrt()).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn the_edges_are_defined() {
        let round_trip = Duration::from_millis(40);
        let rate = |p| Equation::RFC.packets_per_second(round_trip, p);
        assert_eq!((rate(0.0), rate(-1.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!((rate(2.0), rate(f64::NAN)), (rate(1.0), rate(1.0)));
        assert_eq!(Equation::RFC.packets_per_second(Duration::ZERO, 0.1), f64::INFINITY);
        let inverse = |rate| Equation::RFC.loss_event_rate(round_trip, rate);
        assert_eq!((inverse(0.0), inverse(-1.0), inverse(f64::NAN)), (1.0, 1.0, 1.0));
        assert!(inverse(f64::INFINITY) < 1.001 * LEAST_RATE);
    }

    proptest! {
        #[test]
        fn the_inverse_is_one(micros in 100u64..10_000_000, exponent in -14.0f64..0.0, delayed: bool) {
            let b = NonZeroU8::new(if delayed { 2 } else { 1 }).unwrap();
            let equation = Equation { packets_per_acknowledgement: b, ..Equation::RFC };
            let (round_trip, p) = (Duration::from_micros(micros), libm::pow(10.0, exponent));
            let found = equation.loss_event_rate(round_trip, equation.packets_per_second(round_trip, p));
            prop_assert!((found / p - 1.0).abs() < 1e-9, "{p} came back as {found}");
        }

        #[test]
        fn more_loss_and_longer_round_trips_mean_less(micros in 1u64..10_000_000, p in 1e-9f64..0.99) {
            let rate = |micros, p| Equation::RFC.packets_per_second(Duration::from_micros(micros), p);
            prop_assert!(rate(micros, p * 1.01) < rate(micros, p));
            prop_assert!(rate(micros + 1, p) < rate(micros, p));
        }
    }
}
