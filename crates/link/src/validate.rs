//! What a network refuses: values that no network has.

use framewire_units::{Bitrate, Probability};

use crate::config::{
    BottleneckPlace, ConfigError, ContenderConfig, Interval, LossConfig, NetworkConfig, OvenConfig, WifiConfig,
    WifiNetworkConfig, WireConfig,
};

use crate::framing::Framing;
use crate::queue::QueueLimit;
use crate::wifi::{ArfConfig, PacketFallbackConfig, Protection, RatePolicy, Standard};

/// Largest retry value: that of the thesis' table 3.1.
const MAX_RETRY: u16 = 256;
/// Most stations beside those of the scenario.
const MAX_CONTENDERS: u16 = 250;
/// Largest MSDU (IEEE Std 802.11-2016, clause 9.2.4.7), less the 8 bytes of LLC and SNAP.
const MAX_IP_PACKET: u64 = 2304 - 8;
/// Bounds of a ratio of powers in dB, far beyond what radio has.
const DB_BOUND: f64 = 200.0;

impl NetworkConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Wired(wired) => {
                validate_wire("wire", &wired.wire)?;
                validate_wire("backward", &wired.backward)
            }
            Self::Wifi(wifi) => validate_wifi_network(wifi),
            Self::Graph(graph) => graph.validate(),
        }
    }
}

fn validate_wifi_network(config: &WifiNetworkConfig) -> Result<(), ConfigError> {
    validate_wifi("wifi", &config.wifi)?;
    validate_station_queue("station_queue", config.station_queue)?;
    validate_station_queue("access_point_queue", config.access_point_queue)?;
    if let Some(retry) = config.access_point_retry {
        validate_retry("access_point_retry", retry)?;
    }
    for (queue, number) in config.further_stations.iter().zip(1..) {
        validate_station_queue(&format!("further_stations.{number}"), *queue)?;
    }
    if config.bottleneck == BottleneckPlace::Remote && !config.further_stations.is_empty() {
        let allowed = "none is allowed with a remote bottleneck (the sender is then behind the access point)";
        return Err(ConfigError::new("further_stations", config.further_stations.len(), allowed));
    }
    config.access_point_discipline.validate().map_err(|error| error.below("access_point_discipline"))?;
    if let Some(contenders) = config.contenders {
        validate_contenders(contenders)?;
    }
    validate_wire("wire", &config.wire)
}

pub(crate) fn validate_contenders(contenders: ContenderConfig) -> Result<(), ConfigError> {
    if contenders.stations > MAX_CONTENDERS {
        return Err(ConfigError::new("contenders.stations", contenders.stations, "0 to 250 is allowed"));
    }
    if !(28..=MAX_IP_PACKET).contains(&contenders.packet.as_bytes()) {
        return Err(ConfigError::new("contenders.packet", contenders.packet, "28 B to 2296 B is allowed"));
    }
    Ok(())
}

pub(crate) fn validate_station_queue(key: &str, queue: QueueLimit) -> Result<(), ConfigError> {
    match queue {
        QueueLimit::Time(limit) => Err(ConfigError::new(
            key,
            framewire_units::format_duration(limit),
            "packets or bytes are allowed (an 802.11 interface does not know its rate in advance)",
        )),
        QueueLimit::Packets(_) | QueueLimit::Bytes(_) => Ok(()),
    }
}

pub(crate) fn validate_retry(key: &str, retry: u16) -> Result<(), ConfigError> {
    if retry > MAX_RETRY { Err(ConfigError::new(key, retry, "0 to 256 is allowed")) } else { Ok(()) }
}

/// Checks the values of a wireless hop; `key` is the path to it.
pub(crate) fn validate_wifi(key: &str, config: &WifiConfig) -> Result<(), ConfigError> {
    validate_retry(&format!("{key}.retry"), config.retry)?;
    if config.error_floor == Probability::ONE {
        return Err(ConfigError::new(&format!("{key}.error_floor"), config.error_floor, "less than 1 is allowed"));
    }
    validate_db(&format!("{key}.signal_to_noise_db"), config.signal_to_noise_db)?;
    if config.protection != Protection::None && config.standard != Standard::Ieee80211g {
        let allowed = "none is allowed but with 802.11g";
        return Err(ConfigError::new(&format!("{key}.protection"), format!("{:?}", config.protection), allowed));
    }
    let slot = config.bss().slot();
    if let Some(time) = config.carrier_sense.filter(|&time| time > slot) {
        let allowed = format!("0 s to {}, a slot, is allowed", framewire_units::format_duration(slot));
        let value = framewire_units::format_duration(time);
        return Err(ConfigError::new(&format!("{key}.carrier_sense"), value, &allowed));
    }
    validate_rate(&format!("{key}.rate"), config)?;
    config.oven.as_ref().map_or(Ok(()), |oven| validate_oven(&format!("{key}.oven"), oven))
}

