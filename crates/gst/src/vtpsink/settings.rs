//! The properties of the element, and the server that they describe.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use framewire_adaptive::host::Host;
use framewire_adaptive::live::{Limits, LiveSource};
use framewire_adaptive::rate_control::{RateControl, RateControlSettings};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::vtp;
use framewire_endpoint::service::ServiceOptions;
use framewire_endpoint::{FileHost, FileService, MonotonicClock, NotServed, Ports, Serving, random_secret};
use framewire_media::streaming_file::PAPER_PAYLOAD;
use framewire_units::DataSize;
use gst::glib;
use gst::prelude::*;

use super::estimate::Estimate;
use super::live::Live;
use super::transport::Transport;
use crate::properties::{
    self, DEFAULT_CONTROL_PORT, DEFAULT_DATA_PORT, DEFAULT_HOST, LONGEST, interval, shared_key, title,
};

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
    pub estimate: Estimate,
    /// `None`: all that packets have.
    pub estimate_header: Option<u16>,
    pub clients: u32,
    /// Sessions after which the stream ends; 0: never.
    pub sessions: u64,
    /// Whether what clients name as missing is sent again.
    pub repeats: bool,
    /// Of a live stream, how much is kept: nanoseconds.
    pub time: u64,
    /// And bytes, of all levels.
    pub bytes: u32,
    /// Nanoseconds between messages with statistics; 0: none.
    pub stats_interval: u64,
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
            estimate: Estimate::default(),
            estimate_header: None,
            clients: 1_000,
            sessions: 0,
            repeats: false,
            // Some groups of the usual 1 or 2 s.
            time: 8_000_000_000,
            bytes: 64_000_000,
            stats_interval: 0,
        }
    }
}

/// Bytes of video in a packet of a live stream: as in the streaming files that `framewire movie ladder` writes.
const LIVE_PAYLOAD: u16 = PAPER_PAYLOAD as u16;

/// The title of a live stream, which is what `vtpsrc` asks for unless set otherwise.
const LIVE_TITLE: &str = "movie";

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
        glib::ParamSpecEnum::builder_with_default("estimate", default.estimate)
            .nick("Reading of equation 1")
            .blurb("Of transport=vtp: what a sample of the bandwidth divides by what")
            .mutable_ready()
            .build(),
        glib::ParamSpecInt::builder("estimate-header")
            .nick("Bytes of header in estimates")
            .blurb(
                "Of estimate=bytes-over-gaps: bytes of header that are counted of each packet (-1 = all that it has)",
            )
            .minimum(-1)
            .maximum(1_500)
            .default_value(-1)
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
        glib::ParamSpecBoolean::builder("repeats")
            .nick("Repeats")
            .blurb("Send again what clients name as missing, where it can still be shown in time")
            .default_value(default.repeats)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt64::builder("max-size-time")
            .nick("Max. size (ns)")
            .blurb(
                "Of levels on pads: time of the stream that is kept for clients, in ns; groups of pictures may last no \
                    longer",
            )
            .minimum(1_000_000)
            .maximum(LONGEST)
            .default_value(default.time)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("max-size-bytes")
            .nick("Max. size (bytes)")
            .blurb("Of levels on pads: bytes of all levels that are kept for clients")
            .minimum(1)
            .default_value(default.bytes)
            .mutable_ready()
            .build(),
        properties::stats_interval(default.stats_interval),
        properties::stats(
            "Addresses, sessions with their rates, levels and estimates, how late packets left, the live window",
        ),
    ]);
    properties
});

fn place_properties(default: &Settings) -> Vec<glib::ParamSpec> {
    vec![
        glib::ParamSpecString::builder("location")
            .nick("Location")
            .blurb("The streaming file, as framewire movie ladder writes it (NULL = the levels come on the pads)")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("title")
            .nick("Title")
            .blurb("The name by which clients ask for the movie (NULL = that of the file without its ending; of pads: movie)")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("address")
            .nick("Address")
            .blurb("The IP address to serve at; 0.0.0.0 or :: for all of this host")
            .default_value(Some(DEFAULT_HOST))
            .mutable_ready()
            .build(),
        properties::port("data-port", "Data port", "Port for video (0 = any that is free)", 0, default.data_port),
        properties::port(
            "control-port",
            "Control port",
            "Port for control packets (0 = any that is free)",
            0,
            default.control_port,
        ),
        properties::key_file("File with the key that is shared with the clients, at least 16 bytes (NULL = no key)"),
    ]
}

const CHECKED: &str = "invariant: GObject checks types and ranges";

