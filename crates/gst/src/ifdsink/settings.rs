//! The properties of the element.

use std::sync::LazyLock;
use std::time::Duration;

use framewire_endpoint::writer::{Plan, Protocol, Rtp};
use framewire_transport::TransportKind;
use framewire_units::DataSize;
use framewire_wire::rtp_payload::mpeg_video::PAYLOAD_TYPE;
use gst::glib;
use gst::prelude::*;

use crate::settings::Settings;

/// What carries the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireProtocol")]
pub enum Carrier {
    /// A TCP connection.
    #[default]
    #[enum_value(name = "The elementary stream over TCP", nick = "tcp")]
    Tcp,
    /// RTP over UDP.
    #[enum_value(name = "RTP packets (RFC 2250) over UDP, MPEG-1 and MPEG-2 video only", nick = "udp")]
    Udp,
}

/// Values of the properties.
#[derive(Clone, Debug)]
pub(super) struct SinkSettings {
    /// Those that all dropping elements have.
    pub dropping: Settings,
    /// `host`.
    pub host: String,
    /// `port`.
    pub port: u16,
    /// `protocol`.
    pub protocol: Carrier,
    /// `unsent-limit` in bytes; 0: none.
    pub unsent_limit: u32,
    /// `congestion`; empty: the kernel's default.
    pub congestion: String,
    /// `connect-timeout` in nanoseconds.
    pub connect_timeout: u64,
    /// `receiver-timeout` in nanoseconds; 0: as long as the kernel tries.
    pub receiver_timeout: u64,
    /// `drain-timeout` in nanoseconds; 0: for ever.
    pub drain_timeout: u64,
    /// `reconnect-attempts`.
    pub reconnect_attempts: u32,
    /// `reconnect-delay` in nanoseconds.
    pub reconnect_delay: u64,
    /// `mtu` in bytes.
    pub mtu: u32,
}

/// As `tcpclientsink` and `udpsink`.
const DEFAULT_HOST: &str = "localhost";
const DEFAULT_PORT: u16 = 4_953;

/// Largest payload of Ethernet.
const DEFAULT_MTU: u32 = 1_500;
/// Every IPv4 host can take packets of so many bytes (RFC 791, section 3.1).
const SMALLEST_MTU: u32 = 576;
/// The largest that the total length of an IPv4 packet can say.
const LARGEST_MTU: u32 = 65_535;

fn default_unsent_limit() -> u32 {
    let limit = TransportKind::TCP_IFD.profile().unsent_limit;
    limit.and_then(|limit| u32::try_from(limit.as_bytes()).ok()).unwrap_or(0)
}

impl Default for SinkSettings {
    fn default() -> Self {
        Self {
            dropping: Settings::default(),
            host: DEFAULT_HOST.to_owned(),
            port: DEFAULT_PORT,
            protocol: Carrier::default(),
            unsent_limit: default_unsent_limit(),
            congestion: String::new(),
            connect_timeout: 10_000_000_000,
            receiver_timeout: 30_000_000_000,
            drain_timeout: 5_000_000_000,
            reconnect_attempts: 0,
            reconnect_delay: 1_000_000_000,
            mtu: DEFAULT_MTU,
        }
    }
}

impl SinkSettings {
    /// What the properties look like to GObject.
    pub(crate) fn properties() -> Vec<glib::ParamSpec> {
        let default = Self::default();
        let mut properties = Settings::properties().to_vec();
        properties.extend([
            glib::ParamSpecString::builder("host")
                .nick("Host")
                .blurb("Name or address of the receiver")
                .default_value(Some(DEFAULT_HOST))
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("port")
                .nick("Port")
                .blurb("Port of the receiver")
                .minimum(1)
                .maximum(u16::MAX.into())
                .default_value(DEFAULT_PORT.into())
                .mutable_ready()
                .build(),
            glib::ParamSpecEnum::builder_with_default("protocol", default.protocol)
                .nick("Protocol")
                .blurb("What carries the frames")
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("unsent-limit")
                .nick("Unsent limit")
                .blurb("Bytes that the kernel may hold and not yet have sent over TCP (0 = what its send buffer takes)")
                .default_value(default.unsent_limit)
                .mutable_ready()
                .build(),
            glib::ParamSpecString::builder("congestion")
                .nick("Congestion control")
                .blurb("TCP congestion control, for instance cubic (empty = the kernel's default)")
                .default_value(Some(""))
                .mutable_ready()
                .build(),
        ]);
        properties.extend(Self::connection_properties(&default));
        properties
    }

