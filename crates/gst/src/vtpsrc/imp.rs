//! The element as GStreamer sees it. The session runs in `framewire_endpoint::reception`.

use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use framewire_adaptive::client::{ClientEvent, Frame};
use framewire_endpoint::reception::{Next, PlayerPosition, Reception, complaint};
use framewire_wire::vtp::Reason;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_src::CreateSuccess;
use gst_base::subclass::prelude::*;

use super::audio_pad::{self, Sound};
use super::messages::{self, Pushed};
use super::settings::{PROPERTIES, Settings};
use crate::lock::lock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("vtpsrc", gst::DebugColorFlags::empty(), Some("Adaptive stream receiver"))
});

/// The element's private data.
#[derive(Default)]
pub struct VtpSrc {
    settings: Mutex<Settings>,
    /// The session, and after it the last one, for `stats`.
    pub(super) reception: Mutex<Option<Reception>>,
    stream: Mutex<Stream>,
    pub(super) sound: Mutex<Sound>,
}

/// What the streaming thread of the video knows.
#[derive(Default)]
struct Stream {
    pushed: Pushed,
    /// A key frame was there: from here on frames can be decoded.
    begun: bool,
    /// The next buffer does not follow the one before it.
    discontinuous: bool,
    /// When the statistics were last posted.
    stats_posted: Option<Instant>,
}

#[glib::object_subclass]
impl ObjectSubclass for VtpSrc {
    const NAME: &'static str = "GstFramewireVtpSrc";
    type Type = super::VtpSrc;
    type ParentType = gst_base::PushSrc;
}

impl ObjectImpl for VtpSrc {
    fn properties() -> &'static [glib::ParamSpec] {
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        lock(&self.settings).set(spec.name(), value);
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        match spec.name() {
            "stats" => self.stats().to_value(),
            name => lock(&self.settings).get(name),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        let object = self.obj();
        object.set_format(gst::Format::Time);
        let element = object.downgrade();
        // After the end of the video, whatever ended it, no frames are taken from those who wait for audio.
        object.src_pad().add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
            let ends = info.event().is_some_and(|event| event.type_() == gst::EventType::Eos);
            if let (true, Some(element)) = (ends, element.upgrade()) {
                element.imp().drop_frames();
            }
            gst::PadProbeReturn::Ok
        });
    }
}

impl GstObjectImpl for VtpSrc {}

impl ElementImpl for VtpSrc {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Adaptive stream receiver",
                "Source/Network",
                "Receives a movie over the Video Transport Protocol, whose server changes the level with the bandwidth, \
                 and gives whole frames",
                "The framewire authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (name, any) = ("src", gst::Caps::new_any());
            let template = gst::PadTemplate::new(name, gst::PadDirection::Src, gst::PadPresence::Always, &any);
            vec![template.expect("invariant: the template is valid"), audio_pad::template()]
        });
        &TEMPLATES
    }

    fn send_event(&self, event: gst::Event) -> bool {
        self.send_to_audio(&event);
        self.parent_send_event(event)
    }

    fn change_state(&self, transition: gst::StateChange) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::PlayingToPaused {
            self.with_position(PlayerPosition::pause);
        }
        let success = self.parent_change_state(transition)?;
        match transition {
            gst::StateChange::PausedToPlaying => {
                let running = self.running_time();
                self.with_position(|position, now| position.play(now, running));
            }
            gst::StateChange::PausedToReady => self.remove_audio(),
            _ => {}
        }
        Ok(success)
    }
}

impl BaseSrcImpl for VtpSrc {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let unusable = |reason: String| gst::error_msg!(gst::ResourceError::Settings, ["{reason}"]);
        let plan = lock(&self.settings).plan().map_err(unusable)?;
        let reception = Reception::start(plan)
            .map_err(|error| gst::error_msg!(gst::ResourceError::OpenRead, ["no thread can be started: {error}"]))?;
        *lock(&self.stream) = Stream { discontinuous: true, ..Stream::default() };
        *lock(&self.sound) = Sound::default();
        *lock(&self.reception) = Some(reception);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        if let Some(reception) = &*lock(&self.reception) {
            reception.cancel();
        }
        Ok(())
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.set_flushing(true);
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        self.set_flushing(false);
        Ok(())
    }

    fn query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::Duration(query) = query.view_mut()
            && query.format() == gst::Format::Time
        {
            let description = lock(&self.stream).pushed.description.clone();
            let Some(duration) = description.as_ref().and_then(messages::duration) else { return false };
            query.set(duration);
            return true;
        }
        BaseSrcImplExt::parent_query(self, query)
    }
}

