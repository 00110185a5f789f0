//! The element as GStreamer sees it. The server runs in `framewire_endpoint::service`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use framewire_endpoint::service::{self, Service, ServiceEvent};
use framewire_endpoint::{Ports, Serving};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::live::{self, Live};
use super::messages::{self, Report};
use super::settings::{Complaint, PROPERTIES, Settings};
use crate::lock::lock;

pub(super) static CAT: LazyLock<gst::DebugCategory> =
    LazyLock::new(|| gst::DebugCategory::new("vtpsink", gst::DebugColorFlags::empty(), Some("Adaptive stream server")));

/// The element's private data.
#[derive(Default)]
pub struct VtpSink {
    settings: Mutex<Settings>,
    phase: Mutex<Phase>,
    /// The levels, where they come on pads. Locked before `phase` where both are.
    pub(super) live: Mutex<Option<Live>>,
    /// The stream has ended, and that was reported; nothing more is taken.
    over: AtomicBool,
}

#[derive(Default)]
enum Phase {
    /// What came of the last time.
    Idle(Box<Report>),
    /// File and sockets are open, no client is served yet.
    Opened(Box<Serving>),
    /// Sockets are open for levels on pads: no client is served before a whole group is there, and the element plays.
    Waiting {
        ports: Box<Ports>,
        plays: bool,
    },
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
        // A pipeline is at its end when its sinks are. Without pads, and with pads on request, nothing else would
        // report it.
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
                "Serves a streaming file, or levels that are encoded meanwhile, over the Video Transport Protocol to any \
                 number of clients, each at the level that its network can take",
                "The framewire authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| vec![live::template()]);
        &TEMPLATES
    }

    fn request_new_pad(
        &self,
        template: &gst::PadTemplate,
        name: Option<&str>,
        _caps: Option<&gst::Caps>,
    ) -> Option<gst::Pad> {
        self.request(template, name)
    }

    fn release_pad(&self, pad: &gst::Pad) {
        self.release(pad);
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
        let pads: Vec<u32> = self.obj().sink_pads().iter().filter_map(live::number_of).collect();
        self.over.store(false, Ordering::Relaxed);
        let opened = if pads.is_empty() {
            settings.open().map(|serving| Phase::Opened(Box::new(serving)))
        } else if let Some(location) = &settings.location {
            let reason = format!("location \"{location}\" is set, and pads were requested: one of the two is allowed");
            Err((gst::ResourceError::Settings, reason))
        } else {
            let ports = settings.check_live().and_then(|()| settings.open_ports());
            ports.map(|ports| Phase::Waiting { ports: Box::new(ports), plays: false })
        };
        match opened {
            Ok(phase) => {
                *lock(&self.live) = (!pads.is_empty()).then(|| settings.live(pads));
                *lock(&self.phase) = phase;
                Ok(())
            }
            Err(complaint) => Err(self.complain(complaint)),
        }
    }

    fn complain(&self, (kind, reason): Complaint) -> gst::StateChangeError {
        gst::element_imp_error!(self, kind, ("{reason}"));
        gst::StateChangeError
    }

    /// Begins to serve; one that was paused has never ceased.
    fn serve(&self) -> Result<(), gst::StateChangeError> {
        if let Phase::Waiting { plays, .. } = &mut *lock(&self.phase) {
            *plays = true;
        }
        self.go_on()
    }

    /// Levels on pads have come further, or to their end.
    pub(super) fn more(&self) {
        // What is wrong was reported.
        let _ = self.go_on();
    }

    /// Whether nothing more of the levels is taken.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Serves what there is.
    fn go_on(&self) -> Result<(), gst::StateChangeError> {
        let source = lock(&self.live).as_ref().map(|live| live.source().clone());
        let mut phase = lock(&self.phase);
        let is_over = source.as_ref().is_some_and(|source| source.is_over());
        let started = match (std::mem::take(&mut *phase), &source) {
            (Phase::Opened(serving), _) => self.start(*serving),
            (Phase::Waiting { ports, plays: true }, Some(source)) if source.has_begun() => {
                let host = lock(&self.settings).live_host(source);
                host.and_then(|host| self.start(Serving::on(host, *ports)))
            }
            (Phase::Waiting { plays: true, .. }, _) if is_over => {
                // It ended before anything could be sent of it.
                *phase = Phase::Idle(Box::default());
                drop(phase);
                self.tell(ServiceEvent::Enough);
                return Ok(());
            }
            (other, _) => Ok(other),
        };
        match started {
            Ok(next) => {
                if let Phase::Serving(service) = &next {
                    if is_over { service.end() } else { service.more() }
                }
                *phase = next;
                Ok(())
            }
            Err(complaint) => {
                drop(phase);
                Err(self.complain(complaint))
            }
        }
    }

    fn start(&self, serving: Serving) -> Result<Phase, Complaint> {
        let terms = lock(&self.settings).terms();
        let element = self.obj().downgrade();
        let tell = move |news: ServiceEvent<'_>| {
            if let Some(element) = element.upgrade() {
                element.imp().tell(news);
            }
        };
        let service = Service::start(serving, terms, tell).map_err(|reason| (gst::ResourceError::Failed, reason))?;
        Ok(Phase::Serving(service))
    }

    fn stop(&self) {
        // Without the lock: the thread may be answering a query of `stats`.
        let phase = std::mem::take(&mut *lock(&self.phase));
        let report = match phase {
            Phase::Serving(service) => Report { service: service.stop(), live: None },
            Phase::Idle(report) => *report,
            Phase::Opened(_) | Phase::Waiting { .. } | Phase::New => Report::default(),
        };
        let live = lock(&self.live).take().map(|live| live.state());
        *lock(&self.phase) = Phase::Idle(Box::new(Report { live, ..report }));
    }

    fn report(&self) -> Report {
        let live = lock(&self.live).as_ref().map(Live::state);
        let report = match &*lock(&self.phase) {
            Phase::Idle(report) => (**report).clone(),
            Phase::Opened(serving) => bound_to(serving.addresses().ok()),
            Phase::Waiting { ports, .. } => bound_to(ports.addresses().ok()),
            Phase::Serving(service) => Report { service: service.report(), live: None },
            Phase::New => Report::default(),
        };
        Report { live: live.or(report.live), ..report }
    }

    fn tell(&self, news: ServiceEvent<'_>) {
        let object = self.obj();
        let message = match news {
            ServiceEvent::Event(event) => {
                gst::message::Element::builder(messages::of_event(event)).src(&*object).build()
            }
            ServiceEvent::Report(report) => {
                let live = lock(&self.live).as_ref().map(Live::state);
                let structure = Report { service: report.clone(), live }.named("framewire-stats");
                gst::message::Element::builder(structure).src(&*object).build()
            }
            ServiceEvent::Enough => {
                self.over.store(true, Ordering::Relaxed);
                gst::message::Eos::builder().src(&*object).build()
            }
            ServiceEvent::Broken(error) => {
                self.over.store(true, Ordering::Relaxed);
                gst::element_imp_error!(self, gst::ResourceError::Failed, ("the server cannot go on: {error}"));
                return;
            }
        };
        let _ = object.post_message(message);
    }
}

/// What is known before a client is served.
fn bound_to(addresses: Option<[SocketAddr; 2]>) -> Report {
    Report { service: service::Report { addresses, ..service::Report::default() }, live: None }
}
