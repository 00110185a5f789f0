//! The element as GStreamer sees it. The server runs in `service`.

use std::sync::{LazyLock, Mutex};

use framewire_endpoint::Serving;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::messages::{self, Report};
use super::service::{News, Service};
use super::settings::{PROPERTIES, Settings};
use crate::lock::lock;

/// The element's private data.
#[derive(Default)]
pub struct VtpSink {
    settings: Mutex<Settings>,
    phase: Mutex<Phase>,
}

#[derive(Default)]
enum Phase {
    /// What came of the last time.
    Idle(Report),
    /// File and sockets are open, nobody is served yet.
    Opened(Box<Serving>),
    Serving(Service),
    #[default]
    New,
}

#[glib::object_subclass]
impl ObjectSubclass for VtpSink {
    const NAME: &'static str = "GstFramewireVtpSink";
    type Type = super::VtpSink;
    type ParentType = gst::Element;
}

impl ObjectImpl for VtpSink {
    fn properties() -> &'static [glib::ParamSpec] {
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        lock(&self.settings).set(spec.name(), value);
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        match spec.name() {
            "stats" => self.report().structure().to_value(),
            name => lock(&self.settings).get(name),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        // A pipeline is at its end when its sinks are; without pads nothing else would tell.
        self.obj().set_element_flags(gst::ElementFlags::SINK);
    }
}

impl GstObjectImpl for VtpSink {}

impl ElementImpl for VtpSink {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Adaptive stream server",
                "Sink/Network",
                "Serves a streaming file over the Video Transport Protocol to any number of clients, each at the level \
                 that its network can take",
                "The framewire authors",
            )
        });
        Some(&METADATA)
    }

    fn change_state(&self, transition: gst::StateChange) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        match transition {
            gst::StateChange::ReadyToPaused => self.open()?,
            gst::StateChange::PausedToPlaying => self.serve()?,
            _ => {}
        }
        let success = self.parent_change_state(transition)?;
        if transition == gst::StateChange::PausedToReady {
            self.stop();
        }
        Ok(success)
    }
}

impl VtpSink {
    fn open(&self) -> Result<(), gst::StateChangeError> {
        let settings = lock(&self.settings).clone();
        match settings.open() {
            Ok(serving) => {
                *lock(&self.phase) = Phase::Opened(Box::new(serving));
                Ok(())
            }
            Err((kind, reason)) => {
                gst::element_imp_error!(self, kind, ("{reason}"));
                Err(gst::StateChangeError)
            }
        }
    }

    /// Begins to serve; one that was paused has never ceased.
    fn serve(&self) -> Result<(), gst::StateChangeError> {
        let sessions = Some(lock(&self.settings).sessions).filter(|&sessions| sessions > 0);
        let mut phase = lock(&self.phase);
        let serving = match std::mem::take(&mut *phase) {
            Phase::Opened(serving) => *serving,
            other => {
                *phase = other;
                return Ok(());
            }
        };
        let element = self.obj().downgrade();
        let tell = move |news: News<'_>| {
            if let Some(element) = element.upgrade() {
                element.imp().tell(news);
            }
        };
        match Service::start(serving, sessions, tell) {
            Ok(service) => {
                *phase = Phase::Serving(service);
                Ok(())
            }
            Err(reason) => {
                drop(phase);
                gst::element_imp_error!(self, gst::ResourceError::Failed, ("{reason}"));
                Err(gst::StateChangeError)
            }
        }
    }

    fn stop(&self) {
        // Without the lock: the thread may be telling who asks for `stats`.
        let phase = std::mem::take(&mut *lock(&self.phase));
        let report = match phase {
            Phase::Serving(service) => service.stop(),
            Phase::Idle(report) => report,
            Phase::Opened(_) | Phase::New => Report::default(),
        };
        *lock(&self.phase) = Phase::Idle(report);
    }

    fn report(&self) -> Report {
        match &*lock(&self.phase) {
            Phase::Idle(report) => report.clone(),
            Phase::Opened(serving) => Report { addresses: serving.addresses().ok(), ..Report::default() },
            Phase::Serving(service) => service.report(),
            Phase::New => Report::default(),
        }
    }

    fn tell(&self, news: News<'_>) {
        let object = self.obj();
        let message = match news {
            News::Event(event) => gst::message::Element::builder(messages::of_event(event)).src(&*object).build(),
            News::Enough => gst::message::Eos::builder().src(&*object).build(),
            News::Broken(error) => {
                gst::element_imp_error!(self, gst::ResourceError::Failed, ("the server cannot go on: {error}"));
                return;
            }
        };
        let _ = object.post_message(message);
    }
}
