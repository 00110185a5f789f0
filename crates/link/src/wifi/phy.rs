//! Timing and rates of the high-rate direct-sequence PHY (clause 16; cited by the sections of its first edition, IEEE
//! Std 802.11b-1999, clause 18, and of the MAC in IEEE Std 802.11-2016).

use framewire_units::{Bitrate, DataSize, Duration};

/// Slot time (802.11b, 18.3, aSlotTime).
pub const SLOT: Duration = Duration::from_micros(20);
/// Short interframe space (802.11b, 18.3, aSIFSTime).
pub const SIFS: Duration = Duration::from_micros(10);
/// DCF interframe space: SIFS + 2 slots (clause 10.3.7).
pub const DIFS: Duration = Duration::from_micros(50);
/// Smallest contention window (802.11b, 18.3, aCWmin).
pub const CW_MIN: u32 = 31;
/// Largest contention window (802.11b, 18.3, aCWmax).
pub const CW_MAX: u32 = 1023;

/// MAC header of a data frame with three addresses (clause 9.3.2.1).
const MAC_HEADER: u64 = 24;
/// Frame check sequence (clause 9.2.4.8).
const FCS: u64 = 4;
/// LLC and SNAP header of an IP packet (RFC 1042).
const LLC_SNAP: u64 = 8;
/// Acknowledgement frame (clause 9.3.1.4).
const ACK: u64 = 14;

/// A rate of the high-rate PHY, with its modulation (802.11b, 18.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataRate {
    /// 1 Mbit/s, DBPSK over the Barker sequence.
    Mbps1,
    /// 2 Mbit/s, DQPSK over the Barker sequence.
    Mbps2,
    /// 5.5 Mbit/s, complementary code keying with 4 bits a symbol.
    Mbps5_5,
    /// 11 Mbit/s, complementary code keying with 8 bits a symbol.
    Mbps11,
}

impl DataRate {
    /// All rates, lowest first.
    pub const ALL: [Self; 4] = [Self::Mbps1, Self::Mbps2, Self::Mbps5_5, Self::Mbps11];

    /// The rate of the bits of the MAC frame.
    pub const fn bitrate(self) -> Bitrate {
        match self {
            Self::Mbps1 => Bitrate::from_mbps(1),
            Self::Mbps2 => Bitrate::from_mbps(2),
            Self::Mbps5_5 => Bitrate::from_kbps(5_500),
            Self::Mbps11 => Bitrate::from_mbps(11),
        }
    }

    /// The rate with this number of bits per second; `None` when the PHY has no such rate.
    pub fn from_bitrate(bitrate: Bitrate) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.bitrate() == bitrate)
    }

    /// The next higher rate, itself at the highest.
    pub const fn next_higher(self) -> Self {
        match self {
            Self::Mbps1 => Self::Mbps2,
            Self::Mbps2 => Self::Mbps5_5,
            Self::Mbps5_5 | Self::Mbps11 => Self::Mbps11,
        }
    }

    /// The next lower rate, itself at the lowest.
    pub const fn next_lower(self) -> Self {
        match self {
            Self::Mbps1 | Self::Mbps2 => Self::Mbps1,
            Self::Mbps5_5 => Self::Mbps2,
            Self::Mbps11 => Self::Mbps5_5,
        }
    }

    /// Rate of the acknowledgement: the highest basic rate not above the data rate (clause 10.7.6.5.2), with the basic
    /// rates 1 and 2 Mbit/s.
    pub const fn acknowledgement(self) -> Self {
        match self {
            Self::Mbps1 => Self::Mbps1,
            Self::Mbps2 | Self::Mbps5_5 | Self::Mbps11 => Self::Mbps2,
        }
    }
}

/// Length of the PLCP preamble (802.11b, 18.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// 144 bits of preamble and 48 of header, all at 1 Mbit/s.
    Long,
    /// 72 bits at 1 Mbit/s and 48 at 2 Mbit/s.
    Short,
}

