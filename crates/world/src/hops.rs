//! What the hops of a network are called in tables and reports.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use framewire_link::{DropCause, Hop};
use framewire_recording::record::LossPlace;
use framewire_scenario::{Network, Scenario};

/// The names of the links of a graph, as hops.
#[derive(Clone, Debug, Default)]
pub struct HopNames {
    links: Arc<[LinkHop]>,
}

/// A hop of a graph.
#[derive(Clone, Copy, Debug)]
struct LinkHop {
    name: &'static str,
    /// Its queue is that of a host's own interface.
    in_device: bool,
    is_wireless: bool,
}

impl HopNames {
    /// The hops of a scenario's network, in the order of their numbers.
    pub fn of(scenario: &Scenario) -> Self {
        let Network::Graph(graph) = &scenario.network else { return Self::default() };
        let mut links = Vec::new();
        for (name, link) in graph.wired() {
            let [first, second] = &link.between;
            for (from, to, direction) in [(first, second, &link.forward), (second, first, &link.backward)] {
                let name = kept(format!("{name}: {from} > {to}"));
                links.push(LinkHop { name, in_device: direction.in_device, is_wireless: false });
            }
        }
        for (name, cell) in graph.cells() {
            let access_point = &cell.access_point;
            let up = kept(format!("{name}: stations > {access_point}"));
            links.push(LinkHop { name: up, in_device: true, is_wireless: true });
            let down = kept(format!("{name}: {access_point} > stations"));
            links.push(LinkHop { name: down, in_device: false, is_wireless: true });
        }
        Self { links: links.into() }
    }

    /// What a hop is called.
    ///
    /// # Panics
    /// When the network has no such link.
    pub fn name(&self, hop: Hop) -> &'static str {
        match hop {
            Hop::SenderDevice => "sender-device",
            Hop::AccessPoint => "access-point",
            Hop::Bottleneck => "bottleneck",
            Hop::Wire => "wire",
            Hop::Link(number) => self.links[usize::from(number)].name,
        }
    }

    /// Where, in the thesis' five places, a drop on a hop happened, and why.
    pub fn place_and_cause(&self, hop: Hop, cause: DropCause) -> (LossPlace, &'static str) {
        let queue = if self.is_in_device(hop) { LossPlace::SenderSocket } else { LossPlace::IntermediateQueue };
        match cause {
            DropCause::QueueFull => (queue, "queue full"),
            DropCause::ActiveQueueManagement => (queue, "active queue management"),
            DropCause::Policed => (queue, "policed"),
            DropCause::RetryLimit => (LossPlace::Link, "retry limit"),
            DropCause::RandomLoss => (LossPlace::Link, "random loss"),
            DropCause::Outage => (LossPlace::Link, "outage"),
        }
    }

    /// Whether its queue is that of the sending host's own interface.
    fn is_in_device(&self, hop: Hop) -> bool {
        match hop {
            Hop::SenderDevice => true,
            Hop::AccessPoint | Hop::Bottleneck | Hop::Wire => false,
            Hop::Link(number) => self.links[usize::from(number)].in_device,
        }
    }

    /// Whether a sniffer may hear it.
    pub(crate) fn is_wireless(&self, hop: Hop) -> bool {
        match hop {
            Hop::SenderDevice | Hop::AccessPoint => true,
            Hop::Bottleneck | Hop::Wire => false,
            Hop::Link(number) => self.links[usize::from(number)].is_wireless,
        }
    }
}

/// The same name for as long as the program runs. Records hold names of hops without a copy each; a program sees few
/// different ones, and each is kept once.
fn kept(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
