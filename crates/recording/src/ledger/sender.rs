//! A frame's life at the sender, gathered from its events.

use framewire_units::Timestamp;

use super::RootCause;
use crate::record::{FlowLog, FrameEvent, FrameEventKind, LossPlace};
use crate::spool::Sorter;

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
    pub(crate) fn shed(&self) -> bool {
        self.discards.iter().any(|discard| discard.place == LossPlace::SenderPipeline)
    }

    /// True when it was given to the transport, or went further than that.
    pub(crate) fn was_offered(&self) -> bool {
        [self.offered, self.queued, self.first_byte].iter().any(Option::is_some)
    }

    /// Of an event that is repeated, the first counts.
    fn take(&mut self, event: FrameEvent) {
        let moment = match event.what {
            FrameEventKind::Offered => &mut self.offered,
            FrameEventKind::Queued => &mut self.queued,
            FrameEventKind::FirstByte => &mut self.first_byte,
            FrameEventKind::LastByte => &mut self.last_byte,
            FrameEventKind::BeginsSequence => return self.begins_sequence = true,
            FrameEventKind::Discarded { place, rule } => return self.discards.push(RootCause::new(place, rule)),
        };
        moment.get_or_insert(event.at);
    }
}

/// The events of a flow by frame, and those of a frame in order.
pub(super) struct Events(Sorter<FrameEvent, u32>);

impl Events {
    pub(crate) fn of(log: &FlowLog) -> Self {
        let events = log.frame_events.iter().map(|event| event.into_owned());
        Self(Sorter::of(log.frames.beside(), |event| event.frame, events))
    }

    /// The life of every frame, in decode order: as many as are asked for.
    pub(crate) fn lives(&self) -> impl Iterator<Item = SenderLife> {
        let mut events = self.0.iter().peekable();
        (0..).map(move |frame| {
            let mut life = SenderLife::default();
            while let Some(event) = events.next_if(|event| event.frame == frame) {
                life.take(event);
            }
            life
        })
    }
}
