//! TFRC over a path with random loss: it has the rate of its own equation, and that of a New Reno flow on the same path.

use std::collections::BTreeMap;

use framewire_adaptive::tfrc::{
    DataPacket, Equation, Limit, Receiver, ReceiverSettings, SegmentSize, Sender, SenderSettings,
};
use framewire_link::{LossConfig, Network, NetworkConfig, NetworkEvent, NodeId, Packet, PacketId, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, bottleneck};
use framewire_tcp::TcpConfig;
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use framewire_wire::tfrc::{DATA_HEADER_LENGTH, DataHeader, FEEDBACK_LENGTH, Feedback};

/// Payload of a packet: what a Linux TCP with time stamps has on an Ethernet.
const SEGMENT: DataSize = DataSize::from_bytes(1_448);

/// IPv4 and UDP.
const IP_UDP: usize = 28;

/// What is on the way.
#[derive(Clone, Copy)]
enum Cargo {
    Data(DataHeader),
    Feedback([u8; FEEDBACK_LENGTH]),
}

/// A flow that always has data, over a network.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    network: Network,
    cargo: BTreeMap<PacketId, Cargo>,
    /// By the time of delivery, and in the order of the network.
    deliveries: BTreeMap<(Timestamp, u64), PacketId>,
    segment: DataSize,
    /// Data packets sent.
    sequence: u32,
    /// Data packets that arrived.
    received: u32,
    /// All packets, and all deliveries.
    packets: u64,
    events: u64,
}

/// What was measured after the start.
struct Measured {
    /// Payload sent per time.
    sent: Bitrate,
    /// Payload that arrived per time.
    received: Bitrate,
    round_trip: Duration,
    /// Mean of the loss event rate that was reported to the sender, over time.
    loss_event_rate: f64,
}

impl Flow {
    fn new(network: &NetworkConfig, seed: Seed, sender: SenderSettings, receiver: ReceiverSettings) -> Self {
        let (SegmentSize::Nominal(segment) | SegmentSize::Mean(segment)) = sender.segment;
        let mut network = Network::new(network, seed).unwrap();
        network.record_deliveries(false);
        Self {
            sender: Sender::new(sender),
            receiver: Receiver::new(receiver),
            network,
            cargo: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            segment,
            sequence: 0,
            received: 0,
            packets: 0,
            events: 0,
        }
    }

    /// Runs it, and measures from `start` for `duration`.
    fn run(mut self, start: Timestamp, duration: Duration) -> Measured {
        let (mut now, end) = (Timestamp::ZERO, start + duration);
        let (mut before, mut loss) = ((0, 0), 0.0);
        while now < end {
            self.step(now);
            let next = self.next().max(now + Duration::from_nanos(1)).min(end);
            if now < start {
                before = (self.sequence, self.received);
            } else {
                let share = next.saturating_since(now).as_secs_f64() / duration.as_secs_f64();
                loss += share * self.sender.loss_event_rate().unwrap_or_default();
            }
            now = next;
        }
        let rate = |packets: u32| {
            let bits = f64::from(packets) * self.segment.as_bits() as f64;
            Bitrate::from_bps((bits / duration.as_secs_f64()) as u64)
        };
        Measured {
            sent: rate(self.sequence - before.0),
            received: rate(self.received - before.1),
            round_trip: self.sender.round_trip().unwrap(),
            loss_event_rate: loss,
        }
    }

    fn next(&self) -> Timestamp {
        let delivery = self.deliveries.keys().next().map(|(at, _)| *at);
        let timers =
            [delivery, self.sender.next_timeout(), self.receiver.next_timeout(), Some(self.sender.next_send())];
        timers.into_iter().flatten().min().unwrap()
    }

