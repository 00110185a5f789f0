//! Why frames of an external flow did not come through, as far as it can be proven from outside, and when they were due
//! where the application paced itself.

use std::path::Path;

use framewire_emu::LaneRecord;
use framewire_recording::record::{FlowStatus, FrameEvent, FrameEventKind, LossPlace};
use framewire_session::ExternalSetup;
use framewire_session::lifecycle::FlowOutcome;
use framewire_units::Timestamp;

use super::sent_frames::{Crossing, Trail, follow};
use crate::control::StopDeadline;

/// Records why the frames that did not come whole did not, where that is known. `lane` has the flow's packets and
/// `capture` their content; `port` is the flow's.
pub fn explain(
    setup: &ExternalSetup,
    flow: &mut FlowOutcome,
    lane: &LaneRecord,
    capture: &Path,
    port: u16,
    stop_deadline: &StopDeadline,
) {
    let Some(found) = &flow.received.found else { return };
    let plan = &setup.plan;
    let came: Vec<u32> =
        found.frames.iter().filter(|frame| frame.whole_at.is_some()).map(|frame| frame.frame).collect();
    let trail = follow(lane, capture, port, plan, stop_deadline);
    // What came was sent: a trail that does not know of it does not know of the others either.
    let trail = trail.filter(|trail| came.iter().all(|frame| trail.contains_key(frame)));
    let witness = Witness { taken: taken(setup, flow), trail, ended_well: flow.status == FlowStatus::Complete };
    for frame in (0..plan.len()).filter(|frame| came.binary_search(frame).is_err()) {
        if let Some((place, cause)) = witness.cause_of(frame) {
            let what = FrameEventKind::Discarded { place, rule: cause.to_owned() };
            flow.sent.frame_events.push(FrameEvent { frame, at: plan.due(frame), what });
        }
    }
}

/// How many frames the sender took from the lab: the first so many; `None` for a sender that reads the movie itself.
fn taken(setup: &ExternalSetup, flow: &FlowOutcome) -> Option<u32> {
    let begun = flow.sent.frame_events.iter().filter(|event| event.what == FrameEventKind::Queued).count();
    setup.is_fed().then_some(begun as u32)
}

/// What is known of a flow from outside.
struct Witness {
    /// Frames that the sender began to take.
    taken: Option<u32>,
    /// Frames that left the sender's device.
    trail: Option<Trail>,
    /// Everything that was sent had the time to arrive.
    ended_well: bool,
}

impl Witness {
    fn cause_of(&self, frame: u32) -> Option<(LossPlace, &'static str)> {
        const CUT_OFF: &str = "run ended";
        if self.taken.is_some_and(|taken| frame >= taken) {
            return Some((LossPlace::SenderPipeline, "not taken by the sender's application"));
        }
        let trail = self.trail.as_ref()?;
        match trail.get(&frame) {
            // It may have been on its way when the run was cut off, unless a later one was sent.
            None if !self.ended_well && trail.keys().all(|&sent| sent < frame) => {
                Some((LossPlace::SenderPipeline, CUT_OFF))
            }
            None => Some((LossPlace::SenderPipeline, "not sent by the sender's application")),
            Some(&Crossing::Lost(place, cause)) => Some((place, cause)),
            Some(Crossing::UnderWay) => Some((LossPlace::Link, CUT_OFF)),
            Some(Crossing::Arrived) => {
                Some((LossPlace::ReceiverPipeline, "not given out by the receiver's application"))
            }
        }
    }
}

/// The flow as the ledger is to see it: a sender that paces itself has its first frame due when the first packet with
/// payload reached the receiver's host, as in the thesis (section 3.2).
pub fn timed(setup: &ExternalSetup, first_payload: Option<Timestamp>) -> ExternalSetup {
    match first_payload.filter(|_| !setup.is_fed()) {
        Some(at) => setup.clone().starting_at(at),
        None => setup.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_given_only_where_it_is_known() {
        let trail: Trail =
            [(0, Crossing::Arrived), (2, Crossing::Lost(LossPlace::Link, "random loss")), (3, Crossing::UnderWay)]
                .into();
        let known = Witness { taken: Some(5), trail: Some(trail), ended_well: true };
        let place = |witness: &Witness, frame| witness.cause_of(frame).map(|(place, _)| place);
        assert_eq!(place(&known, 0), Some(LossPlace::ReceiverPipeline));
        assert_eq!(place(&known, 1), Some(LossPlace::SenderPipeline), "a later one was sent");
        assert_eq!(known.cause_of(2), Some((LossPlace::Link, "random loss")));
        assert_eq!(known.cause_of(3), Some((LossPlace::Link, "run ended")));
        assert_eq!(known.cause_of(4), Some((LossPlace::SenderPipeline, "not sent by the sender's application")));
        assert_eq!(known.cause_of(5), Some((LossPlace::SenderPipeline, "not taken by the sender's application")));
        let cut_off = Witness { ended_well: false, ..known };
        assert_eq!(cut_off.cause_of(4), Some((LossPlace::SenderPipeline, "run ended")));
        assert_eq!(place(&cut_off, 1), Some(LossPlace::SenderPipeline));
        let blind = Witness { taken: None, trail: None, ended_well: true };
        assert_eq!(blind.cause_of(0), None, "sender pipeline or network: not known");
    }
}
