//! A network of any nodes and links: wires and cells of IEEE 802.11, with the shortest ways between all nodes.

mod cell;
mod config;
mod direction;
mod open_records;
mod routes;

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};

use self::cell::{Cell, CellOutput};
use self::direction::Direction;
use self::open_records::OpenRecords;
use self::routes::{Egress, Routes};
use crate::config::ConfigError;
use crate::events::{Events, NetworkEvent};
use crate::verdict::{NodeId, Outcome, Packet, Timeout, TimeoutReason};
use crate::wifi::StationCounters;

pub use self::config::{
    CellConfig, CellStationConfig, DirectionConfig, GraphConfig, LinkConfig, MAX_NODES, RouteConfig,
};

/// Nodes and links.
///
/// What comes to a node that has to go on enters the next link when the model's clock has come to that time, so that
/// packets of several links enter a queue in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Graph {
    routes: Routes,
    /// By node: it has several links, so that packets of others pass it.
    forwards: Vec<bool>,
    directions: Vec<Direction>,
    cells: Vec<Cell>,
    /// Packets of nodes that forward, which enter when their time has come.
    entering: VecDeque<(Timestamp, NodeId, Packet)>,
    open: OpenRecords,
    /// What a cell said in a call; kept to save an allocation.
    output: Vec<CellOutput>,
}

impl Graph {
    /// An idle network.
    ///
    /// # Errors
    /// When a value makes no sense, or there is no way between two nodes.
    pub(crate) fn new(config: &GraphConfig, seed: Seed) -> Result<Self, ConfigError> {
        config.validate()?;
        let routes = Routes::find(config)?;
        let mut directions = Vec::new();
        for link in &config.links {
            for (side, of) in link.directions.iter().enumerate() {
                let number = directions.len() as u16;
                directions.push(Direction::new(of, link.between[1 - side], number, seed));
            }
        }
        let first_hop = |number: usize| (directions.len() + 2 * number) as u16;
        let cells = config.cells.iter().enumerate().map(|(number, cell)| {
            let in_device = |node| config.interfaces(node) == 1;
            Cell::new(cell, in_device, first_hop(number), cell_seed(seed, number))
        });
        let cells = cells.collect::<Result<_, ConfigError>>()?;
        let forwards = (0..config.nodes).map(|node| config.interfaces(NodeId(node)) > 1).collect();
        Ok(Self {
            routes,
            forwards,
            directions,
            cells,
            entering: VecDeque::new(),
            open: OpenRecords::default(),
            output: Vec::new(),
        })
    }