    fn step(&mut self, now: Timestamp) {
        while let Some(entry) = self.deliveries.first_entry().filter(|entry| entry.key().0 <= now) {
            let cargo = self.cargo.remove(&entry.remove()).unwrap();
            self.deliver(now, cargo);
        }
        self.receiver.handle_timeout(now);
        if let Some(feedback) = self.receiver.poll_feedback(now) {
            self.send(now, NodeId::RECEIVER, Cargo::Feedback(feedback.emit()));
        }
        self.sender.handle_timeout(now);
        while self.sender.next_send() <= now {
            let header = DataHeader { sequence: self.sequence, sent: now, round_trip: self.sender.round_trip() };
            self.sender.handle_sent(now, self.segment, Limit::Rate);
            self.sequence += 1;
            self.send(now, NodeId::SENDER, Cargo::Data(header));
        }
    }

    fn deliver(&mut self, now: Timestamp, cargo: Cargo) {
        match cargo {
            Cargo::Feedback(block) => self.sender.handle_feedback(now, &Feedback::parse(&block).unwrap()),
            Cargo::Data(header) => {
                self.received += 1;
                let header = DataHeader::parse(&header.emit()).unwrap();
                self.receiver
                    .handle_data(now, &DataPacket { header, size: self.segment, congestion_experienced: false });
                if let Some(feedback) = self.receiver.poll_feedback(now) {
                    self.send(now, NodeId::RECEIVER, Cargo::Feedback(feedback.emit()));
                }
            }
        }
    }

    fn send(&mut self, now: Timestamp, from: NodeId, cargo: Cargo) {
        let length = match cargo {
            Cargo::Data(_) => self.segment.as_bytes() as usize + DATA_HEADER_LENGTH,
            Cargo::Feedback(_) => FEEDBACK_LENGTH,
        };
        let id = PacketId(self.packets);
        self.packets += 1;
        self.cargo.insert(id, cargo);
        let packet = Packet::new(id, DataSize::from_bytes((IP_UDP + length) as u64));
        self.network.handle_packet(now, now, from, packet);
        while let Some(event) = self.network.poll_event() {
            match event {
                NetworkEvent::Deliver { packet, at, .. } => {
                    self.deliveries.insert((at, self.events), packet.id);
                    self.events += 1;
                }
                NetworkEvent::Hop { record, .. } if !matches!(record.outcome, framewire_link::Outcome::Delivered) => {
                    self.cargo.remove(&record.packet);
                }
                _ => {}
            }
        }
    }
}

/// So fast that there is never a queue: all that limits is loss and the round trip.
fn lossy(percent: f64, round_trip: Duration) -> NetworkConfig {
    let loss = LossConfig::Bernoulli(Probability::new(percent / 100.0).unwrap());
    bottleneck(Bitrate::from_mbps(10_000), round_trip, loss, QueueLimit::Packets(10_000))
}

/// Draws of the path: others for each round-trip time, since all that happens scales with it.
fn seed(round_trip: Duration) -> Seed {
    Seed(u64::from(round_trip.subsec_millis()))
}

/// A flow that always has data, for so many round-trip times: as many losses on short paths as on long ones.
fn tfrc(percent: f64, round_trip: Duration, round_trips: u32) -> Measured {
    let sender = SenderSettings { segment: SegmentSize::Nominal(SEGMENT), ..SenderSettings::default() };
    let flow = Flow::new(&lossy(percent, round_trip), seed(round_trip), sender, ReceiverSettings::default());
    flow.run(Timestamp::ZERO + round_trip * 300, round_trip * round_trips)
}

fn new_reno(percent: f64, round_trip: Duration, round_trips: u32, sack: bool) -> Bitrate {
    let experiment = LoneConnection::new("reno".parse().unwrap(), lossy(percent, round_trip));
    let unlimited = Some(DataSize::from_bytes(64 << 20));
    let sender = TcpConfig { sack, send_buffer: unlimited, ..experiment.sender.clone() };
    let receiver = TcpConfig { sack, receive_buffer: unlimited, ..experiment.receiver.clone() };
    let experiment =
        LoneConnection { sender, receiver, duration: round_trip * round_trips, seed: seed(round_trip), ..experiment };
    experiment.run().unwrap().goodput()
}

