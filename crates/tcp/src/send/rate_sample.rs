//! The delivery rate (draft-cheng-iccrg-delivery-rate-estimation). Linux: `tcp_rate.c`.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::congestion::RateSample;

/// What a packet remembers of the delivery when it was last sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryStamp {
    /// When the flight that it belongs to began (P.first_sent_time).
    first_sent: Timestamp,
    /// When something was last delivered before it was sent (P.delivered_time); `None` once it is accounted for.
    delivered_time: Option<Timestamp>,
    /// Packets delivered before it was sent (P.delivered).
    delivered: u64,
    delivered_ce: u64,
    /// Packets judged lost before it was sent.
    lost: u64,
    /// Packets in flight with it.
    in_flight: u32,
    is_app_limited: bool,
}

impl DeliveryStamp {
    /// The packet is accounted for.
    pub(super) fn clear(&mut self) {
        self.delivered_time = None;
    }
}

/// The newest packet that an acknowledgement covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    stamp: DeliveryStamp,
    delivered_time: Timestamp,
    end: u64,
    send_interval: Duration,
}

impl Newest {
    /// Packets delivered before it was sent.
    pub(super) fn prior_delivered(&self) -> u64 {
        self.stamp.delivered
    }
}

/// The state of delivery of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Packets delivered, the handshake's counted (C.delivered).
    pub delivered: u64,
    /// Packets delivered of which an ECN echo reported that the network was congested.
    pub delivered_ce: u64,
    /// Packets judged lost.
    pub lost: u64,
    delivered_time: Timestamp,
    first_sent: Timestamp,
    /// The count of delivered packets up to which the application limits the rate; zero where it does not
    /// (C.app_limited).
    app_limited: u64,
    /// The most recent sample that counts: packets over a time.
    latest: Option<(u32, Duration)>,
    latest_is_app_limited: bool,
}

impl Delivery {
    /// A connection that has just been opened.
    pub(super) fn new() -> Self {
        Self {
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            delivered_time: Timestamp::ZERO,
            first_sent: Timestamp::ZERO,
            app_limited: 0,
            latest: None,
            latest_is_app_limited: false,
        }
    }

    /// Packets are delivered.
    pub(super) fn count(&mut self, packets: u32, ecn_echo: bool) {
        self.delivered += u64::from(packets);
        if ecn_echo {
            self.delivered_ce += u64::from(packets);
        }
    }

    /// A packet is sent; `in_flight` counts it. `starts`: nothing was outstanding before.
    pub(super) fn stamp(&mut self, now: Timestamp, starts: bool, in_flight: u32) -> DeliveryStamp {
        if starts {
            self.first_sent = now;
            self.delivered_time = now;
        }
        DeliveryStamp {
            first_sent: self.first_sent,
            delivered_time: Some(self.delivered_time),
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            lost: self.lost,
            in_flight,
            is_app_limited: self.app_limited != 0,
        }
    }

    /// A packet that was sent at `sent` and ends at `end` is delivered: keeps the newest of an acknowledgement.
    pub(super) fn see(&mut self, newest: &mut Option<Newest>, stamp: &DeliveryStamp, sent: Timestamp, end: u64) {
        let Some(delivered_time) = stamp.delivered_time else { return };
        if newest.is_none_or(|newest| (sent, end) > (self.first_sent, newest.end)) {
            self.first_sent = sent;
            let send_interval = sent.saturating_since(stamp.first_sent);
            *newest = Some(Newest { stamp: *stamp, delivered_time, end, send_interval });
        }
    }

