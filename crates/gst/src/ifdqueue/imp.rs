//! The element as GStreamer sees it: pads, properties, events and queries. What it decides stands in `state`.

use std::sync::{Condvar, LazyLock, Mutex, MutexGuard};

use gst::glib;
use gst::glib::subclass::Signal;
use gst::prelude::*;
use gst::subclass::prelude::*;

use framewire_transport::queue::Discard;

use super::intake::Intake;
use super::state::{Outcome, State};
use crate::codec;
use crate::frames::Reading;
use crate::line::Item;
use crate::settings::Settings;
use crate::stats;

static CAT: LazyLock<gst::DebugCategory> =
    LazyLock::new(|| gst::DebugCategory::new("ifdqueue", gst::DebugColorFlags::empty(), Some("Frame-dropping queue")));

/// The element's private data.
pub struct IfdQueue {
    sink: gst::Pad,
    src: gst::Pad,
    settings: Mutex<Settings>,
    /// Locked before `state` where both are.
    intake: Mutex<Intake>,
    state: Mutex<State>,
    /// Something came in, or the task must stop.
    arrived: Condvar,
    /// Something went out, or the upstream's thread must not wait any longer.
    left: Condvar,
}

/// The lock, also after a thread panicked with it: GStreamer turns the panic into an error message.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for IfdQueue {
    const NAME: &'static str = "GstIfdQueue";
    type Type = super::IfdQueue;
    type ParentType = gst::Element;

    fn with_class(class: &Self::Class) -> Self {
        let template = |name| class.pad_template(name).expect("invariant: pad_templates has it");
        let sink = gst::Pad::builder_from_template(&template("sink"))
            .chain_function(|_, parent, buffer| {
                Self::catch_panic_pad_function(parent, || Err(gst::FlowError::Error), |queue| queue.chain(buffer))
            })
            .event_full_function(|pad, parent, event| {
                let failed = || Err(gst::FlowError::Error);
                Self::catch_panic_pad_function(parent, failed, |queue| queue.sink_event(pad, event))
            })
            .query_function(|pad, parent, query| {
                Self::catch_panic_pad_function(parent, || false, |queue| queue.sink_query(pad, query))
            })
            .activatemode_function(|_, parent, mode, active| {
                let failed = || Err(gst::loggable_error!(CAT, "Panic activating sink pad"));
                Self::catch_panic_pad_function(parent, failed, |queue| queue.activate_sink(mode, active))
            })
            .flags(gst::PadFlags::PROXY_CAPS)
            .build();
        let src = gst::Pad::builder_from_template(&template("src"))
            .event_function(|pad, parent, event| {
                Self::catch_panic_pad_function(parent, || false, |queue| queue.src_event(pad, event))
            })
            .query_function(|pad, parent, query| {
                Self::catch_panic_pad_function(parent, || false, |queue| queue.src_query(pad, query))
            })
            .activatemode_function(|_, parent, mode, active| {
                let failed = || Err(gst::loggable_error!(CAT, "Panic activating src pad"));
                Self::catch_panic_pad_function(parent, failed, |queue| queue.activate_src(mode, active))
            })
            .flags(gst::PadFlags::PROXY_CAPS)
            .build();
        let settings = Settings::default();
        Self {
            sink,
            src,
            settings: Mutex::new(settings),
            intake: Mutex::default(),
            state: Mutex::new(State::new(&settings)),
            arrived: Condvar::new(),
            left: Condvar::new(),
        }
    }
}

