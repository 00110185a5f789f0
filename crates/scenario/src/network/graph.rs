//! A network of nodes and links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use framewire_link::{Interval, MAX_NODES};
use schemars::JsonSchema;
use serde::Serialize;
use toml::{Table, Value};

use super::NetworkKind;
use super::wire::Wire;
use crate::error::ScenarioError;
use crate::flow::check_name;
use crate::section::{Section, Shown, string_value};
use crate::wifi::Wifi;

/// The `[network]` table of nodes and links. A node is there when a link names it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct GraphNetwork {
    /// `graph`.
    pub kind: NetworkKind,
    /// The links, by name.
    #[serde(rename = "link")]
    pub links: BTreeMap<String, Link>,
    /// Ways that are stated: packets for the last node go from each to the next. All others take the fewest links.
    #[serde(rename = "route", skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Vec<String>>,
}

/// A `[network.link.NAME]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Link {
    /// Between two nodes.
    Wired(Box<WiredLink>),
    /// A cell of IEEE 802.11.
    Cell(Box<Cell>),
}

/// A wire between two nodes. What is said of the link holds for both directions, unless that of one says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WiredLink {
    /// The two nodes.
    pub between: [String; 2],
    /// From the first to the second.
    pub forward: LinkDirection,
    /// From the second to the first.
    pub backward: LinkDirection,
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkDirection {
    /// Its queue is that of the host's own interface: a packet waits there and in the socket, and is sent by the host when
    /// its turn comes. Only of a node with one link.
    pub in_device: bool,
    /// What the wire does.
    #[serde(flatten)]
    pub wire: Wire,
}

/// An access point and its stations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Cell {
    /// The node that is the access point.
    pub access_point: String,
    /// The nodes that are its stations.
    #[schemars(length(min = 1))]
    pub stations: Vec<String>,
    /// What they all share.
    pub wifi: Wifi,
}

