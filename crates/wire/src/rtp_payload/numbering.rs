//! From sequence numbers of 16 bits to numbers that never wrap, as long as that can be known.

use framewire_units::Timestamp;

use crate::rtp::extend_sequence;

/// A jump ahead by more packets than this is believed only once another packet confirms it (`MAX_DROPOUT`, RFC 3550,
/// appendix A.1).
pub(crate) const LARGEST_JUMP: u64 = 3_000;

/// A packet further behind than this is a jump ahead through the 16-bit wrap (`MAX_MISORDER`, same place).
pub(crate) const FURTHEST_BEHIND: u64 = 100;

/// One turn of the sequence number.
const TURN: u64 = 1 << 16;

/// During an outage a sender may send so many times as many packets per tick as on average before it. Over the many
/// seconds that 65,536 packets take, the rate of coded video does not double: its decoder buffer evens it out (VBV,
/// ISO/IEC 13818-2, annex C).
const RATE_MARGIN: u128 = 2;

/// What comes behind an outage in which the sequence number may have wrapped is numbered from the next multiple of this, where no
/// sender gets to: at a turn of the sequence number each second it takes 18 hours.
pub(super) const UNKNOWN_PLACE: u64 = 1 << 32;

/// Numbers the packets of one stream.
///
/// 16 bits name a packet only while fewer than 65,536 have passed unseen. Whether more may have, the RTP time stamp
/// shows it: it advances with the video (RFC 3550, section 5.1), and the stream so far says how many packets that
/// takes. A packet that may have one of two numbers is in doubt, and so is what follows it, until one is taken: as in
/// appendix A.1 a source that leaps is followed when two of its packets agree. Where by the time at which packets come
/// no 65,536 can have been sent meanwhile, its time stamps leapt, and numbers go on; else their place in the stream is lost,
/// and they go on from a multiple of [`UNKNOWN_PLACE`]. So a number below that is right.
///
/// # Limits
/// - A packet that directly follows the last one is believed to, whatever its time stamp says (a sender that pauses
///   loses nothing), unless one before it could not be numbered. So a gap of an exact multiple of 65,536 packets is
///   not seen.
/// - Until the time stamp has advanced once there is no rate to compare with, and after 2^31 ticks without a packet
///   (6.6 hours) it seems to have gone backwards. Then the number of the packet is taken for the nearest one.
/// - A rate that more than doubles during such an outage is not foreseen.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    pace: Option<Pace>,
    /// A packet could not be numbered, and none was accepted since.
    is_lost: bool,
}

/// How many packets the stream takes per tick, and per nanosecond.
#[derive(Clone, Copy, Debug)]
struct Pace {
    highest: u64,
    /// Time stamp of the packet with the highest number, and when it came.
    timestamp: u32,
    arrived_at: Timestamp,
    /// From the first packet to that one, without leaps.
    packets: u64,
    ticks: i64,
    nanos: i64,
}

/// Why a packet has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNumber {
    BeforeFirst,
    /// The stamp has advanced by so much that the sequence number may have wrapped.
    MayHaveWrapped {
        ticks: u32,
        /// The number that it has where another packet says the same.
        if_confirmed: u64,
    },
}

/// What numbers a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    pub(super) sequence_number: u16,
    pub(super) timestamp: u32,
    pub(super) arrived_at: Timestamp,
}

impl Numbering {
    /// The highest number accepted; 0 before the first.
    pub(super) fn highest(&self) -> u64 {
        self.pace.map_or(0, |pace| pace.highest)
    }

    /// The number of a packet, counted from the one with `initial_sequence`.
    pub(super) fn number(&mut self, stamps: Stamps, initial_sequence: u16) -> Result<u64, NoNumber> {
        // A turn is added so that packets from before the first one have a number too.
        let offset = TURN + u64::from(initial_sequence);
        let highest = offset + self.highest();
        let nearest = extend_sequence(highest, stamps.sequence_number).ok_or(NoNumber::BeforeFirst)?;
        let jumped = nearest + FURTHEST_BEHIND < highest;
        let extended = if jumped { nearest + TURN } else { nearest };
        let follows = extended == highest + 1 && !self.is_lost;
        let number = extended.checked_sub(offset).ok_or(NoNumber::BeforeFirst);
        if let Some(pace) = self.pace.filter(|_| !follows) {
            let ticks = pace.advance(stamps.timestamp);
            let at_least = u128::from(extended + TURN - highest);
            if at_least <= pace.most_packets_in(ticks) {
                self.is_lost = true;
                let if_confirmed = if at_least <= pace.most_packets_until(stamps.arrived_at) {
                    let place = stamps.sequence_number.wrapping_sub(initial_sequence);
                    (pace.highest / UNKNOWN_PLACE + 1) * UNKNOWN_PLACE + u64::from(place)
                } else {
                    number?
                };
                return Err(NoNumber::MayHaveWrapped { ticks, if_confirmed });
            }
        }
        number
    }