impl PushSrcImpl for VtpSrc {
    fn create(&self, _buffer: Option<&mut gst::BufferRef>) -> Result<CreateSuccess, gst::FlowError> {
        loop {
            let reception = lock(&self.reception).clone().ok_or(gst::FlowError::Flushing)?;
            let event = match reception.next() {
                Next::Event(event) => event,
                Next::Flushing => return Err(gst::FlowError::Flushing),
                Next::Failed(reason) => {
                    gst::element_imp_error!(self, gst::ResourceError::OpenRead, ("{reason}"));
                    return Err(gst::FlowError::Error);
                }
            };
            match event {
                ClientEvent::FrameComplete(frame) => {
                    self.correct_position();
                    if let Some(buffer) = self.buffer(frame)? {
                        self.post_stats();
                        return Ok(CreateSuccess::NewBuffer(buffer));
                    }
                }
                ClientEvent::Ended(reason) => return Err(self.end(reason, &reception)),
                other => self.tell(other),
            }
        }
    }
}

impl VtpSrc {
    fn set_flushing(&self, flushing: bool) {
        if let Some(reception) = &*lock(&self.reception) {
            reception.set_flushing(flushing);
        }
    }

    fn stats(&self) -> gst::Structure {
        self.known(messages::STATS)
    }

    fn known(&self, name: &str) -> gst::Structure {
        let known = lock(&self.reception).as_ref().map(Reception::known).unwrap_or_default();
        let sound = lock(&self.sound);
        let audio = (sound.packets, sound.bytes);
        drop(sound);
        messages::stats(name, &Pushed { audio, ..lock(&self.stream).pushed.clone() }, &known)
    }

    fn running_time(&self) -> Option<std::time::Duration> {
        self.obj().current_running_time().map(Into::into)
    }

    fn with_position(&self, change: impl FnOnce(&mut PlayerPosition, Instant)) {
        if let Some(reception) = &*lock(&self.reception) {
            reception.with_position(change);
        }
    }

    /// The pipeline's clock goes at a rate of its own: it is looked at with each push.
    pub(super) fn correct_position(&self) {
        let running = self.running_time();
        self.with_position(|position, now| position.correct(now, running));
    }

    fn drop_frames(&self) {
        if let Some(reception) = &*lock(&self.reception) {
            reception.drop_frames();
        }
    }

    /// Posts the statistics, where the application asked for them. With frames only: where none come, the
    /// property says as much.
    fn post_stats(&self) {
        let interval = lock(&self.settings).stats_interval();
        let Some(interval) = interval else { return };
        let mut stream = lock(&self.stream);
        if stream.stats_posted.is_some_and(|posted| posted.elapsed() < interval) {
            return;
        }
        stream.stats_posted = Some(Instant::now());
        drop(stream);
        let object = self.obj();
        let structure = self.known("framewire-stats");
        let _ = object.post_message(gst::message::Element::builder(structure).src(&*object).build());
    }

    /// Everything that is not a frame or the end.
    fn tell(&self, event: ClientEvent) {
        let object = self.obj();
        let structure = match event {
            ClientEvent::Described(description) => {
                let structure = messages::described(&description);
                let mut stream = lock(&self.stream);
                stream.pushed.frames_by_level = vec![0; description.rates.len()];
                let audio = description.audio;
                stream.pushed.description = Some(description);
                drop(stream);
                if let Some(audio) = &audio {
                    self.add_audio(audio);
                }
                object.no_more_pads();
                let _ = object.post_message(gst::message::DurationChanged::builder().src(&*object).build());
                structure
            }
            ClientEvent::LevelChanged { frame, from, to } => {
                lock(&self.stream).pushed.level_changes += 1;
                messages::level_changed(frame, from, to)
            }
            ClientEvent::FramesLost { first, count } => {
                lock(&self.stream).discontinuous = true;
                messages::frames_lost(first, count)
            }
            // Audio goes another way, and the others were seen to.
            ClientEvent::Packet { .. }
            | ClientEvent::FrameComplete(_)
            | ClientEvent::Audio(_)
            | ClientEvent::AudioLost { .. }
            | ClientEvent::Ended(_) => return,
        };
        let _ = object.post_message(gst::message::Element::builder(structure).src(&*object).build());
    }

