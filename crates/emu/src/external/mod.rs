//! Flows between applications of the user's own: pipelines and commands at the two ends of a lane.
//!
//! The one that listens is started first; when it does, the other. A sender that reads frames gets each when it is due,
//! any other paces itself. What the receiver gives out is searched for the movie's frames as it comes. When the sender
//! has ended and nothing is under way any more, a receiver that does not end by itself is asked to.

mod captured;
mod causes;
mod feeding;
mod inaccessible;
mod init;
mod log;
mod plan;
mod polling;
mod ports;
mod process;
mod receiving;
mod rendezvous;
mod sending;
mod sent_frames;
mod user;

use std::time::Duration;

use framewire_emu::{EmuError, Lane};
use framewire_recording::record::{FlowStatus, FoundStream};
use framewire_scenario::PathNetwork;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{ContentLog, ReceiverLog, SenderLog};
use framewire_units::Timestamp;

pub use self::causes::{explain, timed};
pub use self::plan::{ExternalFlow, check};
pub use self::user::User;

use self::feeding::Fed;
use self::receiving::{Received, receive};
use self::rendezvous::Rendezvous;
use self::sending::{Sent, send};
use crate::control::{Failure, StopFlag};
use framewire_world::FlowState;

/// What a run with so many external flows takes before its origin, beside the networks: the applications are started
/// then, load what they need, and connect.
pub fn start_delay(flows: usize) -> Duration {
    if flows == 0 { Duration::ZERO } else { Duration::from_secs(2) + Duration::from_secs(1) * flows as u32 }
}

/// One-way delay of the network before the origin: what a small packet takes when nothing else is under way.
pub fn idle_delay(network: &PathNetwork) -> Duration {
    /// DIFS, half of the first contention window, long preambles, a small packet and its acknowledgement at 11 Mbit/s.
    const WIRELESS: Duration = Duration::from_millis(1);
    network.wire.delay + if network.wifi.is_some() { WIRELESS } else { Duration::ZERO }
}

/// Runs both applications of a flow to their end. `settle` waits until nothing is under way in the network.
///
/// # Errors
/// When the kernel does not let a thread into a host.
pub fn stream(flow: &ExternalFlow<'_>, lane: Lane<'_>, settle: impl FnOnce()) -> Result<FlowOutcome, Failure> {
    let (end, receiver_gone) = (StopFlag::new()?, StopFlag::new()?);
    let meeting = Rendezvous::default();
    let (sent, received) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| lane.in_receiver(|| receive(flow, &meeting, &end, &receiver_gone)));
        let sent = lane.in_sender(|| send(flow, &meeting, &receiver_gone));
        settle();
        end.raise();
        (sent, receiver.join().unwrap_or(Err(EmuError::Thread("the thread of a receiving application"))))
    });
    flow.progress.set_state(FlowState::Done);
    Ok(outcome(flow, sent?, received?))
}

fn outcome(flow: &ExternalFlow<'_>, sent: Sent, received: Received) -> FlowOutcome {
    let early = || "ended before the stream did".to_owned();
    let failures: Vec<String> = [
        received.failure.or_else(|| sent.left_behind.then(early)).map(|reason| format!("receiver: {reason}")),
        sent.failure.map(|reason| format!("sender: {reason}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let doubt = late_start(&sent.fed);
    let nothing = || nothing_found(flow, &received.content);
    let status = match failures.is_empty() {
        false => FlowStatus::Failed(failures.join("; ")),
        true if flow.stop.is_raised() => FlowStatus::Partial,
        true => nothing().map_or(FlowStatus::Complete, FlowStatus::Failed),
    };
    let ContentLog { frames, first_byte, foreign_units, renumbered, .. } = received.content;
    // How many bytes they had then is not known of those that did not come.
    let renumbered = sent.fed.events.with(renumbered.into_iter().map(|(frame, by)| (frame, by, None)));
    let whole = frames.iter().filter(|found| found.whole_at.is_some()).count() as u32;
    let rejections = match foreign_units {
        0 => vec![],
        _ => vec!["picture data that no single frame of the movie has".to_owned()],
    };
    FlowOutcome {
        sent: SenderLog { frame_events: sent.fed.events, renumbered, ..SenderLog::default() },
        received: ReceiverLog {
            complete_frames: whole,
            incomplete_frames: frames.len() as u32 - whole,
            rejected: foreign_units,
            rejections,
            found: Some(FoundStream { frames, first_byte }),
            ..ReceiverLog::default()
        },
        kept_bytes: received.kept_bytes,
        doubt,
        ..FlowOutcome::of_status(status)
    }
}

/// Says that a sender was not ready for its first frame, which then waited for it, and all others behind it.
fn late_start(fed: &Fed) -> Option<String> {
    /// Two and a half frames at 25 Hz.
    const TOLERATED: Duration = Duration::from_millis(100);
    let began = fed.began.filter(|began| began.saturating_since(Timestamp::ZERO) > TOLERATED)?;
    Some(format!(
        "the sender's application began to read {:.2} s after its first frame was due: its machine was busy, or it takes \
         that long to start",
        began.as_secs_f64()
    ))
}

/// What is wrong where both ended well and yet no frame came through.
fn nothing_found(flow: &ExternalFlow<'_>, content: &ContentLog) -> Option<String> {
    let found = content.frames.iter().any(|frame| frame.whole_at.is_some());
    match (found, content.bytes) {
        (true, _) => None,
        (false, 0) => Some(format!(
            "receiver: gave out nothing on its standard output; see {} and {}",
            flow.log_name("sender"),
            flow.log_name("receiver")
        )),
        (false, bytes) => Some(format!(
            "receiver: in the {bytes} bytes that it gave out no frame of the movie was found; its standard output must \
             be the video's elementary stream as it was sent"
        )),
    }
}
