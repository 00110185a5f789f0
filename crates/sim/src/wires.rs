//! The network with its packets: what was put in comes out at the times that the link model names.

use std::collections::VecDeque;

use framewire_link::{HopRecord, Network, NetworkEvent, NodeId, Outcome, Packet, PacketId, SniffedFrame};
use framewire_session::half::End;
use framewire_session::lifecycle::UnderWay;
use framewire_units::{DataSize, Ecn, Timestamp};

/// What a queue on the way sees of a packet's content, and changes there.
pub(crate) trait Carried {
    /// Its ECN field.
    fn ecn(&self) -> Ecn;

    /// A queue on the way set Congestion Experienced.
    fn mark(&mut self);

    /// Names its connection among those of the network, in either direction.
    fn connection(&self) -> u32;
}

/// Takes note of what the link model says of packets. A verdict may come after its packet has come out: a station knows
/// of a delivery only by the acknowledgement.
pub(crate) trait Recorder<P> {
    /// A packet enters the network; numbers count from 0.
    fn handle_packet(&mut self, _id: u64, _from: End, _size: DataSize, _cargo: &P) {}

    /// One hop's verdict; `last`: nothing more is said of its packet.
    fn handle_hop(&mut self, _hop: HopRecord, _last: bool) {}

    /// The packet comes out, now or later.
    fn handle_delivered(&mut self, _id: u64) {}

    /// The sniffer captured a transmission.
    fn handle_sniffed(&mut self, _frame: SniffedFrame) {}
}

/// Something that happens at a time that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireEvent {
    /// The sender's own device is done with a packet; only with a local bottleneck, and only packets of the sender.
    Released(u64),
    /// A packet comes out at a host.
    Delivered(u64, End),
}

/// Between which nodes of the network a flow's packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowPath {
    pub(crate) sender: NodeId,
    pub(crate) receiver: NodeId,
    /// The sender's own device holds its packets until the link model releases them.
    pub(crate) is_local: bool,
}

impl FlowPath {
    /// In a network between two hosts.
    pub(crate) fn between_two_hosts(is_local: bool) -> Self {
        Self { sender: NodeId::SENDER, receiver: NodeId::RECEIVER, is_local }
    }

    /// The nodes that a packet of this end comes from and goes to.
    fn nodes(self, end: End) -> (NodeId, NodeId) {
        match end {
            End::Sender => (self.sender, self.receiver),
            End::Receiver => (self.receiver, self.sender),
        }
    }
}

/// A packet in the network.
struct InNetwork<P> {
    content: P,
    /// The end of its flow that it comes from.
    from: End,
    /// The sender's own device still holds it.
    held: bool,
    /// It came out, or it never will.
    done: bool,
}

/// When, and which packet.
type Due = (Timestamp, u64);

/// A network and the packets in it.
///
/// Packets have numbers in the order in which they enter. Each direction is in order, and so is the sender's device, so
/// three queues in order of time are the whole event queue: the next event is the first of three heads and of the link
/// model's own timeout. At one time releases come first, then what reaches the receiver, then what reaches the sender.
/// Nothing is allocated per packet.
pub(crate) struct Wires<P, R> {
    network: Network,
    /// When the link model is to be called; `None` where that is not known, because it was changed since.
    timeout: Option<Timestamp>,
    first: u64,
    window: VecDeque<Option<InNetwork<P>>>,
    releases: VecDeque<Due>,
    to_receiver: VecDeque<Due>,
    to_sender: VecDeque<Due>,
    pub(crate) recorder: R,
}

impl<P: Carried, R: Recorder<P>> UnderWay for Wires<P, R> {
    fn entered(&self) -> u64 {
        Wires::entered(self)
    }

    fn has_settled(&self, packets: u64) -> bool {
        self.first >= packets
    }
}

impl<P: Carried, R: Recorder<P>> Wires<P, R> {
    /// An empty network.
    pub(crate) fn new(network: Network, recorder: R) -> Self {
        Self {
            network,
            timeout: None,
            first: 0,
            window: VecDeque::new(),
            releases: VecDeque::new(),
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            recorder,
        }
    }

    /// How many packets have entered.
    pub(crate) fn entered(&self) -> u64 {
        self.first + self.window.len() as u64
    }

    /// Puts a packet of `size` IP bytes in at one end of a flow.
    pub(crate) fn send(&mut self, now: Timestamp, end: End, path: FlowPath, size: DataSize, content: P) {
        let id = self.entered();
        self.recorder.handle_packet(id, end, size, &content);
        let held = path.is_local && end == End::Sender;
        // The two directions of a connection have different ports.
        let flow = content.connection() << 1 | u32::from(end == End::Receiver);
        let ecn = content.ecn();
        self.window.push_back(Some(InNetwork { content, from: end, held, done: false }));
        let (from, to) = path.nodes(end);
        let packet = Packet { to, ecn, flow, ..Packet::new(PacketId(id), size) };
        self.network.handle_packet(now, now, from, packet);
        self.take_verdicts();
    }

