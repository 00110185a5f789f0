//! The check of sections: CRC-32 of the polynomial 0x04C11DB7, most significant bit first, from all ones (annex A).

const POLYNOMIAL: u32 = 0x04C1_1DB7;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            remainder = remainder << 1 ^ if remainder >> 31 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The check of these bytes; 0 over a section that is whole, its own check included.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_check_of_the_standard() {
        // The value that catalogues of such checks give for these digits (CRC-32/MPEG-2).
        assert_eq!(crc32(b"123456789"), 0x0376_E6E7);
        let whole = [&b"123456789"[..], &0x0376_E6E7u32.to_be_bytes()].concat();
        assert_eq!(crc32(&whole), 0);
    }
}