    /// The sample of an acknowledgement that newly delivered `delivered` packets. `is_usable` is false after reneging.
    pub(super) fn sample(
        &mut self,
        now: Timestamp,
        delivered: u32,
        newest: Option<Newest>,
        min_rtt: Option<Duration>,
        is_usable: bool,
    ) -> RateSample {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if delivered > 0 {
            self.delivered_time = now;
        }
        let Some(newest) = newest.filter(|_| is_usable) else { return RateSample::NONE };
        let interval = newest.send_interval.max(now.saturating_since(newest.delivered_time));
        let sample = RateSample {
            delivered: (self.delivered - newest.stamp.delivered) as u32,
            prior_delivered: newest.stamp.delivered,
            prior_time: newest.delivered_time,
            // An interval below the path's delay is an artefact of compressed acknowledgements or a spurious
            // retransmission.
            interval: Some(interval).filter(|&interval| min_rtt.is_none_or(|min_rtt| interval >= min_rtt)),
            is_app_limited: newest.stamp.is_app_limited,
            in_flight_at_send: newest.stamp.in_flight,
            lost_at_send: newest.stamp.lost,
            delivered_ce: (self.delivered_ce - newest.stamp.delivered_ce) as u32,
        };
        self.keep(&sample);
        sample
    }

    /// Keeps the last sample that the application did not limit, or the highest that it did.
    fn keep(&mut self, sample: &RateSample) {
        let Some(interval) = sample.interval else { return };
        let is_higher = self.latest.is_none_or(|(delivered, over)| {
            u128::from(sample.delivered) * over.as_nanos() >= u128::from(delivered) * interval.as_nanos()
        });
        if !sample.is_app_limited || is_higher {
            self.latest = Some((sample.delivered, interval));
            self.latest_is_app_limited = sample.is_app_limited;
        }
    }

    /// The application has nothing more to send: what is delivered up to now and what is in flight shows no more than
    /// its rate.
    pub(super) fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Whether the application limits the rate.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The rate that was kept, for packets of `packet` bytes, and whether the application limited it.
    pub(super) fn latest(&self, packet: u32) -> Option<(Bitrate, bool)> {
        let (delivered, interval) = self.latest?;
        let bits = u128::from(DataSize::from_bytes(u64::from(delivered) * u64::from(packet)).as_bits());
        let rate = bits * 1_000_000_000 / interval.as_nanos().max(1);
        Some((Bitrate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX)), self.latest_is_app_limited))
    }
}

impl RateSample {
    /// Nothing is known of the rate.
    pub(crate) const NONE: Self = Self {
        delivered: 0,
        prior_delivered: 0,
        prior_time: Timestamp::ZERO,
        interval: None,
        is_app_limited: false,
        in_flight_at_send: 0,
        lost_at_send: 0,
        delivered_ce: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_longer_of_sending_and_acknowledging_counts() {
        let mut delivery = Delivery::new();
        // Four packets a millisecond apart; their acknowledgements come together after 10 ms.
        let stamps: Vec<_> = (0..4).map(|i| delivery.stamp(at(i), i == 0, i as u32 + 1)).collect();
        let mut newest = None;
        for (i, stamp) in stamps.iter().enumerate() {
            delivery.see(&mut newest, stamp, at(i as u64), 100 * (i as u64 + 1));
        }
        delivery.count(4, false);
        let sample = delivery.sample(at(13), 4, newest, Some(Duration::from_millis(10)), true);
        assert_eq!((sample.delivered, sample.interval), (4, Some(Duration::from_millis(13))));
        assert_eq!(sample.in_flight_at_send, 4);
        assert!(!sample.is_app_limited);
        let (rate, _) = delivery.latest(1000).unwrap();
        assert_eq!(rate.as_bps(), 4 * 8000 * 1000 / 13);
    }

    #[test]
    fn an_interval_below_the_least_round_trip_time_is_not_valid() {
        let mut delivery = Delivery::new();
        let stamp = delivery.stamp(at(0), true, 1);
        let mut newest = None;
        delivery.see(&mut newest, &stamp, at(0), 100);
        delivery.count(1, false);
        assert_eq!(delivery.sample(at(9), 1, newest, Some(Duration::from_millis(10)), true).interval, None);
    }

    #[test]
    fn the_application_limits_until_what_was_in_flight_is_delivered() {
        let mut delivery = Delivery::new();
        delivery.mark_app_limited(2);
        let limited = delivery.stamp(at(0), true, 1);
        delivery.count(3, false);
        let mut newest = None;
        delivery.see(&mut newest, &limited, at(0), 100);
        assert!(delivery.sample(at(10), 3, newest, None, true).is_app_limited);
        assert!(!delivery.is_app_limited());
        assert!(!delivery.stamp(at(11), true, 1).is_app_limited);
    }
}
