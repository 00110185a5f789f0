//! The element as GStreamer sees it: pads and properties, starting and stopping. Its two sides stand in `upstream` and
//! `downstream`, what they share in `state`.

use std::sync::{Condvar, LazyLock, Mutex, MutexGuard};

use gst::glib;
use gst::glib::subclass::Signal;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::events::Event;
use super::intake::Intake;
use super::state::State;
use crate::lock::lock;
use crate::settings::Settings;
use crate::stats;

pub(super) static CAT: LazyLock<gst::DebugCategory> =
    LazyLock::new(|| gst::DebugCategory::new("ifdqueue", gst::DebugColorFlags::empty(), Some("Frame-dropping queue")));

/// The element's private data.
pub struct IfdQueue {
    pub(super) sink: gst::Pad,
    pub(super) src: gst::Pad,
    pub(super) settings: Mutex<Settings>,
    /// Locked before `state` where both are.
    pub(super) intake: Mutex<Intake>,
    pub(super) state: Mutex<State>,
    /// Something came in, or the task must stop.
    pub(super) arrived: Condvar,
    /// Something went out, or the upstream's thread must not wait any longer.
    pub(super) left: Condvar,
}

/// Waits; with the view of panics that [`lock`] has.
pub(super) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for IfdQueue {
    const NAME: &'static str = "GstFramewireIfdQueue";
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
        state.queue.set_limits(limits);
        // A higher limit may be what upstream waits for.
        self.wake_upstream(&state);
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        if let Some(value) = lock(&self.settings).get(spec.name()) {
            return value;
        }
        let state = lock(&self.state);
        let level = state.queue.level();
        match spec.name() {
            "current-level-buffers" => level.frames.to_value(),
            "current-level-bytes" => level.bytes.as_bytes().to_value(),
            "current-level-time" => stats::nanos(level).to_value(),
            "stats" => stats::structure(&state.tally, level).to_value(),
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
                "Filter/Video",
                "A queue that never makes its upstream wait: when downstream is too slow, video stays live by dropping \
                 the frames that matter least, so that a decoder can decode the others; with intra refresh, pictures are \
                 damaged until a refresh has ended",
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
        lock(&self.state).queue.clear(settings.queue());
        stopped.map_err(|_| gst::loggable_error!(CAT, "the task did not stop"))
    }

    /// Lets both threads go.
    pub(super) fn stop_waiting(&self) {
        lock(&self.state).flow = Err(gst::FlowError::Flushing);
        self.arrived.notify_all();
        self.left.notify_all();
    }

    /// After a flush. Sticky events that waited are kept, as `queue` does.
    pub(super) fn restart(&self) {
        let settings = *lock(&self.settings);
        self.restart_task(|state| {
            for Event(event) in state.queue.clear(settings.queue()) {
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
