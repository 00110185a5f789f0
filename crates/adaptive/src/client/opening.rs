use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::{Cookie, Request, Start, Title};

use crate::datagram::{Channel, DropReason};

/// Time to the first repetition, doubled by each up to the longest.
const FIRST_INTERVAL: Duration = Duration::from_millis(250);
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// Starts without video after which cookies count as too old.
const STARTS: u32 = 3;

/// Asking until video comes: on each channel a request until there is a cookie, then a start with it.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    cookies: [Option<Cookie>; 2],
    next: Timestamp,
    interval: Duration,
    starts: u32,
    /// Whether a start was ever sent: the server may have a session since then.
    started: bool,
}

impl Default for Opening {
    fn default() -> Self {
        Self { cookies: [None; 2], next: Timestamp::ZERO, interval: FIRST_INTERVAL, starts: 0, started: false }
    }
}

impl Opening {
    /// Whether there is a cookie for each channel.
    pub(super) fn is_ready(&self) -> bool {
        self.cookies.iter().all(Option::is_some)
    }

    /// Whether the server may have a session, although no video has come.
    pub(super) fn has_started(&self) -> bool {
        self.started
    }

    pub(super) fn next_attempt(&self) -> Timestamp {
        self.next
    }

    /// The server answered. With the second cookie, the starts leave at once.
    pub(super) fn handle_cookie(&mut self, now: Timestamp, channel: Channel, cookie: Cookie) -> Result<(), DropReason> {
        let place = &mut self.cookies[channel.index()];
        if place.is_some() {
            return Err(DropReason::Stale);
        }
        *place = Some(cookie);
        if self.cookies.iter().all(Option::is_some) {
            (self.next, self.interval, self.starts) = (now, FIRST_INTERVAL, 0);
        }
        Ok(())
    }

    /// What is to be sent now, if it is time.
    pub(super) fn poll(&mut self, now: Timestamp, session: u64, title: &Title) -> Vec<(Channel, Vec<u8>)> {
        self.next = self.next.min(now + LONGEST_INTERVAL); // a clock that went back
        if now < self.next {
            return vec![];
        }
        self.next = now + self.interval;
        self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
        if self.starts == STARTS {
            (self.cookies, self.starts) = ([None; 2], 0);
        }
        let ready = self.cookies.iter().all(Option::is_some);
        self.starts += u32::from(ready);
        self.started |= ready;
        let say = |channel: Channel| {
            let mut bytes = vec![];
            match self.cookies[channel.index()] {
                Some(cookie) if ready => Start { session, title: title.clone(), cookie }.emit(&mut bytes),
                Some(_) => return None,
                None => Request { session, title: title.clone() }.emit(&mut bytes),
            }
            Some((channel, bytes))
        };
        Channel::BOTH.into_iter().filter_map(say).collect()
    }
}
