//! The `[network.wifi]` table: one hop of IEEE 802.11.

use framewire_units::{Bitrate, DataSize, Probability};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ScenarioError;
use crate::names::words;
use crate::section::Section;
use crate::text::{self, Decibel, Interval, QueueLimit, Text};

words! {
    /// The wireless standard.
    Standard {
        /// IEEE 802.11b: DSSS and CCK, 1 to 11 Mbit/s.
        Ieee80211b = "802.11b",
    }
}

words! {
    /// The PLCP preamble (IEEE 802.11-2007, 18.2.2).
    Preamble {
        /// 192 us with its header.
        Long = "long",
        /// 96 us with its header.
        Short = "short",
    }
}

words! {
    /// The mains that the oven hangs on.
    Mains {
        /// Europe.
        Hz50 = "50 Hz",
        /// America.
        Hz60 = "60 Hz",
    }
}

/// The `[network.wifi]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wifi {
    /// The wireless standard.
    pub standard: Standard,
    /// Rate of the stations.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<WifiRate>")]
    pub rate: WifiRate,
    /// The PLCP preamble.
    pub preamble: Preamble,
    /// Maximal number of transmissions, 1 to 255; 0 is the card's default of 16.
    #[schemars(range(min = 0, max = 255))]
    pub retry: u8,
    /// The same of the access point's packets; absent: as that of the stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub access_point_retry: Option<u8>,
    /// The queue of the access point towards the stations.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<QueueLimit>")]
    pub queue: QueueLimit,
    /// Background frame error rate of a 1,500-byte frame at 11 Mbit/s.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub error_floor: Probability,
    /// Background stations on the same channel that always have a packet to send to the access point.
    #[schemars(range(min = 0, max = 250))]
    pub contenders: u16,
    /// Size of each of their IP packets.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub contender_packet: DataSize,
    /// A microwave oven, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oven: Option<Oven>,
    /// A sniffer beside the sender, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sniffer: Option<Sniffer>,
}

/// Rate of an 802.11b station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiRate {
    /// Automatic rate fallback.
    Auto,
    /// 1, 2, 5.5 or 11 Mbit/s.
    Fixed(Bitrate),
}

/// The `[network.wifi.oven]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Oven {
    /// When it is on.
    #[schemars(schema_with = "text::intervals_schema")]
    pub on: Vec<Interval>,
    /// Its mains: the magnetron radiates in one half of every cycle.
    pub mains: Mains,
    /// Median of interference over signal while the magnetron's line crosses the channel.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Decibel>")]
    pub strength: Decibel,
}

/// The `[network.wifi.sniffer]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Sniffer {
    /// Probability that it captures a transmission.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub capture: Probability,
}

impl Wifi {
    /// The card's default for a retry value of 0 (Ouwens' thesis, section 4.1).
    const DEFAULT_TRANSMISSIONS: u8 = 16;

    /// How often a frame is sent at most: the retry value in the thesis' sense.
    pub fn max_transmissions(&self) -> u8 {
        if self.retry == 0 { Self::DEFAULT_TRANSMISSIONS } else { self.retry }
    }
}

impl Text for WifiRate {
    const PATTERN: &str = r"^(auto|(1|2|5\.5|11)\s*Mbit/s)$";

    fn parse(text: &str) -> Result<Self, String> {
        const RATES_KBPS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse::<Bitrate>() {
            Ok(rate) if RATES_KBPS.contains(&(rate.as_bps() / 1_000)) && rate.as_bps() % 1_000 == 0 => {
                Ok(Self::Fixed(rate))
            }
            _ => Err("\"auto\", \"1 Mbit/s\", \"2 Mbit/s\", \"5.5 Mbit/s\" or \"11 Mbit/s\"".to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Fixed(rate) => rate.to_string(),
        }
    }
}

impl Wifi {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "standard",
        "rate",
        "preamble",
        "retry",
        "access_point_retry",
        "queue",
        "error_floor",
        "contenders",
        "contender_packet",
        "oven",
        "sniffer",
    ];

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let in_range = |number| u8::try_from(number).expect("invariant: the range was checked when it was read");
        let retry = section.integer("retry", 0..=255)?.unwrap_or(4);
        let queue = section.text("queue")?.unwrap_or(QueueLimit::Packets(100));
        if !matches!(queue, QueueLimit::Packets(_)) {
            let allowed = "a number of packets such as \"100 packets\": an access point counts frames";
            return Err(ScenarioError::value(&section.key("queue"), format!("\"{}\"", queue.show()), allowed));
        }
        let error_floor = section.text("error_floor")?.unwrap_or(Probability::clamped(0.005));
        if error_floor == Probability::ONE {
            let allowed = "less than 100 %, or nothing ever arrives";
            return Err(ScenarioError::value(&section.key("error_floor"), "\"100 %\"", allowed));
        }
        Ok(Self {
            standard: section.text("standard")?.unwrap_or(Standard::Ieee80211b),
            rate: section.text("rate")?.unwrap_or(WifiRate::Auto),
            preamble: section.text("preamble")?.unwrap_or(Preamble::Long),
            retry: in_range(retry),
            access_point_retry: section.integer("access_point_retry", 0..=255)?.map(in_range),
            queue,
            error_floor,
            contenders: section.integer("contenders", 0..=250)?.map_or(0, |count| u16::from(in_range(count))),
            contender_packet: contender_packet(&mut section)?,
            oven: section.section("oven", Oven::KEYS)?.map(Oven::read).transpose()?,
            sniffer: section.section("sniffer", Sniffer::KEYS)?.map(Sniffer::read).transpose()?,
        })
    }
}

/// Any UDP packet that an 802.11 frame holds: 2,304 bytes (IEEE Std 802.11-2016, 9.2.4.7) less LLC and SNAP.
fn contender_packet(section: &mut Section) -> Result<DataSize, ScenarioError> {
    const SMALLEST: DataSize = DataSize::from_bytes(28);
    const LARGEST: DataSize = DataSize::from_bytes(2296);
    let path = section.key("contender_packet");
    match section.text("contender_packet")?.unwrap_or(DataSize::from_bytes(1500)) {
        size if (SMALLEST..=LARGEST).contains(&size) => Ok(size),
        size => Err(ScenarioError::value(&path, format!("\"{}\"", size.show()), "\"28 B\" to \"2296 B\"")),
    }
}

impl Oven {
    pub(crate) const KEYS: &'static [&'static str] = &["on", "mains", "strength"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let on = section.intervals("on")?;
        let missing =
            || ScenarioError::missing(&section.key("on"), "say when the oven is on, as [[\"20 s\", \"40 s\"]]");
        let on = on.ok_or_else(missing)?;
        Ok(Self {
            on,
            mains: section.text("mains")?.unwrap_or(Mains::Hz50),
            strength: section.text("strength")?.unwrap_or(Decibel(-6.0)),
        })
    }
}

impl Sniffer {
    pub(crate) const KEYS: &'static [&'static str] = &["capture"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        Ok(Self { capture: section.text("capture")?.unwrap_or(Probability::clamped(0.65)) })
    }
}
