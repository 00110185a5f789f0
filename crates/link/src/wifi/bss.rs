//! What all stations of a network share: the standard, and the timing of the MAC that follows from it.

use framewire_units::{DataSize, Duration, SenseTimes, keywords};

use crate::wifi::phy::{self, ACK, CTS, DataRate, Preamble, RTS, phy_header};

// The clauses of IEEE Std 802.11-2016 are 16 for 802.11b, 18 for 802.11g and 17 for 802.11a.
keywords! {
    /// The wireless standard.
    Standard {
        /// IEEE 802.11b: DSSS and CCK at 2.4 GHz, 1 to 11 Mbit/s.
        Ieee80211b = "802.11b",
        /// IEEE 802.11g: OFDM beside them, 6 to 54 Mbit/s.
        Ieee80211g = "802.11g",
        /// IEEE 802.11a: OFDM at 5 GHz, out of reach of ovens.
        Ieee80211a = "802.11a",
    }
}

impl Standard {
    /// The rates that a station may be fixed to, lowest first.
    pub fn rates(self) -> Vec<DataRate> {
        match self {
            Self::Ieee80211b => DataRate::DSSS.to_vec(),
            Self::Ieee80211a => DataRate::OFDM.to_vec(),
            Self::Ieee80211g => {
                let mut rates = [&DataRate::DSSS[..], &DataRate::OFDM[..]].concat();
                rates.sort_by_key(|rate| rate.bitrate());
                rates
            }
        }
    }

    /// Where rate fallback begins; it stays among the rates of this kind.
    pub(crate) const fn highest_rate(self) -> DataRate {
        match self {
            Self::Ieee80211b => DataRate::Mbps11,
            Self::Ieee80211g | Self::Ieee80211a => DataRate::Mbps54,
        }
    }
}

// Such a station cannot hear OFDM frames (clause 10.26). Where one is associated, slots are long as well; without one they
// are short.
keywords! {
    /// How OFDM frames are announced to an associated station of 802.11b.
    Protection {
        /// There is no such station.
        None = "none",
        /// By a clear to send that the sender addresses to itself.
        CtsToSelf = "cts-to-self",
        /// By a request to send and its answer.
        RtsCts = "rts-cts",
    }
}

/// A basic service set: what its stations agreed upon, and every time that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bss {
    /// The wireless standard.
    pub standard: Standard,
    /// Preamble of direct-sequence frames.
    pub preamble: Preamble,
    /// Protection of OFDM frames.
    pub protection: Protection,
}

impl Bss {
    /// Rate of the frames that announce an OFDM frame: the highest basic rate of 802.11b.
    pub(crate) const PROTECTION_RATE: DataRate = DataRate::Mbps2;
    /// Largest contention window, the same for all (802.11b, 18.3; clause 17.4.4).
    pub(crate) const CW_MAX: u32 = 1023;
    /// What follows an OFDM frame of 802.11g, so that its SIFS of 10 us leaves a decoder the 16 us that it has in
    /// 802.11a (clause 18.3.2.4).
    const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
    /// Time from the first sample of an OFDM frame to its recognition (clause 17.4.4, aRxPHYStartDelay).
    const OFDM_START_DELAY: Duration = Duration::from_micros(20);

    /// A network of 802.11b.
    pub const fn dsss(preamble: Preamble) -> Self {
        Self { standard: Standard::Ieee80211b, preamble, protection: Protection::None }
    }

    /// What decides which stations collide: the standard's slot, and its times of sensing another.
    pub const fn sense_times(&self) -> SenseTimes {
        match (self.standard, self.protection) {
            (Standard::Ieee80211a, _) => SenseTimes::OFDM_AT_5_GHZ,
            (Standard::Ieee80211g, Protection::None) => SenseTimes::SHORT_SLOT,
            (Standard::Ieee80211b | Standard::Ieee80211g, _) => SenseTimes::LONG_SLOT,
        }
    }

    /// Slot time.
    pub const fn slot(&self) -> Duration {
        self.sense_times().slot
    }

    /// Short interframe space (802.11b, 18.3; clauses 17.4.4 and 18.4.5).
    pub(crate) const fn sifs(&self) -> Duration {
        match self.standard {
            Standard::Ieee80211b | Standard::Ieee80211g => Duration::from_micros(10),
            Standard::Ieee80211a => Duration::from_micros(16),
        }
    }

    /// DCF interframe space: SIFS + 2 slots (clause 10.3.7).
    pub(crate) fn difs(&self) -> Duration {
        self.sifs() + self.slot() * 2
    }

    /// Smallest contention window: 31 of 802.11b (18.3), 15 of stations that know OFDM (clauses 17.4.4 and 18.4.5), also
    /// beside a station of 802.11b.
    pub(crate) const fn cw_min(&self) -> u32 {
        match self.standard {
            Standard::Ieee80211b => 31,
            Standard::Ieee80211g | Standard::Ieee80211a => 15,
        }
    }

    /// Time for which another's beginning goes unnoticed ([`SenseTimes::carrier_sense`]).
    pub fn carrier_sense(&self) -> Duration {
        self.sense_times().carrier_sense()
    }