impl GraphNetwork {
    pub(crate) const KEYS: &'static [&'static str] = &["kind", "link", "route"];

    pub(super) fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        const ALLOWED: &str = "tables such as [network.link.dsl] with between = [\"home\", \"server\"]";
        let (link_key, route_key) = (section.key("link"), section.key("route"));
        let links = match section.take("link") {
            Some(Value::Table(links)) if !links.is_empty() => links,
            Some(other) => return Err(ScenarioError::value(&link_key, Shown(&other), ALLOWED)),
            None => return Err(ScenarioError::missing(&link_key, ALLOWED)),
        };
        let mut read = BTreeMap::new();
        for (name, value) in links {
            let key = format!("{link_key}.{name}");
            check_name(&key, &name)?;
            let Value::Table(table) = value else {
                return Err(ScenarioError::value(&key, Shown(&value), format!("a table [{key}]")));
            };
            read.insert(name, Link::read(key, table, directory)?);
        }
        let routes = section.take("route").map_or(Ok(Vec::new()), |value| read_routes(&route_key, &value))?;
        let graph = Self { kind: NetworkKind::Graph, links: read, routes };
        graph.check(&link_key)?;
        Ok(graph)
    }

    /// The nodes in the order of their names, by which they are numbered.
    pub fn nodes(&self) -> Vec<&str> {
        let nodes: BTreeSet<&str> = self.links.values().flat_map(Link::nodes).collect();
        nodes.into_iter().collect()
    }

    /// Number of a node.
    pub fn number_of(&self, node: &str) -> Option<u16> {
        self.nodes().iter().position(|other| *other == node).and_then(|number| u16::try_from(number).ok())
    }

    /// Its wired links, in the order of their names.
    pub fn wired(&self) -> impl Iterator<Item = (&str, &WiredLink)> {
        self.links.iter().filter_map(|(name, link)| match link {
            Link::Wired(link) => Some((name.as_str(), &**link)),
            Link::Cell(_) => None,
        })
    }

    /// Its cells, in the order of their names.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &Cell)> {
        self.links.iter().filter_map(|(name, link)| match link {
            Link::Cell(cell) => Some((name.as_str(), &**cell)),
            Link::Wired(_) => None,
        })
    }

    pub(super) fn wireless(&self) -> impl Iterator<Item = &Wifi> {
        self.cells().map(|(_, cell)| &cell.wifi)
    }

    pub(super) fn wires(&self) -> Vec<(String, &Wire)> {
        let mut wires = Vec::new();
        for (name, link) in self.wired() {
            wires.push((format!("network.link.{name}.forward"), &link.forward.wire));
            wires.push((format!("network.link.{name}.backward"), &link.backward.wire));
        }
        wires
    }

    pub(super) fn wires_mut(&mut self) -> Vec<&mut Wire> {
        let mut wires = Vec::new();
        for link in self.links.values_mut() {
            if let Link::Wired(link) = link {
                wires.extend([&mut link.forward.wire, &mut link.backward.wire]);
            }
        }
        wires
    }

    /// Whether the only interface of a node holds its packets: that of a station, or one that is said to.
    pub(super) fn holds_packets_of(&self, node: &str) -> bool {
        if self.interfaces(node) != 1 {
            return false;
        }
        self.links.values().any(|link| match link {
            Link::Wired(link) => {
                let [first, second] = &link.between;
                first == node && link.forward.in_device || second == node && link.backward.in_device
            }
            Link::Cell(cell) => cell.stations.iter().any(|station| station == node),
        })
    }

    pub(super) fn schedules(&self) -> Vec<(String, Interval)> {
        let mut schedules = Vec::new();
        for (key, wire) in self.wires() {
            schedules.extend(wire.outages.iter().map(|out| (format!("{key}.outages"), *out)));
        }
        for (name, cell) in self.cells() {
            let on = cell.wifi.oven.iter().flat_map(|oven| &oven.on);
            schedules.extend(on.map(|on| (format!("network.link.{name}.wifi.oven.on"), *on)));
        }
        schedules
    }

    fn interfaces(&self, node: &str) -> usize {
        self.links.values().filter(|link| link.nodes().contains(&node)).count()
    }

    fn check(&self, link_key: &str) -> Result<(), ScenarioError> {
        let nodes = self.nodes();
        if nodes.len() > MAX_NODES {
            let shown = format!("links between {} nodes", nodes.len());
            return Err(ScenarioError::value(link_key, shown, format!("at most {MAX_NODES}")));
        }
        for (name, link) in self.wired() {
            let sides = [("forward", &link.forward), ("backward", &link.backward)];
            for ((side, direction), node) in sides.into_iter().zip(&link.between) {
                if direction.in_device && self.interfaces(node) > 1 {
                    let allowed = format!("false, as other links end at {node}, too, which forwards between them");
                    return Err(ScenarioError::value(&format!("{link_key}.{name}.{side}.in_device"), "true", allowed));
                }
            }
        }
        self.check_connected(&nodes)?;
        self.check_routes(&nodes)
    }

    /// From the first node there is a way to each other one.
    fn check_connected(&self, nodes: &[&str]) -> Result<(), ScenarioError> {
        let mut found: BTreeSet<&str> = nodes.first().copied().into_iter().collect();
        loop {
            let joined = self.links.values().filter(|link| link.nodes().iter().any(|node| found.contains(node)));
            let more: BTreeSet<&str> = joined.flat_map(Link::nodes).filter(|node| !found.contains(node)).collect();
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        match nodes.iter().find(|node| !found.contains(*node)) {
            None => Ok(()),
            Some(apart) => {
                let problem = format!("joins {apart} to {} in no way: a link between them is missing", nodes[0]);
                Err(ScenarioError::new("network.link", problem))
            }
        }
    }

    fn check_routes(&self, nodes: &[&str]) -> Result<(), ScenarioError> {
        let mut stated: BTreeMap<[&str; 2], &str> = BTreeMap::new();
        for (number, route) in self.routes.iter().enumerate() {
            let key = format!("network.route.{number}");
            let destination = route.last().map(String::as_str).unwrap_or_default();
            for pair in route.windows(2) {
                let [from, to] = [pair[0].as_str(), pair[1].as_str()];
                if let Some(unknown) = [from, to].into_iter().find(|node| !nodes.contains(node)) {
                    let allowed = format!("nodes of links: {}", nodes.join(", "));
                    return Err(ScenarioError::value(&key, format!("\"{unknown}\""), allowed));
                }
                if !self.links.values().any(|link| link.joins(from, to)) {
                    let allowed = "neighbours that a link joins";
                    return Err(ScenarioError::value(&key, format!("\"{from}\", \"{to}\""), allowed));
                }
                if let Some(other) = stated.insert([from, destination], to).filter(|other| *other != to) {
                    let problem = format!("leads from {from} to {destination} by {to}, and another route by {other}");
                    return Err(ScenarioError::new(key, problem));
                }
            }
        }
        Ok(())
    }
}

fn read_routes(key: &str, value: &Value) -> Result<Vec<Vec<String>>, ScenarioError> {
    let refused = || {
        let allowed = "a list of ways such as [[\"server\", \"exchange\", \"home\"]]";
        ScenarioError::value(key, Shown(value), allowed)
    };
    let ways = value.as_array().ok_or_else(refused)?;
    let names = |way: &Value| -> Option<Vec<String>> {
        let way: Option<Vec<String>> = way.as_array()?.iter().map(|node| node.as_str().map(str::to_owned)).collect();
        way.filter(|way| way.len() > 1)
    };
    ways.iter().map(|way| names(way).ok_or_else(refused)).collect()
}

impl Link {
    /// The nodes that it joins.
    pub fn nodes(&self) -> Vec<&str> {
        match self {
            Self::Wired(link) => link.between.iter().map(String::as_str).collect(),
            Self::Cell(cell) => std::iter::once(&cell.access_point).chain(&cell.stations).map(String::as_str).collect(),
        }
    }

