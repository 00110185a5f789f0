//! When and how a stream ends.

use framewire_recording::record::FlowStatus;
use framewire_sockets::{Watch, wait_watching};
use framewire_units::{Duration, Timestamp};

use super::End;
use crate::TICK;
use crate::error::RealError;

/// When the sender has said that the stream has ended, what has been silent for so long is over: a datagram that is under
/// way any longer is lost.
const SETTLED: Duration = Duration::from_millis(300);

/// How long the sender is waited for to say that a stream has ended whose connection has.
const LINGERING: Duration = Duration::from_secs(2);

/// How a stream ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// What ended it before the stream had.
    pub(super) ended_by: Option<&'static str>,
    /// The sender had announced it, and so says when it has ended.
    pub(super) is_announced: bool,
    /// The sender has said so.
    pub(super) said: bool,
}

impl Ending {
    /// The datagrams of other programs just stop, which is all that there is of their end.
    pub(super) fn status(&self) -> FlowStatus {
        match self.ended_by {
            None => FlowStatus::Complete,
            Some("silence") if self.said || !self.is_announced => FlowStatus::Complete,
            Some(_) => FlowStatus::Partial,
        }
    }
}

impl End<'_> {
    /// What ends it before the stream has.
    pub(super) fn early_end(
        &self,
        now: Timestamp,
        begun: Timestamp,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<&'static str> {
        let heard = self.sockets.last().map_or(begun, |last| last.max(begun));
        if is_stopped() {
            return Some("interrupted");
        }
        if self.sockets.came() >= self.options.most.as_bytes() {
            return Some("size limit");
        }
        (now.saturating_since(heard) >= self.options.silence).then_some("silence")
    }

    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        self.sockets.last().is_none_or(|last| now.saturating_since(last) >= SETTLED)
    }

    /// Answers questions; whether one said that the stream has ended.
    pub(super) fn take_end(&mut self) -> Result<bool, RealError> {
        let mut has_ended = false;
        while let Some(question) = self.answers.answer()? {
            has_ended |= question.has_ended && Some(question.session) == self.session;
        }
        Ok(has_ended || self.session.is_none() && self.answers.has_left)
    }

    /// The connection has ended. The sender says so, too, and compares the clocks once more.
    pub(super) fn linger(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<bool, RealError> {
        let until = self.clock.now() + LINGERING;
        let (mut has_ended, mut quiet_until) = (false, until);
        while self.clock.now() < until.min(quiet_until) && !is_stopped() {
            if self.take_end()? {
                has_ended = true;
                quiet_until = self.clock.now() + SETTLED;
            }
            wait_watching(&[(self.answers.descriptor(), Watch { read: true, write: false })], TICK)?;
        }
        Ok(has_ended)
    }
}