fn validate_rate(key: &str, config: &WifiConfig) -> Result<(), ConfigError> {
    match config.rate {
        RatePolicy::Fixed(rate) if !config.standard.rates().contains(&rate) => {
            let allowed: Vec<String> = config.standard.rates().iter().map(|rate| rate.bitrate().to_string()).collect();
            Err(ConfigError::new(key, rate.bitrate(), &format!("one of {} is allowed", allowed.join(", "))))
        }
        RatePolicy::ByPacket(PacketFallbackConfig { recovery }) if recovery.is_zero() => {
            Err(ConfigError::new(&format!("{key}.recovery"), "0 s", "more than 0 is allowed"))
        }
        RatePolicy::Automatic(arf) => validate_arf(key, arf),
        RatePolicy::Fixed(_) | RatePolicy::ByPacket(_) => Ok(()),
    }
}

fn validate_arf(key: &str, arf: ArfConfig) -> Result<(), ConfigError> {
    for (name, value) in [
        ("failures_down", arf.failures_down),
        ("successes_up", arf.successes_up),
        ("timer_transmissions", arf.timer_transmissions),
    ] {
        if value == 0 {
            return Err(ConfigError::new(&format!("{key}.{name}"), value, "1 or more is allowed"));
        }
    }
    Ok(())
}

fn validate_oven(key: &str, config: &OvenConfig) -> Result<(), ConfigError> {
    validate_intervals(&format!("{key}.on"), &config.on)?;
    validate_db(&format!("{key}.strength"), config.strength_db)
}

pub(crate) fn validate_wire(key: &str, config: &WireConfig) -> Result<(), ConfigError> {
    if config.rate == Some(Bitrate::from_bps(0)) {
        return Err(ConfigError::new(&format!("{key}.rate"), "0 bit/s", "more than 0 is allowed"));
    }
    if config.trace.is_some() && config.rate.is_some() {
        return Err(ConfigError::new(&format!("{key}.trace"), "beside a rate", "one of the two is allowed"));
    }
    validate_shaping(key, config)?;
    config.queue_discipline.validate().map_err(|error| error.below(&format!("{key}.queue_discipline")))?;
    validate_intervals(&format!("{key}.outages"), &config.outages)?;
    validate_loss(&format!("{key}.loss"), config.loss)
}

fn validate_shaping(key: &str, config: &WireConfig) -> Result<(), ConfigError> {
    if config.rate.is_none() && config.framing != Framing::NONE {
        let allowed = "it is allowed beside a rate, which counts what the line carries";
        return Err(ConfigError::new(&format!("{key}.framing"), config.framing.kind, allowed));
    }
    if let (Some(bucket), Some(_)) = (config.shaper, &config.trace) {
        let allowed = "none is allowed beside a trace";
        return Err(ConfigError::new(&format!("{key}.shaper.rate"), bucket.rate, allowed));
    }
    let policer = config.policer.map(|policer| ("policer", policer.bucket));
    for (name, bucket) in config.shaper.map(|bucket| ("shaper", bucket)).into_iter().chain(policer) {
        if bucket.rate == Bitrate::from_bps(0) {
            let allowed = "more than 0 is allowed";
            return Err(ConfigError::new(&format!("{key}.{name}.rate"), bucket.rate, allowed));
        }
        if bucket.burst < config.mtu {
            let allowed = format!("at least the largest packet, {}, is allowed", config.mtu);
            return Err(ConfigError::new(&format!("{key}.{name}.burst"), bucket.burst, &allowed));
        }
    }
    Ok(())
}

fn validate_loss(key: &str, loss: LossConfig) -> Result<(), ConfigError> {
    match loss {
        LossConfig::GilbertElliott(chain) if chain.good_to_bad.get() > 0.0 && chain.bad_to_good.get() == 0.0 => {
            let key = format!("{key}.bad_to_good");
            Err(ConfigError::new(&key, chain.bad_to_good, "more than 0 is allowed (the bad state would never end)"))
        }
        _ => Ok(()),
    }
}

fn validate_intervals(key: &str, intervals: &[Interval]) -> Result<(), ConfigError> {
    match intervals.iter().find(|interval| interval.end <= interval.start) {
        Some(interval) => {
            let value = format!("[{}, {}]", interval.start, interval.end);
            Err(ConfigError::new(key, value, "an end after the start is allowed"))
        }
        None => Ok(()),
    }
}

fn validate_db(key: &str, value: f64) -> Result<(), ConfigError> {
    if value.abs() <= DB_BOUND {
        Ok(())
    } else {
        Err(ConfigError::new(key, format!("{value} dB"), "-200 dB to 200 dB is allowed"))
    }
}
