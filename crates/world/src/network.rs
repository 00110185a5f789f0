//! From the scenario's network to the link model's.

use framewire_link as link;
use framewire_link::wifi::RatePolicy;
use framewire_media::read_regular_file;
use framewire_scenario as scenario;
use framewire_units::DataSize;

/// Length of the queue of a station's interface from which no flow comes, in packets: the customary `txqueuelen` of a
/// wireless card of the time of 802.11b (docs/links.md), and that of the transports.
const DEVICE_QUEUE: u32 = 100;

/// Why a scenario's network cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// The recording of a link cannot be read.
    #[error("{key} = \"{path}\": {reason}")]
    Trace {
        /// The key that names it.
        key: String,
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that no network has.
    #[error("network: {0}")]
    Config(#[from] link::ConfigError),
}

/// The model of the network that `flows` of the scenario share. The queue of a sending host's interface is the longest
/// that one of the flows on it asks for, because they share the interface.
///
/// # Errors
/// When the recording of a link cannot be read, or a value is not possible.
pub fn network_model(scenario: &scenario::Scenario, flows: &[&scenario::Flow]) -> Result<link::Network, NetworkError> {
    let config = match &scenario.network {
        scenario::Network::Path(path) => path_config(path, flows)?,
        scenario::Network::Graph(graph) => graph_config(graph, flows)?,
    };
    Ok(link::Network::new(&config, scenario.seed())?)
}

fn path_config(
    network: &scenario::PathNetwork,
    flows: &[&scenario::Flow],
) -> Result<link::NetworkConfig, NetworkError> {
    let bottleneck = network.bottleneck;
    let wire = wire_config("network.wire", &network.wire, flows)?;
    let device_queue = |station| {
        let queues = flows.iter().filter(|flow| flow.station == station).map(|flow| flow.device_queue);
        queues.max().unwrap_or(1)
    };
    let last_station = flows.iter().map(|flow| flow.station).max().unwrap_or(0);
    Ok(match &network.wifi {
        Some(wifi) => link::NetworkConfig::Wifi(link::WifiNetworkConfig {
            wifi: wifi_config(wifi),
            station_queue: link::QueueLimit::Packets(device_queue(0)),
            access_point_queue: wifi.queue,
            access_point_discipline: wifi.queue_discipline,
            wire,
            bottleneck,
            access_point_retry: wifi.access_point_retry.map(u16::from),
            further_stations: (1..=last_station).map(|n| link::QueueLimit::Packets(device_queue(n))).collect(),
            contenders: contenders(wifi),
        }),
        None => {
            let mut wired = link::WiredNetworkConfig::symmetric_delay(wire, bottleneck);
            if bottleneck == link::BottleneckPlace::LocalDevice {
                wired.wire.queue = link::QueueLimit::Packets(device_queue(0));
            }
            link::NetworkConfig::Wired(wired)
        }
    })
}

/// Nodes are numbered in the order of their names, and links go in the order of theirs.
fn graph_config(
    graph: &scenario::GraphNetwork,
    flows: &[&scenario::Flow],
) -> Result<link::NetworkConfig, NetworkError> {
    let node = |name: &String| link::NodeId(graph.number_of(name).expect("invariant: links name the nodes"));
    let direction = |link: &str, side: &str, of: &scenario::LinkDirection| {
        let wire = wire_config(&format!("network.link.{link}.{side}"), &of.wire, flows)?;
        Ok::<_, NetworkError>(link::DirectionConfig { wire, in_device: of.in_device })
    };
    let link = |(name, of): (&str, &scenario::WiredLink)| {
        let [first, second] = &of.between;
        let directions = [direction(name, "forward", &of.forward)?, direction(name, "backward", &of.backward)?];
        Ok(link::LinkConfig { between: [node(first), node(second)], directions })
    };
    // A station's queue is the longest that one of the flows from it asks for.
    let station = |name: &String| {
        let queues = flows.iter().filter(|flow| flow.from.as_ref() == Some(name)).map(|flow| flow.device_queue);
        let queue = link::QueueLimit::Packets(queues.max().unwrap_or(DEVICE_QUEUE));
        link::CellStationConfig { node: node(name), queue }
    };
    let cell = |(_, of): (&str, &scenario::Cell)| link::CellConfig {
        access_point: node(&of.access_point),
        access_point_queue: of.wifi.queue,
        access_point_discipline: of.wifi.queue_discipline,
        access_point_retry: of.wifi.access_point_retry.map(u16::from),
        stations: of.stations.iter().map(station).collect(),
        wifi: wifi_config(&of.wifi),
        contenders: contenders(&of.wifi),
    };
    Ok(link::NetworkConfig::Graph(link::GraphConfig {
        nodes: graph.nodes().len() as u16,
        links: graph.wired().map(link).collect::<Result<_, NetworkError>>()?,
        cells: graph.cells().map(cell).collect(),
        routes: graph.routes.iter().map(|way| link::RouteConfig { nodes: way.iter().map(node).collect() }).collect(),
    }))
}

fn contenders(wifi: &scenario::Wifi) -> Option<link::ContenderConfig> {
    (wifi.contenders > 0).then_some(link::ContenderConfig { stations: wifi.contenders, packet: wifi.contender_packet })
}

fn wifi_config(wifi: &scenario::Wifi) -> link::WifiConfig {
    link::WifiConfig {
        standard: wifi.standard,
        rate: match wifi.rate {
            scenario::WifiRate::Auto => wifi.fallback.policy(),
            scenario::WifiRate::Fixed(rate) => RatePolicy::Fixed(rate),
        },
        protection: wifi.protection,
        preamble: wifi.preamble,
        retry: u16::from(wifi.retry),
        error_floor: wifi.error_floor,
        carrier_sense: Some(wifi.carrier_sense),
        oven: wifi.oven.as_ref().map(|oven| link::OvenConfig {
            on: oven.on.clone(),
            mains: oven.mains,
            strength_db: oven.strength.0,
        }),
        sniffer: wifi.sniffer.as_ref().map(|sniffer| link::SnifferConfig { capture: sniffer.capture }),
        ..link::WifiConfig::default()
    }
}

/// A wire that takes the packets of these flows.
fn wire_config(key: &str, wire: &scenario::Wire, flows: &[&scenario::Flow]) -> Result<link::WireConfig, NetworkError> {
    let trace = wire.trace.as_deref().map(|path| read_trace(&format!("{key}.trace"), path)).transpose()?;
    let mtu = flows.iter().map(|flow| DataSize::from_bytes(u64::from(flow.mtu))).max();
    Ok(link::WireConfig {
        rate: wire.rate,
        framing: wire.framing,
        trace,
        policer: wire.policer.map(scenario::Policer::config),
        shaper: wire.shaper.map(scenario::Shaper::bucket),
        queue: wire.queue,
        queue_discipline: wire.queue_discipline,
        delay: wire.delay,
        jitter: wire.jitter,
        tick: wire.tick.unwrap_or_default(),
        loss: wire.loss,
        outages: wire.outages.clone(),
        mtu: mtu.unwrap_or(link::WireConfig::default().mtu),
    })
}

/// The largest recording that is read: a trace has at most 2^24 opportunities ([`link::DeliveryTrace`]), most of them in
/// seven or eight bytes.
const MAX_TRACE_BYTES: u64 = 128 << 20;

/// How a file of gzip begins (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads the recording of a link, which the scenario names at `key`.
///
/// # Errors
/// When the file cannot be read, or is none.
pub fn read_trace(key: &str, path: &str) -> Result<link::DeliveryTrace, NetworkError> {
    let failed = |reason: String| NetworkError::Trace { key: key.to_owned(), path: path.to_owned(), reason };
    let bytes = read_regular_file(path, MAX_TRACE_BYTES).map_err(failed)?;
    if bytes.starts_with(&GZIP_MAGIC) {
        return Err(failed(format!("is compressed by gzip; unpack it: gunzip --keep {path}")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| failed("is not text: one whole number of milliseconds per line is needed".to_owned()))?;
    link::DeliveryTrace::parse(&text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both crates say which of the standard's times a network has: the scenario shows them, and the model alone has them too.
    #[test]
    fn a_scenario_senses_as_the_model_does() {
        let (none, rest) = (["none"].as_slice(), ["none", "cts-to-self", "rts-cts"].as_slice());
        for (standard, protections) in [("802.11b", none), ("802.11g", rest), ("802.11a", none)] {
            for protection in protections {
                let text = format!(
                    "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"{standard}\"\n\
                     protection = \"{protection}\"\n[[flow]]\ntransport = \"udp\"\n"
                );
                let scenario = scenario::Scenario::parse(&text, &[]).unwrap();
                let config = wifi_config(scenario.network.wireless().next().unwrap());
                assert_eq!(config.carrier_sense, Some(config.bss().carrier_sense()), "{standard}, {protection}");
            }
        }
    }

    #[test]
    fn a_recording_that_is_not_text_is_named_with_what_to_do() {
        let path = std::env::temp_dir().join(format!("framewire-trace-{}.gz", std::process::id()));
        let path = path.to_str().unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(path, bytes).unwrap();
            read_trace("network.wire.trace", path).unwrap_err().to_string()
        };
        assert!(refused(b"\x1f\x8b\x08\x00").contains(&format!("compressed by gzip; unpack it: gunzip --keep {path}")));
        assert!(refused(b"1\n\xff\n").contains("is not text"));
        assert!(refused(b"\x1f\n").contains("line 1"));
        std::fs::write(path, "1\n2\n").unwrap();
        assert_eq!(read_trace("network.wire.trace", path).unwrap().length(), framewire_units::Duration::from_millis(2));
        // Read to its end, that would be 8 GB.
        let file = std::fs::File::create(path).unwrap();
        file.set_len(8_000_000_000).unwrap();
        assert!(read_trace("network.wire.trace", path).unwrap_err().to_string().contains("more than 128 MiB"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_no_file_of_a_disk_is_not_read() {
        for path in ["/dev/zero", "/proc/self/fd", "/dev/null"] {
            let refused = read_trace("network.wire.trace", path).unwrap_err().to_string();
            assert!(refused.contains(path) && refused.contains("a regular file is needed"), "{refused}");
        }
    }
}
