//! Which link a packet takes next: the shortest way, or one that is stated.

use std::collections::{BTreeSet, VecDeque};

use super::config::{GraphConfig, RouteConfig};
use crate::config::ConfigError;
use crate::verdict::NodeId;

/// The link by which a packet leaves a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Egress {
    /// This direction of a wired link.
    Wire(usize),
    /// A cell, as its access point: towards the station at this node.
    ToStation {
        /// Number of the cell.
        cell: usize,
        /// The station's node.
        station: NodeId,
    },
    /// A cell, as the station with this number.
    ToAccessPoint {
        /// Number of the cell.
        cell: usize,
        /// Number of the station in the cell's list.
        station: usize,
    },
}

/// By node and destination, the link that a packet takes.
#[derive(Debug)]
pub(super) struct Routes {
    nodes: usize,
    egresses: Vec<Option<Egress>>,
}

/// A link as one of its nodes sees it.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: NodeId,
    to: NodeId,
    egress: Egress,
}

impl Routes {
    /// Finds the shortest way from each node to each other one.
    ///
    /// # Errors
    /// Where there is none, where a stated one has neighbours that no link joins, or where two stated ones for the same
    /// destination part at a node: only then could a packet go in a circle.
    pub(super) fn find(config: &GraphConfig) -> Result<Self, ConfigError> {
        let edges = edges(config);
        let nodes = usize::from(config.nodes);
        let mut routes = Self { nodes, egresses: vec![None; nodes * nodes] };
        for destination in (0..config.nodes).map(NodeId) {
            routes.add_shortest(&edges, destination)?;
        }
        let mut stated = BTreeSet::new();
        for (number, route) in config.routes.iter().enumerate() {
            routes.add_stated(&edges, number, route, &mut stated)?;
        }
        Ok(routes)
    }

    /// The link by which a packet for `to` leaves `from`; `None` where it is there.
    pub(super) fn egress(&self, from: NodeId, to: NodeId) -> Option<Egress> {
        self.egresses[usize::from(from.0) * self.nodes + usize::from(to.0)]
    }

    fn set(&mut self, from: NodeId, to: NodeId, egress: Egress) {
        self.egresses[usize::from(from.0) * self.nodes + usize::from(to.0)] = Some(egress);
    }

    /// Breadth first from the destination; the edge that is listed first wins where two are as short.
    fn add_shortest(&mut self, edges: &[Edge], destination: NodeId) -> Result<(), ConfigError> {
        let mut distance = vec![usize::MAX; self.nodes];
        distance[usize::from(destination.0)] = 0;
        let mut border = VecDeque::from([destination]);
        while let Some(node) = border.pop_front() {
            for edge in edges.iter().filter(|edge| edge.to == node) {
                let known = &mut distance[usize::from(edge.from.0)];
                if *known == usize::MAX {
                    *known = 0;
                    border.push_back(edge.from);
                    self.set(edge.from, destination, edge.egress);
                }
            }
        }
        match distance.iter().position(|&known| known == usize::MAX) {
            None => Ok(()),
            Some(apart) => {
                let allowed = format!("a way from there to node {} is needed", destination.0);
                Err(ConfigError::new("nodes", apart, &allowed))
            }
        }
    }

    fn add_stated(
        &mut self,
        edges: &[Edge],
        number: usize,
        route: &RouteConfig,
        stated: &mut BTreeSet<(NodeId, NodeId)>,
    ) -> Result<(), ConfigError> {
        let key = format!("routes.{number}");
        let Some((&destination, [_, ..])) = route.nodes.split_last() else {
            return Err(ConfigError::new(&key, route.nodes.len(), "two nodes or more are allowed"));
        };
        for pair in route.nodes.windows(2) {
            let edge = edges.iter().find(|edge| [edge.from, edge.to] == *pair);
            let unjoined = || {
                let [from, to] = [pair[0].0, pair[1].0];
                ConfigError::new(&key, format!("{from}, {to}"), "neighbours that a link joins are allowed")
            };
            let egress = edge.ok_or_else(unjoined)?.egress;
            if !stated.insert((pair[0], destination)) && self.egress(pair[0], destination) != Some(egress) {
                let allowed = format!("one way from there to node {} is allowed", destination.0);
                return Err(ConfigError::new(&key, pair[0].0, &allowed));
            }
            self.set(pair[0], destination, egress);
        }
        Ok(())
    }
}

