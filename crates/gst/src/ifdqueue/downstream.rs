//! The side of downstream: the task that pushes what leaves, and the queries and events of downstream.

use std::sync::MutexGuard;

use gst::prelude::*;
use gst::subclass::prelude::*;

use framewire_transport::frame::Payload;
use framewire_transport::live::SerializedEvent;

use super::events::Item;
use super::imp::{CAT, IfdQueue, wait};
use super::push_back::sink_that_never_waits;
use super::state::State;
use crate::lock::lock;

impl IfdQueue {
    /// One turn of the task.
    fn turn(&self) {
        let mut state = lock(&self.state);
        let item = loop {
            if state.flow.is_err() {
                return self.pause(&state);
            }
            if let Some(item) = state.take() {
                break item;
            }
            self.wake_upstream(&state);
            state.task_sleeps = true;
            state = wait(&self.arrived, state);
            state.task_sleeps = false;
        };
        state.pushing = true;
        self.wake_upstream(&state);
        drop(state);
        let is_end = matches!(&item, Item::Event(event) if event.ends_stream());
        let (size, result) = self.push(item);
        let mut state = lock(&self.state);
        state.pushing = false;
        match result {
            // Unless another stream began behind the end of this one.
            Ok(()) if is_end && state.eos => {
                state.flow = state.flow.and(Err(gst::FlowError::Eos));
                self.pause(&state);
            }
            Ok(()) => {
                if let Some(size) = size {
                    state.tally.sent.add(size);
                }
            }
            // Something else may come for which downstream opens again.
            Err(gst::FlowError::Eos) => state.refused = true,
            Err(error) => self.fail(state, error),
        }
    }

    /// The bytes, of a buffer.
    fn push(&self, item: Item) -> (Option<u64>, Result<(), gst::FlowError>) {
        let mut held = match item {
            Item::Frame(frame) => frame.bytes,
            Item::Kept(held) => held,
            Item::Event(event) => {
                // As in `queue`: what downstream thinks of an event shows when it gets the next buffer.
                self.src.push_event(event.0);
                return (None, Ok(()));
            }
        };
        // As `queue` marks what it leaks. Of a buffer that others hold too this copies the fields and no data.
        let mut state = lock(&self.state);
        let (leaves_gap, looks) = (state.leaves_gap_before(held.number), state.is_to_look_at_sinks());
        drop(state);
        if leaves_gap {
            held.buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
        }
        if looks {
            self.look_at_sinks();
        }
        let size = held.size();
        let second_field = held.second_field.take();
        let pushed = self.src.push(held.buffer);
        let pushed = pushed.and_then(|flow| second_field.map_or(Ok(flow), |buffer| self.src.push(buffer)));
        (Some(size), pushed.map(|_| ()))
    }

    /// Tells of a sink behind which nothing is ever dropped here.
    fn look_at_sinks(&self) {
        let Some(sink) = sink_that_never_waits(&self.src) else { return };
        let kind = sink.factory().map_or_else(|| sink.type_().name().to_owned(), |factory| factory.name().to_string());
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            (
                "{} ({kind}) never makes its upstream wait, whatever its receivers take: nothing waits here, and no frame \
                 is ever dropped. Use ifdsink, or a sink that waits for its receiver",
                sink.name()
            )
        );
    }

    fn fail(&self, mut state: MutexGuard<'_, State>, error: gst::FlowError) {
        gst::debug!(CAT, imp = self, "downstream said {error}");
        state.flow = state.flow.and(Err(error));
        let is_after_end = state.eos && is_fatal(error);
        self.pause(&state);
        drop(state);
        if is_after_end {
            self.post_flow_error(error);
            self.src.push_event(gst::event::Eos::new());
        }
    }

    pub(super) fn post_flow_error(&self, error: gst::FlowError) {
        gst::element_imp_error!(
            self,
            gst::StreamError::Failed,
            ("Internal data stream error."),
            ["streaming stopped, reason {error}"]
        );
    }

    /// With the state locked, so that no thread starts the task in between.
    fn pause(&self, state: &State) {
        let _ = self.src.pause_task();
        self.wake_upstream(state);
    }

    /// With the state locked.
    pub(super) fn start_task(&self) {
        let queue = self.obj().downgrade();
        let turn = move || {
            if let Some(queue) = queue.upgrade() {
                queue.imp().turn();
            }
        };
        if self.src.start_task(turn).is_err() {
            gst::element_imp_error!(self, gst::CoreError::Thread, ["no task"]);
        }
    }

    /// Opens the queue again after its task has paused. A new task each time: GStreamer would keep the function of the
    /// old one and never free the new one.
    pub(super) fn restart_task(&self, prepare: impl FnOnce(&mut State)) {
        let _ = self.src.stop_task();
        let mut state = lock(&self.state);
        prepare(&mut state);
        if self.src.mode() == gst::PadMode::Push {
            state.flow = Ok(gst::FlowSuccess::Ok);
            self.start_task();
        }
    }

    pub(super) fn src_event(&self, pad: &gst::Pad, event: gst::Event) -> bool {
        if event.type_() == gst::EventType::Reconfigure {
            let was_not_linked = lock(&self.state).flow == Err(gst::FlowError::NotLinked);
            if was_not_linked {
                self.restart_task(|_| ());
            }
        }
        gst::Pad::event_default(pad, Some(&*self.obj()), event)
    }

    pub(super) fn src_query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if !gst::Pad::query_default(pad, Some(&*self.obj()), query) {
            return false;
        }
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            let (live, min, max) = latency.result();
            let limit = lock(&self.settings).longest_wait();
            let field_wait = lock(&self.state).field_wait;
            let longest = limit.map(|limit| limit.saturating_add(field_wait));
            let max = max.zip(longest).map(|(max, longest)| max.saturating_add(longest));
            latency.set(live, min.saturating_add(field_wait), max);
        }
        true
    }
}

/// Whether upstream is expected to stop for good.
pub(super) fn is_fatal(error: gst::FlowError) -> bool {
    !matches!(error, gst::FlowError::Flushing | gst::FlowError::Eos)
}
