//! Wired links: rates, queues, delays and losses are exact, or within the bounds of statistics.
#![allow(missing_docs, reason = "a test binary")]

use framewire_link::disciplines::RedSettings;
use framewire_link::{
    BottleneckPlace, Discipline, DropCause, Exceeding, Framing, GilbertElliott, Hop, HopRecord, Interval, LineKind,
    LossConfig, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, Packet, PacketId, PolicerConfig, QueueLimit,
    TokenBucket, WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};

fn network(wire: WireConfig, place: BottleneckPlace) -> Network {
    Network::new(&NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, place)), Seed(1)).unwrap()
}

fn remote(wire: WireConfig) -> Network {
    network(wire, BottleneckPlace::Remote)
}

fn packet(id: u64, bytes: u64) -> Packet {
    Packet::new(PacketId(id), DataSize::from_bytes(bytes))
}

fn send(network: &mut Network, at: Timestamp, id: u64, bytes: u64) -> HopRecord {
    network.handle_packet(at, at, NodeId::SENDER, packet(id, bytes));
    let mut hop = None;
    while let Some(event) = network.poll_event() {
        if let NetworkEvent::Hop { record, .. } = event {
            hop = Some(record);
        }
    }
    hop.expect("one hop, one record")
}

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

#[test]
fn the_rate_is_exact_to_the_nanosecond_over_any_number_of_packets() {
    // 7 Mbit/s and 1,499 bytes: no packet takes whole nanoseconds.
    let rate = Bitrate::from_mbps(7);
    let mut network =
        remote(WireConfig { rate: Some(rate), queue: QueueLimit::Packets(100_000), ..WireConfig::default() });
    let mut last = Timestamp::ZERO;
    for id in 0..10_000 {
        last = send(&mut network, Timestamp::ZERO, id, 1499).finished;
    }
    assert_eq!(last.as_nanos(), 10_000 * 1499 * 8 * 1_000_000_000 / 7_000_000);
}

#[test]
fn a_late_arrival_stamp_does_not_lengthen_the_service() {
    let wire = WireConfig { rate: Some(Bitrate::from_mbps(12)), delay: Duration::from_millis(3), ..Default::default() };
    let mut network = remote(wire);
    let (now, at) = (Timestamp::from_micros(10_500), Timestamp::from_millis(10));
    network.handle_packet(now, at, NodeId::SENDER, packet(0, 1500));
    let deliveries: Vec<_> = std::iter::from_fn(|| network.poll_event()).collect();
    let deliver = NetworkEvent::Deliver { packet: packet(0, 1500), at: Timestamp::from_millis(14) };
    assert!(deliveries.contains(&deliver), "{deliveries:?}");
    // An arrival before one that was already served goes behind it and says so.
    let earlier = send(&mut network, Timestamp::from_millis(9), 1, 1500);
    assert!(earlier.clamped);
    assert_eq!((earlier.enqueued, earlier.finished), (at, Timestamp::from_millis(15)));
}

#[test]
fn queues_take_exactly_their_limit() {
    // 1 Mbit/s and 1,250 bytes: 10 ms each. One is served, the rest waits.
    let accepted = |queue, count: u64| {
        let mut network = remote(WireConfig { rate: Some(Bitrate::from_mbps(1)), queue, ..WireConfig::default() });
        let verdicts: Vec<bool> =
            (0..count).map(|id| send(&mut network, Timestamp::ZERO, id, 1250).outcome == Outcome::Delivered).collect();
        let taken = verdicts.iter().take_while(|&&taken| taken).count();
        assert!(verdicts[taken..].iter().all(|&taken| !taken), "first come, first served");
        taken
    };
    assert_eq!(accepted(QueueLimit::Packets(7), 20), 1 + 7);
    assert_eq!(accepted(QueueLimit::Packets(0), 20), 1);
    assert_eq!(accepted(QueueLimit::Bytes(DataSize::from_bytes(5 * 1250)), 20), 1 + 5);
    assert_eq!(accepted(QueueLimit::Bytes(DataSize::from_bytes(5 * 1250 - 1)), 20), 1 + 4);
    assert_eq!(accepted(QueueLimit::Time(Duration::from_millis(50)), 20), 1 + 5);
    assert_eq!(accepted(QueueLimit::Time(Duration::from_nanos(49_999_999)), 20), 1 + 4);
}

#[test]
fn a_place_is_free_when_the_service_of_a_packet_begins() {
    let queue = QueueLimit::Packets(1);
    let mut network = remote(WireConfig { rate: Some(Bitrate::from_mbps(1)), queue, ..WireConfig::default() });
    let outcomes: Vec<Outcome> = [0, 0, 9_999_999, 10_000_000]
        .into_iter()
        .enumerate()
        .map(|(id, nanos)| send(&mut network, Timestamp::from_nanos(nanos), id as u64, 1250).outcome)
        .collect();
    let full = Outcome::Dropped(DropCause::QueueFull);
    assert_eq!(outcomes, [Outcome::Delivered, Outcome::Delivered, full, Outcome::Delivered]);
}

