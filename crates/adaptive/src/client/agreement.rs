use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::{Features, Offer};

/// Time between two offers without an answer.
const INTERVAL: Duration = Duration::from_millis(500);

/// Offers that are made once video flows: a server that does not know them never answers.
const OFFERS: u32 = 4;

/// What the session has beyond the paper: offered by the client until the server answers, or does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    offered: Features,
    agreed: Option<Features>,
    left: u32,
    next: Timestamp,
}

impl Agreement {
    pub(super) fn new(offered: Features) -> Self {
        Self { offered, agreed: None, left: OFFERS, next: Timestamp::ZERO }
    }

    /// The server's answer counts once, and for no more than was offered.
    pub(super) fn handle_answer(&mut self, features: Features) -> bool {
        let is_news = self.agreed.is_none() && self.offered != Features::NONE;
        if is_news {
            self.agreed = Some(self.offered.and(features));
        }
        is_news
    }

    /// Whether the session has it, or may still get it.
    pub(super) fn may_have(&self, feature: Features) -> bool {
        self.agreed.unwrap_or(self.offered).has(feature)
    }

    pub(super) fn has(&self, feature: Features) -> bool {
        self.agreed.is_some_and(|agreed| agreed.has(feature))
    }

    /// The offer, beside a start: it does not count among the repetitions.
    pub(super) fn beside_start(&mut self, now: Timestamp, session: u64) -> Option<Offer> {
        self.next = now + INTERVAL;
        self.offer(session)
    }

    /// The offer, when it is to be repeated now.
    pub(super) fn poll(&mut self, now: Timestamp, session: u64) -> Option<Offer> {
        self.next = self.next.min(now + INTERVAL); // a clock that went back
        if self.next_timeout()? > now {
            return None;
        }
        self.left -= 1;
        self.next = now + INTERVAL;
        self.offer(session)
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        (self.agreed.is_none() && self.offered != Features::NONE && self.left > 0).then_some(self.next)
    }

    fn offer(&self, session: u64) -> Option<Offer> {
        (self.agreed.is_none() && self.offered != Features::NONE).then_some(Offer { session, features: self.offered })
    }
}
