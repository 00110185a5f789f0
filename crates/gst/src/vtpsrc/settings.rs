//! The properties of the element.

use std::sync::LazyLock;
use std::time::Duration;

use framewire_adaptive::client::{ClientSettings, PlayerSettings};
use framewire_adaptive::rate_control::RateControl;
use framewire_endpoint::random_session;
use framewire_endpoint::reception::Plan;
use framewire_units::DataSize;
use gst::glib;
use gst::prelude::*;

use crate::properties::{
    self, DEFAULT_CONTROL_PORT, DEFAULT_DATA_PORT, DEFAULT_HOST, LONGEST, interval, shared_key, title,
};

/// What is reported to the server of what arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireVtpReports")]
pub enum Reports {
    /// What VTP, RAP, the binomial controls and fixed rate live on.
    #[default]
    #[enum_value(name = "A control packet for each one that is asked for", nick = "vtp")]
    Vtp,
    /// RFC 5348.
    #[enum_value(name = "Feedback packets of TFRC (RFC 5348)", nick = "tfrc")]
    Tfrc,
}

/// Values of the properties.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub host: String,
    pub data_port: u16,
    pub control_port: u16,
    pub title: String,
    pub key_file: Option<String>,
    pub reports: Reports,
    pub caps: Option<gst::Caps>,
    /// Nanoseconds.
    pub startup: u64,
    /// Bytes.
    pub buffer: u32,
    /// Nanoseconds.
    pub timeout: u64,
    /// Name missing packets, for a server that repeats.
    pub repeats: bool,
    /// Nanoseconds between messages with statistics; 0: none.
    pub stats_interval: u64,
}

/// The title that a server gives to the file that `framewire movie ladder` writes, `movie.vtp`.
const DEFAULT_TITLE: &str = "movie";

/// Less could not hold one frame of a small movie.
const LEAST_BUFFER: u32 = 100_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            host: DEFAULT_HOST.to_owned(),
            data_port: DEFAULT_DATA_PORT,
            control_port: DEFAULT_CONTROL_PORT,
            title: DEFAULT_TITLE.to_owned(),
            key_file: None,
            reports: Reports::default(),
            caps: None,
            startup: 1_000_000_000,
            buffer: 32_000_000,
            timeout: 10_000_000_000,
            repeats: false,
            stats_interval: 0,
        }
    }
}

/// For the class: built once.
pub(super) static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
    let default = Settings::default();
    let mut properties = place_properties(&default);
    properties.extend([
        glib::ParamSpecEnum::builder_with_default("reports", default.reports)
            .nick("Reports")
            .blurb("What the server is told of what arrives: what its controller needs")
            .mutable_ready()
            .build(),
        glib::ParamSpecBoxed::builder::<gst::Caps>("caps")
            .nick("Caps")
            .blurb("Caps of the video (NULL = told by the bytes of the first key frame)")
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt64::builder("startup-delay")
            .nick("Start-up delay")
            .blurb("How long frames are collected before the first one goes downstream, in ns")
            .maximum(LONGEST)
            .default_value(default.startup)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("buffer-size")
            .nick("Buffer size")
            .blurb("Memory for frames that are incomplete or wait for downstream, in bytes")
            .minimum(LEAST_BUFFER)
            .default_value(default.buffer)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt64::builder("timeout")
            .nick("Timeout")
            .blurb("How long nothing may be heard of the server before it is an error, in ns")
            .minimum(1_000_000)
            .maximum(LONGEST)
            .default_value(default.timeout)
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("repeats")
            .nick("Repeats")
            .blurb("Name packets that did not arrive, for a server that repeats what can still be shown in time")
            .default_value(default.repeats)
            .mutable_ready()
            .build(),
        properties::stats_interval(default.stats_interval),
        properties::stats(
            "Frames, packets, rate and levels that came, in time or late, what was lost, the playout buffer level",
        ),
    ]);
    properties
});