    /// A packet enters at a node. Where others' packets pass that node, it is held until the clock has come to `at`.
    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: NodeId, packet: Packet, events: &mut Events) {
        if self.forwards[usize::from(from.0)] {
            let place = self.entering.partition_point(|&(other, ..)| other <= at);
            self.entering.insert(place, (at, from, packet));
        } else {
            self.enter_link(at, from, packet, true, events);
        }
    }

    /// The clock moves to `now`: what happens until then happens, in the order of time. At one time transmitters come
    /// first, then what arrives from links in their order, then what comes from hosts.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, events: &mut Events) {
        loop {
            let at = self.next_time();
            if at > now || at == Timestamp::MAX {
                break;
            }
            self.settle(at, events);
            self.forward(at, events);
            while self.entering.front().is_some_and(|&(time, ..)| time <= at)
                && let Some((at, from, packet)) = self.entering.pop_front()
            {
                self.enter_link(at, from, packet, true, events);
            }
        }
    }

    /// When `handle_timeout` is due.
    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        let at = self.next_time();
        (at < Timestamp::MAX).then_some(Timeout { at, reason: TimeoutReason::Propagation })
    }

    /// What the contenders of all cells achieved together.
    pub(crate) fn contenders(&self) -> Option<StationCounters> {
        self.cells.iter().filter_map(Cell::contenders).reduce(|sum, counters| sum + counters)
    }

    fn next_time(&self) -> Timestamp {
        let entering = self.entering.front().map_or(Timestamp::MAX, |&(at, ..)| at);
        let directions = self.directions.iter().map(Direction::next);
        directions.chain(self.cells.iter().map(Cell::next)).fold(entering, Timestamp::min)
    }

    /// Transmitters do what is due.
    fn settle(&mut self, at: Timestamp, events: &mut Events) {
        let Self { directions, open, .. } = self;
        for direction in directions.iter_mut().filter(|direction| direction.is_due(at)) {
            direction.handle_timeout(at, |verdict| verdict.tell(open, events));
        }
        for cell in 0..self.cells.len() {
            if self.cells[cell].next() <= at {
                self.with_cell(cell, events, |cell, output| cell.handle_timeout(at, output));
            }
        }
    }

    /// What has arrived at a node on its way goes on.
    fn forward(&mut self, at: Timestamp, events: &mut Events) {
        for number in 0..self.directions.len() {
            while let Some((at, packet)) = self.directions[number].poll_arrival(at) {
                let node = self.directions[number].to();
                self.enter_link(at, node, packet, false, events);
            }
        }
        for number in 0..self.cells.len() {
            while let Some((at, node, packet)) = self.cells[number].poll_arrival(at) {
                self.enter_link(at, node, packet, false, events);
            }
        }
    }

    /// A packet enters the link by which it leaves `node`; `is_first`: it comes from there.
    fn enter_link(&mut self, at: Timestamp, node: NodeId, packet: Packet, is_first: bool, events: &mut Events) {
        match self.routes.egress(node, packet.to) {
            // From a node to itself: the loopback interface of its host, which no link model sees.
            None => {
                events.push(NetworkEvent::Released { packet: packet.id, at });
                events.deliver(packet, at);
            }
            Some(Egress::Wire(number)) => {
                let Self { directions, open, .. } = self;
                let direction = &mut directions[number];
                if is_first && !direction.is_in_device() {
                    events.push(NetworkEvent::Released { packet: packet.id, at: direction.entry(at) });
                }
                direction.handle_packet(at, packet, |verdict| verdict.tell(open, events));
            }
            Some(Egress::ToStation { cell, .. }) => {
                if is_first {
                    events.push(NetworkEvent::Released { packet: packet.id, at });
                }
                self.open.add(packet.id);
                self.with_cell(cell, events, |cell, output| cell.send_to_station(at, packet, output));
            }
            Some(Egress::ToAccessPoint { cell, station }) => {
                if is_first && !self.cells[cell].is_in_device(station) {
                    events.push(NetworkEvent::Released { packet: packet.id, at });
                }
                self.open.add(packet.id);
                self.with_cell(cell, events, |cell, output| cell.send_to_access_point(at, station, packet, output));
            }
        }
    }

    /// Lets a cell do something, and says what came of it.
    fn with_cell(&mut self, number: usize, events: &mut Events, act: impl FnOnce(&mut Cell, &mut Vec<CellOutput>)) {
        let mut said = std::mem::take(&mut self.output);
        act(&mut self.cells[number], &mut said);
        for output in said.drain(..) {
            match output {
                CellOutput::Received { downward, packet, at } => self.receive(number, downward, packet, at, events),
                CellOutput::Released { packet, at } => events.push(NetworkEvent::Released { packet, at }),
                CellOutput::Done(record) => {
                    if record.outcome != Outcome::Delivered {
                        self.open.end(record.packet);
                    }
                    let last = self.open.close(record.packet);
                    events.hop(record, last);
                }
                CellOutput::Sniffed(frame) => events.push(NetworkEvent::Sniffed(frame)),
            }
        }
        self.output = said;
    }

    /// A node of a cell has a packet from the air.
    fn receive(&mut self, cell: usize, downward: bool, packet: Packet, at: Timestamp, events: &mut Events) {
        let access_point = self.cells[cell].access_point();
        let node = match self.routes.egress(access_point, packet.to) {
            Some(Egress::ToStation { station, .. }) if downward => station,
            _ => access_point,
        };
        if packet.to == node {
            self.open.end(packet.id);
            events.deliver(packet, at);
        } else {
            self.cells[cell].add_arrival(at, node, packet);
        }
    }
}

/// The draws of a cell: the first has those that a network of one cell has.
fn cell_seed(seed: Seed, number: usize) -> Seed {
    if number == 0 { seed } else { Seed(seed.stream("cell", &[number as u64]).next_u64()) }
}

#[cfg(test)]
mod tests;
