use super::error::{PacketError, check_length};
use super::header::{HEADER_LENGTH, Header, PacketType, u16_at, u32_at, u64_at};

/// Packets before the newest that can be named.
pub const MISSING_WINDOW: u16 = 1_024;

/// Ranges that one packet has room for, so that it fits any path that carries an opening.
pub const MAX_MISSING_RANGES: usize = 64;

const FIXED: usize = 13;
const RANGE: usize = 4;

/// Consecutive packets that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// How far the first of them is before [`Missing::next`]: 1 is the one just before.
    pub back: u16,
    /// How many.
    pub count: u16,
}

/// The client names video packets that did not arrive, and says which moment of the movie its player shows. The paper has
/// no such packet: it is sent in sessions that agreed on [`Features::REPEATS`](super::Features::REPEATS) only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The session.
    pub session: u64,
    /// Counts these packets from 0: an old one is recognised, also when it is a replay.
    pub report: u32,
    /// One more than the highest sequence number that arrived.
    pub next: u32,
    /// Media time that the player shows now, in nanoseconds: below zero before the first frame.
    pub shown: i64,
    /// What is missing, oldest first.
    pub ranges: Vec<MissingRange>,
}

impl Missing {
    /// The sequence numbers that it names, oldest first: [`MISSING_WINDOW`] at most.
    pub fn sequences(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|range| {
            let first = self.next.wrapping_sub(u32::from(range.back));
            (0..u32::from(range.count)).map(move |number| first.wrapping_add(number))
        })
    }

    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        let (packet, length) = ("list of missing packets", HEADER_LENGTH + body.len());
        let Some(&count) = body.get(FIXED - 1) else {
            return Err(PacketError::Length { packet, length, expected: HEADER_LENGTH + FIXED });
        };
        let count = usize::from(count);
        if count > MAX_MISSING_RANGES {
            let (field, value) = ("ranges of missing packets", count as u64);
            return Err(PacketError::Field { field, value, allowed: "0 to 64" });
        }
        check_length(packet, length, HEADER_LENGTH + FIXED + RANGE * count)?;
        let ranges: Vec<_> = body[FIXED..]
            .chunks_exact(RANGE)
            .map(|range| MissingRange { back: u16_at(range, 0), count: u16_at(range, 2) })
            .collect();
        check_ranges(&ranges)?;
        Ok(Self {
            session: header.session,
            report: header.sequence,
            next: u32_at(body, 0),
            shown: u64_at(body, 4).cast_signed(),
            ranges,
        })
    }

    /// Appends the packet to `out`.
    ///
    /// # Panics
    /// With more than [`MAX_MISSING_RANGES`] ranges.
    pub fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.ranges.len() <= MAX_MISSING_RANGES, "{} ranges of missing packets", self.ranges.len());
        Header::plain(PacketType::Missing, self.session, self.report).emit(out);
        out.extend(self.next.to_be_bytes());
        out.extend(self.shown.to_be_bytes());
        out.push(self.ranges.len() as u8);
        for range in &self.ranges {
            out.extend(range.back.to_be_bytes());
            out.extend(range.count.to_be_bytes());
        }
    }
}

/// Within the window, oldest first, and with something that arrived between two of them: one reading for each set.
fn check_ranges(ranges: &[MissingRange]) -> Result<(), PacketError> {
    let mut most = MISSING_WINDOW;
    for range in ranges {
        if range.back == 0 || range.back > most {
            let (field, value) = ("place of missing packets", u64::from(range.back));
            return Err(PacketError::Field { field, value, allowed: "1 to 1,024, beyond the range before" });
        }
        if range.count == 0 || range.count > range.back {
            let (field, value) = ("number of missing packets", u64::from(range.count));
            return Err(PacketError::Field { field, value, allowed: "1 to the newest" });
        }
        most = (range.back - range.count).saturating_sub(1);
    }
    Ok(())
}
