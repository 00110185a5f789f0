//! Rates of the physical layers, and how long their frames last.
//!
//! 802.11b: the high-rate direct-sequence PHY (clause 16; cited by the sections of its first edition, IEEE Std
//! 802.11b-1999, clause 18). 802.11a: the OFDM PHY (clause 17). 802.11g: the extended-rate PHY (clause 18), which has
//! the rates of both.

use framewire_units::{Bitrate, DataSize, Duration, keywords};

/// MAC header of a data frame with three addresses (clause 9.3.2.1).
const MAC_HEADER: u64 = 24;
/// Frame check sequence (clause 9.2.4.8).
const FCS: u64 = 4;
/// LLC and SNAP header of an IP packet (RFC 1042).
const LLC_SNAP: u64 = 8;

/// Acknowledgement frame (clause 9.3.1.4).
pub(super) const ACK: DataSize = DataSize::from_bytes(14);
/// Request to send (clause 9.3.1.2).
pub(super) const RTS: DataSize = DataSize::from_bytes(20);
/// Clear to send (clause 9.3.1.3).
pub(super) const CTS: DataSize = DataSize::from_bytes(14);

/// Short training, long training (clause 17.3.3): 16 us.
const OFDM_TRAINING: Duration = Duration::from_micros(16);
/// One OFDM symbol (clause 17.3.2.4); the SIGNAL field is one, at 6 Mbit/s.
const OFDM_SYMBOL: Duration = Duration::from_micros(4);
/// SERVICE field and tail, which go with the frame (clauses 17.3.5.2 and 17.3.5.3).
const OFDM_SERVICE_AND_TAIL: u64 = 16 + 6;

/// A rate, with its modulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataRate {
    /// 1 Mbit/s, DBPSK over the Barker sequence (802.11b, 18.4).
    Mbps1,
    /// 2 Mbit/s, DQPSK over the Barker sequence.
    Mbps2,
    /// 5.5 Mbit/s, complementary code keying with 4 bits a symbol.
    Mbps5_5,
    /// 11 Mbit/s, complementary code keying with 8 bits a symbol.
    Mbps11,
    /// 6 Mbit/s, OFDM, BPSK, code rate 1/2 (clause 17.3.2.2, as all below).
    Mbps6,
    /// 9 Mbit/s, OFDM, BPSK, code rate 3/4.
    Mbps9,
    /// 12 Mbit/s, OFDM, QPSK, code rate 1/2.
    Mbps12,
    /// 18 Mbit/s, OFDM, QPSK, code rate 3/4.
    Mbps18,
    /// 24 Mbit/s, OFDM, 16-QAM, code rate 1/2.
    Mbps24,
    /// 36 Mbit/s, OFDM, 16-QAM, code rate 3/4.
    Mbps36,
    /// 48 Mbit/s, OFDM, 64-QAM, code rate 2/3.
    Mbps48,
    /// 54 Mbit/s, OFDM, 64-QAM, code rate 3/4.
    Mbps54,
}

impl DataRate {
    /// How many there are.
    pub(super) const COUNT: usize = Self::DSSS.len() + Self::OFDM.len();
    /// The rates of 802.11b, lowest first.
    pub const DSSS: [Self; 4] = [Self::Mbps1, Self::Mbps2, Self::Mbps5_5, Self::Mbps11];
    /// The rates of OFDM, lowest first.
    pub const OFDM: [Self; 8] =
        [Self::Mbps6, Self::Mbps9, Self::Mbps12, Self::Mbps18, Self::Mbps24, Self::Mbps36, Self::Mbps48, Self::Mbps54];

    /// The rate of the bits of the MAC frame.
    pub const fn bitrate(self) -> Bitrate {
        Bitrate::from_kbps(match self {
            Self::Mbps1 => 1_000,
            Self::Mbps2 => 2_000,
            Self::Mbps5_5 => 5_500,
            Self::Mbps11 => 11_000,
            Self::Mbps6 => 6_000,
            Self::Mbps9 => 9_000,
            Self::Mbps12 => 12_000,
            Self::Mbps18 => 18_000,
            Self::Mbps24 => 24_000,
            Self::Mbps36 => 36_000,
            Self::Mbps48 => 48_000,
            Self::Mbps54 => 54_000,
        })
    }

