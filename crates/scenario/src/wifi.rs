//! The `[network.wifi]` table: one hop of IEEE 802.11.

use framewire_link::wifi::{Bss, DataRate, Fallback, Preamble, Protection, Standard};
use framewire_link::{Discipline, Interval, Mains, QueueLimit};
use framewire_units::{DataSize, Duration, Probability, SenseTimes};
use schemars::JsonSchema;
use serde::Serialize;

use crate::discipline;
use crate::error::ScenarioError;
use crate::names;
use crate::section::Section;
use crate::text::{self, Decibel, Text};

names::text_keywords! { Standard Fallback Protection Preamble Mains }

/// The `[network.wifi]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wifi {
    /// The wireless standard.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Standard>")]
    pub standard: Standard,
    /// Rate of the stations.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<WifiRate>")]
    pub rate: WifiRate,
    /// What the rate falls back on when it is `auto`.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Fallback>")]
    pub fallback: Fallback,
    /// The PLCP preamble of direct-sequence frames.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Preamble>")]
    pub preamble: Preamble,
    /// Protection of OFDM frames; only 802.11g has any.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Protection>")]
    pub protection: Protection,
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
    /// What becomes of what waits in it.
    #[serde(serialize_with = "discipline::serialize")]
    #[schemars(schema_with = "discipline::schema")]
    pub queue_discipline: Discipline,
    /// Background frame error rate of a 1,500-byte frame at 11 Mbit/s.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub error_floor: Probability,
    /// Time for which a station does not notice that another has begun to transmit: who begins within it collides.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<CarrierSense>")]
    pub carrier_sense: Duration,
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

/// Rate of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiRate {
    /// Automatic rate fallback.
    Auto,
    /// One of the standard's.
    Fixed(DataRate),
}

/// The `[network.wifi.oven]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Oven {
    /// When it is on.
    #[serde(serialize_with = "text::serialize_intervals")]
    #[schemars(schema_with = "text::intervals_schema")]
    pub on: Vec<Interval>,
    /// Its mains: the magnetron radiates in one half of every cycle.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Mains>")]
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

/// How the file says for how long another's beginning goes unnoticed: a time, or a word of earlier versions.
enum CarrierSense {
    Time(Duration),
    /// It meant no time at all.
    Instant,
    /// It meant the turnaround alone.
    Standard,
}

impl Text for CarrierSense {
    const PATTERN: &str = Duration::PATTERN;

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "instant" => Ok(Self::Instant),
            "standard" => Ok(Self::Standard),
            _ => <Duration as Text>::parse(text).map(Self::Time).map_err(|_| Self::allowed("a slot")),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Time(time) => time.show(),
            Self::Instant => "instant".to_owned(),
            Self::Standard => "standard".to_owned(),
        }
    }
}

impl CarrierSense {
    fn allowed(most: &str) -> String {
        format!("a time from \"0 us\" to {most}")
    }
}

impl Text for WifiRate {
    const PATTERN: &str = r"^(auto|(1|2|5\.5|6|9|11|12|18|24|36|48|54)\s*Mbit/s)$";

    fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse().ok().and_then(DataRate::from_bitrate) {
            Some(rate) => Ok(Self::Fixed(rate)),
            None => Err("\"auto\", \"1 Mbit/s\", \"2 Mbit/s\", \"5.5 Mbit/s\", \"11 Mbit/s\" (802.11b and g), or 6, 9, 12, 18, \
                      24, 36, 48 or 54 Mbit/s (802.11g and a)"
                .to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Fixed(rate) => rate.bitrate().to_string(),
        }
    }
}