impl ObjectImpl for IfdQueue {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut properties = Settings::properties();
            properties.extend([
                glib::ParamSpecUInt::builder("current-level-buffers")
                    .nick("Current level (buffers)")
                    .blurb("Buffers that wait")
                    .read_only()
                    .build(),
                glib::ParamSpecUInt64::builder("current-level-bytes")
                    .nick("Current level (bytes)")
                    .blurb("Bytes that wait")
                    .read_only()
                    .build(),
                glib::ParamSpecUInt64::builder("current-level-time")
                    .nick("Current level (ns)")
                    .blurb("Time of the stream that waits, in ns")
                    .read_only()
                    .build(),
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("What was accepted, sent and dropped, by type and by rule")
                    .read_only()
                    .build(),
            ]);
            properties
        });
        &PROPERTIES
    }

    fn signals() -> &'static [Signal] {
        static SIGNALS: LazyLock<Vec<Signal>> = LazyLock::new(|| vec![crate::groups::signal()]);
        &SIGNALS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        let known = settings.set(spec.name(), value);
        debug_assert!(known, "{} is read-only", spec.name());
        let limits = settings.limits();
        drop(settings);
        let mut state = lock(&self.state);
        state.line.set_limits(limits);
        // A higher limit may be what upstream waits for.
        self.wake_upstream(&state);
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        if let Some(value) = lock(&self.settings).get(spec.name()) {
            return value;
        }
        let state = lock(&self.state);
        let level = state.line.level();
        match spec.name() {
            "current-level-buffers" => level.frames.to_value(),
            "current-level-bytes" => level.bytes.as_bytes().to_value(),
            "current-level-time" => stats::nanos(level).to_value(),
            "stats" => state.tally.structure(level).to_value(),
            other => unreachable!("invariant: {other} is not a property"),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        let object = self.obj();
        object.add_pad(&self.sink).expect("invariant: a new element has no pads");
        object.add_pad(&self.src).expect("invariant: a new element has no pads");
    }
}

impl GstObjectImpl for IfdQueue {}

impl ElementImpl for IfdQueue {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Frame-dropping queue",
                "Generic",
                "A queue that never makes its upstream wait: when downstream is too slow, video stays live by dropping \
                 the frames that matter least, and never leaves the decoder with a broken picture",
                "The framewire authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &gst::Caps::new_any())
                    .expect("invariant: the template is valid")
            };
            vec![template("sink", gst::PadDirection::Sink), template("src", gst::PadDirection::Src)]
        });
        &TEMPLATES
    }
}