    /// Whether two packets may be of one clock: no turn of numbers fits between their time stamps.
    pub(super) fn is_one_clock(&self, one: u32, other: u32) -> bool {
        let apart = (one.wrapping_sub(other) as i32).unsigned_abs();
        self.pace.is_none_or(|pace| pace.most_packets_in(apart) < u128::from(TURN))
    }

    /// A packet was accepted under the number it was given; `leapt`: it was [in doubt](NoNumber::MayHaveWrapped), and is the
    /// first one that was confirmed.
    pub(super) fn note_accepted(&mut self, number: u64, timestamp: u32, arrived_at: Timestamp, leapt: bool) {
        self.is_lost = false;
        let first = Pace { highest: number, timestamp, arrived_at, packets: 0, ticks: 0, nanos: 0 };
        let pace = self.pace.get_or_insert(first);
        if number > pace.highest {
            if !leapt {
                pace.packets += number - pace.highest;
                pace.ticks += i64::from(timestamp.wrapping_sub(pace.timestamp) as i32);
                pace.nanos = pace.nanos.saturating_add(arrived_at.nanos_since(pace.arrived_at));
            }
            (pace.highest, pace.timestamp, pace.arrived_at) = (number, timestamp, arrived_at);
        }
    }
}

impl Pace {
    /// Ticks since the packet with the highest number; 0 for a packet from before it.
    fn advance(&self, timestamp: u32) -> u32 {
        u32::try_from(timestamp.wrapping_sub(self.timestamp) as i32).unwrap_or(0)
    }

    fn most_packets_in(&self, ticks: u32) -> u128 {
        match u128::try_from(self.ticks) {
            Ok(ticks_so_far @ 1..) => RATE_MARGIN * u128::from(self.packets) * u128::from(ticks) / ticks_so_far,
            _ => 0,
        }
    }

