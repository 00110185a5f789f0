//! The element as GStreamer sees it. Its thread and its connection are those of `framewire_endpoint::writer`.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use framewire_endpoint::writer::{Interruptions, Snapshot, Waited, Writer};
use framewire_media::timing::{Times, TransportClock};
use framewire_transport::live::{KeyFrameRequests, Untimed};
use gst::glib;
use gst::glib::subclass::Signal;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;

use super::intake::{Frame, Intake, Unreadable};
use super::preroll::wait_unlocked;
use super::settings::{PROPERTIES, SinkSettings};
use super::times;
use crate::codec::Unusable;
use crate::frames::{BufferError, Held, ends_frame};
use crate::lock::lock;
use crate::settings::INEFFECTIVE;
use crate::stats;

pub(super) static CAT: LazyLock<gst::DebugCategory> =
    LazyLock::new(|| gst::DebugCategory::new("ifdsink", gst::DebugColorFlags::empty(), Some("Frame-dropping sink")));

/// The element's private data.
#[derive(Default)]
pub struct IfdSink {
    pub(super) settings: Mutex<SinkSettings>,
    /// Touched by the streaming thread only.
    intake: Mutex<Intake>,
    clock: Mutex<TransportClock>,
    /// Kept here, as the base class's own is behind the lock of the streaming thread.
    pub(super) segment: Mutex<Option<gst::FormattedSegment<gst::ClockTime>>>,
    writer: Mutex<Option<Arc<Writer<Held>>>>,
    pub(super) starting: Mutex<Starting>,
    pub(super) requests: Mutex<KeyFrameRequests>,
    untimed: Mutex<Untimed>,
    /// What the last writer counted, for who asks after the end.
    last: Mutex<Option<Snapshot>>,
}

/// What reports to the application that there is no connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Starting {
    /// The change of state that starts the element, which still waits a little.
    Waits,
    /// The same: it has failed, for this reason.
    Failed(String),
    /// The writer, on the bus.
    #[default]
    Over,
}

/// How long a start waits for the connection. A receiver that refuses does so at once, and the application then learns it
/// from the change of state, as with `tcpclientsink`: gst-launch-1.0 loses errors that come before its main loop runs, and
/// never ends.
const START_PATIENCE: Duration = Duration::from_millis(100);

#[glib::object_subclass]
impl ObjectSubclass for IfdSink {
    const NAME: &'static str = "GstFramewireIfdSink";
    type Type = super::IfdSink;
    type ParentType = gst_base::BaseSink;

    fn class_init(class: &mut Self::Class) {
        let get_times: times::GetTimes = times::get_times;
        let base: &mut glib::Class<gst_base::BaseSink> = class;
        base.as_mut().get_times = Some(get_times);
    }
}

impl ObjectImpl for IfdSink {
    fn properties() -> &'static [glib::ParamSpec] {
        &PROPERTIES
    }

    fn signals() -> &'static [Signal] {
        static SIGNALS: LazyLock<Vec<Signal>> = LazyLock::new(|| vec![crate::groups::signal()]);
        &SIGNALS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        let known = lock(&self.settings).set(spec.name(), value);
        debug_assert!(known, "{} is read-only", spec.name());
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        match spec.name() {
            "stats" => self.stats().to_value(),
            name => lock(&self.settings).get(name).expect("invariant: GObject knows no other property"),
        }
    }
}

impl GstObjectImpl for IfdSink {}

impl ElementImpl for IfdSink {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Frame-dropping network sink",
                "Sink/Network",
                "Sends video over TCP, or as RTP over UDP; where the network is too slow the stream stays live by \
                 dropping the frames that matter least",
                "The framewire authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = TAKEN.parse().expect("invariant: these are caps");
            let template = gst::PadTemplate::new("sink", gst::PadDirection::Sink, gst::PadPresence::Always, &caps);
            vec![template.expect("invariant: the template is valid")]
        });
        &TEMPLATES
    }
}

