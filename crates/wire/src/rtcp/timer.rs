use framewire_units::{Duration, RandomStream, Timestamp};

use super::bandwidth::{Census, RtcpBandwidth};

/// Timer reconsideration converges to a mean below the one intended by this factor (RFC 3550, section 6.3.1: e - 3/2).
const COMPENSATION: f64 = std::f64::consts::E - 1.5;

/// The weight of a new packet in the average of sizes (section 6.3.3).
const NEW_SIZE: f64 = 1.0 / 16.0;

/// A session with so many members or fewer need not wait before it says that it leaves (section 6.3.7).
const LEAVE_AT_ONCE: usize = 50;

/// When a participant sends its next packet of RTCP (RFC 3550, sections 6.2 and 6.3, appendix A.7).
///
/// Contract: when [`next`](Self::next) has come, ask [`expire`](Self::expire), which says whether a packet goes now or the
/// timer was set anew. What arrives and who comes and goes is told to it by the other methods.
///
/// Where section 6.3 and the program of appendix A.7 differ, this follows the section: the interval after the first packet
/// has the full minimum, as "initial" is true only before a packet was sent (6.3.1).
#[derive(Clone, Debug)]
pub(crate) struct ReportTimer {
    random: RandomStream,
    bandwidth: RtcpBandwidth,
    minimum: Duration,
    /// avg_rtcp_size, in bytes, with the headers below.
    average_size: f64,
    /// No packet was sent yet.
    initial: bool,
    /// tp: when the last packet was sent; or the begin.
    last: Timestamp,
    /// tn: when the timer expires. `None` while nothing may be sent.
    next: Option<Timestamp>,
    /// pmembers: members when `next` was computed.
    members_before: usize,
    /// It expires, whatever the interval is.
    at_once: bool,
    /// The participant leaves: only a BYE packet is still to be sent, and so many participants sent BYE before it.
    leaving: Option<usize>,
}

impl ReportTimer {
    /// A participant that joins now, alone (section 6.3.2). `size` is what its first packet will probably have.
    pub(crate) fn new(
        now: Timestamp,
        bandwidth: RtcpBandwidth,
        minimum: Duration,
        size: usize,
        random: RandomStream,
    ) -> Self {
        let average_size = size as f64;
        let (initial, leaving) = (true, None);
        let mut timer = Self {
            random,
            bandwidth,
            minimum,
            average_size,
            initial,
            last: now,
            next: None,
            members_before: 1,
            at_once: false,
            leaving,
        };
        timer.schedule(now, Census { members: 1, senders: 0, we_sent: false });
        timer
    }

    /// The same that does not expire before the participant sends RTP.
    pub(crate) fn waiting(self) -> Self {
        Self { next: None, ..self }
    }

    /// It expires now, where the participant may send something.
    pub(crate) fn expire_at_once(&mut self, now: Timestamp) {
        self.at_once = self.next.is_some();
        self.next = self.next.map(|_| now);
    }

    /// When it expires; `None` while the participant may send nothing.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// True once a packet was sent.
    pub(crate) fn has_sent(&self) -> bool {
        !self.initial
    }

    /// The mean interval of this census, without the factor of chance, as timeouts are counted by (T_d, section 6.3.5).
    pub(crate) fn mean_interval(&self, census: Census) -> Option<Duration> {
        let minimum = if self.initial { self.minimum / 2 } else { self.minimum };
        self.bandwidth.interval(census, self.average_size, minimum)
    }

    /// The timer has expired: true where a packet is to be sent now, of which [`sent`](Self::sent) is to be told; else it was
    /// set anew, because there are more members than when it was set (section 6.3.6).
    pub(crate) fn expire(&mut self, now: Timestamp, census: Census) -> bool {
        if std::mem::take(&mut self.at_once) {
            self.next = None;
            return true;
        }
        let census = self.leaving_census().unwrap_or(census);
        let Some(interval) = self.draw(census) else {
            self.next = None;
            return false;
        };
        self.members_before = census.members;
        let goes = self.last + interval <= now;
        self.next = (!goes).then_some(self.last + interval);
        goes
    }

    /// A packet of so many bytes, with the headers below it, was sent.
    pub(crate) fn sent(&mut self, now: Timestamp, size: usize, census: Census) {
        self.initial = false;
        self.handle_size(size);
        self.last = now;
        self.schedule(now, census);
    }

    /// A packet of so many bytes came, with the headers below it. While the participant leaves, only BYE packets count.
    pub(crate) fn handle_packet(&mut self, size: usize, is_bye: bool) {
        match &mut self.leaving {
            None => self.handle_size(size),
            Some(_) if !is_bye => {}
            Some(byes) => {
                *byes += 1;
                self.handle_size(size);
            }
        }
    }

    /// What the participant may send has changed, because it began to send RTP or stopped: where nothing was to be sent, it
    /// may be now.
    pub(crate) fn handle_role(&mut self, now: Timestamp, census: Census) {
        if self.next.is_none() && self.leaving.is_none() {
            self.schedule(now, census);
        }
    }

    /// Members have left: the timer goes sooner, in the ratio of how many there are and were (reverse reconsideration, section
    /// 6.3.4).
    pub(crate) fn handle_fewer(&mut self, now: Timestamp, members: usize) {
        if members >= self.members_before || self.leaving.is_some() {
            return;
        }
        let of = |time: Duration| {
            let nanos = time.as_nanos() * members as u128 / self.members_before as u128;
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        self.next = self.next.map(|next| now + of(next.saturating_since(now)));
        self.last = now - of(now.saturating_since(self.last));
        self.members_before = members;
    }

    /// The participant leaves: true where its BYE packet, of so many bytes with the headers below, may go at once; else the
    /// timer was set for it (section 6.3.7).
    pub(crate) fn leave(&mut self, now: Timestamp, size: usize, members: usize) -> bool {
        self.leaving = Some(0);
        (self.next, self.at_once) = (None, false);
        if members <= LEAVE_AT_ONCE {
            return true;
        }
        (self.last, self.initial, self.members_before, self.average_size) = (now, true, 1, size as f64);
        self.schedule(now, Census { members: 1, senders: 0, we_sent: false });
        false
    }

    /// Who is in the session, for a participant that leaves: itself and those that sent BYE before it.
    fn leaving_census(&self) -> Option<Census> {
        self.leaving.map(|byes| Census { members: 1 + byes, senders: 0, we_sent: false })
    }

    fn handle_size(&mut self, size: usize) {
        self.average_size += (size as f64 - self.average_size) * NEW_SIZE;
    }

    fn schedule(&mut self, now: Timestamp, census: Census) {
        self.members_before = census.members;
        self.next = self.draw(census).map(|interval| now + interval);
    }

    /// An interval as section 6.3.1 draws it: the mean one times 0.5 to 1.5, divided by the compensation.
    fn draw(&mut self, census: Census) -> Option<Duration> {
        let mean = self.mean_interval(census)?;
        Some(mean.mul_f64((self.random.next_f64() + 0.5) / COMPENSATION))
    }
}
