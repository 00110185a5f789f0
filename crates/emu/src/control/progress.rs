//! Counters that the flow's threads write and the main thread shows.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use framewire_kernel::{FlowLateness, Wakes};
use framewire_session::{FrameCounts, FrameFates};
use framewire_units::Timestamp;
use framewire_world::{Counts, Event, FlowReport, FlowState, Throughput};

use super::events::emit;

/// Live counters of one flow.
#[derive(Debug, Default)]
pub struct FlowProgress {
    application: bool,
    offered: AtomicU32,
    given_up: AtomicU32,
    without_room: AtomicU32,
    stopped: AtomicBool,
    arrived: AtomicU32,
    incomplete: AtomicU32,
    bytes: AtomicU64,
    state: AtomicU8,
    sender_wakes: Wakes,
    receiver_wakes: Wakes,
}

impl FlowProgress {
    /// Of a flow that may be an application: what such a one drops is not known before the end, nor, where it reads the
    /// movie itself, what it has sent.
    pub fn new(application: bool) -> Self {
        Self { application, ..Self::default() }
    }

    /// Says what the sender has done so far.
    pub fn set_sender(&self, counts: FrameCounts) {
        self.offered.store(counts.offered, Ordering::Relaxed);
        self.given_up.store(counts.given_up, Ordering::Relaxed);
        self.without_room.store(counts.lost, Ordering::Relaxed);
        self.stopped.store(counts.stopped, Ordering::Relaxed);
    }

    /// Adds payload that arrived, and says how many frames are whole and how many came with something missing.
    pub fn add_received(&self, bytes: u64, whole: u32, incomplete: u32) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.arrived.store(whole, Ordering::Relaxed);
        self.incomplete.store(incomplete, Ordering::Relaxed);
    }

    /// Where the frames are, as far as that is known. What the receiver knows is read first, as what it has was offered before.
    fn counts(&self) -> Counts {
        let read = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        let has_ended = self.is_done();
        let receiver =
            FrameCounts { arrived: read(&self.arrived), lost: read(&self.incomplete), ..FrameCounts::default() };
        let sender = FrameCounts {
            offered: read(&self.offered),
            given_up: read(&self.given_up),
            lost: read(&self.without_room),
            stopped: self.stopped.load(Ordering::Relaxed),
            ..FrameCounts::default()
        };
        match (self.application, sender.offered) {
            (false, _) => Some(FrameFates::of(sender, receiver, has_ended)).into(),
            (true, offered) => {
                Counts { offered: (offered > 0).then_some(offered), arrived: receiver.arrived, ..Counts::default() }
            }
        }
    }

    /// How late the sender's thread is.
    pub fn sender_wakes(&self) -> &Wakes {
        &self.sender_wakes
    }

    /// How late the receiver's thread is: of its own, so that neither hides the other.
    pub fn receiver_wakes(&self) -> &Wakes {
        &self.receiver_wakes
    }

    /// How late both were.
    pub fn lateness(&self) -> FlowLateness {
        FlowLateness { sender: self.sender_wakes.lateness(), receiver: self.receiver_wakes.lateness() }
    }

    /// Moves on to `state`, and never back: a sender that still drains does not know that its receiver has ended.
    pub fn set_state(&self, state: FlowState) {
        self.state.fetch_max(state as u8, Ordering::AcqRel);
    }

    fn state(&self) -> FlowState {
        let states = [FlowState::Streaming, FlowState::Draining, FlowState::Done];
        states[usize::from(self.state.load(Ordering::Acquire))]
    }

    /// True when the receiver has ended.
    pub fn is_done(&self) -> bool {
        self.state() == FlowState::Done
    }
}

/// Emits where one flow is.
pub fn show(flow: &str, progress: &FlowProgress, frames: u32, throughput: &mut Throughput, now: Timestamp) {
    let state = progress.state();
    emit(&Event::Progress(FlowReport {
        flow,
        elapsed_s: now.as_secs_f64(),
        frames,
        counts: progress.counts(),
        throughput_bps: throughput.since_last(progress.bytes.load(Ordering::Relaxed), state, now),
        state,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_punctual_receiver_does_not_hide_a_late_sender() {
        let (at, progress) = (Timestamp::from_micros, FlowProgress::new(false));
        for (wakes, count, late_us) in [(progress.receiver_wakes(), 10_000, 10), (progress.sender_wakes(), 50, 12_000)]
        {
            (0..count).for_each(|number| wakes.note(at(number), Some(at(number + 1)), at(number + 1 + late_us)));
        }
        let said = progress.lateness().doubt().unwrap();
        assert!(said.contains("sender was more than 10 ms late 50 times of 50"), "{said}");
        assert!(!said.contains("receiver"), "{said}");
    }

    #[test]
    fn a_sender_that_drains_does_not_undo_the_end_of_its_receiver() {
        let progress = FlowProgress::new(false);
        progress.set_state(FlowState::Done);
        progress.set_state(FlowState::Draining);
        assert!(progress.is_done());
    }

    #[test]
    fn what_is_not_known_of_an_application_is_not_told() {
        let (own, theirs) = (FlowProgress::new(false), FlowProgress::new(true));
        let known = |progress: &FlowProgress| (progress.counts().offered, progress.counts().dropped);
        assert_eq!(known(&own), (Some(0), Some(0)));
        assert_eq!(known(&theirs), (None, None));
        let counts = FrameCounts { offered: 3, given_up: 1, ..FrameCounts::default() };
        own.set_sender(counts);
        theirs.set_sender(FrameCounts { given_up: 0, ..counts });
        assert_eq!(known(&own), (Some(3), Some(1)));
        assert_eq!(known(&theirs), (Some(3), None));
        let own = own.counts();
        assert_eq!((own.given_up, own.lost, own.under_way), (Some(1), Some(0), Some(2)));
    }
}
