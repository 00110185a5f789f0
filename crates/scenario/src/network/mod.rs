//! The `[network]` table: a short form between a sender and a receiver, or a graph of nodes and links.

mod graph;
mod path;
mod wire;

use std::path::Path;

use framewire_link::{BottleneckPlace, Interval};
use schemars::JsonSchema;
use serde::Serialize;

pub use graph::{Cell, GraphNetwork, Link, LinkDirection, WiredLink};
pub use path::PathNetwork;
pub use wire::Wire;
pub(crate) use wire::admits_a_packet;

use crate::error::ScenarioError;
use crate::names::{self, keywords};
use crate::section::Section;
use crate::wifi::Wifi;

keywords! {
    /// What lies between the hosts.
    NetworkKind {
        /// Sender, 802.11, access point, wire, receiver.
        Wifi = "wifi",
        /// Sender, wire, receiver.
        Wired = "wired",
        /// Nodes, and links between them.
        Graph = "graph",
    }
}

names::text_keywords! { BottleneckPlace }

/// The `[network]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Network {
    /// A wire, or a wireless hop and a wire, between a sender and a receiver.
    Path(Box<PathNetwork>),
    /// Nodes and links.
    Graph(GraphNetwork),
}

impl Network {
    /// The keys of all kinds.
    pub(crate) const KEYS: &'static [&'static str] = &["kind", "bottleneck", "wifi", "wire", "link", "route"];

    pub(crate) fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let kind = section.text("kind")?.unwrap_or(NetworkKind::Wifi);
        let own = if kind == NetworkKind::Graph { GraphNetwork::KEYS } else { PathNetwork::KEYS };
        if let Some(foreign) = Self::KEYS.iter().find(|key| section.has(key) && !own.contains(key)) {
            let of = if kind == NetworkKind::Graph { "\"wifi\" or \"wired\"" } else { "\"graph\"" };
            let problem = format!("means nothing with network.kind = \"{kind}\"; it is a key of {of}");
            return Err(ScenarioError::new(section.key(foreign), problem));
        }
        Ok(match kind {
            NetworkKind::Graph => Self::Graph(GraphNetwork::read(section, directory)?),
            NetworkKind::Wifi => Self::Path(Box::new(PathNetwork::read(section, true, directory)?)),
            NetworkKind::Wired => Self::Path(Box::new(PathNetwork::read(section, false, directory)?)),
        })
    }

    /// The short form, if it is one.
    pub fn as_path(&self) -> Option<&PathNetwork> {
        if let Self::Path(path) = self { Some(path) } else { None }
    }

    /// The nodes and links, if it is written so.
    pub fn as_graph(&self) -> Option<&GraphNetwork> {
        if let Self::Graph(graph) = self { Some(graph) } else { None }
    }

    /// Its wireless hops.
    pub fn wireless(&self) -> impl Iterator<Item = &Wifi> {
        let path = self.as_path().and_then(|path| path.wifi.as_ref());
        path.into_iter().chain(self.as_graph().into_iter().flat_map(GraphNetwork::wireless))
    }

    /// Its wires with the paths of their keys: the one of a short form, or each direction of every link.
    pub fn wires(&self) -> Vec<(String, &Wire)> {
        match self {
            Self::Path(path) => vec![("network.wire".to_owned(), &path.wire)],
            Self::Graph(graph) => graph.wires(),
        }
    }

    /// The same to change them.
    pub(crate) fn wires_mut(&mut self) -> Vec<&mut Wire> {
        match self {
            Self::Path(path) => vec![&mut path.wire],
            Self::Graph(graph) => graph.wires_mut(),
        }
    }

    /// Whether packets of a flow from this node are held by its own device until they are sent.
    pub fn holds_packets_of(&self, from: Option<&str>) -> bool {
        match self {
            Self::Path(path) => path.bottleneck == BottleneckPlace::LocalDevice,
            Self::Graph(graph) => from.is_some_and(|node| graph.holds_packets_of(node)),
        }
    }

    /// Every schedule of the network, with the path of its key.
    pub(crate) fn schedules(&self) -> Vec<(String, Interval)> {
        match self {
            Self::Path(path) => path.schedules(),
            Self::Graph(graph) => graph.schedules(),
        }
    }
}