    /// When something happens next; `None` when all is quiet.
    pub(crate) fn next(&mut self) -> Option<Timestamp> {
        let mut next = self.network_timeout();
        for queue in [&self.releases, &self.to_receiver, &self.to_sender] {
            next = next.min(queue.front().map_or(Timestamp::MAX, |due| due.0));
        }
        (next < Timestamp::MAX).then_some(next)
    }

    /// Lets the link model decide what it has to by `now`.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        while self.network_timeout() <= now {
            self.network.handle_timeout(now);
            self.take_verdicts();
        }
    }

    /// Asks the link model once after each change: on a medium with many stations the answer is not for free.
    fn network_timeout(&mut self) -> Timestamp {
        let ask = || self.network.next_timeout().map_or(Timestamp::MAX, |timeout| timeout.at);
        *self.timeout.get_or_insert_with(ask)
    }

    /// What is due at `now`; `None` when nothing more is. The packet is to be looked at with [`content`](Self::content), and
    /// given back with [`finish`](Self::finish) or [`finish_release`](Self::finish_release) before the next call.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<WireEvent> {
        let mut due = |queue: fn(&mut Self) -> &mut VecDeque<Due>| {
            let queue = queue(self);
            queue.front().is_some_and(|due| due.0 <= now).then(|| queue.pop_front().expect("invariant: just seen").1)
        };
        if let Some(id) = due(|wires| &mut wires.releases) {
            return Some(WireEvent::Released(id));
        }
        if let Some(id) = due(|wires| &mut wires.to_receiver) {
            return Some(WireEvent::Delivered(id, End::Receiver));
        }
        due(|wires| &mut wires.to_sender).map(|id| WireEvent::Delivered(id, End::Sender))
    }

    /// What a packet under way carries.
    pub(crate) fn content(&mut self, id: u64) -> &mut P {
        &mut self.packet(id).expect("invariant: a packet with an event is under way").content
    }

    /// The packet of a delivery has come out.
    pub(crate) fn finish(&mut self, id: u64) {
        if let Some(packet) = self.packet(id) {
            packet.done = true;
        }
        self.forget_finished(id);
    }

    /// The sender's device has let go of the packet.
    pub(crate) fn finish_release(&mut self, id: u64) {
        if let Some(packet) = self.packet(id) {
            packet.held = false;
        }
        self.forget_finished(id);
    }

    fn packet(&mut self, id: u64) -> Option<&mut InNetwork<P>> {
        let offset = usize::try_from(id.checked_sub(self.first)?).ok()?;
        self.window.get_mut(offset)?.as_mut()
    }

    fn forget_finished(&mut self, id: u64) {
        if !self.packet(id).is_some_and(|packet| packet.done && !packet.held) {
            return;
        }
        self.window[(id - self.first) as usize] = None;
        while let Some(None) = self.window.front() {
            self.window.pop_front();
            self.first += 1;
        }
    }

    fn take_verdicts(&mut self) {
        self.timeout = None;
        while let Some(event) = self.network.poll_event() {
            match event {
                NetworkEvent::Deliver { packet, at } => {
                    let id = packet.id.0;
                    if packet.ecn == Ecn::Ce {
                        self.content(id).mark();
                    }
                    let from = self.packet(id).expect("invariant: a packet is under way until it comes out").from;
                    let queue = if from == End::Sender { &mut self.to_receiver } else { &mut self.to_sender };
                    insert(queue, (at, id));
                    self.recorder.handle_delivered(id);
                }
                NetworkEvent::Released { packet, at } => {
                    if self.packet(packet.0).is_some_and(|packet| packet.held) {
                        insert(&mut self.releases, (at, packet.0));
                    }
                }
                NetworkEvent::Hop { record, last } => self.take_hop(record, last),
                NetworkEvent::Sniffed(frame) => self.recorder.handle_sniffed(frame),
            }
        }
    }

    fn take_hop(&mut self, hop: HopRecord, last: bool) {
        if let Outcome::Dropped(_) = hop.outcome
            && let Some(packet) = self.packet(hop.packet.0)
        {
            packet.done = true;
            self.forget_finished(hop.packet.0);
        }
        self.recorder.handle_hop(hop, last);
    }
}

/// Adds to a queue in order of time; what is due at the same time keeps the order in which it was added.
fn insert(queue: &mut VecDeque<Due>, due: Due) {
    if queue.back().is_none_or(|last| last.0 <= due.0) {
        return queue.push_back(due);
    }
    let position = queue.partition_point(|other| other.0 <= due.0);
    queue.insert(position, due);
}