    /// Time of a frame on the air, with the signal extension of 802.11g's OFDM frames.
    pub(crate) fn air_time(&self, frame: DataSize, rate: DataRate) -> Duration {
        let extended = self.standard == Standard::Ieee80211g && rate.is_ofdm();
        let extension = if extended { Self::SIGNAL_EXTENSION } else { Duration::ZERO };
        phy::air_time(frame, rate, self.preamble) + extension
    }

    /// How long the sender of a frame waits for the start of the answer at `answer`: SIFS, a slot, and the time to
    /// recognise a preamble (clause 10.3.2.9).
    pub(crate) fn answer_timeout(&self, answer: DataRate) -> Duration {
        self.sifs() + self.slot() + self.start_delay(answer)
    }

    /// Time to recognise a frame at `rate`.
    fn start_delay(&self, rate: DataRate) -> Duration {
        if rate.is_ofdm() { Self::OFDM_START_DELAY } else { phy_header(rate, self.preamble).duration }
    }

    /// Extended interframe space of a station that received a damaged frame: SIFS, an acknowledgement at the lowest
    /// mandatory rate, DIFS (clause 10.3.2.3.7).
    pub(crate) fn eifs(&self) -> Duration {
        let lowest = match self.standard {
            Standard::Ieee80211b | Standard::Ieee80211g => DataRate::Mbps1,
            Standard::Ieee80211a => DataRate::Mbps6,
        };
        self.sifs() + self.air_time(ACK, lowest) + self.difs()
    }

    /// How a frame at `rate` is announced.
    pub(crate) const fn protection_of(&self, rate: DataRate) -> Protection {
        if rate.is_ofdm() { self.protection } else { Protection::None }
    }

    /// Time from the beginning of an exchange to its data frame: the announcement and the SIFS after it.
    pub fn announcement(&self, rate: DataRate) -> Duration {
        let cts = self.air_time(CTS, Self::PROTECTION_RATE) + self.sifs();
        match self.protection_of(rate) {
            Protection::None => Duration::ZERO,
            Protection::CtsToSelf => cts,
            Protection::RtsCts => self.air_time(RTS, Self::PROTECTION_RATE) + self.sifs() + cts,
        }
    }

    /// Time from the end of a request to send until those who heard it may take it as void, when no data frame follows
    /// (clause 10.3.2.4).
    pub(crate) fn void_reservation(&self) -> Duration {
        let cts = self.air_time(CTS, Self::PROTECTION_RATE);
        self.sifs() * 2 + cts + self.start_delay(Self::PROTECTION_RATE) + self.slot() * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bss(standard: Standard, protection: Protection) -> Bss {
        Bss { standard, preamble: Preamble::Long, protection }
    }

    #[test]
    fn times_are_those_of_the_standards() {
        let us = Duration::from_micros;
        let (b, g, a) = (Standard::Ieee80211b, Standard::Ieee80211g, Standard::Ieee80211a);
        let rows = [
            // Slot, SIFS, DIFS, EIFS, wait for an acknowledgement, smallest window, carrier sense.
            (bss(b, Protection::None), 20, 10, 50, 364, 222, 31, 20),
            (bss(g, Protection::None), 9, 10, 28, 342, 39, 15, 9),
            (bss(g, Protection::CtsToSelf), 20, 10, 50, 364, 50, 15, 20),
            (bss(a, Protection::None), 9, 16, 34, 94, 45, 15, 6),
        ];
        for (bss, slot, sifs, difs, eifs, timeout, window, sense) in rows {
            assert_eq!((bss.slot(), bss.sifs(), bss.difs()), (us(slot), us(sifs), us(difs)), "{bss:?}");
            assert_eq!(bss.eifs(), us(eifs), "{bss:?}");
            let answer = bss.standard.highest_rate().acknowledgement();
            assert_eq!(bss.answer_timeout(answer), us(timeout), "{bss:?}");
            assert_eq!(bss.cw_min(), window, "{bss:?}");
            assert_eq!(bss.carrier_sense(), us(sense), "{bss:?}");
            assert!(bss.carrier_sense() <= bss.slot(), "{bss:?}");
        }
    }

    #[test]
    fn protection_precedes_frames_of_ofdm_only() {
        let us = Duration::from_micros;
        let at = |protection, rate| bss(Standard::Ieee80211g, protection).announcement(rate);
        // A clear to send at 2 Mbit/s: 192 + 56 us; a request: 192 + 80 us.
        assert_eq!(at(Protection::None, DataRate::Mbps54), Duration::ZERO);
        assert_eq!(at(Protection::CtsToSelf, DataRate::Mbps54), us(248 + 10));
        assert_eq!(at(Protection::RtsCts, DataRate::Mbps6), us(272 + 10 + 248 + 10));
        assert_eq!(at(Protection::RtsCts, DataRate::Mbps11), Duration::ZERO);
    }

    #[test]
    fn each_standard_has_its_rates() {
        let rates = |standard: Standard| -> Vec<u64> {
            standard.rates().iter().map(|rate| rate.bitrate().as_bps() / 100_000).collect()
        };
        let expected: [Vec<u64>; 3] = [
            vec![10, 20, 55, 110],
            vec![10, 20, 55, 60, 90, 110, 120, 180, 240, 360, 480, 540],
            vec![60, 90, 120, 180, 240, 360, 480, 540],
        ];
        let all = [Standard::Ieee80211b, Standard::Ieee80211g, Standard::Ieee80211a].map(rates);
        assert_eq!(all, expected);
    }
}
