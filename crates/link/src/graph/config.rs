//! What a network of nodes and links is made of.

use crate::config::{ConfigError, ContenderConfig, WifiConfig, WireConfig};
use crate::queue::{Discipline, QueueLimit};
use crate::validate::{validate_contenders, validate_retry, validate_station_queue, validate_wifi, validate_wire};
use crate::verdict::NodeId;

/// The most nodes that a network has.
pub const MAX_NODES: usize = 1_000;

/// A network of nodes, with the numbers from 0, and of links between them: wires, and cells of IEEE 802.11.
///
/// Between any two nodes there has to be a way. A packet takes the shortest, that with the fewest links; of several that
/// are as short that by the link that is named first, wires before cells; unless a [route](Self::routes) says otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphConfig {
    /// Number of nodes.
    pub nodes: u16,
    /// Wired links. The direction from the first node of link number n has number 2 n, the other one 2 n + 1, by which
    /// their [hops](crate::Hop::Link) and their draws go.
    pub links: Vec<LinkConfig>,
    /// Wireless cells.
    pub cells: Vec<CellConfig>,
    /// Ways that are stated.
    pub routes: Vec<RouteConfig>,
}

/// A wired link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The two nodes that it joins.
    pub between: [NodeId; 2],
    /// From the first to the second, and back.
    pub directions: [DirectionConfig; 2],
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Its rate, queue, delay and losses.
    pub wire: WireConfig,
    /// Its queue is that of the node's own interface, which holds packets until they are sent. Only of a node with one
    /// link, which forwards nothing.
    pub in_device: bool,
}

/// A cell of IEEE 802.11: an access point and its stations. Stations speak with the access point alone, which forwards
/// from one to another.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// The node that is the access point.
    pub access_point: NodeId,
    /// Its queue towards all stations.
    pub access_point_queue: QueueLimit,
    /// What becomes of what waits in it.
    pub access_point_discipline: Discipline,
    /// Maximal number of transmissions of its packets; `None`: as that of the stations.
    pub access_point_retry: Option<u16>,
    /// The nodes that are its stations.
    pub stations: Vec<CellStationConfig>,
    /// What they all share.
    pub wifi: WifiConfig,
    /// Stations of others on the same channel.
    pub contenders: Option<ContenderConfig>,
}

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStationConfig {
    /// The node.
    pub node: NodeId,
    /// Its interface queue, in packets or bytes.
    pub queue: QueueLimit,
}

/// A way that is stated: packets for the last node go from each of these to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// The nodes in their order; neighbours are joined by a link.
    pub nodes: Vec<NodeId>,
}

impl GraphConfig {
    /// Checks every value but the routes, which are found when the network is made.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if !(2..=MAX_NODES).contains(&usize::from(self.nodes)) {
            return Err(ConfigError::new("nodes", self.nodes, &format!("2 to {MAX_NODES} is allowed")));
        }
        for (number, link) in self.links.iter().enumerate() {
            let key = format!("links.{number}");
            for node in link.between {
                self.validate_node(&key, node)?;
            }
            if link.between[0] == link.between[1] {
                return Err(ConfigError::new(&key, link.between[0].0, "two different nodes are allowed"));
            }
            for (side, direction) in link.directions.iter().enumerate() {
                let key = format!("{key}.directions.{side}");
                validate_wire(&key, &direction.wire)?;
                let node = link.between[side];
                if direction.in_device && self.interfaces(node) > 1 {
                    let allowed = "only a node with one link holds packets in its own device";
                    return Err(ConfigError::new(&format!("{key}.in_device"), "true", allowed));
                }
            }
        }
        for (number, cell) in self.cells.iter().enumerate() {
            self.validate_cell(&format!("cells.{number}"), cell)?;
        }
        Ok(())
    }

    /// Number of links at a node.
    pub(crate) fn interfaces(&self, node: NodeId) -> usize {
        let wired = self.links.iter().filter(|link| link.between.contains(&node)).count();
        wired + self.cells.iter().filter(|cell| cell.nodes().any(|other| other == node)).count()
    }

    fn validate_node(&self, key: &str, node: NodeId) -> Result<(), ConfigError> {
        let allowed = format!("nodes 0 to {} are there", self.nodes - 1);
        if node.0 < self.nodes { Ok(()) } else { Err(ConfigError::new(key, node.0, &allowed)) }
    }

    fn validate_cell(&self, key: &str, cell: &CellConfig) -> Result<(), ConfigError> {
        validate_wifi(&format!("{key}.wifi"), &cell.wifi)?;
        validate_station_queue(&format!("{key}.access_point_queue"), cell.access_point_queue)?;
        if let Some(retry) = cell.access_point_retry {
            validate_retry(&format!("{key}.access_point_retry"), retry)?;
        }
        if cell.stations.is_empty() {
            return Err(ConfigError::new(&format!("{key}.stations"), 0, "at least one station is allowed"));
        }
        for (number, node) in cell.nodes().enumerate() {
            self.validate_node(key, node)?;
            if cell.nodes().take(number).any(|other| other == node) {
                return Err(ConfigError::new(key, node.0, "each node once is allowed"));
            }
        }
        for (number, station) in cell.stations.iter().enumerate() {
            validate_station_queue(&format!("{key}.stations.{number}.queue"), station.queue)?;
        }
        cell.contenders.map_or(Ok(()), validate_contenders)
    }
}

impl CellConfig {
    /// Access point and stations.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.access_point).chain(self.stations.iter().map(|station| station.node))
    }

    /// A cell without disturbances, with queues of 100 packets.
    #[cfg(test)]
    pub(crate) fn quiet(access_point: NodeId, stations: &[NodeId]) -> Self {
        let queue = QueueLimit::Packets(100);
        Self {
            access_point,
            access_point_queue: queue,
            access_point_discipline: Discipline::DropTail,
            access_point_retry: None,
            stations: stations.iter().map(|&node| CellStationConfig { node, queue }).collect(),
            wifi: WifiConfig::default(),
            contenders: None,
        }
    }
}

impl DirectionConfig {
    /// A direction whose queue is beyond the node's own interface.
    pub fn remote(wire: WireConfig) -> Self {
        Self { wire, in_device: false }
    }
}