#[cfg(test)]
impl Egress {
    fn leads_to(self, config: &GraphConfig) -> NodeId {
        match self {
            Self::Wire(direction) => config.links[direction / 2].between[1 - direction % 2],
            Self::ToStation { station, .. } => station,
            Self::ToAccessPoint { cell, .. } => config.cells[cell].access_point,
        }
    }
}

/// Every link from either of its nodes: wires in their order, then cells.
fn edges(config: &GraphConfig) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (number, link) in config.links.iter().enumerate() {
        let [first, second] = link.between;
        edges.push(Edge { from: first, to: second, egress: Egress::Wire(2 * number) });
        edges.push(Edge { from: second, to: first, egress: Egress::Wire(2 * number + 1) });
    }
    for (cell, of) in config.cells.iter().enumerate() {
        for (station, at) in of.stations.iter().enumerate() {
            let (station_node, access_point) = (at.node, of.access_point);
            let to_station = Egress::ToStation { cell, station: station_node };
            edges.push(Edge { from: access_point, to: station_node, egress: to_station });
            let to_access_point = Egress::ToAccessPoint { cell, station };
            edges.push(Edge { from: station_node, to: access_point, egress: to_access_point });
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::super::config::{CellConfig, DirectionConfig, LinkConfig};
    use super::*;
    use crate::config::WireConfig;

    fn graph(nodes: u16, links: &[[u16; 2]]) -> GraphConfig {
        let direction = DirectionConfig::remote(WireConfig::default());
        let link = |between: &[u16; 2]| LinkConfig {
            between: between.map(NodeId),
            directions: [direction.clone(), direction.clone()],
        };
        GraphConfig { nodes, links: links.iter().map(link).collect(), ..GraphConfig::default() }
    }

    fn way(config: &GraphConfig, from: u16, to: u16) -> Vec<u16> {
        let routes = Routes::find(config).unwrap();
        let (mut node, mut way) = (NodeId(from), vec![from]);
        while node != NodeId(to) {
            node = routes.egress(node, NodeId(to)).unwrap().leads_to(config);
            way.push(node.0);
        }
        way
    }

    #[test]
    fn a_packet_takes_the_fewest_links_and_the_first_of_equals() {
        // A ring of five, and a spur.
        let ring = graph(6, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [2, 5]]);
        assert_eq!(way(&ring, 0, 2), [0, 1, 2]);
        assert_eq!(way(&ring, 0, 3), [0, 4, 3]);
        assert_eq!(way(&ring, 5, 4), [5, 2, 3, 4]);
        let parallel = graph(2, &[[0, 1], [0, 1]]);
        assert_eq!(Routes::find(&parallel).unwrap().egress(NodeId(1), NodeId(0)), Some(Egress::Wire(1)));
    }

    #[test]
    fn a_stated_way_holds_for_its_own_destination_and_direction() {
        let mut ring = graph(5, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]);
        ring.routes = vec![RouteConfig { nodes: [0, 4, 3, 2].map(NodeId).to_vec() }];
        assert_eq!(way(&ring, 0, 2), [0, 4, 3, 2]);
        assert_eq!(way(&ring, 2, 0), [2, 1, 0]);
        assert_eq!(way(&ring, 0, 1), [0, 1]);
    }

    #[test]
    fn a_cell_joins_stations_by_its_access_point() {
        let cell = CellConfig::quiet(NodeId(1), &[NodeId(2), NodeId(3)]);
        let config = GraphConfig { cells: vec![cell], ..graph(4, &[[0, 1]]) };
        assert_eq!(way(&config, 2, 3), [2, 1, 3]);
        assert_eq!(way(&config, 3, 0), [3, 1, 0]);
    }

    #[test]
    fn what_leads_nowhere_is_refused_by_name() {
        let refused = |config: &GraphConfig| Routes::find(config).unwrap_err().to_string();
        assert!(refused(&graph(3, &[[0, 1]])).contains("a way from there to node"));
        let stated = |nodes: &[u16]| {
            let route = RouteConfig { nodes: nodes.iter().map(|&node| NodeId(node)).collect() };
            GraphConfig { routes: vec![route], ..graph(4, &[[0, 1], [1, 2], [2, 3]]) }
        };
        assert!(refused(&stated(&[0, 2])).contains("neighbours"));
        assert!(refused(&stated(&[0])).contains("two nodes or more"));
        let mut parting = stated(&[0, 1, 2, 3]);
        parting.links.push(parting.links[0].clone());
        parting.links[3].between = [NodeId(1), NodeId(3)];
        parting.routes.push(RouteConfig { nodes: vec![NodeId(1), NodeId(3)] });
        assert!(refused(&parting).contains("one way from there to node 3"));
    }
}
