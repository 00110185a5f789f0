//! A frame's life at the sender, gathered from its events.

use framewire_units::Timestamp;

use super::RootCause;
use crate::record::{FlowLog, FrameEventKind, Place};

/// What happened to one frame at the sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SenderLife {
    pub offered: Option<Timestamp>,
    pub queued: Option<Timestamp>,
    pub first_byte: Option<Timestamp>,
    pub last_byte: Option<Timestamp>,
    /// It was made to begin a coded video sequence.
    pub begins_sequence: bool,
    /// Every time that the frame, or what was left of it, was given up; in order.
    pub discards: Vec<RootCause>,
}

impl SenderLife {
    /// True when a rule of the sending pipeline gave up the frame or the rest of it.
    pub fn shed(&self) -> bool {
        self.discards.iter().any(|discard| discard.place == Place::SenderPipeline)
    }
}

/// The life of every frame, in decode order. Of an event that is repeated, the first counts.
pub(super) fn lives(log: &FlowLog) -> Vec<SenderLife> {
    let mut lives = vec![SenderLife::default(); log.frames.len()];
    for event in &log.frame_events {
        let Some(life) = lives.get_mut(event.frame as usize) else { continue };
        let moment = match &event.what {
            FrameEventKind::Offered => &mut life.offered,
            FrameEventKind::Queued => &mut life.queued,
            FrameEventKind::FirstByte => &mut life.first_byte,
            FrameEventKind::LastByte => &mut life.last_byte,
            FrameEventKind::BeginsSequence => {
                life.begins_sequence = true;
                continue;
            }
            FrameEventKind::Discarded { place, rule } => {
                life.discards.push(RootCause::new(*place, rule.clone()));
                continue;
            }
        };
        moment.get_or_insert(event.at);
    }
    lives
}
