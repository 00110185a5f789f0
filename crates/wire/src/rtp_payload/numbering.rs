//! From sequence numbers of 16 bits to numbers that never wrap, as long as that can be known.

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

/// Numbers the packets of one stream.
///
/// 16 bits name a packet only while fewer than 65,536 have passed unseen. Whether more may have, the RTP time stamp
/// shows it: it advances with the video (RFC 3550, section 5.1), and the stream so far says how many packets that
/// takes. A packet that may have one of two numbers gets none. Nor does what follows: its place in the stream is lost.
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

/// How many packets the stream takes per tick.
#[derive(Clone, Copy, Debug)]
struct Pace {
    first: u64,
    highest: u64,
    /// Time stamp of the packet with the highest number.
    timestamp: u32,
    /// From the first packet to that one.
    ticks: i64,
}

/// Why a packet has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNumber {
    BeforeFirst,
    /// The stamp has advanced by so much that the sequence number may have wrapped.
    MayHaveWrapped {
        ticks: u32,
    },
}

impl Numbering {
    /// The highest number accepted; 0 before the first.
    pub(super) fn highest(&self) -> u64 {
        self.pace.map_or(0, |pace| pace.highest)
    }

    /// The number of a packet, counted from the one with `initial_sequence`.
    pub(super) fn number(
        &mut self,
        sequence_number: u16,
        timestamp: u32,
        initial_sequence: u16,
    ) -> Result<u64, NoNumber> {
        // A turn is added so that packets from before the first one have a number too.
        let offset = TURN + u64::from(initial_sequence);
        let highest = offset + self.highest();
        let nearest = extend_sequence(highest, sequence_number).ok_or(NoNumber::BeforeFirst)?;
        let jumped = nearest + FURTHEST_BEHIND < highest;
        let extended = if jumped { nearest + TURN } else { nearest };
        let follows = extended == highest + 1 && !self.is_lost;
        if let Some(pace) = self.pace.filter(|_| !follows) {
            let ticks = pace.advance(timestamp);
            if u128::from(extended + TURN - highest) <= pace.most_packets_in(ticks) {
                self.is_lost = true;
                return Err(NoNumber::MayHaveWrapped { ticks });
            }
        }
        extended.checked_sub(offset).ok_or(NoNumber::BeforeFirst)
    }

    /// A packet was accepted under the number it was given.
    pub(super) fn note_accepted(&mut self, number: u64, timestamp: u32) {
        self.is_lost = false;
        let pace = self.pace.get_or_insert(Pace { first: number, highest: number, timestamp, ticks: 0 });
        if number > pace.highest {
            pace.ticks += i64::from(timestamp.wrapping_sub(pace.timestamp) as i32);
            pace.highest = number;
            pace.timestamp = timestamp;
        }
    }
}

impl Pace {
    /// Ticks since the packet with the highest number; 0 for a packet from before it.
    fn advance(&self, timestamp: u32) -> u32 {
        u32::try_from(timestamp.wrapping_sub(self.timestamp) as i32).unwrap_or(0)
    }

    fn most_packets_in(&self, ticks: u32) -> u128 {
        let packets = u128::from(self.highest - self.first);
        match u128::try_from(self.ticks) {
            Ok(ticks_so_far @ 1..) => RATE_MARGIN * packets * u128::from(ticks) / ticks_so_far,
            _ => 0,
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
        (0..=highest).for_each(|number| numbering.note_accepted(number, (number * TICKS) as u32));
        numbering
    }

    fn number(numbering: &mut Numbering, sent: u64) -> Result<u64, NoNumber> {
        numbering.number(INITIAL.wrapping_add(sent as u16), (sent * TICKS) as u32, INITIAL)
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
                    assert_eq!(reason, NoNumber::MayHaveWrapped { ticks: (gap * TICKS) as u32 });
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
        assert!(numbering.number(INITIAL.wrapping_add(13), 1 << 30, INITIAL).is_err());
        assert_eq!(number(&mut numbering, 12), Ok(12));
        numbering.note_accepted(12, 12 * TICKS as u32);
        assert_eq!(number(&mut numbering, 14), Ok(14));
    }

    #[test]
    fn a_sender_that_pauses_for_an_hour_goes_on() {
        let mut numbering = after(10);
        let hour = 3_600 * 90_000;
        assert_eq!(numbering.number(INITIAL.wrapping_add(11), hour, INITIAL), Ok(11));
        numbering.note_accepted(11, hour);
        assert_eq!(numbering.number(INITIAL.wrapping_add(13), hour + 180, INITIAL), Ok(13));
    }

    #[test]
    fn a_pause_after_a_wild_time_stamp_is_a_pause() {
        let mut numbering = after(10);
        assert!(numbering.number(INITIAL.wrapping_add(13), 1 << 30, INITIAL).is_err());
        numbering.note_accepted(11, 11 * TICKS as u32);
        assert_eq!(numbering.number(INITIAL.wrapping_add(12), 3_600 * 90_000, INITIAL), Ok(12));
    }

    #[test]
    fn an_outage_may_have_been_sent_through_at_nearly_twice_the_rate() {
        let sent = 65_600;
        let timestamp = |rate_in_tenths: u64| (sent * TICKS * 10 / rate_in_tenths) as u32;
        let number = |timestamp| after(10).number(INITIAL.wrapping_add(sent as u16), timestamp, INITIAL);
        assert!(matches!(number(timestamp(19)), Err(NoNumber::MayHaveWrapped { .. })));
        assert_eq!(number(timestamp(21)), Ok(sent - TURN), "a stated limit");
    }

    #[test]
    fn a_hundred_behind_is_late_and_a_packet_more_is_a_jump_through_the_wrap() {
        const HIGHEST: u64 = 1_000;
        for behind in [0, 1, 99, 100] {
            assert_eq!(number(&mut after(HIGHEST), HIGHEST - behind), Ok(HIGHEST - behind));
        }
        let sequence_number = INITIAL.wrapping_add((HIGHEST - 101) as u16);
        let now = (HIGHEST * TICKS) as u32;
        assert_eq!(after(HIGHEST).number(sequence_number, now, INITIAL), Ok(HIGHEST - 101 + TURN));
        assert_eq!(after(50).number(INITIAL.wrapping_sub(50), 0, INITIAL), Err(NoNumber::BeforeFirst));
        assert_eq!(after(50).number(INITIAL.wrapping_sub(51), 0, INITIAL), Ok(TURN - 51));
    }
}