impl Preamble {
    /// Duration of the PLCP preamble and header.
    pub const fn duration(self) -> Duration {
        match self {
            Self::Long => Duration::from_micros(192),
            Self::Short => Duration::from_micros(96),
        }
    }

    /// The preamble of a frame at `rate`: a frame at 1 Mbit/s always has the long one (802.11b, 18.2.2.2).
    pub const fn at(self, rate: DataRate) -> Self {
        match rate {
            DataRate::Mbps1 => Self::Long,
            _ => self,
        }
    }
}

/// Rate and duration of the PLCP header of 48 bits, which ends where the frame begins (802.11b, 18.2.2).
pub const fn plcp_header(preamble: Preamble) -> (DataRate, Duration) {
    match preamble {
        Preamble::Long => (DataRate::Mbps1, Duration::from_micros(48)),
        Preamble::Short => (DataRate::Mbps2, Duration::from_micros(24)),
    }
}

/// Size of the MAC frame that carries an IP packet of `size`.
pub const fn data_frame(size: DataSize) -> DataSize {
    DataSize::from_bytes(MAC_HEADER + LLC_SNAP + size.as_bytes() + FCS)
}

/// Size of an acknowledgement frame.
pub const fn ack_frame() -> DataSize {
    DataSize::from_bytes(ACK)
}

/// Time of a frame on the air: preamble, PLCP header and frame, in whole microseconds as the LENGTH field counts them
/// (802.11b, 18.2.3.5).
pub fn air_time(frame: DataSize, rate: DataRate, preamble: Preamble) -> Duration {
    let microseconds = (frame.as_bits() * 1_000_000).div_ceil(rate.bitrate().as_bps());
    preamble.at(rate).duration() + Duration::from_micros(microseconds)
}

/// How long a sender waits for the start of an acknowledgement: SIFS, a slot, and the time to recognise a preamble
/// (clause 10.3.2.9).
pub fn ack_timeout(preamble: Preamble) -> Duration {
    SIFS + SLOT + preamble.duration()
}

/// Extended interframe space of a station that received a damaged frame: SIFS, an acknowledgement at 1 Mbit/s, DIFS
/// (clause 10.3.2.3.7).
pub fn eifs() -> Duration {
    SIFS + air_time(ack_frame(), DataRate::Mbps1, Preamble::Long) + DIFS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_times_follow_the_standard() {
        // 1,500 + 36 bytes at 11 Mbit/s: 1117.1 us, rounded up, and 192 us of preamble.
        let frame = data_frame(DataSize::from_bytes(1500));
        assert_eq!(air_time(frame, DataRate::Mbps11, Preamble::Long), Duration::from_micros(1310));
        assert_eq!(air_time(frame, DataRate::Mbps11, Preamble::Short), Duration::from_micros(1214));
        assert_eq!(air_time(frame, DataRate::Mbps1, Preamble::Short), Duration::from_micros(12_480));
        assert_eq!(air_time(ack_frame(), DataRate::Mbps2, Preamble::Long), Duration::from_micros(248));
        assert_eq!(eifs(), Duration::from_micros(364));
        assert_eq!(ack_timeout(Preamble::Long), Duration::from_micros(222));
    }

    #[test]
    fn rates_form_a_ladder() {
        for pair in DataRate::ALL.windows(2) {
            assert_eq!(pair[0].next_higher(), pair[1]);
            assert_eq!(pair[1].next_lower(), pair[0]);
            assert!(pair[0].bitrate() < pair[1].bitrate());
            assert!(pair[0].acknowledgement() <= pair[0]);
        }
        assert_eq!(DataRate::from_bitrate(Bitrate::from_kbps(5_500)), Some(DataRate::Mbps5_5));
        assert_eq!(DataRate::from_bitrate(Bitrate::from_mbps(54)), None);
    }
}