impl Settings {
    /// Sets the property of this name.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) {
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
            "estimate" => self.estimate = value.get().expect(CHECKED),
            "estimate-header" => self.estimate_header = u16::try_from(value.get::<i32>().expect(CHECKED)).ok(),
            "max-clients" => self.clients = value.get().expect(CHECKED),
            "sessions" => self.sessions = value.get().expect(CHECKED),
            "repeats" => self.repeats = value.get().expect(CHECKED),
            "max-size-time" => self.time = value.get().expect(CHECKED),
            "max-size-bytes" => self.bytes = value.get().expect(CHECKED),
            "stats-interval" => self.stats_interval = value.get().expect(CHECKED),
            other => unreachable!("invariant: {other} cannot be written"),
        }
    }

    /// The value of the property of this name.
    pub(crate) fn get(&self, name: &str) -> glib::Value {
        match name {
            "location" => self.location.to_value(),
            "title" => self.title.to_value(),
            "address" => self.address.to_value(),
            "data-port" => u32::from(self.data_port).to_value(),
            "control-port" => u32::from(self.control_port).to_value(),
            "key-file" => self.key_file.to_value(),
            "transport" => self.transport.to_value(),
            "ack-every" => u32::from(self.ack_every).to_value(),
            "estimate" => self.estimate.to_value(),
            "estimate-header" => self.estimate_header.map_or(-1, i32::from).to_value(),
            "max-clients" => self.clients.to_value(),
            "sessions" => self.sessions.to_value(),
            "repeats" => self.repeats.to_value(),
            "max-size-time" => self.time.to_value(),
            "max-size-bytes" => self.bytes.to_value(),
            "stats-interval" => self.stats_interval.to_value(),
            other => unreachable!("invariant: {other} is no property that can be read"),
        }
    }

    /// How the service goes on.
    pub(crate) fn terms(&self) -> ServiceOptions {
        ServiceOptions {
            sessions: Some(self.sessions).filter(|&sessions| sessions > 0),
            report_every: interval(self.stats_interval),
        }
    }

    /// How much of a live stream is kept.
    pub(crate) fn limits(&self) -> Limits {
        Limits { time: Duration::from_nanos(self.time), bytes: self.bytes.into() }
    }

    /// An empty live stream with a level for each of these pads.
    pub(crate) fn live(&self, pads: impl IntoIterator<Item = u32>) -> Live {
        Live::new(pads, LIVE_PAYLOAD, self.limits())
    }

    /// Opens the file and the sockets.
    ///
    /// # Errors
    /// In words that name the property or the file, with the kind of error that they are to GStreamer.
    pub(crate) fn open(&self) -> Result<Serving, Complaint> {
        let Some(location) = &self.location else {
            let reason =
                "location is not set, and no pad was requested: a streaming file, or levels on pads, are needed";
            return Err((gst::ResourceError::NotFound, reason.to_owned()));
        };
        let unreadable = |error: NotServed| (gst::ResourceError::OpenRead, format!("location \"{location}\": {error}"));
        let stem = || Path::new(location).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let service = FileService {
            server: self.server(self.title.clone().unwrap_or_else(stem), DataSize::ZERO, LIVE_PAYLOAD)?,
            rate_control: self.transport.into(),
            estimate: self.estimate(),
            clients: self.clients as usize,
        };
        let FileHost { host, .. } = service.open(Path::new(location)).map_err(unreadable)?;
        Ok(Serving::on(host, self.open_ports()?))
    }

    /// Opens the sockets.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_ports(&self) -> Result<Ports, Complaint> {
        let address: IpAddr = self.address.parse().map_err(|_| {
            unusable(format!("address \"{}\" is no IP address: such as 127.0.0.1 or :: are allowed", self.address))
        })?;
        let addresses = [self.data_port, self.control_port].map(|port| SocketAddr::new(address, port));
        Ports::open(addresses, MonotonicClock::start())
            .map_err(|error| (gst::ResourceError::OpenWrite, error.to_string()))
    }

    /// Whether what does not depend on the stream can be used, before there is one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn check_live(&self) -> Result<(), Complaint> {
        self.server(self.live_title(), DataSize::ZERO, LIVE_PAYLOAD).map(|_| ())
    }

    /// The host of a live stream of which a group is there.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn live_host(&self, source: &Arc<LiveSource>) -> Result<Host, Complaint> {
        // A group waits whole before it is sent, and the client's playout buffer holds another one while it comes.
        let buffer = DataSize::from_bytes(2 * source.group_size().as_bytes());
        let server = self.server(self.live_title(), buffer, LIVE_PAYLOAD)?;
        // Of what may be known of the future, a live stream has nothing.
        let settings = RateControlSettings::new(DataSize::from_bytes(LIVE_PAYLOAD.into()));
        let make =
            RateControl::from(self.transport).maker(RateControlSettings { estimate: self.estimate(), ..settings });
        let host = Host::new(source.clone(), source.clone(), make, server, self.clients as usize);
        host.map_err(|error| unusable(error.to_string()))
    }

    fn estimate(&self) -> vtp::Estimate {
        self.estimate.counting(self.estimate_header.map(|bytes| DataSize::from_bytes(bytes.into())))
    }

    fn live_title(&self) -> String {
        self.title.clone().unwrap_or_else(|| LIVE_TITLE.to_owned())
    }

    fn server(&self, name: String, buffer: DataSize, payload: u16) -> Result<ServerSettings, Complaint> {
        let secret = random_secret().map_err(|error| unusable(error.to_string()))?;
        Ok(ServerSettings {
            ack_every: self.ack_every,
            key: shared_key(self.key_file.as_deref()).map_err(unusable)?,
            buffer,
            payload,
            repeats: self.repeats,
            ..ServerSettings::paper(title(&name).map_err(unusable)?, secret)
        })
    }
}

/// What cannot be, in words, with the kind of error that it is to GStreamer.
pub(super) type Complaint = (gst::ResourceError, String);

fn unusable(reason: String) -> Complaint {
    (gst::ResourceError::Settings, reason)
}
