//! TCP_INFO: what the kernel knows of a connection.

use framewire_units::{Bitrate, DataSize, Duration};

/// The state of a TCP connection (tcp(7), `struct tcp_info` of include/uapi/linux/tcp.h). Values that the running
/// kernel does not report are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window in packets.
    pub cwnd_packets: u32,
    /// Slow-start threshold in packets; `None` before the first loss.
    pub ssthresh_packets: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Variation of the round-trip time.
    pub rttvar: Duration,
    /// Shortest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Packets sent and not acknowledged.
    pub unacked_packets: u32,
    /// Packets retransmitted since the start.
    pub total_retransmissions: u32,
    /// Retransmission timeouts since the start, also repeated ones and those of the handshake; `None` before Linux 6.7.
    pub total_timeouts: Option<u32>,
    /// Maximum segment size in bytes.
    pub mss: u32,
    /// Bytes that the receiver has acknowledged since the start; `None` before Linux 4.1.
    pub acknowledged: Option<DataSize>,
    /// Bytes written and not yet sent.
    pub unsent: Option<DataSize>,
    /// The kernel's estimate of the delivery rate; `None` before the first.
    pub delivery_rate: Option<Bitrate>,
}

/// As much of the structure as is read here, in bytes; it has only ever grown at its end.
pub(crate) const LENGTH: usize = 248;

/// `TCP_INFINITE_SSTHRESH` (include/net/tcp.h).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Offsets of the fields in bytes: eight of one byte each, then 24 of four, then `u64`s on their own boundary.
mod offset {
    pub(super) const SND_MSS: usize = 16;
    pub(super) const UNACKED: usize = 24;
    pub(super) const RTT: usize = 68;
    pub(super) const RTTVAR: usize = 72;
    pub(super) const SND_SSTHRESH: usize = 76;
    pub(super) const SND_CWND: usize = 80;
    pub(super) const TOTAL_RETRANS: usize = 100;
    pub(super) const BYTES_ACKED: usize = 120;
    pub(super) const NOTSENT_BYTES: usize = 144;
    pub(super) const MIN_RTT: usize = 148;
    pub(super) const DELIVERY_RATE: usize = 160;
    /// `tcpi_total_rto`, a `u16` behind `tcpi_rehash`: there from Linux 6.7 on.
    pub(super) const TOTAL_RTO: usize = 240;
}

impl TcpInfo {
    /// Reads the structure as the kernel wrote it; `None` when it is shorter than Linux 2.6.12 wrote it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let micros = |at| Some(Duration::from_micros(u64::from(u32_at(bytes, at)?)));
        Some(Self {
            cwnd_packets: u32_at(bytes, offset::SND_CWND)?,
            ssthresh_packets: u32_at(bytes, offset::SND_SSTHRESH).filter(|packets| *packets < INFINITE_SSTHRESH),
            srtt: micros(offset::RTT)?,
            rttvar: micros(offset::RTTVAR)?,
            // All ones before the first sample (`minmax_reset(&tp->rtt_min, ..., ~0U)` in tcp_init_sock).
            min_rtt: micros(offset::MIN_RTT).filter(|rtt| *rtt < Duration::from_micros(u64::from(u32::MAX))),
            unacked_packets: u32_at(bytes, offset::UNACKED)?,
            total_retransmissions: u32_at(bytes, offset::TOTAL_RETRANS)?,
            total_timeouts: u16_at(bytes, offset::TOTAL_RTO).map(u32::from),
            mss: u32_at(bytes, offset::SND_MSS)?,
            acknowledged: u64_at(bytes, offset::BYTES_ACKED).map(DataSize::from_bytes),
            unsent: u32_at(bytes, offset::NOTSENT_BYTES).map(|bytes| DataSize::from_bytes(u64::from(bytes))),
            delivery_rate: u64_at(bytes, offset::DELIVERY_RATE)
                .filter(|rate| *rate > 0)
                .map(|bytes_per_second| Bitrate::from_bps(bytes_per_second.saturating_mul(8))),
        })
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u16::from_ne_bytes(*chunk))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u32::from_ne_bytes(*chunk))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u64::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the structure that the C library knows must lie where it is read.
    #[test]
    fn offsets_agree_with_the_c_library() {
        assert_eq!(offset::SND_MSS, std::mem::offset_of!(libc::tcp_info, tcpi_snd_mss));
        assert_eq!(offset::UNACKED, std::mem::offset_of!(libc::tcp_info, tcpi_unacked));
        assert_eq!(offset::RTT, std::mem::offset_of!(libc::tcp_info, tcpi_rtt));
        assert_eq!(offset::RTTVAR, std::mem::offset_of!(libc::tcp_info, tcpi_rttvar));
        assert_eq!(offset::SND_SSTHRESH, std::mem::offset_of!(libc::tcp_info, tcpi_snd_ssthresh));
        assert_eq!(offset::SND_CWND, std::mem::offset_of!(libc::tcp_info, tcpi_snd_cwnd));
        assert_eq!(offset::TOTAL_RETRANS, std::mem::offset_of!(libc::tcp_info, tcpi_total_retrans));
    }

    #[test]
    fn an_older_kernel_tells_less() {
        let mut bytes = [0; LENGTH];
        bytes[offset::SND_CWND] = 10;
        bytes[offset::SND_SSTHRESH..][..4].copy_from_slice(&INFINITE_SSTHRESH.to_ne_bytes());
        bytes[offset::DELIVERY_RATE..][..8].copy_from_slice(&125_000u64.to_ne_bytes());
        let info = TcpInfo::parse(&bytes).unwrap();
        assert_eq!((info.cwnd_packets, info.ssthresh_packets), (10, None));
        assert_eq!(info.delivery_rate, Some(Bitrate::from_mbps(1)));
        assert_eq!(info.total_timeouts, Some(0));
        let older = TcpInfo::parse(&bytes[..104]).unwrap();
        assert_eq!((older.cwnd_packets, older.unsent, older.delivery_rate), (10, None, None));
        assert_eq!(TcpInfo::parse(&bytes[..offset::TOTAL_RTO]).unwrap().total_timeouts, None);
        assert_eq!(TcpInfo::parse(&bytes[..100]), None);
    }
}