    /// The rate with this number of bits per second; `None` when no PHY has such a rate.
    pub fn from_bitrate(bitrate: Bitrate) -> Option<Self> {
        Self::DSSS.into_iter().chain(Self::OFDM).find(|rate| rate.bitrate() == bitrate)
    }

    /// True for OFDM, false for direct sequence and CCK.
    pub(crate) const fn is_ofdm(self) -> bool {
        !matches!(self, Self::Mbps1 | Self::Mbps2 | Self::Mbps5_5 | Self::Mbps11)
    }

    /// The next higher rate of the same kind, itself at the highest.
    pub(crate) fn next_higher(self) -> Self {
        let next = |ladder: &[Self]| ladder.iter().copied().find(|&other| other > self).unwrap_or(self);
        if self.is_ofdm() { next(&Self::OFDM) } else { next(&Self::DSSS) }
    }

    /// The next lower rate of the same kind, itself at the lowest.
    pub(crate) fn next_lower(self) -> Self {
        let next = |ladder: &[Self]| ladder.iter().copied().rev().find(|&other| other < self).unwrap_or(self);
        if self.is_ofdm() { next(&Self::OFDM) } else { next(&Self::DSSS) }
    }

    /// Rate of the acknowledgement and of the clear to send: the highest basic rate not above the data rate (clause
    /// 10.7.6.5.2). Basic are 1 and 2 Mbit/s, and the mandatory rates of OFDM: 6, 12 and 24 Mbit/s (clause 17.1.1).
    pub const fn acknowledgement(self) -> Self {
        match self {
            Self::Mbps1 => Self::Mbps1,
            Self::Mbps2 | Self::Mbps5_5 | Self::Mbps11 => Self::Mbps2,
            Self::Mbps6 | Self::Mbps9 => Self::Mbps6,
            Self::Mbps12 | Self::Mbps18 => Self::Mbps12,
            Self::Mbps24 | Self::Mbps36 | Self::Mbps48 | Self::Mbps54 => Self::Mbps24,
        }
    }
}

// The long one is 144 bits and the header 48, all at 1 Mbit/s; the short one is 72 bits at 1 Mbit/s, its header is at
// 2 Mbit/s (802.11b, 18.2.2).
keywords! {
    /// The PLCP preamble (IEEE 802.11-2007, 18.2.2).
    Preamble {
        /// 192 us with its header.
        Long = "long",
        /// 96 us with its header.
        Short = "short",
    }
}

impl Preamble {
    /// The preamble of a direct-sequence frame at `rate`: at 1 Mbit/s it is always the long one (802.11b, 18.2.2.2).
    pub const fn at(self, rate: DataRate) -> Self {
        match rate {
            DataRate::Mbps1 => Self::Long,
            _ => self,
        }
    }
}

/// What precedes the frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhyHeader {
    /// Preamble and header.
    pub duration: Duration,
    /// The header alone, which ends where the frame begins: PLCP header of 48 bits, SIGNAL field of 24.
    pub header: Duration,
    /// The header's own rate.
    pub rate: DataRate,
}

/// What precedes a frame at `rate` (802.11b, 18.2.2; clause 17.3.3).
pub(super) const fn phy_header(rate: DataRate, preamble: Preamble) -> PhyHeader {
    let (duration, header, header_rate) = match (rate.is_ofdm(), preamble.at(rate)) {
        (true, _) => (OFDM_TRAINING.as_micros() as u64 + 4, 4, DataRate::Mbps6),
        (false, Preamble::Long) => (192, 48, DataRate::Mbps1),
        (false, Preamble::Short) => (96, 24, DataRate::Mbps2),
    };
    PhyHeader { duration: Duration::from_micros(duration), header: Duration::from_micros(header), rate: header_rate }
}

