//! Closed forms: what the timing of the standard allows, for comparison with the model and with measurements.
//!
//! No constant here is tuned. Channel errors are left out: these are the figures of an undisturbed channel.

use framewire_units::{Bitrate, DataSize, Duration};

use crate::wifi::bss::Bss;
use crate::wifi::phy::{ACK, DataRate, data_frame};

/// DIFS, the announcement where frames are protected, the data frame of an IP packet of `ip` bytes, SIFS and the
/// acknowledgement.
pub fn exchange(ip: DataSize, rate: DataRate, bss: &Bss) -> Duration {
    let data = bss.announcement(rate) + bss.air_time(data_frame(ip), rate);
    bss.difs() + data + bss.sifs() + bss.air_time(ACK, rate.acknowledgement())
}

/// Mean backoff before transmission `attempt` of a packet, from 1: half of the contention window, which doubles.
pub(crate) fn mean_backoff(attempt: u32, bss: &Bss) -> Duration {
    let doublings = attempt.saturating_sub(1).min(10);
    bss.slot() * (((bss.cw_min() + 1) << doublings) - 1).min(Bss::CW_MAX) / 2
}

/// Mean time from one packet of a single saturated station to the next.
pub(crate) fn saturated_cycle(ip: DataSize, rate: DataRate, bss: &Bss) -> Duration {
    exchange(ip, rate, bss) + mean_backoff(1, bss)
}

/// Goodput of a single saturated station that sends `packets`, given as payload and IP size, over and over: the
/// theoretical maximum throughput of Jun, Peddabachagari and Sichitiu, "Theoretical maximum throughput of IEEE 802.11
/// and its applications", NCA 2003. Zero without packets.
pub fn saturated_goodput(packets: &[(DataSize, DataSize)], rate: DataRate, bss: &Bss) -> Bitrate {
    let payload: DataSize = packets.iter().map(|&(payload, _)| payload).sum();
    let time = packets.iter().map(|&(_, ip)| saturated_cycle(ip, rate, bss)).sum();
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
pub fn tcp_goodput(payload: DataSize, segment_ip: DataSize, ack_ip: DataSize, rate: DataRate, bss: &Bss) -> Bitrate {
    let round = saturated_cycle(segment_ip, rate, bss) * 2 + exchange(ack_ip, rate, bss);
    let longer = bss.announcement(rate) + bss.air_time(data_frame(segment_ip.max(ack_ip)), rate);
    let collision = longer + bss.answer_timeout(rate.acknowledgement()) + bss.difs() + mean_backoff(2, bss);
    rate_of(payload + payload, round + collision.mul_f64(collision_chance(bss)))
}

fn collision_chance(bss: &Bss) -> f64 {
    let window = f64::from(bss.cw_min() + 1);
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
    use crate::wifi::{Preamble, Protection, Standard};

    const LONG: Bss = Bss::dsss(Preamble::Long);

    #[test]
    fn a_full_packet_takes_the_sum_of_the_standards_parts() {
        // 50 + 192 + 1118 + 10 + 192 + 56, and 15.5 slots of 20.
        let ip = DataSize::from_bytes(1500);
        assert_eq!(exchange(ip, DataRate::Mbps11, &LONG), Duration::from_micros(1618));
        assert_eq!(saturated_cycle(ip, DataRate::Mbps11, &LONG), Duration::from_micros(1928));
        let windows: Vec<u64> = (1..=8).map(|n| mean_backoff(n, &LONG).as_micros() as u64 / 10).collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
    }

    #[test]
    fn goodputs_are_those_of_the_hand_calculation() {
        let packet = |payload| (DataSize::from_bytes(payload), DataSize::from_bytes(payload + 28));
        let full = saturated_goodput(&[packet(1472)], DataRate::Mbps11, &LONG);
        assert_eq!(full.as_bps(), 6_107_883);
        assert_eq!(saturated_goodput(&[], DataRate::Mbps11, &LONG), Bitrate::from_bps(0));
        let sizes = [1448, 1500, 52].map(DataSize::from_bytes);
        let tcp = tcp_goodput(sizes[0], sizes[1], sizes[2], DataRate::Mbps11, &LONG);
        assert!((5.08..5.13).contains(&tcp.as_mbps_f64()), "{tcp}");
    }

    /// Microseconds from one full packet to the next, each the sum of its parts by hand: DIFS, announcement, data,
    /// signal extension, SIFS, acknowledgement with its extension, and 7.5 slots.
    #[test]
    fn cycles_of_ofdm_are_those_of_the_hand_calculation() {
        let cycle = |standard, protection, rate| {
            let bss = Bss { standard, preamble: Preamble::Long, protection };
            saturated_cycle(DataSize::from_bytes(1500), rate, &bss)
        };
        let (g, a) = (Standard::Ieee80211g, Standard::Ieee80211a);
        let micros = |micros: f64| Duration::from_nanos((micros * 1000.0) as u64);
        let unprotected = cycle(a, Protection::None, DataRate::Mbps54);
        assert_eq!(unprotected, micros(34.0 + 248.0 + 16.0 + 28.0 + 67.5));
        let lowest = cycle(a, Protection::None, DataRate::Mbps6);
        assert_eq!(lowest, micros(34.0 + 2072.0 + 16.0 + 44.0 + 67.5));
        let pure = cycle(g, Protection::None, DataRate::Mbps54);
        assert_eq!(pure, micros(28.0 + 254.0 + 10.0 + 34.0 + 67.5));
        let mixed = cycle(g, Protection::CtsToSelf, DataRate::Mbps54);
        assert_eq!(mixed, micros(50.0 + 258.0 + 254.0 + 10.0 + 34.0 + 150.0));
        let requested = cycle(g, Protection::RtsCts, DataRate::Mbps24);
        assert_eq!(requested, micros(50.0 + 540.0 + 542.0 + 10.0 + 34.0 + 150.0));
    }
}