/// From upstream.
impl IfdQueue {
    fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let size = buffer.size() as u64;
        let mut intake = lock(&self.intake);
        let Some(reading) = intake.read(buffer) else { return Err(self.no_caps(intake)) };
        let mut state = lock(&self.state);
        let outcome = match reading {
            Reading::Kept(held) => {
                state = self.wait_for_room(state);
                state.accepts()?;
                state.line.keep(held);
                let level = state.line.level();
                state.tally.level(level);
                Outcome::default()
            }
            Reading::Frame { frame, problem } => {
                state.accepts()?;
                if let Some(problem) = problem {
                    gst::warning!(CAT, imp = self, "going by the flags of the buffer: {problem}");
                    state.tally.unreadable += 1;
                }
                state.offer(frame)
            }
        };
        state.tally.accepted.add(size);
        if intake.is_long() && state.is_idle() {
            intake.begin_again();
            let settings = *lock(&self.settings);
            state.line.clear(settings.queue());
        }
        self.wake_task(state);
        if !outcome.dropped.is_empty() {
            let segment = intake.segment().cloned();
            drop(intake);
            self.tell(&outcome, segment.as_ref());
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// After unusable caps the error has been posted.
    fn no_caps(&self, intake: MutexGuard<'_, Intake>) -> gst::FlowError {
        if !intake.is_refused() {
            let reason = "a stream without caps: put a parser for its codec before this element";
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

    /// Waits until something has left.
    fn wait_for_task<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.upstream_waits += 1;
        let mut state = wait(&self.left, state);
        state.upstream_waits -= 1;
        state
    }

    /// Each notification is a system call, also when nobody waits.
    fn wake_upstream(&self, state: &State) {
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
    fn tell(&self, outcome: &Outcome, segment: Option<&gst::FormattedSegment<gst::ClockTime>>) {
        let settings = *lock(&self.settings);
        let object = self.obj();
        for Discard { frame, rule } in &outcome.dropped {
            gst::debug!(CAT, imp = self, "frame {} ({}) given up: {rule}", frame.bytes.number, frame.kind);
            if settings.post_drop_messages {
                let message = gst::message::Element::builder(stats::drop_message(frame, rule, segment));
                let _ = object.post_message(message.src(&*object).build());
            }
        }
        let Some((lost, rule)) = outcome.lost else { return };
        let asks = settings.request_key_frames && lost.needs_key_frame;
        {
            let mut state = lock(&self.state);
            state.tally.groups_lost += 1;
            state.tally.key_frame_requests += u64::from(asks);
        }
        crate::groups::tell(&*object, lost.frame, rule);
        if asks {
            self.sink.push_event(gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build());
        }
    }

    fn sink_event(&self, _pad: &gst::Pad, event: gst::Event) -> Result<gst::FlowSuccess, gst::FlowError> {
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
        match event.view() {
            gst::EventView::Caps(caps) => self.new_caps(caps.caps())?,
            gst::EventView::Segment(segment) => lock(&self.intake).new_segment(segment.segment()),
            _ => {}
        }
        let mut state = lock(&self.state);
        if matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::Segment)
            && (state.eos || state.flow == Err(gst::FlowError::Eos))
        {
            state.eos = false;
            if state.flow.is_err() {
                drop(state);
                self.restart_task(|_| ());
                state = lock(&self.state);
            }
        }
        // As in `queue`: a sticky event is stored by the pad and nothing is wrong with it, but after the end of the
        // stream no buffer would tell upstream of the error.
        if let Err(error) = state.flow {
            drop(state);
            if event.type_() == gst::EventType::Eos && is_fatal(error) {
                self.post_flow_error(error);
            }
            return if event.is_sticky() && event.type_() != gst::EventType::Eos {
                Ok(gst::FlowSuccess::Ok)
            } else {
                Err(error)
            };
        }
        if state.eos {
            return Err(gst::FlowError::Eos);
        }
        state.eos = event.type_() == gst::EventType::Eos;
        state.line.append(event);
        self.wake_task(state);
        Ok(gst::FlowSuccess::Ok)
    }

    fn new_caps(&self, caps: &gst::CapsRef) -> Result<(), gst::FlowError> {
        match lock(&self.intake).caps(caps) {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => {
                gst::warning!(CAT, imp = self, "{problem}");
                Ok(())
            }
            Err(unusable) => {
                gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{}", unusable.reason), ["caps {caps}"]);
                Err(gst::FlowError::NotNegotiated)
            }
        }
    }

    fn sink_query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if !query.is_serialized() {
            let done = gst::Pad::query_default(pad, Some(&*self.obj()), query);
            if let gst::QueryViewMut::Caps(caps) = query.view_mut()
                && let Some(result) = caps.result_owned()
            {
                caps.set_result(&codec::narrow(result));
            }
            return done;
        }
        let state = lock(&self.state);
        // Only who asks for it waits until everything has left. Frames that wait may wait for long.
        if query.type_() == gst::QueryType::Allocation && state.line.level().frames > 0 {
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

/// To downstream.
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
        let is_end = matches!(&item, Item::Event(event) if event.type_() == gst::EventType::Eos);
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
        let held = match item {
            Item::Frame(frame) => frame.bytes,
            Item::Kept(held) => held,
            Item::Event(event) => {
                // As in `queue`: what downstream thinks of an event shows when it gets the next buffer.
                self.src.push_event(event);
                return (None, Ok(()));
            }
        };
        let size = held.buffer.size() as u64;
        (Some(size), self.src.push(held.buffer).map(|_| ()))
    }

    fn fail(&self, mut state: MutexGuard<'_, State>, error: gst::FlowError) {
        gst::debug!(CAT, imp = self, "downstream said {error}");
        state.flow = state.flow.and(Err(error));
        let nobody_hears = state.eos && is_fatal(error);
        self.pause(&state);
        drop(state);
        if nobody_hears {
            self.post_flow_error(error);
            self.src.push_event(gst::event::Eos::new());
        }
    }

    fn post_flow_error(&self, error: gst::FlowError) {
        gst::element_imp_error!(
            self,
            gst::StreamError::Failed,
            ("Internal data stream error."),
            ["streaming stopped, reason {error}"]
        );
    }

    /// With the state locked, so that nobody starts the task in between.
    fn pause(&self, state: &State) {
        let _ = self.src.pause_task();
        self.wake_upstream(state);
    }

    /// With the state locked.
    fn start_task(&self) {
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
    fn restart_task(&self, prepare: impl FnOnce(&mut State)) {
        let _ = self.src.stop_task();
        let mut state = lock(&self.state);
        prepare(&mut state);
        if self.src.mode() == gst::PadMode::Push {
            state.flow = Ok(gst::FlowSuccess::Ok);
            self.start_task();
        }
    }

    fn src_event(&self, pad: &gst::Pad, event: gst::Event) -> bool {
        if event.type_() == gst::EventType::Reconfigure {
            let was_not_linked = lock(&self.state).flow == Err(gst::FlowError::NotLinked);
            if was_not_linked {
                self.restart_task(|_| ());
            }
        }
        gst::Pad::event_default(pad, Some(&*self.obj()), event)
    }

    fn src_query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if !gst::Pad::query_default(pad, Some(&*self.obj()), query) {
            return false;
        }
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            let (live, min, max) = latency.result();
            let limit = lock(&self.settings).time;
            let limit = (limit > 0).then(|| gst::ClockTime::from_nseconds(limit));
            latency.set(live, min, max.zip(limit).map(|(max, limit)| max.saturating_add(limit)));
        }
        true
    }
}

/// Starting and stopping.
impl IfdQueue {
    fn activate_sink(&self, mode: gst::PadMode, active: bool) -> Result<(), gst::LoggableError> {
        check_mode(mode)?;
        if !active {
            self.stop_waiting();
        }
        Ok(())
    }