/// Size of the MAC frame that carries an IP packet of `size`.
pub(super) const fn data_frame(size: DataSize) -> DataSize {
    DataSize::from_bytes(MAC_HEADER + LLC_SNAP + size.as_bytes() + FCS)
}

/// Time of a frame on the air with all that precedes it.
///
/// Direct sequence: whole microseconds, as the LENGTH field counts them (802.11b, 18.2.3.5). OFDM: whole symbols, with
/// SERVICE field and tail (TXTIME, clause 17.4.3); 802.11g adds a [signal extension](super::Bss::air_time).
pub(super) fn air_time(frame: DataSize, rate: DataRate, preamble: Preamble) -> Duration {
    let header = phy_header(rate, preamble).duration;
    if rate.is_ofdm() {
        let bits_a_symbol = rate.bitrate().as_bps() * 4 / 1_000_000;
        let symbols = (OFDM_SERVICE_AND_TAIL + frame.as_bits()).div_ceil(bits_a_symbol);
        header + Duration::from_nanos(OFDM_SYMBOL.as_nanos() as u64 * symbols)
    } else {
        header + Duration::from_micros((frame.as_bits() * 1_000_000).div_ceil(rate.bitrate().as_bps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_times_of_direct_sequence_follow_the_standard() {
        // 1,500 + 36 bytes at 11 Mbit/s: 1117.1 us, rounded up, and 192 us of preamble.
        let frame = data_frame(DataSize::from_bytes(1500));
        assert_eq!(air_time(frame, DataRate::Mbps11, Preamble::Long), Duration::from_micros(1310));
        assert_eq!(air_time(frame, DataRate::Mbps11, Preamble::Short), Duration::from_micros(1214));
        assert_eq!(air_time(frame, DataRate::Mbps1, Preamble::Short), Duration::from_micros(12_480));
        assert_eq!(air_time(ACK, DataRate::Mbps2, Preamble::Long), Duration::from_micros(248));
    }

    #[test]
    fn air_times_of_ofdm_follow_the_standard() {
        let micros = |bytes, rate| air_time(DataSize::from_bytes(bytes), rate, Preamble::Long).as_micros();
        // 22 + 8 * 1536 bits, in symbols of 24, 36, 48, 72, 96, 144, 192 and 216 bits: 513, 342, 257, 171, 129, 86, 65
        // and 57 symbols of 4 us, after 20 us.
        let expected = [2072, 1388, 1048, 704, 536, 364, 280, 248];
        assert_eq!(DataRate::OFDM.map(|rate| micros(1536, rate)), expected);
        // An acknowledgement: 134 bits, that is 6, 3 and 2 symbols.
        assert_eq!([DataRate::Mbps6, DataRate::Mbps12, DataRate::Mbps24].map(|rate| micros(14, rate)), [44, 32, 28]);
    }

    #[test]
    fn rates_form_two_ladders() {
        for ladder in [&DataRate::DSSS[..], &DataRate::OFDM[..]] {
            for pair in ladder.windows(2) {
                assert_eq!(pair[0].next_higher(), pair[1]);
                assert_eq!(pair[1].next_lower(), pair[0]);
                assert!(pair[0].bitrate() < pair[1].bitrate());
            }
            let (first, last) = (ladder[0], ladder[ladder.len() - 1]);
            assert_eq!((first.next_lower(), last.next_higher()), (first, last));
            assert!(ladder.iter().all(|rate| rate.acknowledgement() <= *rate));
            assert!(ladder.iter().all(|rate| rate.acknowledgement().is_ofdm() == rate.is_ofdm()));
        }
        assert_eq!(DataRate::from_bitrate(Bitrate::from_kbps(5_500)), Some(DataRate::Mbps5_5));
        assert_eq!(DataRate::from_bitrate(Bitrate::from_mbps(54)), Some(DataRate::Mbps54));
        assert_eq!(DataRate::from_bitrate(Bitrate::from_mbps(22)), None);
    }
}
