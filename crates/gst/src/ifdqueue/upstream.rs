//! The side of upstream: its thread brings buffers, events and queries, and is never made to wait for frames.

use std::sync::MutexGuard;

use gst::prelude::*;
use gst::subclass::prelude::*;

use framewire_transport::frame::Payload;
use framewire_transport::live::{SerializedEvent, TooManyEvents};
use framewire_transport::queue::Discard;

use super::events::{Event, Queue};
use super::imp::{CAT, IfdQueue, wait};
use super::intake::Intake;
use super::state::{Outcome, State};
use crate::codec::{self, Unusable};
use crate::frames::{Reading, ends_frame};
use crate::lock::lock;
use crate::settings::INEFFECTIVE;
use crate::settings::Settings;
use crate::stats;

impl IfdQueue {
    pub(super) fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let mut intake = lock(&self.intake);
        match intake.read(buffer) {
            Some(readings) => self.take_in(intake, readings),
            None => Err(self.no_caps(intake)),
        }
    }

    /// Lets go of a first field whose second one does not come.
    fn release_field(&self) {
        let mut intake = lock(&self.intake);
        if let Some(reading) = intake.release() {
            // What comes behind it is answered the same.
            let _ = self.take_in(intake, [reading]);
        }
    }

    fn take_in(
        &self,
        mut intake: MutexGuard<'_, Intake>,
        readings: impl IntoIterator<Item = Reading>,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let settings = *lock(&self.settings);
        let mut state = lock(&self.state);
        let mut outcomes = vec![];
        state.accepts()?;
        for reading in readings {
            let size;
            match reading {
                Reading::Kept(held) => {
                    size = held.size();
                    state = self.wait_for_room(state);
                    state.accepts()?;
                    state.queue.keep(held);
                    let level = state.queue.level();
                    state.tally.level(level);
                }
                Reading::Frame { frame, problem } => {
                    size = frame.bytes.size();
                    if let Some(problem) = problem {
                        gst::warning!(CAT, imp = self, "going by the flags of the buffer: {problem}");
                        state.tally.unreadable += 1;
                    }
                    let outcome = state.offer(frame, &settings);
                    if outcome.is_news() {
                        outcomes.push(outcome);
                    }
                }
            }
            state.tally.accepted.add(size);
        }
        if intake.is_long() && state.is_idle() {
            intake.begin_again();
            // Nothing waits, and no place in the queue follows from the ids before.
            state.queue = Queue::new(settings.queue());
        }
        let holds_longer = intake.field_wait() > state.field_wait;
        state.field_wait = intake.field_wait();
        self.wake_task(state);
        let segment = intake.segment().filter(|_| !outcomes.is_empty()).cloned();
        drop(intake);
        if holds_longer {
            let object = self.obj();
            let _ = object.post_message(gst::message::Latency::builder().src(&*object).build());
        }
        for outcome in &outcomes {
            self.tell(outcome, &settings, segment.as_ref());
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// After unusable caps the error has been posted, and once is enough.
    fn no_caps(&self, mut intake: MutexGuard<'_, Intake>) -> gst::FlowError {
        if !intake.refuse() {
            drop(intake);
            let reason = Unusable::without_caps().reason;
            gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{reason}"));
        }
        gst::FlowError::NotNegotiated
    }

    /// For streams that are never dropped: upstream waits while as much waits as the limits allow.
    fn wait_for_room<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.accepts().is_ok() && state.is_full(&lock(&self.settings)) {
            state = self.wait_for_task(state);
        }
        state
    }

    /// Gives up an old event where too many wait, or waits where each is needed.
    fn wait_for_event_room<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.flow.is_ok() {
            match state.queue.make_room_for_event() {
                Ok(None) => break,
                Ok(Some(event)) => {
                    state.tally.events_dropped += 1;
                    gst::warning!(CAT, imp = self, "too many events wait for downstream: gives up {:?}", event.0);
                }
                Err(TooManyEvents) => state = self.wait_for_task(state),
            }
        }
        state
    }

    /// Waits until something has left.
    fn wait_for_task<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.upstream_waits += 1;
        let mut state = wait(&self.left, state);
        state.upstream_waits -= 1;
        state
    }

    /// Each notification is a system call, also when no thread waits.
    pub(super) fn wake_upstream(&self, state: &State) {
        if state.upstream_waits > 0 {
            self.left.notify_all();
        }
    }

    /// Not before the lock is free, for which the task would only have to wait again.
    fn wake_task(&self, state: MutexGuard<'_, State>) {
        let sleeps = state.task_sleeps;
        drop(state);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Tells the application and upstream of frames that were given up; without locks, as both may call back.
    fn tell(&self, outcome: &Outcome, settings: &Settings, segment: Option<&gst::FormattedSegment<gst::ClockTime>>) {
        let object = self.obj();
        if outcome.is_untimed {
            gst::element_imp_warning!(self, gst::StreamError::Format, ("{INEFFECTIVE}"));
        }
        for Discard { frame, rule } in &outcome.dropped {
            gst::debug!(CAT, imp = self, "frame {} ({}) given up: {rule}", frame.bytes.number, frame.kind);
            if settings.post_drop_messages {
                let message = gst::message::Element::builder(stats::drop_message(frame, rule, segment));
                let _ = object.post_message(message.src(&*object).build());
            }
        }
        if let Some((lost, rule)) = outcome.lost {
            crate::groups::tell(&*object, lost.frame, rule);
        }
        if outcome.asks_for_key_frame {
            self.sink.push_event(gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build());
        }
    }

    pub(super) fn sink_event(&self, _pad: &gst::Pad, event: gst::Event) -> Result<gst::FlowSuccess, gst::FlowError> {
        match event.type_() {
            gst::EventType::FlushStart => {
                self.src.push_event(event);
                self.stop_waiting();
                let _ = self.src.pause_task();
                Ok(gst::FlowSuccess::Ok)
            }
            gst::EventType::FlushStop => {
                self.src.push_event(event);
                lock(&self.intake).flush();
                self.restart();
                Ok(gst::FlowSuccess::Ok)
            }
            kind if kind.is_serialized() => self.enqueue(event),
            _ if self.src.push_event(event) => Ok(gst::FlowSuccess::Ok),
            _ => Err(gst::FlowError::Error),
        }
    }

    fn enqueue(&self, event: gst::Event) -> Result<gst::FlowSuccess, gst::FlowError> {
        if ends_frame(event.type_()) {
            self.release_field();
        }
        match event.view() {
            gst::EventView::Caps(caps) => self.new_caps(caps.caps())?,
            gst::EventView::Segment(segment) => lock(&self.intake).new_segment(segment.segment()),
            _ => {}
        }
        let event = Event(event);
        let mut state = self.wait_for_event_room(lock(&self.state));
        if event.begins_stream() && (state.eos || state.flow == Err(gst::FlowError::Eos)) {
            state.eos = false;
            if state.flow.is_err() {
                drop(state);
                self.restart_task(|_| ());
                state = lock(&self.state);
            }
        }
        // As in `queue`: a sticky event is stored by the pad and nothing is wrong with it, but after the end of the
        // stream no buffer would return the error upstream.
        if let Err(error) = state.flow {
            drop(state);
            if event.ends_stream() && super::downstream::is_fatal(error) {
                self.post_flow_error(error);
            }
            return if event.0.is_sticky() && !event.ends_stream() { Ok(gst::FlowSuccess::Ok) } else { Err(error) };
        }
        if state.eos {
            return Err(gst::FlowError::Eos);
        }
        state.eos = event.ends_stream();
        let event = if state.queue.allows_gaps() { Event(allowing_gaps(event.0)) } else { event };
        state.queue.append(event);
        self.wake_task(state);
        Ok(gst::FlowSuccess::Ok)
    }

    /// Caps that are refused stay with the pad, which offers them again with every buffer and event: that is no news.
    fn new_caps(&self, caps: &gst::CapsRef) -> Result<(), gst::FlowError> {
        let mut intake = lock(&self.intake);
        let was_refused = intake.is_refused();
        let read = intake.caps(caps);
        drop(intake);
        match read {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => {
                gst::warning!(CAT, imp = self, "{problem}");
                Ok(())
            }
            Err(_) if was_refused => Err(gst::FlowError::NotNegotiated),
            Err(unusable) => {
                gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{}", unusable.reason), ["caps {caps}"]);
                Err(gst::FlowError::NotNegotiated)
            }
        }
    }

    pub(super) fn sink_query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if !query.is_serialized() {
            let done = gst::Pad::query_default(pad, Some(&*self.obj()), query);
            if let gst::QueryViewMut::Caps(caps) = query.view_mut()
                && let Some(result) = caps.result_owned()
            {
                caps.set_result(&codec::narrow(result));
            }
            return done;
        }
        if query.type_() == gst::QueryType::Drain {
            self.release_field();
        }
        let state = lock(&self.state);
        // Only a caller that asks for it waits until everything has left. Frames that wait may wait for long.
        if query.type_() == gst::QueryType::Allocation && state.queue.level().frames > 0 {
            return false;
        }
        let mut state = state;
        while state.flow.is_ok() && !state.is_idle() {
            state = self.wait_for_task(state);
        }
        let alive = state.flow.is_ok();
        drop(state);
        alive && self.src.peer_query(query)
    }
}

/// Caps with parameter sets that allow gaps, where they have some; any other event as it is.
fn allowing_gaps(event: gst::Event) -> gst::Event {
    let changed = match event.view() {
        gst::EventView::Caps(caps) => codec::allowing_gaps(caps.caps()),
        _ => None,
    };
    match changed {
        Some(caps) => gst::event::Caps::builder(&caps).seqnum(event.seqnum()).build(),
        None => event,
    }
}