impl Wifi {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "standard",
        "rate",
        "fallback",
        "preamble",
        "protection",
        "retry",
        "access_point_retry",
        "queue",
        "queue_discipline",
        "error_floor",
        "carrier_sense",
        "contenders",
        "contender_packet",
        "oven",
        "sniffer",
    ];

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let in_range = |number| u8::try_from(number).expect("invariant: the range was checked when it was read");
        let standard = section.text("standard")?.unwrap_or(Standard::Ieee80211b);
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
        let preamble = preamble(&mut section, standard)?;
        let protection = protection(&mut section, standard)?;
        Ok(Self {
            standard,
            rate: rate(&mut section, standard)?,
            fallback: section.text("fallback")?.unwrap_or(Fallback::Transmissions),
            preamble,
            protection,
            retry: in_range(retry),
            access_point_retry: section.integer("access_point_retry", 0..=255)?.map(in_range),
            queue,
            queue_discipline: discipline::read(&mut section)?,
            error_floor,
            carrier_sense: carrier_sense(&mut section, Bss { standard, preamble, protection }.sense_times())?,
            contenders: section.integer("contenders", 0..=250)?.map_or(0, |count| u16::from(in_range(count))),
            contender_packet: contender_packet(&mut section)?,
            oven: section.section("oven", Oven::KEYS)?.map(Oven::read).transpose()?,
            sniffer: section.section("sniffer", Sniffer::KEYS)?.map(Sniffer::read).transpose()?,
        })
    }
}

fn rate(section: &mut Section, standard: Standard) -> Result<WifiRate, ScenarioError> {
    let path = section.key("rate");
    match section.text("rate")?.unwrap_or(WifiRate::Auto) {
        WifiRate::Fixed(rate) if !standard.rates().contains(&rate) => {
            let rates: Vec<String> = standard.rates().into_iter().map(quoted).collect();
            let allowed = format!("\"auto\" or, with {standard}, one of {}", rates.join(", "));
            Err(ScenarioError::value(&path, quoted(rate), allowed))
        }
        rate => Ok(rate),
    }
}

fn quoted(rate: DataRate) -> String {
    format!("\"{}\"", rate.bitrate())
}

/// OFDM frames have one preamble, so there is no choice where there are no others.
fn preamble(section: &mut Section, standard: Standard) -> Result<Preamble, ScenarioError> {
    let path = section.key("preamble");
    match section.text("preamble")?.unwrap_or(Preamble::Long) {
        Preamble::Short if standard == Standard::Ieee80211a => {
            Err(ScenarioError::value(&path, "\"short\"", "only with 802.11b and 802.11g (802.11a has one preamble)"))
        }
        preamble => Ok(preamble),
    }
}

fn protection(section: &mut Section, standard: Standard) -> Result<Protection, ScenarioError> {
    let path = section.key("protection");
    match section.text("protection")?.unwrap_or(Protection::None) {
        protection if protection != Protection::None && standard != Standard::Ieee80211g => {
            let allowed = format!("\"none\" with {standard}: only 802.11g protects its frames");
            Err(ScenarioError::value(&path, format!("\"{protection}\""), allowed))
        }
        protection => Ok(protection),
    }
}

fn carrier_sense(section: &mut Section, times: SenseTimes) -> Result<Duration, ScenarioError> {
    let path = section.key("carrier_sense");
    let default = times.carrier_sense();
    let asked = match section.text("carrier_sense")? {
        None => return Ok(default),
        Some(CarrierSense::Time(time)) if time <= times.slot => return Ok(time),
        Some(asked) => asked,
    };
    let slot = format!("a slot, here \"{}\"", times.slot.show());
    let was = |what: &str, time: Duration| {
        let (time, default) = (time.show(), default.show());
        format!("; the word stood for \"{time}\"{what}, and the default is the standard's \"{default}\"")
    };
    let meant = match asked {
        CarrierSense::Time(_) => String::new(),
        CarrierSense::Instant => was("", Duration::ZERO),
        CarrierSense::Standard => was(", the turnaround alone", times.turnaround),
    };
    let allowed = format!("{}{meant}", CarrierSense::allowed(&slot));
    Err(ScenarioError::value(&path, format!("\"{}\"", asked.show()), allowed))
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