    fn connection_properties(default: &Self) -> [glib::ParamSpec; 6] {
        [
            glib::ParamSpecUInt64::builder("connect-timeout")
                .nick("Connect timeout")
                .blurb("How long an attempt to connect may take, in ns")
                .minimum(1)
                .default_value(default.connect_timeout)
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt64::builder("receiver-timeout")
                .nick("Receiver timeout")
                .blurb(
                    "How long a receiver may answer or take nothing over TCP before the connection counts as broken, in \
                     ns (0 = as long as the kernel tries)",
                )
                .default_value(default.receiver_timeout)
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt64::builder("drain-timeout")
                .nick("Drain timeout")
                .blurb(
                    "How long the receiver may take nothing at the end of the stream before what is left is given up, in \
                     ns (0 = for ever)",
                )
                .default_value(default.drain_timeout)
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("reconnect-attempts")
                .nick("Reconnect attempts")
                .blurb("How often to connect again, in a row, before it is an error")
                .default_value(default.reconnect_attempts)
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt64::builder("reconnect-delay")
                .nick("Reconnect delay")
                .blurb("How long to wait before connecting again, in ns")
                .default_value(default.reconnect_delay)
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("mtu")
                .nick("MTU")
                .blurb("Largest IP packet with protocol=udp, in bytes")
                .minimum(SMALLEST_MTU)
                .maximum(LARGEST_MTU)
                .default_value(default.mtu)
                .mutable_ready()
                .build(),
        ]
    }

    /// Sets the property of this name. False when it is none of these.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) -> bool {
        const CHECKED: &str = "invariant: GObject checks types and ranges";
        let text = || value.get::<Option<String>>().expect(CHECKED).unwrap_or_default();
        match name {
            "host" => self.host = text(),
            "port" => self.port = u16::try_from(value.get::<u32>().expect(CHECKED)).expect(CHECKED),
            "protocol" => self.protocol = value.get().expect(CHECKED),
            "unsent-limit" => self.unsent_limit = value.get().expect(CHECKED),
            "congestion" => self.congestion = text(),
            "connect-timeout" => self.connect_timeout = value.get().expect(CHECKED),
            "receiver-timeout" => self.receiver_timeout = value.get().expect(CHECKED),
            "drain-timeout" => self.drain_timeout = value.get().expect(CHECKED),
            "reconnect-attempts" => self.reconnect_attempts = value.get().expect(CHECKED),
            "reconnect-delay" => self.reconnect_delay = value.get().expect(CHECKED),
            "mtu" => self.mtu = value.get().expect(CHECKED),
            _ => return self.dropping.set(name, value),
        }
        true
    }

    /// The value of the property of this name, when it is one of these.
    pub(crate) fn get(&self, name: &str) -> Option<glib::Value> {
        Some(match name {
            "host" => self.host.to_value(),
            "port" => u32::from(self.port).to_value(),
            "protocol" => self.protocol.to_value(),
            "unsent-limit" => self.unsent_limit.to_value(),
            "congestion" => self.congestion.to_value(),
            "connect-timeout" => self.connect_timeout.to_value(),
            "receiver-timeout" => self.receiver_timeout.to_value(),
            "drain-timeout" => self.drain_timeout.to_value(),
            "reconnect-attempts" => self.reconnect_attempts.to_value(),
            "reconnect-delay" => self.reconnect_delay.to_value(),
            "mtu" => self.mtu.to_value(),
            _ => return self.dropping.get(name),
        })
    }

    /// What a writer is to do.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            host: self.host.clone(),
            port: self.port,
            protocol: match self.protocol {
                Carrier::Tcp => Protocol::Tcp,
                Carrier::Udp => Protocol::Udp,
            },
            queue: self.dropping.queue_kind(),
            unsent_limit: (self.unsent_limit > 0).then(|| DataSize::from_bytes(self.unsent_limit.into())),
            congestion: (!self.congestion.is_empty()).then(|| self.congestion.clone()),
            connect_timeout: Duration::from_nanos(self.connect_timeout),
            receiver_timeout: limit(self.receiver_timeout),
            drain_timeout: limit(self.drain_timeout),
            reconnect_attempts: self.reconnect_attempts,
            reconnect_delay: Duration::from_nanos(self.reconnect_delay),
            rtp: Rtp {
                mtu: DataSize::from_bytes(self.mtu.into()),
                // All three are to be random (RFC 3550, 5.1).
                ssrc: glib::random_int(),
                initial_sequence: glib::random_int() as u16,
                initial_timestamp: glib::random_int(),
                payload_type: PAYLOAD_TYPE,
            },
        }
    }
}

/// A time limit, where 0 is none.
fn limit(nanos: u64) -> Option<Duration> {
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

/// For the class: built once.
pub(super) static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
    let mut properties = SinkSettings::properties();
    properties.push(
        glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
            .nick("Statistics")
            .blurb("Frames accepted, sent and dropped, and the state of the connection")
            .read_only()
            .build(),
    );
    properties
});