    /// The same by when packets come, which a sender's time stamps do not change; any number where they all came at once.
    fn most_packets_until(&self, now: Timestamp) -> u128 {
        let nanos = now.saturating_since(self.arrived_at).as_nanos();
        match u128::try_from(self.nanos) {
            Ok(nanos_so_far @ 1..) => RATE_MARGIN * u128::from(self.packets) * nanos / nanos_so_far,
            _ => u128::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIAL: u16 = 65_530;
    /// Ticks of a packet: 1,000 packets per second.
    const TICKS: u64 = 90;

    /// After the packets 0 to `highest`.
    fn after(highest: u64) -> Numbering {
        let mut numbering = Numbering::default();
        (0..=highest).for_each(|number| accept(&mut numbering, number));
        numbering
    }

    fn accept(numbering: &mut Numbering, number: u64) {
        numbering.note_accepted(number, (number * TICKS) as u32, time(number), false);
    }

    /// When a packet comes.
    fn time(sent: u64) -> Timestamp {
        Timestamp::from_millis(sent)
    }

    fn stamps(sent: u64, timestamp: u32, arrived_at: Timestamp) -> Stamps {
        Stamps { sequence_number: INITIAL.wrapping_add(sent as u16), timestamp, arrived_at }
    }

    fn number(numbering: &mut Numbering, sent: u64) -> Result<u64, NoNumber> {
        numbering.number(stamps(sent, (sent * TICKS) as u32, time(sent)), INITIAL)
    }

    /// A packet with a time stamp of its own, which comes when it is due.
    fn stamped(numbering: &mut Numbering, sent: u64, timestamp: u32) -> Result<u64, NoNumber> {
        numbering.number(stamps(sent, timestamp, time(sent)), INITIAL)
    }

    #[test]
    fn after_an_outage_of_any_length_a_number_is_right_or_none() {
        const HIGHEST: u64 = 10;
        // The gaps that look like none are a stated limit.
        let gaps = (2..70_000).chain((70_000..1_000_000).step_by(97)).filter(|gap| gap % TURN != 1);
        for gap in gaps {
            match number(&mut after(HIGHEST), HIGHEST + gap) {
                Ok(number) => assert_eq!(number, HIGHEST + gap),
                Err(reason) => {
                    let if_confirmed = UNKNOWN_PLACE + (HIGHEST + gap) % TURN;
                    assert_eq!(reason, NoNumber::MayHaveWrapped { ticks: (gap * TICKS) as u32, if_confirmed });
                    assert!(gap > 65_000, "a gap of {gap} packets is told from one of {}", gap + TURN);
                }
            }
        }
    }

    #[test]
    fn what_follows_a_packet_without_a_number_has_none_either() {
        let mut numbering = after(10);
        // The second turn comes by 11, the number that would follow.
        for sent in 65_600..150_000 {
            assert!(matches!(number(&mut numbering, sent), Err(NoNumber::MayHaveWrapped { .. })), "packet {sent}");
        }
    }

    #[test]
    fn one_packet_with_a_wild_time_stamp_does_no_harm() {
        let mut numbering = after(10);
        assert!(stamped(&mut numbering, 13, 1 << 30).is_err());
        assert_eq!(number(&mut numbering, 12), Ok(12));
        accept(&mut numbering, 12);
        assert_eq!(number(&mut numbering, 14), Ok(14));
    }

    #[test]
    fn a_sender_that_pauses_for_an_hour_goes_on() {
        let mut numbering = after(10);
        let hour = 3_600 * 90_000;
        assert_eq!(stamped(&mut numbering, 11, hour), Ok(11));
        numbering.note_accepted(11, hour, time(11), false);
        assert_eq!(stamped(&mut numbering, 13, hour + 180), Ok(13));
    }

    #[test]
    fn a_pause_after_a_wild_time_stamp_is_a_pause() {
        let mut numbering = after(10);
        assert!(stamped(&mut numbering, 13, 1 << 30).is_err());
        accept(&mut numbering, 11);
        assert_eq!(stamped(&mut numbering, 12, 3_600 * 90_000), Ok(12));
    }

    #[test]
    fn an_outage_may_have_been_sent_through_at_nearly_twice_the_rate() {
        let sent = 65_600;
        let timestamp = |rate_in_tenths: u64| (sent * TICKS * 10 / rate_in_tenths) as u32;
        let number = |timestamp| stamped(&mut after(10), sent, timestamp);
        assert!(matches!(number(timestamp(19)), Err(NoNumber::MayHaveWrapped { .. })));
        assert_eq!(number(timestamp(21)), Ok(sent - TURN), "a stated limit");
    }

    #[test]
    fn a_hundred_behind_is_late_and_a_packet_more_is_a_jump_through_the_wrap() {
        const HIGHEST: u64 = 1_000;
        for behind in [0, 1, 99, 100] {
            assert_eq!(number(&mut after(HIGHEST), HIGHEST - behind), Ok(HIGHEST - behind));
        }
        let now = (HIGHEST * TICKS) as u32;
        assert_eq!(stamped(&mut after(HIGHEST), HIGHEST - 101, now), Ok(HIGHEST - 101 + TURN));
        let before = |packets: u64| stamped(&mut after(50), TURN - packets, 0);
        assert_eq!(before(50), Err(NoNumber::BeforeFirst));
        assert_eq!(before(51), Ok(TURN - 51));
    }

    #[test]
    fn the_time_at_which_packets_come_tells_a_leap_of_the_clock_from_an_outage() {
        let leapt = 1 << 30;
        let if_confirmed =
            |numbering: &mut Numbering, arrived_at| match numbering.number(stamps(12, leapt, arrived_at), INITIAL) {
                Err(NoNumber::MayHaveWrapped { if_confirmed, .. }) => if_confirmed,
                other => panic!("{other:?}"),
            };
        // At 1,000 packets a second, and twice that in an outage, a turn of numbers takes 32.8 s.
        assert_eq!(if_confirmed(&mut after(10), time(10 + 32_760)), 12);
        assert_eq!(if_confirmed(&mut after(10), time(10 + 32_780)), UNKNOWN_PLACE + 12);
        let mut at_once = Numbering::default();
        (0..=10).for_each(|number| at_once.note_accepted(number, (number * TICKS) as u32, time(0), false));
        assert_eq!(if_confirmed(&mut at_once, time(0)), UNKNOWN_PLACE + 12, "nothing is known of when packets come");
        // Neither the leap nor the silence changes the rate that is known.
        let mut followed = after(10);
        followed.note_accepted(12, leapt, time(12), true);
        assert_eq!(stamped(&mut followed, 15, leapt + 3 * TICKS as u32), Ok(15));
        assert!(stamped(&mut followed, 15, leapt + 32_800 * TICKS as u32).is_err());
        assert_eq!(stamped(&mut followed, 15, leapt + 32_700 * TICKS as u32), Ok(15));
    }
}
