//! The properties of the element, and the server that they describe.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::{Host, MakeController};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::stored::FileSource;
use framewire_adaptive::tfrc::{SegmentSize, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_endpoint::{Serving, random_secret};
use framewire_media::streaming_file::StreamingFile;
use framewire_units::DataSize;
use gst::glib;
use gst::prelude::*;

use crate::vtpsrc::{DEFAULT_CONTROL_PORT, DEFAULT_DATA_PORT, DEFAULT_HOST, shared_key, title};

/// What decides on rate and level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireVtpTransport")]
pub enum Transport {
    /// The paper's rate control.
    #[default]
    #[enum_value(name = "The Video Transport Protocol's rate control", nick = "vtp")]
    Vtp,
    /// RFC 5348.
    #[enum_value(name = "TFRC (RFC 5348); clients need reports=tfrc", nick = "tfrc")]
    Tfrc,
    /// The top level, whatever arrives.
    #[enum_value(name = "The plan of the top level, whatever the network takes", nick = "fixed")]
    Fixed,
}

/// Values of the properties.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub location: Option<String>,
    /// `None`: the name of the file without its ending.
    pub title: Option<String>,
    pub address: String,
    pub data_port: u16,
    pub control_port: u16,
    pub key_file: Option<String>,
    pub transport: Transport,
    pub ack_every: u16,
    pub clients: u32,
    /// Sessions after which the stream ends; 0: never.
    pub sessions: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            location: None,
            title: None,
            address: DEFAULT_HOST.to_owned(),
            data_port: DEFAULT_DATA_PORT,
            control_port: DEFAULT_CONTROL_PORT,
            key_file: None,
            transport: Transport::default(),
            // k of the paper's experiments (section 6.1).
            ack_every: 5,
            clients: 1_000,
            sessions: 0,
        }
    }
}

/// For the class: built once.
pub(super) static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
    let default = Settings::default();
    let mut properties = place_properties(&default);
    properties.extend([
        glib::ParamSpecEnum::builder_with_default("transport", default.transport)
            .nick("Transport")
            .blurb("What decides on the rate and the level of each client")
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("ack-every")
            .nick("Packets per control packet")
            .blurb("k: every k-th video packet asks for a control packet")
            .minimum(1)
            .maximum(u16::MAX.into())
            .default_value(default.ack_every.into())
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("max-clients")
            .nick("Most clients")
            .blurb("Clients that are served at a time; others hear that the server is busy")
            .minimum(1)
            .default_value(default.clients)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt64::builder("sessions")
            .nick("Sessions")
            .blurb("Sessions after whose end the element is at the end of its stream (0 = never)")
            .default_value(default.sessions)
            .mutable_ready()
            .build(),
        glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
            .nick("Statistics")
            .blurb("Addresses, sessions, rates and levels, and how late packets left")
            .read_only()
            .build(),
    ]);
    properties
});

fn place_properties(default: &Settings) -> Vec<glib::ParamSpec> {
    let port = |name, nick, blurb, value: u16| {
        glib::ParamSpecUInt::builder(name)
            .nick(nick)
            .blurb(blurb)
            .maximum(u16::MAX.into())
            .default_value(value.into())
            .mutable_ready()
            .build()
    };
    vec![
        glib::ParamSpecString::builder("location")
            .nick("Location")
            .blurb("The streaming file, as framewire movie ladder writes it")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("title")
            .nick("Title")
            .blurb("The name by which clients ask for the movie (NULL = that of the file without its ending)")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("address")
            .nick("Address")
            .blurb("The IP address to serve at; 0.0.0.0 or :: for all of this host")
            .default_value(Some(DEFAULT_HOST))
            .mutable_ready()
            .build(),
        port("data-port", "Data port", "Port for video (0 = any that is free)", default.data_port),
        port("control-port", "Control port", "Port for control packets (0 = any that is free)", default.control_port),
        glib::ParamSpecString::builder("key-file")
            .nick("Key file")
            .blurb("File with the key that is shared with the clients, at least 16 bytes (NULL = no key)")
            .mutable_ready()
            .build(),
    ]
}

const CHECKED: &str = "invariant: GObject checks types and ranges";

