//! I-Frame Delay: between the frame clock and a slow writer, keep the frame that matters most.
//!
//! Three buffers of one frame each (Ouwens, "IEEE 802.11 video streaming", section 1.5): the *current* frame C is
//! the argument of [`IfdQueue::offer`], the *wait* buffer W is inside the queue, and the *send* buffer S belongs to
//! the writer, which fills it with [`IfdQueue::take`] whenever S has been written. A frame is decided on once, when
//! it is offered, and may be overwritten once, while it waits. Nothing that waits at the end of the stream is lost:
//! the writer takes it like any other.

#[cfg(test)]
mod document;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::{Action, GroupState, Incoming, LeadingB, Waiting};

use bytes::Bytes;
use framewire_media::PictureType;

use crate::frame::{Dependencies, OutgoingFrame};
use crate::queue::Discard;

/// How much I-Frame Delay knows of what frames refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfdPolicy {
    /// Figure 1.1 of the thesis: compares the types of C and W, and nothing else.
    Basic,
    /// Figures 1.2 and 1.3, completed by the cases that they leave open: also gives up what refers to a frame
    /// that was given up. Its rules are [`TABLE`].
    Optimised,
}

/// The wait buffer with its rules.
#[derive(Clone, Debug)]
pub struct IfdQueue<P = Bytes> {
    policy: IfdPolicy,
    wait: Option<OutgoingFrame<P>>,
    state: GroupState,
}

impl<P> IfdQueue<P> {
    /// An empty queue.
    pub fn new(policy: IfdPolicy) -> Self {
        Self { policy, wait: None, state: GroupState::default() }
    }

    /// The frame in W.
    pub fn waiting(&self) -> Option<&OutgoingFrame<P>> {
        self.wait.as_ref()
    }

    /// What the optimised policy remembers of the groups of pictures.
    pub(crate) fn state(&self) -> GroupState {
        self.state
    }

    /// Decides on C: stores it in W, overwrites W with it, or gives it up. Returns the frame given up, if any.
    pub fn offer(&mut self, current: OutgoingFrame<P>) -> Option<Discard<P>> {
        let (action, rule) = self.decide(&current);
        match action {
            Action::Drop => Some(Discard { frame: current, rule }),
            Action::Store | Action::Replace => {
                let overwritten = self.wait.replace(current);
                overwritten.map(|frame| Discard { frame, rule })
            }
        }
    }

    /// Moves W to the writer's send buffer.
    pub fn take(&mut self) -> Option<OutgoingFrame<P>> {
        self.wait.take()
    }

    /// Gives up W. The optimised policy then gives up what refers to it as well.
    pub fn flush(&mut self) -> Option<OutgoingFrame<P>> {
        let frame = self.wait.take()?;
        let is_referenced = matches!(frame.kind, PictureType::I | PictureType::P);
        self.state.disturbed |= is_referenced && self.policy == IfdPolicy::Optimised;
        Some(frame)
    }

    /// At the start of a stream in an open group, leading B pictures are as those of a broken link: what they refer to is
    /// not in the stream.
    fn state_for(&self, current: &OutgoingFrame<P>) -> GroupState {
        let Dependencies { leading, missing_reference, .. } = current.dependencies;
        let is_broken = leading && missing_reference && self.state.leading == LeadingB::Decodable;
        GroupState { leading: if is_broken { LeadingB::BrokenLink } else { self.state.leading }, ..self.state }
    }

    fn decide(&mut self, current: &OutgoingFrame<P>) -> (Action, &'static str) {
        let waiting = Waiting::of(self.wait.as_ref().map(|frame| frame.kind));
        match self.policy {
            IfdPolicy::Basic => basic(waiting, current.kind),
            IfdPolicy::Optimised => {
                let row = table::lookup(Incoming::of(current), waiting, self.state_for(current));
                self.state = row.state_after(self.state);
                (row.action, row.rule)
            }
        }
    }
}

/// Figure 1.1. D pictures count as B pictures: nothing refers to them either.
fn basic(waiting: Waiting, current: PictureType) -> (Action, &'static str) {
    use PictureType::{B, D, I, P};
    match (current, waiting) {
        (_, Waiting::Empty) => (Action::Store, ""),
        (I, Waiting::I) => (Action::Replace, table::I_OVERWRITTEN),
        (I, Waiting::P) => (Action::Replace, table::P_OVERWRITTEN),
        (I, Waiting::B) => (Action::Replace, table::B_OVERWRITTEN_BY_I),
        (B | D, _) => (Action::Drop, table::B_WHILE_WAITING),
        (P, Waiting::I) => (Action::Drop, table::P_WHILE_I_WAITS),
        (P, Waiting::P) => (Action::Drop, table::P_WHILE_P_WAITS),
        (P, Waiting::B) => (Action::Replace, table::B_OVERWRITTEN_BY_P),
    }
}
