//! The element as GStreamer sees it. What it reports stands in `analysis`.

use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use framewire_transport::arrivals::{Analysis, Faults, GroupRow, Row, Summary};
use framewire_units::Timestamp;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::input::Input;
use super::output::{self, Format, RowFile, structure};
use super::timing::Timing;
use crate::codec::Unusable;
use crate::lock::lock;

static CAT: LazyLock<gst::DebugCategory> =
    LazyLock::new(|| gst::DebugCategory::new("mpegstat", gst::DebugColorFlags::empty(), Some("Video analyser")));

/// Values of the properties.
#[derive(Clone, Debug, Default)]
struct Settings {
    location: Option<String>,
    format: Format,
    timing: Timing,
    post_messages: bool,
}

/// From start to stop.
struct Running {
    origin: Instant,
    input: Option<Input>,
    analysis: Analysis,
    file: Option<RowFile>,
    /// Whether an error about the caps has been posted: upstream brings them again with every buffer.
    refused: bool,
}

/// The element's private data.
#[derive(Default)]
pub struct MpegStat {
    settings: Mutex<Settings>,
    running: Mutex<Option<Running>>,
    summary: Mutex<Summary>,
}

#[glib::object_subclass]
impl ObjectSubclass for MpegStat {
    const NAME: &'static str = "GstFramewireMpegStat";
    type Type = super::MpegStat;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MpegStat {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                glib::ParamSpecString::builder("location")
                    .nick("Location")
                    .blurb("File to write a row for every frame and every group into (none = no file)")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder_with_default("format", Format::default())
                    .nick("Format")
                    .blurb("How rows are written into the file")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder_with_default("timing", Timing::default())
                    .nick("Timing")
                    .blurb("Where the expected times of frames come from")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecBoolean::builder("post-messages")
                    .nick("Post messages")
                    .blurb("Post an element message framewire-frame for every frame, framewire-group for every group")
                    .default_value(false)
                    .mutable_playing()
                    .build(),
                glib::ParamSpecUInt64::builder("frames")
                    .nick("Frames")
                    .blurb("Frames that arrived whole")
                    .read_only()
                    .build(),
                glib::ParamSpecInt64::builder("latency")
                    .nick("Latency (ns)")
                    .blurb("Latency of the last frame, in ns")
                    .read_only()
                    .build(),
                glib::ParamSpecInt64::builder("jitter")
                    .nick("Jitter (ns)")
                    .blurb("Jitter of the latencies (RFC 3550, 6.4.1), in ns")
                    .read_only()
                    .build(),
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("Counts, latencies, jitter, the last frame and the last group")
                    .read_only()
                    .build(),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        const CHECKED: &str = "invariant: GObject checks types";
        let mut settings = lock(&self.settings);
        match spec.name() {
            "location" => settings.location = value.get().expect(CHECKED),
            "format" => settings.format = value.get().expect(CHECKED),
            "timing" => settings.timing = value.get().expect(CHECKED),
            "post-messages" => settings.post_messages = value.get().expect(CHECKED),
            other => unreachable!("invariant: {other} is read-only"),
        }
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        match spec.name() {
            "location" => settings.location.to_value(),
            "format" => settings.format.to_value(),
            "timing" => settings.timing.to_value(),
            "post-messages" => settings.post_messages.to_value(),
            "frames" => lock(&self.summary).frames.to_value(),
            "latency" => lock(&self.summary).latency().to_value(),
            "jitter" => lock(&self.summary).jitter().to_value(),
            "stats" => output::summary(&lock(&self.summary)).to_value(),
            other => unreachable!("invariant: {other} is not a property"),
        }
    }
}

impl GstObjectImpl for MpegStat {}

impl ElementImpl for MpegStat {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Video arrival analyser",
                "Filter/Analyzer/Video",
                "Passes video through and tells of every frame and every group of pictures when it came, when it was \
                 expected, its latency and jitter, type, number, RTP time stamp, size and time code",
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

impl BaseTransformImpl for MpegStat {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = true;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let file = match &settings.location {
            None => None,
            Some(location) => Some(RowFile::create(location, settings.format).map_err(|error| {
                gst::error_msg!(gst::ResourceError::OpenWrite, ["location \"{location}\" cannot be written: {error}"])
            })?),
        };
        *lock(&self.summary) = Summary::default();
        let analysis = Analysis::new(settings.timing.into());
        *lock(&self.running) = Some(Running { origin: Instant::now(), input: None, analysis, file, refused: false });
        // Also before there are caps: else the base class refuses buffers without any, and does not say why.
        self.obj().set_passthrough(true);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.finish();
        *lock(&self.running) = None;
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let caps = self.parent_transform_caps(direction, caps, filter)?;
        Some(crate::codec::narrow(caps))
    }