#[test]
fn the_delay_is_exact_and_propagating_packets_do_not_wait_in_the_queue() {
    let wire = WireConfig { delay: Duration::from_millis(100), queue: QueueLimit::Packets(0), ..WireConfig::default() };
    let mut network = remote(wire);
    for id in 0..1000 {
        let at = Timestamp::from_micros(id);
        let record = send(&mut network, at, id, 1500);
        assert_eq!(record.finished, at + Duration::from_millis(100));
        assert_eq!(record.hop, Hop::Bottleneck);
    }
}

#[test]
fn jitter_is_uniform_and_never_reorders() {
    let jitter = Duration::from_millis(10);
    let sample = |gap: Duration| {
        let mut network = remote(WireConfig { delay: Duration::from_millis(5), jitter, ..WireConfig::default() });
        (0..5000u32).map(move |id| {
            let at = Timestamp::ZERO + gap * id;
            (at, send(&mut network, at, u64::from(id), 100).finished)
        })
    };
    let close: Vec<_> = sample(Duration::from_micros(100)).collect();
    assert!(close.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    let delays = sample(Duration::from_millis(20)).map(|(at, arrival)| arrival.saturating_since(at).as_secs_f64());
    let delays: Vec<f64> = delays.collect();
    let mean = delays.iter().sum::<f64>() / 5000.0;
    // Five standard errors of a uniform distribution of width 10 ms.
    assert!((mean - 0.010).abs() < 5.0 * 0.010 / 12f64.sqrt() / 5000f64.sqrt(), "{mean}");
    assert!(delays.iter().all(|delay| (0.005..=0.015).contains(delay)));
    assert!(delays.iter().any(|&delay| delay < 0.0052) && delays.iter().any(|&delay| delay > 0.0148));
}

fn losses(loss: LossConfig, packets: u64) -> Vec<bool> {
    let mut network = remote(WireConfig { loss, ..WireConfig::default() });
    (0..packets)
        .map(|id| match send(&mut network, Timestamp::from_micros(id), id, 100).outcome {
            Outcome::Delivered => false,
            Outcome::Dropped(cause) => {
                assert_eq!(cause, DropCause::RandomLoss);
                true
            }
        })
        .collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

#[test]
fn bernoulli_loss_meets_its_probability() {
    for p in [0.01, 0.3] {
        let share = share(&losses(LossConfig::Bernoulli(probability(p)), 50_000));
        assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / 50_000f64).sqrt(), "{share} for {p}");
    }
    assert_eq!(share(&losses(LossConfig::Bernoulli(Probability::ONE), 100)), 1.0);
    assert_eq!(share(&losses(LossConfig::None, 100)), 0.0);
}

#[test]
fn gilbert_elliott_loss_meets_its_stationary_share_and_burst_length() {
    let loss = LossConfig::GilbertElliott(GilbertElliott {
        good_to_bad: probability(0.01),
        bad_to_good: probability(0.25),
        loss_good: Probability::ZERO,
        loss_bad: Probability::ONE,
    });
    let lost = losses(loss, 200_000);
    // Stationary share p / (p + r); its standard error in a chain with this correlation is 0.00108.
    let expected = 0.01 / 0.26;
    assert!((share(&lost) - expected).abs() < 5.0 * 0.00108, "{} for {expected}", share(&lost));
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    let length = lost.iter().filter(|&&lost| lost).count() as f64 / bursts;
    // Mean burst 1 / r, geometric; about 1,920 bursts.
    assert!((length - 4.0).abs() < 5.0 * 12f64.sqrt() / 1920f64.sqrt(), "{length}");
}

#[test]
fn outages_drop_exactly_inside() {
    let outage = Interval { start: Timestamp::from_micros(100), end: Timestamp::from_micros(200) };
    let mut network = remote(WireConfig { outages: vec![outage], ..WireConfig::default() });
    for micros in 0..300 {
        let outcome = send(&mut network, Timestamp::from_micros(micros), micros, 100).outcome;
        let expected =
            if (100..200).contains(&micros) { Outcome::Dropped(DropCause::Outage) } else { Outcome::Delivered };
        assert_eq!(outcome, expected, "{micros} us");
    }
}

