//! Pictures against each other: what PSNR is worked out from.

/// Pixels that are summed before the sum is widened: 2^14 squares of at most 255 fit into 31 bits.
const PART: usize = 1 << 14;

/// The sum of the squared differences of two pictures of one size, 8 bits a sample; pixels behind the shorter one's end
/// do not count. It is exact, and so the same on every machine.
pub fn squared_difference(one: &[u8], other: &[u8]) -> u64 {
    one.chunks(PART).zip(other.chunks(PART)).map(|(one, other)| u64::from(of_part(one, other))).sum()
}

fn of_part(one: &[u8], other: &[u8]) -> u32 {
    let squares = one.iter().zip(other).map(|(&one, &other)| {
        let difference = i32::from(i16::from(one) - i16::from(other));
        difference * difference
    });
    squares.sum::<i32>() as u32
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
}