    /// Whether a packet may go from one of these nodes to the other by it.
    fn joins(&self, one: &str, other: &str) -> bool {
        let joins = self.nodes().contains(&one) && self.nodes().contains(&other) && one != other;
        match self {
            Self::Wired(_) => joins,
            Self::Cell(cell) => joins && (cell.access_point == one || cell.access_point == other),
        }
    }

    fn read(key: String, table: Table, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        match (table.contains_key("between"), table.contains_key("access_point")) {
            (true, false) => Ok(Self::Wired(Box::new(WiredLink::read(key, table, directory)?))),
            (false, true) => Ok(Self::Cell(Box::new(Cell::read(key, table)?))),
            _ => {
                let allowed = "either between = [\"one\", \"other\"], or access_point = \"one\" and stations = [...]";
                Err(ScenarioError::missing(&format!("{key}.between"), allowed))
            }
        }
    }
}

impl WiredLink {
    /// The keys of a link, and beside them those of a direction.
    pub(crate) const OWN_KEYS: &'static [&'static str] = &["between", "forward", "backward"];

    fn keys() -> Vec<&'static str> {
        [Self::OWN_KEYS, LinkDirection::OWN_KEYS, Wire::KEYS].concat()
    }

    fn read(key: String, table: Table, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let mut section = Section::new(key.clone(), table.clone(), Self::keys())?;
        let between = node_names(&mut section, "between")?;
        let between: [String; 2] = between.try_into().map_err(|names: Vec<String>| {
            let shown = format!("{} nodes", names.len());
            ScenarioError::value(&format!("{key}.between"), shown, "two nodes such as [\"home\", \"server\"]")
        })?;
        if between[0] == between[1] {
            let shown = format!("[\"{0}\", \"{0}\"]", between[0]);
            return Err(ScenarioError::value(&format!("{key}.between"), shown, "two different nodes"));
        }
        let both: Table = table.into_iter().filter(|(name, _)| !Self::OWN_KEYS.contains(&name.as_str())).collect();
        let mut direction = |side: &'static str| {
            let key = format!("{key}.{side}");
            let own = match section.take(side) {
                None => Table::new(),
                Some(Value::Table(own)) => own,
                Some(other) => return Err(ScenarioError::value(&key, Shown(&other), format!("a table [{key}]"))),
            };
            LinkDirection::read(key, &both, own, directory)
        };
        Ok(Self { forward: direction("forward")?, backward: direction("backward")?, between })
    }
}

impl LinkDirection {
    pub(crate) const OWN_KEYS: &'static [&'static str] = &["in_device"];

    /// What holds for both directions, and over it what is said of this one.
    fn read(key: String, both: &Table, own: Table, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let mut table = both.clone();
        // A rate and a recording exclude each other: the more special word holds.
        for (said, instead_of) in [("rate", "trace"), ("trace", "rate")] {
            if own.contains_key(said) && !own.contains_key(instead_of) {
                table.remove(instead_of);
            }
        }
        table.extend(own);
        let mut section = Section::new(key, table, [Self::OWN_KEYS, Wire::KEYS].concat())?;
        let in_device = section.boolean("in_device")?.unwrap_or(false);
        Ok(Self { in_device, wire: Wire::read(section, directory)? })
    }
}

impl Cell {
    pub(crate) const KEYS: &'static [&'static str] = &["access_point", "stations", "wifi"];

    fn read(key: String, table: Table) -> Result<Self, ScenarioError> {
        let mut section = Section::new(key.clone(), table, Self::KEYS)?;
        let access_point_key = section.key("access_point");
        let access_point = section.string("access_point")?.unwrap_or_default();
        check_name(&access_point_key, &access_point)?;
        let stations = node_names(&mut section, "stations")?;
        let members: BTreeSet<&String> = stations.iter().chain([&access_point]).collect();
        if members.len() != stations.len() + 1 {
            let allowed = format!("different nodes, none of them the access point {access_point}");
            return Err(ScenarioError::value(&format!("{key}.stations"), format!("{stations:?}"), allowed));
        }
        let wifi = Wifi::read(section.section_or_empty("wifi", Wifi::KEYS)?)?;
        Ok(Self { access_point, stations, wifi })
    }
}

/// A list of nodes, which are named as flows are.
fn node_names(section: &mut Section, key: &'static str) -> Result<Vec<String>, ScenarioError> {
    const ALLOWED: &str = "a list of nodes such as [\"home\", \"server\"]";
    let path = section.key(key);
    let names = match section.take(key) {
        Some(Value::Array(names)) if !names.is_empty() => names,
        Some(other) => return Err(ScenarioError::value(&path, Shown(&other), ALLOWED)),
        None => return Err(ScenarioError::missing(&path, ALLOWED)),
    };
    let name = |value| {
        let name = string_value(&path, value)?;
        check_name(&path, &name)?;
        Ok(name)
    };
    names.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests;