/// Video that can be written as it is and found again in a byte stream: whole access units of the codecs that are
/// understood, and JPEG pictures.
const TAKEN: &str = "video/mpeg, mpegversion=(int){1, 2, 4}, systemstream=(boolean)false, parsed=(boolean)true; \
                     video/x-divx, divxversion=(int){4, 5}; video/x-xvid; \
                     video/x-h264, stream-format=(string)byte-stream, alignment=(string)au; \
                     video/x-h265, stream-format=(string)byte-stream, alignment=(string)au; \
                     video/x-av1, stream-format=(string)obu-stream, alignment=(string){tu, frame}; image/jpeg";

impl BaseSinkImpl for IfdSink {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        if lock(&self.settings).host.is_empty() {
            return Err(gst::error_msg!(gst::ResourceError::NotFound, ["host is empty: a name or address is needed"]));
        }
        *lock(&self.intake) = Intake::default();
        *lock(&self.clock) = TransportClock::default();
        *lock(&self.last) = None;
        *lock(&self.requests) = KeyFrameRequests::default();
        *lock(&self.untimed) = Untimed::default();
        *lock(&self.starting) = Starting::Waits;
        let started = self.start_writer().map_err(|reason| format!("no thread for the socket: {reason}"));
        let connected = started.and_then(|()| self.wait_a_little());
        connected.map_err(|reason| gst::error_msg!(gst::ResourceError::OpenWrite, ("{reason}")))
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let writer = lock(&self.writer).take();
        *lock(&self.last) = writer.map(|writer| writer.stop());
        Ok(())
    }

    fn set_caps(&self, caps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let carrier = lock(&self.settings).protocol;
        match lock(&self.intake).caps(caps, carrier) {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => {
                gst::warning!(CAT, imp = self, "{problem}");
                Ok(())
            }
            Err(unusable) => {
                gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{}", unusable.reason), ["caps {caps}"]);
                Err(gst::loggable_error!(CAT, "{}", unusable.reason))
            }
        }
    }

    /// Before the first frame waits for its time, the connection is to stand: the stream begins with it.
    fn prepare(&self, _buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.wait(Writer::wait_connected)
    }

    fn render(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let writer = self.writer()?;
        let frames = lock(&self.intake).read(buffer).map_err(|why| self.refuse(&why))?;
        self.offer(&writer, frames)
    }

    fn event(&self, event: gst::Event) -> bool {
        if ends_frame(event.type_()) {
            self.release_field();
        }
        match event.view() {
            gst::EventView::Eos(_) if !self.finish() => return false,
            // The application may have been notified, and be stopping the pipeline: the base class would keep the caps.
            gst::EventView::Caps(_) if !self.writer().is_ok_and(|writer| writer.is_alive()) => return false,
            gst::EventView::FlushStop(_) => self.flush(),
            gst::EventView::Segment(segment) => {
                lock(&self.intake).begin_segment();
                *lock(&self.clock) = TransportClock::default();
                *lock(&self.segment) = segment.segment().downcast_ref::<gst::ClockTime>().cloned();
            }
            _ => {}
        }
        self.parent_event(event)
    }

    fn query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::AcceptCaps(accept) = query.view_mut() {
            // `set_caps` says what is wrong with caps, and which parser is missing; a refusal here could not.
            accept.set_result(true);
            return true;
        }
        BaseSinkImplExt::parent_query(self, query)
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        if let Ok(writer) = self.writer() {
            writer.interrupt();
        }
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        if let Ok(writer) = self.writer() {
            writer.resume();
        }
        Ok(())
    }
}

impl IfdSink {
    /// When a buffer is due, in time of its segment.
    pub(super) fn due(&self, times: Times) -> Option<Duration> {
        lock(&self.clock).due(times)
    }

