use std::collections::BTreeMap;

use framewire_units::{Duration, Timestamp};

use super::bandwidth::Census;
use super::reception::Reception;

/// The most participants that are kept beside the own one: what others say is forgotten beyond, so that a hostile network cannot
/// fill the memory.
pub const MOST_MEMBERS: usize = 1_024;

/// After so many mean intervals of silence a participant is gone (M in RFC 3550, section 6.3.5).
const SILENT_INTERVALS: u32 = 5;

/// And after so many without a packet of RTP it sends no more (section 6.3.5).
const IDLE_INTERVALS: u32 = 2;

/// The other participants of a session (RFC 3550, section 6.2.1).
#[derive(Clone, Debug, Default)]
pub(super) struct Members(BTreeMap<u32, Member>);

/// One of them, or a source that is not valid yet.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// When anything of it came.
    heard: Timestamp,
    /// It counts: RTCP came of it, or packets of RTP that follow each other.
    is_valid: bool,
    /// When its last packet of RTP came, while it counts as a sender.
    sent: Option<Timestamp>,
    /// What was counted of these.
    pub reception: Reception,
    /// One came since it was last reported.
    pub is_new: bool,
    /// LSR and when that report came.
    pub last_report: Option<(u32, Timestamp)>,
}

impl Members {
    /// The participant, from which something came now; `None` where there are too many to keep another.
    pub(super) fn heard(&mut self, now: Timestamp, ssrc: u32, by_rtcp: bool) -> Option<&mut Member> {
        if self.0.len() >= MOST_MEMBERS && !self.0.contains_key(&ssrc) {
            return None;
        }
        let member = self.0.entry(ssrc).or_insert_with(|| Member::new(now));
        member.heard = now;
        member.is_valid |= by_rtcp;
        Some(member)
    }

    /// The participant leaves.
    pub(super) fn remove(&mut self, ssrc: u32) -> bool {
        self.0.remove(&ssrc).is_some()
    }

    /// Forgets who has been silent for five intervals, and who of the others has sent no RTP for two (section 6.3.5).
    pub(super) fn expire(&mut self, now: Timestamp, interval: Duration) {
        self.0.retain(|_, member| now.saturating_since(member.heard) <= interval * SILENT_INTERVALS);
        for member in self.0.values_mut() {
            member.sent = member.sent.filter(|&sent| !is_idle(now, sent, interval));
        }
    }

    /// Who is there, with one that takes part itself.
    pub(super) fn census(&self, we_sent: bool) -> Census {
        let members = 1 + self.0.values().filter(|member| member.is_valid).count();
        let senders = usize::from(we_sent) + self.0.values().filter(|member| member.sent.is_some()).count();
        Census { members, senders, we_sent }
    }

    /// Those of which packets came since they were last reported, beginning behind `after`, around.
    pub(super) fn reportable(&mut self, after: u32) -> Vec<(u32, &mut Member)> {
        let (before, behind): (Vec<_>, Vec<_>) = self.0.iter_mut().partition(|(ssrc, _)| **ssrc <= after);
        let around = behind.into_iter().chain(before).map(|(&ssrc, member)| (ssrc, member));
        around.filter(|(_, member)| member.is_new).collect()
    }
}

impl Member {
    fn new(now: Timestamp) -> Self {
        let (reception, last_report) = (Reception::default(), None);
        Self { heard: now, is_valid: false, sent: None, reception, is_new: false, last_report }
    }

    /// A packet of RTP that counts came from it.
    pub(super) fn handle_valid_rtp(&mut self, now: Timestamp) {
        (self.is_valid, self.sent, self.is_new) = (true, Some(now), true);
    }
}

/// True where nothing was sent for two intervals.
pub(super) fn is_idle(now: Timestamp, sent: Timestamp, interval: Duration) -> bool {
    now.saturating_since(sent) > interval * IDLE_INTERVALS
}
