//! The clocks of a program: time stamps of 90 kHz, a reference of 27 MHz, both of 33 bits and more when they are
//! unwrapped (2.4.2.1, 2.4.3.5, 2.4.3.7).

/// Ticks per second of presentation and decoding time stamps: the system clock divided by 300 (2.4.3.7).
pub(crate) const TIMESTAMP_CLOCK: u64 = 90_000;

/// Ticks per second of the program clock reference (2.4.2.1).
pub(crate) const SYSTEM_CLOCK: u64 = 27_000_000;

/// Ticks of the system clock in one of a time stamp (2.4.3.5).
pub(super) const TICKS_PER_TIMESTAMP: u64 = SYSTEM_CLOCK / TIMESTAMP_CLOCK;

/// Where time stamps wrap: they have 33 bits (2.4.3.7), enough for 26.5 hours.
pub(crate) const TIMESTAMP_WRAP: u64 = 1 << 33;

/// Where program clock references wrap.
pub const CLOCK_WRAP: u64 = TIMESTAMP_WRAP * TICKS_PER_TIMESTAMP;

/// Bytes of a time stamp with its prefix and marker bits.
pub(super) const TIMESTAMP_LENGTH: usize = 5;

/// Bytes of a program clock reference.
pub(super) const REFERENCE_LENGTH: usize = 6;

/// A time stamp as it is coded behind a prefix of four bits; it is wrapped (2.4.3.6).
pub(super) fn put_timestamp(prefix: u8, timestamp: u64) -> [u8; TIMESTAMP_LENGTH] {
    let ticks = timestamp % TIMESTAMP_WRAP;
    let [.., b3, b2, b1, b0] = (ticks as u32).to_be_bytes();
    let top = (ticks >> 30) as u8;
    // Three bits, fifteen and fifteen, each before a marker bit.
    [prefix << 4 | top << 1 | 1, b3 << 2 | b2 >> 6, b2 << 2 | b1 >> 6 | 1, b1 << 1 | b0 >> 7, b0 << 1 | 1]
}

/// A time stamp; `None` where a marker bit is missing.
pub(super) fn timestamp(bytes: [u8; TIMESTAMP_LENGTH]) -> Option<u64> {
    let [first, second, third, fourth, fifth] = bytes.map(u64::from);
    let has_markers = first & third & fifth & 1 == 1;
    has_markers.then_some((first >> 1 & 7) << 30 | second << 22 | (third >> 1) << 15 | fourth << 7 | fifth >> 1)
}

/// A program clock reference as it is coded; it is wrapped (2.4.3.4).
pub(super) fn put_reference(ticks: u64) -> [u8; REFERENCE_LENGTH] {
    let ticks = ticks % CLOCK_WRAP;
    let (base, extension) = (ticks / TICKS_PER_TIMESTAMP, ticks % TICKS_PER_TIMESTAMP);
    // 33 bits, six reserved ones, nine bits.
    let [.., b5, b4, b3, b2, b1, b0] = (base << 15 | 0x3F << 9 | extension).to_be_bytes();
    [b5, b4, b3, b2, b1, b0]
}

/// A program clock reference in ticks of the system clock; `None` where its extension is beyond 299.
pub(super) fn reference(bytes: [u8; REFERENCE_LENGTH]) -> Option<u64> {
    let word = bytes.iter().fold(0, |word: u64, &byte| word << 8 | u64::from(byte));
    let (base, extension) = (word >> 15, word & 0x1FF);
    (extension < TICKS_PER_TIMESTAMP).then_some(base * TICKS_PER_TIMESTAMP + extension)
}

/// Takes times that wrap for those nearest to the ones before.
#[derive(Clone, Copy, Debug)]
pub struct Unwrapper {
    wrap: u64,
    last: Option<u64>,
}

impl Unwrapper {
    /// For time stamps.
    pub(crate) const fn of_timestamps() -> Self {
        Self { wrap: TIMESTAMP_WRAP, last: None }
    }