    fn offer(&self, writer: &Writer<Held>, frames: Vec<Frame>) -> Result<gst::FlowSuccess, gst::FlowError> {
        for frame in frames {
            if let Some(problem) = frame.problem {
                gst::warning!(CAT, imp = self, "going by the flags of the buffer: {problem}");
            }
            self.request_key_frame(|requests, now, interval| {
                requests.frame_came(frame.held.dependencies.key.is_some(), now, interval)
            });
            let dropping = lock(&self.settings).dropping;
            if lock(&self.untimed).frame_came(&frame.held, dropping.is_limited_by_time_alone()) {
                gst::element_imp_warning!(self, gst::StreamError::Format, ("{INEFFECTIVE}"));
            }
            if !writer.offer(frame.held, frame.outgoing) {
                return Err(gst::FlowError::Error);
            }
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// Lets go of a first field whose second one does not come. A failure is reported with what comes behind it.
    fn release_field(&self) {
        let Ok(writer) = self.writer() else { return };
        if let Ok(frames) = lock(&self.intake).release() {
            let _ = self.offer(&writer, frames);
        }
    }

    fn start_writer(&self) -> Result<(), String> {
        let sink = self.obj().downgrade();
        let notify = Box::new(move |notice| {
            if let Some(sink) = sink.upgrade() {
                sink.imp().tell(notice);
            }
        });
        let writer = Writer::start(lock(&self.settings).plan(), notify)?;
        *lock(&self.writer) = Some(Arc::new(writer));
        Ok(())
    }

    /// Waits a little for the connection.
    ///
    /// # Errors
    /// When it has failed by then.
    fn wait_a_little(&self) -> Result<(), String> {
        if let Ok(writer) = self.writer() {
            writer.wait_opened_for(START_PATIENCE);
        }
        match std::mem::take(&mut *lock(&self.starting)) {
            Starting::Failed(reason) => {
                let writer = lock(&self.writer).take();
                *lock(&self.last) = writer.map(|writer| writer.stop());
                Err(reason)
            }
            Starting::Waits | Starting::Over => Ok(()),
        }
    }

    fn writer(&self) -> Result<Arc<Writer<Held>>, gst::FlowError> {
        lock(&self.writer).clone().ok_or(gst::FlowError::Flushing)
    }

    /// Says why a buffer cannot be sent.
    fn refuse(&self, why: &Unreadable) -> gst::FlowError {
        match why {
            Unreadable::NoCaps => {
                let reason = Unusable::without_caps().reason;
                gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{reason}"));
                gst::FlowError::NotNegotiated
            }
            Unreadable::Buffer(error @ BufferError::Memory) => {
                gst::element_imp_error!(self, gst::ResourceError::Read, ["{}", error.reason()]);
                gst::FlowError::Error
            }
            Unreadable::Buffer(error @ BufferError::NoPictures) => {
                gst::element_imp_error!(self, gst::StreamError::Format, ["{}", error.reason()]);
                gst::FlowError::Error
            }
        }
    }

    /// At the end of the stream: everything that was accepted is written. False when it could not be.
    fn finish(&self) -> bool {
        let Ok(writer) = self.writer() else { return false };
        writer.end(lock(&self.intake).tail());
        self.wait(Writer::wait_finished).is_ok()
    }

    /// Waits for the writer, and where the element is paused meanwhile, for the end of the pause.
    fn wait(&self, wait: impl Fn(&Writer<Held>, Interruptions) -> Waited) -> Result<gst::FlowSuccess, gst::FlowError> {
        let writer = self.writer()?;
        let object = self.obj();
        loop {
            let since = writer.interruptions();
            match wait_unlocked(&object, || wait(&writer, since))? {
                (Waited::Done, _) => return Ok(gst::FlowSuccess::Ok),
                (Waited::Failed, _) => return Err(gst::FlowError::Error),
                (Waited::Interrupted, true) => _ = object.wait_preroll()?,
                (Waited::Interrupted, false) => {}
            }
        }
    }

    fn flush(&self) {
        lock(&self.intake).flush();
        *lock(&self.clock) = TransportClock::default();
        let Ok(writer) = self.writer() else { return };
        if writer.flush() {
            return;
        }
        // After its end, a stream goes on over another connection.
        if let Err(reason) = self.start_writer() {
            gst::element_imp_error!(self, gst::ResourceError::OpenWrite, ["no thread for the socket: {reason}"]);
        }
    }

    fn stats(&self) -> gst::Structure {
        let snapshot = match lock(&self.writer).as_ref() {
            Some(writer) => Some(writer.snapshot()),
            None => lock(&self.last).clone(),
        };
        let Some(mut snapshot) = snapshot else { return gst::Structure::new_empty(stats::WRITER) };
        snapshot.counts.key_frame_requests = lock(&self.requests).sent();
        stats::of_writer(&snapshot)
    }
}