impl Settings {
    /// Sets the property of this name.
    pub fn set(&mut self, name: &str, value: &glib::Value) {
        let small = || u16::try_from(value.get::<u32>().expect(CHECKED)).expect(CHECKED);
        let text = || value.get::<Option<String>>().expect(CHECKED);
        match name {
            "location" => self.location = text(),
            "title" => self.title = text(),
            "address" => self.address = text().unwrap_or_default(),
            "data-port" => self.data_port = small(),
            "control-port" => self.control_port = small(),
            "key-file" => self.key_file = text(),
            "transport" => self.transport = value.get().expect(CHECKED),
            "ack-every" => self.ack_every = small(),
            "max-clients" => self.clients = value.get().expect(CHECKED),
            "sessions" => self.sessions = value.get().expect(CHECKED),
            other => unreachable!("invariant: {other} cannot be written"),
        }
    }

    /// The value of the property of this name.
    pub fn get(&self, name: &str) -> glib::Value {
        match name {
            "location" => self.location.to_value(),
            "title" => self.title.to_value(),
            "address" => self.address.to_value(),
            "data-port" => u32::from(self.data_port).to_value(),
            "control-port" => u32::from(self.control_port).to_value(),
            "key-file" => self.key_file.to_value(),
            "transport" => self.transport.to_value(),
            "ack-every" => u32::from(self.ack_every).to_value(),
            "max-clients" => self.clients.to_value(),
            "sessions" => self.sessions.to_value(),
            other => unreachable!("invariant: {other} is no property that can be read"),
        }
    }

    fn title_of(&self, location: &str) -> String {
        let stem = || Path::new(location).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.title.clone().unwrap_or_else(stem)
    }

    /// Opens the file and the sockets.
    ///
    /// # Errors
    /// In words that name the property or the file, with the kind of error that they are to GStreamer.
    pub fn open(&self) -> Result<Serving, (gst::ResourceError, String)> {
        let unusable = |reason: String| (gst::ResourceError::Settings, reason);
        let Some(location) = &self.location else {
            return Err((gst::ResourceError::NotFound, "location is not set: a streaming file is needed".to_owned()));
        };
        let unreadable =
            |error: &dyn std::fmt::Display| (gst::ResourceError::OpenRead, format!("location \"{location}\": {error}"));
        let file = File::open(location).map_err(|error| unreadable(&error))?;
        let file = StreamingFile::open(file).map_err(|error| unreadable(&error))?;
        let plan = file.plan().clone();
        if plan.levels.iter().all(Vec::is_empty) {
            return Err(unreadable(&"it was written without a plan of rates, which sending needs"));
        }
        let payload = u16::try_from(file.payload()).map_err(|error| unreadable(&error))?;
        let secret = random_secret().map_err(|error| unusable(error.to_string()))?;
        let server = ServerSettings {
            ack_every: self.ack_every,
            key: shared_key(self.key_file.as_deref()).map_err(unusable)?,
            buffer: plan.client_buffer,
            payload,
            ..ServerSettings::paper(title(&self.title_of(location)).map_err(unusable)?, secret)
        };
        let (source, make) = (Arc::new(FileSource::new(file)), self.transport.maker(payload));
        let host = Host::new(source, Arc::new(plan), make, server, self.clients as usize);
        let host = host.map_err(|error| unreadable(&error))?;
        let address: IpAddr = self.address.parse().map_err(|_| {
            unusable(format!("address \"{}\" is no IP address: such as 127.0.0.1 or :: are allowed", self.address))
        })?;
        let [data, control] = [self.data_port, self.control_port].map(|port| SocketAddr::new(address, port));
        Serving::open(host, data, control).map_err(|error| (gst::ResourceError::OpenWrite, error.to_string()))
    }
}

impl Transport {
    /// Makes the controller of each session.
    fn maker(self, payload: u16) -> MakeController {
        match self {
            Self::Vtp => Box::new(|| {
                let controller = VtpController::new(VtpSettings::paper());
                Box::new(controller.expect("invariant: these settings are the library's own")) as Box<dyn Controller>
            }),
            Self::Tfrc => {
                let segment = SegmentSize::Nominal(DataSize::from_bytes(payload.into()));
                let settings = SenderSettings { segment, ..SenderSettings::default() };
                Box::new(move || Box::new(TfrcController::new(settings)))
            }
            Self::Fixed => Box::new(|| Box::new(FixedRate::new())),
        }
    }
}
