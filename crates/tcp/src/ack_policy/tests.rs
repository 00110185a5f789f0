use super::*;

const TIMING: AckTiming = AckTiming {
    minimum_delay: Duration::from_millis(40),
    maximum_delay: Duration::from_millis(200),
    tick: Duration::from_millis(4),
};
const RTO: Duration = Duration::from_millis(300);
const WINDOW: u64 = 64_240;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// One full packet at `now`, acknowledged at once or not.
fn packet(policy: &mut AckPolicy, now: Timestamp) -> AckDecision {
    policy.measure(1_448, false, 1_448);
    policy.data_received(now, WINDOW, RTO);
    if policy.is_prompt() { AckDecision::Now } else { policy.delay(now, Duration::ZERO) }
}

#[test]
fn a_stream_begins_with_sixteen_prompt_acknowledgements() {
    let mut policy = AckPolicy::new(TIMING);
    // 64,240 / (2 * 1,448) = 22, and 16 are allowed.
    for number in 0..16 {
        assert_eq!(packet(&mut policy, at(1_000 + number)), AckDecision::Now, "packet {number}");
        policy.ack_sent();
    }
    assert_eq!(packet(&mut policy, at(1_016)), AckDecision::Delayed);
}

#[test]
fn the_timer_waits_forty_milliseconds_and_to_the_tick() {
    let mut policy = AckPolicy::new(TIMING);
    packet(&mut policy, at(1_000));
    policy.end_quick();
    policy.ack_sent();
    assert_eq!(packet(&mut policy, at(1_003)), AckDecision::Delayed);
    // Tick 250 has begun at 1,000 ms; ten later, and never early.
    assert_eq!(policy.next_timeout(), Some(at(1_044)));
    assert!(!policy.handle_timeout(at(1_043), RTO));
    assert!(policy.handle_timeout(at(1_044), RTO));
    policy.ack_sent();
    // A missed acknowledgement doubles the estimate to 80 ms, as Linux shows in `tcpi_ato`; a gap of 47 ms halves that
    // and adds to it: 87 ms.
    assert_eq!(policy.gap, Duration::from_millis(80));
    assert_eq!(packet(&mut policy, at(1_050)), AckDecision::Delayed);
    assert_eq!(policy.next_timeout(), Some(at(1_140)));
}

#[test]
fn the_wait_follows_the_gaps_and_is_bounded() {
    let mut policy = AckPolicy::new(TIMING);
    packet(&mut policy, at(1_000));
    policy.end_quick();
    policy.ack_sent();
    let mut waits = Vec::new();
    let mut now = 1_000;
    for _ in 0..12 {
        now += 8;
        assert_eq!(packet(&mut policy, at(now)), AckDecision::Delayed);
        waits.push(policy.next_timeout().unwrap().saturating_since(at(now)));
        policy.ack_sent();
    }
    assert!(waits.iter().all(|&wait| wait >= TIMING.minimum_delay && wait <= TIMING.minimum_delay + TIMING.tick));
    policy.gap = Duration::from_secs(3);
    policy.owe();
    policy.delay(at(2_000), Duration::ZERO);
    let wait = policy.next_timeout().unwrap().saturating_since(at(2_000));
    assert!(wait > TIMING.maximum_delay && wait <= TIMING.maximum_delay + 2 * TIMING.tick, "{wait:?}");
    // The round-trip time bounds it too.
    policy.ack_sent();
    policy.owe();
    policy.delay(at(3_000), Duration::from_millis(60));
    let wait = policy.next_timeout().unwrap().saturating_since(at(3_000));
    assert!(wait >= Duration::from_millis(60) && wait <= Duration::from_millis(68), "{wait:?}");
}

#[test]
fn a_reply_soon_after_a_packet_means_interactive() {
    let mut policy = AckPolicy::new(TIMING);
    assert_eq!(packet(&mut policy, at(1_000)), AckDecision::Now);
    policy.data_sent(at(1_001));
    policy.ack_sent();
    assert_eq!(packet(&mut policy, at(1_002)), AckDecision::Delayed, "quick, but interactive");
    // Missing one acknowledgement ends that.
    assert!(policy.handle_timeout(policy.next_timeout().unwrap(), RTO));
    assert!(policy.is_prompt());
}

#[test]
fn duplicates_are_prompt_three_times_and_then_merged_for_a_millisecond() {
    let mut policy = AckPolicy::new(TIMING);
    let round_trip = Duration::from_millis(40);
    for _ in 0..3 {
        policy.owe();
        assert_eq!(policy.merge(at(100), 7, round_trip), AckDecision::Now);
        policy.ack_sent();
    }
    assert_eq!(policy.merge(at(100), 7, round_trip), AckDecision::Delayed);
    assert_eq!(policy.merge(at(100), 7, round_trip), AckDecision::Delayed);
    // 5 % of 40 ms are 2 ms, and 1 ms is allowed.
    assert_eq!(policy.next_timeout(), Some(at(101) + MERGING_SLACK));
    assert!(policy.handle_timeout(at(102), RTO));
    policy.ack_sent();
    assert_eq!(policy.next_timeout(), None);
    for _ in 0..44 {
        assert_eq!(policy.merge(at(103), 7, round_trip), AckDecision::Delayed);
    }
    assert_eq!(policy.merge(at(103), 7, round_trip), AckDecision::Now, "more than that are not merged");
    policy.ack_sent();
    assert_eq!(policy.merge(at(104), 8, round_trip), AckDecision::Now, "a new hole");
    // 5 % of 2 ms.
    policy.duplicates = 3;
    policy.ack_sent();
    policy.merge(at(104), 8, Duration::from_millis(2));
    assert_eq!(policy.next_timeout(), Some(at(104) + Duration::from_micros(200)));
}

#[test]
fn the_size_of_a_full_packet_is_learnt() {
    let mut policy = AckPolicy::new(TIMING);
    assert_eq!(policy.full_packet(), 536);
    assert!(policy.measure(1_448, false, 1_448));
    assert!(!policy.measure(1_448, false, 1_448));
    // One shorter packet may be the end of a write, two of a size are the size.
    policy.measure(900, false, 1_448);
    assert_eq!(policy.full_packet(), 1_448);
    policy.measure(900, false, 1_448);
    assert_eq!(policy.full_packet(), 900);
}

#[test]
fn the_end_of_a_write_is_acknowledged_when_it_is_read() {
    let mut policy = AckPolicy::new(TIMING);
    policy.measure(1_448, false, 1_448);
    policy.owe();
    assert!(!policy.is_due_when_drained());
    policy.measure(1_448, true, 1_448);
    assert!(policy.is_due_when_drained());
    policy.ack_sent();
    assert!(!policy.is_due_when_drained());
    policy.owe();
    policy.is_interactive = true;
    policy.measure(100, true, 1_448);
    assert!(!policy.is_due_when_drained(), "a reply may follow");
    policy.measure(100, true, 1_448);
    assert!(policy.is_due_when_drained(), "two are too many");
}