    /// A frame as a buffer; `None` for one that nothing can be made of. The first key frame brings the caps.
    fn buffer(&self, frame: Frame) -> Result<Option<gst::Buffer>, gst::FlowError> {
        if !self.obj().src_pad().is_linked() && self.has_listener() {
            // Only a listener is no error; a pad that is linked later begins with a key frame.
            let mut stream = lock(&self.stream);
            (stream.begun, stream.discontinuous) = (false, true);
            stream.pushed.skipped += 1;
            return Ok(None);
        }
        if !lock(&self.stream).begun {
            if !frame.key {
                lock(&self.stream).pushed.skipped += 1;
                return Ok(None);
            }
            self.begin(&frame)?;
        }
        let mut stream = lock(&self.stream);
        let pushed = &mut stream.pushed;
        pushed.frames += 1;
        pushed.bytes += frame.bytes.len() as u64;
        pushed.level = Some(frame.level);
        pushed.shown = Some(frame.media_time);
        if let Some(count) = pushed.frames_by_level.get_mut(frame.level) {
            *count += 1;
        }
        let duration = pushed.description.as_ref().map(|description| description.duration / description.frames.max(1));
        let discontinuous = std::mem::take(&mut stream.discontinuous);
        drop(stream);
        Ok(Some(buffer_of(frame, duration, discontinuous)))
    }

    /// Sets the caps before the first frame. Where they are not known, downstream has to find out.
    fn begin(&self, frame: &Frame) -> Result<(), gst::FlowError> {
        let caps = lock(&self.settings).caps.clone().or_else(|| super::caps::of_key_frame(&frame.bytes));
        if let Some(caps) = caps
            && self.obj().set_caps(&caps).is_err()
        {
            gst::element_imp_error!(self, gst::CoreError::Negotiation, ("downstream does not take {caps}"));
            return Err(gst::FlowError::NotNegotiated);
        }
        lock(&self.stream).begun = true;
        Ok(())
    }

    /// What the end of the session is to the stream.
    fn end(&self, reason: Reason, reception: &Reception) -> gst::FlowError {
        let settled = reception.settled();
        let Some(complaint) = complaint(reason, &settled) else {
            if reason != Reason::EndOfMovie {
                let server = settled.server;
                gst::element_imp_warning!(
                    self,
                    gst::ResourceError::Read,
                    ("the server at {server} ended the session before the end of the movie")
                );
            }
            return gst::FlowError::Eos;
        };
        match reason {
            Reason::UnknownTitle => gst::element_imp_error!(self, gst::ResourceError::NotFound, ("{complaint}")),
            Reason::Busy => gst::element_imp_error!(self, gst::ResourceError::Busy, ("{complaint}")),
            _ => gst::element_imp_error!(self, gst::ResourceError::Read, ("{complaint}")),
        }
        gst::FlowError::Error
    }
}

fn buffer_of(frame: Frame, duration: Option<std::time::Duration>, discontinuous: bool) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_slice(frame.bytes);
    let writable = buffer.get_mut().expect("invariant: nobody else has the buffer yet");
    writable.set_pts(gst::ClockTime::try_from(frame.media_time).ok());
    writable.set_duration(duration.and_then(|duration| gst::ClockTime::try_from(duration).ok()));
    writable.set_offset(u64::from(frame.frame));
    if !frame.key {
        writable.set_flags(gst::BufferFlags::DELTA_UNIT);
    }
    if discontinuous {
        writable.set_flags(gst::BufferFlags::DISCONT);
    }
    buffer
}