    /// For program clock references.
    pub(crate) const fn of_references() -> Self {
        Self { wrap: CLOCK_WRAP, last: None }
    }

    /// For time stamps of RTP, which have 32 bits (RFC 3550, section 5.1).
    pub const fn of_rtp() -> Self {
        Self { wrap: 1 << 32, last: None }
    }

    /// The time that is `wrapped` and nearest to the last one; the first is as it is.
    pub fn unwrap(&mut self, wrapped: u64) -> u64 {
        let last = self.last.unwrap_or(wrapped);
        let base = last - last % self.wrap + wrapped % self.wrap;
        let candidates = [base.checked_sub(self.wrap), Some(base), base.checked_add(self.wrap)];
        let nearest = candidates.into_iter().flatten().min_by_key(|time| time.abs_diff(last)).unwrap_or(base);
        self.last = Some(nearest);
        nearest
    }

    /// The time that is `wrapped` and nearest to the last one, which may be before zero; the next ones do not go on from it.
    pub(super) fn near(&self, wrapped: u64) -> i64 {
        let last = self.last.unwrap_or(0) as i64;
        let wrap = self.wrap as i64;
        let ahead = (wrapped as i64 - last).rem_euclid(wrap);
        last + if ahead > wrap / 2 { ahead - wrap } else { ahead }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn time_stamps_lie_where_the_standard_says() {
        // '0010', 32..30, 1, 29..15, 1, 14..0, 1.
        assert_eq!(put_timestamp(2, 0), [0x21, 0, 1, 0, 1]);
        assert_eq!(put_timestamp(2, TIMESTAMP_WRAP - 1), [0x2F, 0xFF, 0xFF, 0xFF, 0xFF]);
        assert_eq!(put_timestamp(3, 1 << 30), [0x33, 0, 1, 0, 1]);
        assert_eq!(put_timestamp(1, 1 << 15), [0x11, 0, 3, 0, 1]);
        assert_eq!(put_timestamp(2, 1), [0x21, 0, 1, 0, 3]);
        assert_eq!(timestamp([0x20, 0, 1, 0, 1]), None, "a marker bit is missing");
        assert_eq!(put_reference(299), [0, 0, 0, 0, 0x7F, 0x2B]);
        assert_eq!(put_reference(300), [0, 0, 0, 0, 0xFE, 0]);
        assert_eq!(reference([0, 0, 0, 0, 0x7F, 0x2C]), None, "an extension of 300");
    }

    #[test]
    fn times_go_on_beyond_their_wrap_and_back() {
        let mut unwrapper = Unwrapper::of_timestamps();
        let times = [TIMESTAMP_WRAP - 3_600, 0, TIMESTAMP_WRAP - 1_800, 3_600];
        let unwrapped = times.map(|time| unwrapper.unwrap(time));
        assert_eq!(unwrapped, [TIMESTAMP_WRAP - 3_600, TIMESTAMP_WRAP, TIMESTAMP_WRAP - 1_800, TIMESTAMP_WRAP + 3_600]);
    }

    proptest! {
        #[test]
        fn times_come_back_as_they_went_in(ticks in 0..CLOCK_WRAP, prefix in 1u8..4) {
            prop_assert_eq!(reference(put_reference(ticks)), Some(ticks));
            let stamp = ticks / TICKS_PER_TIMESTAMP;
            prop_assert_eq!(timestamp(put_timestamp(prefix, stamp)), Some(stamp));
        }

        #[test]
        fn steps_below_half_a_wrap_are_followed(steps in proptest::collection::vec(0..TIMESTAMP_WRAP / 2, 1..50)) {
            let (mut unwrapper, mut time) = (Unwrapper::of_timestamps(), 0);
            unwrapper.unwrap(0);
            for step in steps {
                time += step;
                prop_assert_eq!(unwrapper.unwrap(time % TIMESTAMP_WRAP), time);
            }
        }
    }
}