    fn activate_src(&self, mode: gst::PadMode, active: bool) -> Result<(), gst::LoggableError> {
        check_mode(mode)?;
        if active {
            *lock(&self.intake) = Intake::default();
            let settings = *lock(&self.settings);
            lock(&self.state).start(&settings);
            self.start_task();
            return Ok(());
        }
        self.stop_waiting();
        let stopped = self.src.stop_task();
        let settings = *lock(&self.settings);
        lock(&self.state).line.clear(settings.queue());
        stopped.map_err(|_| gst::loggable_error!(CAT, "the task did not stop"))
    }

    /// Lets both threads go.
    fn stop_waiting(&self) {
        lock(&self.state).flow = Err(gst::FlowError::Flushing);
        self.arrived.notify_all();
        self.left.notify_all();
    }

    /// After a flush. Sticky events that waited are kept, as `queue` does.
    fn restart(&self) {
        let settings = *lock(&self.settings);
        self.restart_task(|state| {
            for event in state.line.clear(settings.queue()) {
                let ends = matches!(event.type_(), gst::EventType::Segment | gst::EventType::Eos);
                if event.is_sticky() && !ends {
                    let _ = self.src.store_sticky_event(&event);
                }
            }
            (state.eos, state.refused) = (false, false);
        });
    }
}

fn check_mode(mode: gst::PadMode) -> Result<(), gst::LoggableError> {
    if mode == gst::PadMode::Push { Ok(()) } else { Err(gst::loggable_error!(CAT, "only push mode is supported")) }
}

/// Whether upstream is expected to stop for good.
fn is_fatal(error: gst::FlowError) -> bool {
    !matches!(error, gst::FlowError::Flushing | gst::FlowError::Eos)
}
