//! Closed forms: what the timing of the standard allows, for comparison with the model and with measurements.
//!
//! No constant here is tuned. Channel errors are left out: these are the figures of an undisturbed channel.

use framewire_units::{Bitrate, DataSize, Duration};

use crate::wifi::phy::{
    CW_MAX, CW_MIN, DIFS, DataRate, Preamble, SIFS, SLOT, ack_frame, ack_timeout, air_time, data_frame,
};

/// DIFS, the data frame of an IP packet of `ip` bytes, SIFS and the acknowledgement.
pub fn exchange(ip: DataSize, rate: DataRate, preamble: Preamble) -> Duration {
    let ack = air_time(ack_frame(), rate.acknowledgement(), preamble);
    DIFS + air_time(data_frame(ip), rate, preamble) + SIFS + ack
}

/// Mean backoff before transmission `attempt` of a packet, from 1: half of the contention window, which doubles.
pub fn mean_backoff(attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(5);
    SLOT * (((CW_MIN + 1) << doublings) - 1).min(CW_MAX) / 2
}

/// Mean time from one packet of a single saturated station to the next.
pub fn saturated_cycle(ip: DataSize, rate: DataRate, preamble: Preamble) -> Duration {
    exchange(ip, rate, preamble) + mean_backoff(1)
}

/// Goodput of a single saturated station that sends `packets`, given as payload and IP size, over and over.
/// Zero without packets.
pub fn saturated_goodput(packets: &[(DataSize, DataSize)], rate: DataRate, preamble: Preamble) -> Bitrate {
    let payload: DataSize = packets.iter().map(|&(payload, _)| payload).sum();
    let time = packets.iter().map(|&(_, ip)| saturated_cycle(ip, rate, preamble)).sum();
    rate_of(payload, time)
}

/// Goodput of one TCP sender on a station, acknowledged by the access point once for every two segments.
///
/// The station always has a segment, so that its own backoff fills all idle time, and the access point's counts down
/// within it: a round of two segments and one acknowledgement has two mean backoffs. They collide when both end in the
/// same slot. Counted in slots from the acknowledgement's draw, the station's transmissions are a renewal process with
/// uniform steps of 0 to w-1, which hits slot k with probability (w/(w-1))^k / w; the mean over the access point's
/// draw of 0 to w-1 is the chance of a collision, 5.3 % for w = 32. Its cost: the longer frame, the wait for the
/// acknowledgement that does not come, and a backoff from the doubled window.
pub fn tcp_goodput(
    payload: DataSize,
    segment_ip: DataSize,
    ack_ip: DataSize,
    rate: DataRate,
    preamble: Preamble,
) -> Bitrate {
    let round = saturated_cycle(segment_ip, rate, preamble) * 2 + exchange(ack_ip, rate, preamble);
    let longer = air_time(data_frame(segment_ip.max(ack_ip)), rate, preamble);
    let timeout = ack_timeout(preamble.at(rate.acknowledgement()));
    let collision = longer + timeout + DIFS + mean_backoff(2);
    rate_of(payload + payload, round + collision.mul_f64(collision_chance()))
}

fn collision_chance() -> f64 {
    let window = f64::from(CW_MIN + 1);
    let growth = window / (window - 1.0);
    (window - 1.0) / (window * window) * (libm::pow(growth, window) - 1.0)
}

fn rate_of(payload: DataSize, time: Duration) -> Bitrate {
    match time.as_nanos() {
        0 => Bitrate::from_bps(0),
        nanos => Bitrate::from_bps((u128::from(payload.as_bits()) * 1_000_000_000 / nanos) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_the_sum_of_the_standards_parts() {
        // 50 + 192 + 1118 + 10 + 192 + 56, and 15.5 slots of 20.
        let ip = DataSize::from_bytes(1500);
        assert_eq!(exchange(ip, DataRate::Mbps11, Preamble::Long), Duration::from_micros(1618));
        assert_eq!(saturated_cycle(ip, DataRate::Mbps11, Preamble::Long), Duration::from_micros(1928));
        let windows: Vec<u64> = (1..=8).map(|n| mean_backoff(n).as_micros() as u64 / 10).collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
    }

    #[test]
    fn goodputs_are_those_of_the_hand_calculation() {
        let packet = |payload| (DataSize::from_bytes(payload), DataSize::from_bytes(payload + 28));
        let full = saturated_goodput(&[packet(1472)], DataRate::Mbps11, Preamble::Long);
        assert_eq!(full.as_bps(), 6_107_883);
        assert_eq!(saturated_goodput(&[], DataRate::Mbps11, Preamble::Long), Bitrate::from_bps(0));
        let sizes = [1448, 1500, 52].map(DataSize::from_bytes);
        let tcp = tcp_goodput(sizes[0], sizes[1], sizes[2], DataRate::Mbps11, Preamble::Long);
        assert!((5.08..5.13).contains(&tcp.as_mbps_f64()), "{tcp}");
    }
}