/// What it sends is what the equation says of the loss event rate that it sees (mean over time), and what arrives is what
/// the equation says of the share of packets that the path takes. (Losses of one round trip are one event, so that at 2 %
/// there are fewer events than losses, and what is sent is 11 % above the second.)
#[test]
fn it_stays_within_a_tenth_of_its_own_equation() {
    for millis in [20, 100] {
        for percent in [0.1, 0.2, 0.5, 1.0, 2.0] {
            let measured = tfrc(percent, Duration::from_millis(millis), 20_000);
            let sent = measured.sent.as_bps() as f64 / SEGMENT.as_bits() as f64;
            let lost = 1.0 - measured.received.as_bps() as f64 / measured.sent.as_bps() as f64;
            let equation = |p| Equation::RFC.packets_per_second(measured.round_trip, p);
            let seen = sent / equation(measured.loss_event_rate);
            let given = sent * (1.0 - lost) / equation(lost);
            println!(
                "{millis} ms, {percent} %: {:.3} Mbit/s, p = {:.5}: {seen:.3} of it; {lost:.5} lost: {given:.3} of it",
                measured.sent.as_mbps_f64(),
                measured.loss_event_rate,
            );
            assert!((0.9..=1.1).contains(&seen), "{millis} ms, {percent} %: {seen} of the equation at p");
            assert!((0.9..=1.1).contains(&given), "{millis} ms, {percent} %: {given} of the equation at {lost} lost");
        }
    }
}

#[test]
fn it_gets_what_new_reno_gets_within_a_quarter() {
    for millis in [20, 50, 100] {
        for percent in [0.1, 0.2, 0.5, 1.0, 2.0] {
            let (round_trip, round_trips) = (Duration::from_millis(millis), 6_000);
            let ours = tfrc(percent, round_trip, round_trips).received.as_mbps_f64();
            let ratio = |sack| ours / new_reno(percent, round_trip, round_trips, sack).as_mbps_f64();
            let (plain, sack) = (ratio(false), ratio(true));
            println!("{millis} ms, {percent} %: {ours:.3} Mbit/s, {plain:.3} of New Reno, {sack:.3} of it with SACK");
            for ratio in [plain, sack] {
                assert!((0.75..=1.25).contains(&ratio), "{millis} ms, {percent} %: {plain}, with SACK {sack}");
            }
        }
    }
}

/// The paper's TFRC of figure 20: 400 kbit/s wanted, packets of 1,000 bytes. In kbit/s that arrive.
fn figure_20(percent: f64, millis: u64, equation: Equation) -> f64 {
    let round_trip = Duration::from_millis(millis);
    let sender = SenderSettings { maximum_rate: Some(Bitrate::from_kbps(400)), equation, ..SenderSettings::default() };
    let receiver = ReceiverSettings { equation, ..ReceiverSettings::paper() };
    let flow = Flow::new(&lossy(percent, round_trip), seed(round_trip), sender, receiver);
    flow.run(Timestamp::from_secs(60), Duration::from_secs(1_200)).received.as_mbps_f64() * 1e3
}

/// Below 200 kbit/s at 1 % and at 100 kbit/s at 5 % is what the figure shows. At the paper's 10 ms TFRC does not get
/// there, whatever its equation says of retransmission timeouts.
#[test]
fn the_papers_figure_20_needs_a_longer_round_trip_than_its_network_had() {
    let check = |percent, millis, equation, expected: std::ops::Range<f64>| {
        let rate = figure_20(percent, millis, equation);
        println!("{percent} %, {millis} ms, {:?}: {rate:.0} kbit/s", equation.timeout);
        assert!(expected.contains(&rate), "{percent} %, {millis} ms: {rate} kbit/s, not {expected:?}");
    };
    check(1.0, 10, Equation::RFC, 390.0..400.0);
    check(1.0, 10, Equation::PAPER, 390.0..400.0);
    check(1.0, 500, Equation::RFC, 180.0..220.0);
    check(5.0, 10, Equation::RFC, 370.0..390.0);
    check(5.0, 10, Equation::PAPER, 200.0..300.0);
    check(5.0, 330, Equation::RFC, 90.0..110.0);
}