fn place_properties(default: &Settings) -> Vec<glib::ParamSpec> {
    vec![
        glib::ParamSpecString::builder("host")
            .nick("Host")
            .blurb("Name or address of the server; of a name, the first address")
            .default_value(Some(DEFAULT_HOST))
            .mutable_ready()
            .build(),
        properties::port("data-port", "Data port", "The server's port for video", 1, default.data_port),
        properties::port(
            "control-port",
            "Control port",
            "The server's port for control packets",
            1,
            default.control_port,
        ),
        glib::ParamSpecString::builder("title")
            .nick("Title")
            .blurb("The movie, by the name that the server gives it")
            .default_value(Some(DEFAULT_TITLE))
            .mutable_ready()
            .build(),
        properties::key_file("File with the key that is shared with the server, at least 16 bytes (NULL = no key)"),
    ]
}

const CHECKED: &str = "invariant: GObject checks types and ranges";

impl Settings {
    /// Sets the property of this name.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) {
        let port = || u16::try_from(value.get::<u32>().expect(CHECKED)).expect(CHECKED);
        let text = || value.get::<Option<String>>().expect(CHECKED);
        match name {
            "host" => self.host = text().unwrap_or_default(),
            "data-port" => self.data_port = port(),
            "control-port" => self.control_port = port(),
            "title" => self.title = text().unwrap_or_default(),
            "key-file" => self.key_file = text(),
            "reports" => self.reports = value.get().expect(CHECKED),
            "caps" => self.caps = value.get().expect(CHECKED),
            "startup-delay" => self.startup = value.get().expect(CHECKED),
            "buffer-size" => self.buffer = value.get().expect(CHECKED),
            "timeout" => self.timeout = value.get().expect(CHECKED),
            "repeats" => self.repeats = value.get().expect(CHECKED),
            "stats-interval" => self.stats_interval = value.get().expect(CHECKED),
            other => unreachable!("invariant: {other} cannot be written"),
        }
    }

    /// The value of the property of this name.
    pub(crate) fn get(&self, name: &str) -> glib::Value {
        match name {
            "host" => self.host.to_value(),
            "data-port" => u32::from(self.data_port).to_value(),
            "control-port" => u32::from(self.control_port).to_value(),
            "title" => self.title.to_value(),
            "key-file" => self.key_file.to_value(),
            "reports" => self.reports.to_value(),
            "caps" => self.caps.to_value(),
            "startup-delay" => self.startup.to_value(),
            "buffer-size" => self.buffer.to_value(),
            "timeout" => self.timeout.to_value(),
            "repeats" => self.repeats.to_value(),
            "stats-interval" => self.stats_interval.to_value(),
            other => unreachable!("invariant: {other} is no property that can be read"),
        }
    }

    /// How often statistics are posted; `None`: never.
    pub(crate) fn stats_interval(&self) -> Option<Duration> {
        interval(self.stats_interval)
    }

    /// What the receiving thread is to do.
    ///
    /// # Errors
    /// In words that name the property, when one cannot be used.
    pub(crate) fn plan(&self) -> Result<Plan, String> {
        let reports = match self.reports {
            Reports::Vtp => RateControl::Vtp.reports(),
            Reports::Tfrc => RateControl::Tfrc.reports(),
        };
        // Half for what is incomplete, half for what waits.
        let half = DataSize::from_bytes(u64::from(self.buffer / 2));
        let session = random_session().map_err(|error| error.to_string())?;
        let client = ClientSettings {
            key: shared_key(self.key_file.as_deref())?,
            reports,
            buffer: half,
            peer_timeout: Duration::from_nanos(self.timeout),
            player: self.repeats.then(|| PlayerSettings {
                startup: Duration::from_nanos(self.startup),
                buffer: half,
                repeats: true,
            }),
            ..ClientSettings::paper(title(&self.title)?, session)
        };
        Ok(Plan {
            host: self.host.clone(),
            data_port: self.data_port,
            control_port: self.control_port,
            client,
            startup: Duration::from_nanos(self.startup),
            buffer: half,
        })
    }
}
