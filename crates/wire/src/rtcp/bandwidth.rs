use framewire_units::{Bitrate, Duration};

/// Least mean time between two reports of a participant; half of it before its first one (RFC 3550, section 6.2).
pub(crate) const MINIMUM_INTERVAL: Duration = Duration::from_secs(5);

/// Of the bandwidth of a session, RTCP has one part in so many (RFC 3550, section 6.2: 5 %).
const RTCP_PART: u64 = 20;

/// And of that, those that send have one part in so many (section 6.2: a quarter).
const SENDERS_PART: u64 = 4;

/// What RTCP may take of a session: what its senders may (RS) and what all others may (RR; RFC 3556, section 2).
///
/// ```
/// use framewire_units::Bitrate;
/// use framewire_wire::rtcp::RtcpBandwidth;
///
/// let bandwidth = RtcpBandwidth::of_session(Bitrate::from_mbps(4));
/// assert_eq!(bandwidth.describe(), "b=RS:50000\r\nb=RR:150000\r\n");
/// assert_eq!(RtcpBandwidth::NONE.describe(), "b=RS:0\r\nb=RR:0\r\n");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtcpBandwidth {
    /// RS: of those that send RTP.
    pub senders: Bitrate,
    /// RR: of those that do not.
    pub receivers: Bitrate,
}

/// Who is in a session, seen from one of its participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// All participants, this one included.
    pub members: usize,
    /// Those of them that send RTP.
    pub senders: usize,
    /// Whether this one does.
    pub we_sent: bool,
}

impl RtcpBandwidth {
    /// No RTCP at all.
    pub const NONE: Self = Self { senders: Bitrate::from_bps(0), receivers: Bitrate::from_bps(0) };

    /// That of a session of this bandwidth: 5 %, of which a quarter is for those that send (RFC 3550, section 6.2; RFC 3551,
    /// section 2).
    pub fn of_session(session: Bitrate) -> Self {
        let all = session.as_bps() / RTCP_PART;
        let senders = all / SENDERS_PART;
        Self { senders: Bitrate::from_bps(senders), receivers: Bitrate::from_bps(all - senders) }
    }

    /// The same where a description has `b=RS` or `b=RR`, in bit/s: each takes the place of the default (RFC 3556, section 2).
    pub fn described(session: Bitrate, senders: Option<u64>, receivers: Option<u64>) -> Self {
        let default = Self::of_session(session);
        Self {
            senders: senders.map_or(default.senders, Bitrate::from_bps),
            receivers: receivers.map_or(default.receivers, Bitrate::from_bps),
        }
    }

    /// Its lines of a session description (RFC 3556, section 2).
    pub fn describe(self) -> String {
        format!("b=RS:{}\r\nb=RR:{}\r\n", self.senders.as_bps(), self.receivers.as_bps())
    }

    /// The mean time between two packets of a participant, without the factor of chance, where packets have `size` bytes on
    /// average; `None` where it may not send any (RFC 3550, section 6.3.1; which share is whose, RFC 3556, section 3).
    pub fn interval(self, census: Census, size: f64, minimum: Duration) -> Option<Duration> {
        let (rate, n) = self.share(census);
        if rate == 0 {
            return None;
        }
        let seconds = size * 8.0 * n as f64 / rate as f64;
        Some(Duration::from_secs_f64(seconds).max(minimum))
    }

    /// The rate that a participant shares, in bit/s, and with how many.
    fn share(self, census: Census) -> (u64, usize) {
        let (senders, receivers) = (self.senders.as_bps(), self.receivers.as_bps());
        let all = u128::from(senders) + u128::from(receivers);
        // Of the members no more send than RS / (RS + RR): they have their part, and the others theirs.
        let few_send = census.senders as u128 * all <= census.members as u128 * u128::from(senders);
        match (few_send, census.we_sent) {
            (true, true) => (senders, census.senders),
            (true, false) => (receivers, census.members - census.senders),
            (false, _) => (u64::try_from(all).unwrap_or(u64::MAX), census.members),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(bandwidth: RtcpBandwidth, members: usize, senders: usize, we_sent: bool) -> Option<f64> {
        let census = Census { members, senders, we_sent };
        let interval = bandwidth.interval(census, 100.0, Duration::ZERO);
        interval.map(|interval| interval.as_millis() as f64 / 1_000.0)
    }

    #[test]
    fn few_senders_share_a_quarter_and_many_share_it_all() {
        // 800 bit a packet; 1,600 bit/s for senders and 4,800 for all others.
        let bandwidth = RtcpBandwidth::of_session(Bitrate::from_kbps(128));
        assert_eq!(interval(bandwidth, 8, 2, true), Some(1.0), "two at 1,600 bit/s");
        assert_eq!(interval(bandwidth, 8, 2, false), Some(1.0), "six at 4,800");
        assert_eq!(interval(bandwidth, 8, 3, true), Some(1.0), "more than a quarter: eight at 6,400");
        assert_eq!(interval(bandwidth, 8, 3, false), Some(1.0));
        assert_eq!(interval(bandwidth, 8, 0, false), Some(1.333), "nobody sends: eight at 4,800");
        assert_eq!(interval(bandwidth, 100, 1, true), Some(0.5), "one at 1,600");
        assert_eq!(interval(bandwidth, 2, 1, true), Some(0.25), "half of two: both at 6,400");
    }

    #[test]
    fn where_receivers_have_nothing_only_senders_send_and_the_other_way_they_are_alike() {
        let described = |rs, rr| RtcpBandwidth::described(Bitrate::from_mbps(1), Some(rs), Some(rr));
        assert_eq!(interval(described(1_600, 0), 2, 1, false), None);
        assert_eq!(interval(described(1_600, 0), 2, 1, true), Some(0.5));
        assert_eq!(interval(described(1_600, 0), 2, 2, true), Some(1.0));
        assert_eq!(interval(described(0, 1_600), 2, 1, true), Some(1.0), "treated as non-senders are");
        assert_eq!(interval(described(0, 1_600), 2, 0, false), Some(1.0));
        assert_eq!(interval(RtcpBandwidth::NONE, 2, 1, true), None);
        assert_eq!(interval(RtcpBandwidth::NONE, 2, 0, false), None);
    }

    #[test]
    fn what_a_description_leaves_out_is_the_default() {
        let described = |rs, rr| {
            let bandwidth = RtcpBandwidth::described(Bitrate::from_mbps(4), rs, rr);
            (bandwidth.senders.as_bps(), bandwidth.receivers.as_bps())
        };
        assert_eq!(described(None, None), (50_000, 150_000));
        assert_eq!(described(Some(0), None), (0, 150_000));
        assert_eq!(described(None, Some(7)), (50_000, 7));
    }
}