#[test]
fn a_local_device_is_released_at_departure_and_a_remote_one_at_once() {
    let rate = Some(Bitrate::from_mbps(1));
    for (place, hop, released) in
        [(BottleneckPlace::LocalDevice, Hop::SenderDevice, 10), (BottleneckPlace::Remote, Hop::Bottleneck, 0)]
    {
        let mut network = network(WireConfig { rate, ..WireConfig::default() }, place);
        network.handle_packet(Timestamp::ZERO, Timestamp::ZERO, NodeId::SENDER, packet(0, 1250));
        let events: Vec<_> = std::iter::from_fn(|| network.poll_event()).collect();
        let at = Timestamp::from_millis(released);
        assert!(events.contains(&NetworkEvent::Released { packet: PacketId(0), at }), "{events:?}");
        assert!(events.iter().any(|event| matches!(event, NetworkEvent::Hop { record, .. } if record.hop == hop)));
    }
}

#[test]
fn the_way_back_has_the_delay_and_nothing_else() {
    let wire = WireConfig {
        rate: Some(Bitrate::from_bps(8)),
        delay: Duration::from_millis(7),
        loss: LossConfig::Bernoulli(Probability::ONE),
        ..WireConfig::default()
    };
    let mut network = remote(wire);
    network.handle_packet(Timestamp::ZERO, Timestamp::ZERO, NodeId::RECEIVER, packet(0, 1500));
    let deliver = NetworkEvent::Deliver { packet: packet(0, 1500), at: Timestamp::from_millis(7) };
    assert!(std::iter::from_fn(|| network.poll_event()).any(|event| event == deliver));
}

/// 1,500 bytes take 4 ms at 3 Mbit/s and 5 ms of delay: out at 9, 13, 17, 21 ms without ticks. The rate is that of the link:
/// ticks hold packets up and lose no time of the transmitter.
#[test]
fn packets_come_out_at_ticks_in_either_direction() {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(3)),
        delay: Duration::from_millis(5),
        tick: Duration::from_millis(10),
        ..WireConfig::default()
    };
    let mut network = remote(wire);
    for (id, expected) in [10, 20, 20, 30].into_iter().enumerate() {
        let hop = send(&mut network, Timestamp::ZERO, id as u64, 1_500);
        assert_eq!(hop.finished, Timestamp::from_millis(expected), "packet {id}");
    }
    network.handle_packet(Timestamp::from_millis(6), Timestamp::from_millis(6), NodeId::RECEIVER, packet(9, 40));
    let deliver = NetworkEvent::Deliver { packet: packet(9, 40), at: Timestamp::from_millis(20) };
    assert!(std::iter::from_fn(|| network.poll_event()).any(|event| event == deliver));
}

#[test]
fn nonsense_is_refused_by_name() {
    let refused = |wire: WireConfig| {
        let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
        Network::new(&config, Seed(1)).expect_err("refused").to_string()
    };
    let zero = refused(WireConfig { rate: Some(Bitrate::from_bps(0)), ..WireConfig::default() });
    assert!(zero.contains("wire.rate") && zero.contains("more than 0"), "{zero}");
    let backwards = Interval { start: Timestamp::from_secs(2), end: Timestamp::from_secs(1) };
    let outage = refused(WireConfig { outages: vec![backwards], ..WireConfig::default() });
    assert!(outage.contains("wire.outages") && outage.contains("end after the start"), "{outage}");
    let framing = Framing::of(LineKind::Atm);
    let framed = refused(WireConfig { framing, ..WireConfig::default() });
    assert!(framed.contains("wire.framing") && framed.contains("beside a rate"), "{framed}");
    let bucket = |rate, burst| TokenBucket { rate: Bitrate::from_bps(rate), burst: DataSize::from_bytes(burst) };
    let small = refused(WireConfig { shaper: Some(bucket(1_000, 1_499)), ..WireConfig::default() });
    assert!(small.contains("wire.shaper.burst") && small.contains("1.5 kB"), "{small}");
    let policer = PolicerConfig { bucket: bucket(0, 1_500), exceeding: Exceeding::Drop };
    let still = refused(WireConfig { policer: Some(policer), ..WireConfig::default() });
    assert!(still.contains("wire.policer.rate") && still.contains("more than 0"), "{still}");
    let red = RedSettings { min_threshold: 15, ..RedSettings::default() };
    let upside_down = refused(WireConfig { queue_discipline: Discipline::Red(red), ..WireConfig::default() });
    assert!(upside_down.contains("wire.queue_discipline.max_threshold"), "{upside_down}");
    let stuck = refused(WireConfig {
        loss: LossConfig::GilbertElliott(GilbertElliott {
            good_to_bad: probability(0.1),
            bad_to_good: Probability::ZERO,
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        }),
        ..WireConfig::default()
    });
    assert!(stuck.contains("bad_to_good"), "{stuck}");
}