    fn set_caps(&self, caps: &gst::Caps, _out: &gst::Caps) -> Result<(), gst::LoggableError> {
        self.tell(|running| {
            let input = running.input.as_mut()?;
            let held = Vec::from_iter(input.release());
            Some((running.analysis.rows(&held), input.faults()))
        });
        let mut guard = lock(&self.running);
        let Some(running) = guard.as_mut() else { return Ok(()) };
        let faults = running.input.as_ref().map_or(Faults::default(), Input::faults);
        match Input::new(caps, faults) {
            Ok((input, problem)) => {
                if let Some(problem) = problem {
                    gst::warning!(CAT, imp = self, "{problem}");
                }
                running.input = Some(input);
                running.refused = false;
                Ok(())
            }
            Err(unusable) => {
                drop(guard);
                self.refuse(&unusable, Some(caps));
                Err(gst::loggable_error!(CAT, "{}", unusable.reason))
            }
        }
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::Eos => self.finish(),
            gst::EventType::FlushStop => self.flush(),
            _ => {}
        }
        self.parent_sink_event(event)
    }

    fn transform_ip_passthrough(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let known = self.tell(|running| {
            let Some(input) = &mut running.input else { return None };
            let now = now(running.origin);
            running.analysis.packet(now);
            let rows = running.analysis.rows(&input.read(now, buffer));
            Some((rows, input.faults()))
        });
        if known {
            return Ok(gst::FlowSuccess::Ok);
        }
        self.refuse(&Unusable::without_caps(), None);
        Err(gst::FlowError::NotNegotiated)
    }
}

fn now(origin: Instant) -> Timestamp {
    Timestamp::from_nanos(u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

impl MpegStat {
    /// Posts why the stream cannot be analysed, once until caps are taken or the element starts again.
    fn refuse(&self, unusable: &Unusable, caps: Option<&gst::Caps>) {
        let was_refused =
            lock(&self.running).as_mut().is_none_or(|running| std::mem::replace(&mut running.refused, true));
        if !was_refused {
            let caps = caps.map_or_else(|| "no caps".to_owned(), |caps| format!("caps {caps}"));
            gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{}", unusable.reason), ["{caps}"]);
        }
    }

    /// Gives out the rows that `make` makes: to the file, to the properties, and to the bus, where they go without
    /// locks, as it may call back. False when there is nothing that could make rows.
    fn tell(&self, make: impl FnOnce(&mut Running) -> Option<(Vec<Row>, Faults)>) -> bool {
        let mut running = lock(&self.running);
        let Some(running_now) = running.as_mut() else { return false };
        let Some((rows, faults)) = make(running_now) else { return false };
        if let Some(file) = &mut running_now.file
            && let Err(error) = rows.iter().try_for_each(|row| file.append(row))
        {
            gst::element_imp_error!(self, gst::ResourceError::Write, ["a row could not be written: {error}"]);
            running_now.file = None;
        }
        drop(running);
        if lock(&self.settings).post_messages {
            let object = self.obj();
            for row in &rows {
                let message = gst::message::Element::builder(structure(row)).src(&*object);
                let _ = object.post_message(message.build());
            }
        }
        let mut summary = lock(&self.summary);
        summary.faults = faults;
        rows.into_iter().for_each(|row| summary.note(row));
        true
    }

    /// The frames that were still waited for, and the end of the file.
    fn finish(&self) {
        self.drain(Analysis::end);
        if let Some(Running { file: Some(file), .. }) = lock(&self.running).as_mut()
            && let Err(error) = file.flush()
        {
            gst::element_imp_error!(self, gst::ResourceError::Write, ["rows could not be written: {error}"]);
        }
    }

    fn flush(&self) {
        self.drain(Analysis::flush);
    }

    fn drain(&self, end: impl FnOnce(&mut Analysis) -> Option<GroupRow>) {
        self.tell(|running| {
            let input = running.input.as_mut()?;
            let mut rows = running.analysis.rows(&input.finish());
            rows.extend(end(&mut running.analysis).map(Row::Group));
            Some((rows, input.faults()))
        });
    }
}
