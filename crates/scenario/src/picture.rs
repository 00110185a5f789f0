//! Frame rates and sizes of pictures, as texts.

use crate::text::Text;

/// Frames in a second, a fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameRate {
    /// Numerator.
    pub numerator: u32,
    /// Denominator.
    pub denominator: u32,
}

/// Decimals that are read.
const DECIMALS: usize = 3;

impl FrameRate {
    fn reduced(numerator: u64, denominator: u64) -> Option<Self> {
        let (mut divisor, mut rest) = (numerator, denominator);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let reduce = |term: u64| u32::try_from(term.checked_div(divisor)?).ok().filter(|&term| term > 0);
        Some(Self { numerator: reduce(numerator)?, denominator: reduce(denominator)? })
    }

    /// A number with a point in it: the nearest rate of NTSC, a multiple of 1000/1001 Hz, where that is what was rounded.
    fn decimal(whole: u64, decimals: &str) -> Option<Self> {
        if decimals.bytes().all(|digit| digit == b'0') {
            return Self::reduced(whole, 1);
        }
        let scale = 10u64.pow(decimals.len() as u32);
        let scaled = whole * scale + decimals.parse::<u64>().ok()?;
        let nominal = (scaled * 1001 + 500 * scale) / (1000 * scale);
        // |scaled / scale - nominal * 1000 / 1001| below 0.005
        let distance = (scaled * 1001).abs_diff(nominal * 1000 * scale);
        match distance * 200 < 1001 * scale {
            true => Self::reduced(nominal * 1000, 1001),
            false => Self::reduced(scaled, scale),
        }
    }
}

impl Text for FrameRate {
    const PATTERN: &str = r"^\s*[0-9]{1,6}(\.[0-9]{1,3}|/[0-9]{1,6})?\s*Hz\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "1 Hz to 1000 Hz, as a number or a fraction: \"25 Hz\", \"29.97 Hz\", \"30000/1001 Hz\"";
        let digits = |text: &str, most: usize| match text.len() {
            length if length <= most && text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u64>().ok(),
            _ => None,
        };
        let number = text.trim().strip_suffix("Hz").ok_or(ALLOWED)?.trim();
        let rate = match (number.split_once('.'), number.split_once('/')) {
            (Some((whole, decimals)), _) => {
                let decimals = digits(decimals, DECIMALS).map(|_| decimals);
                digits(whole, 6).zip(decimals).and_then(|(whole, decimals)| Self::decimal(whole, decimals))
            }
            (None, Some((numerator, denominator))) => digits(numerator, 6)
                .zip(digits(denominator, 6))
                .and_then(|(numerator, denominator)| Self::reduced(numerator, denominator)),
            (None, None) => digits(number, 6).and_then(|number| Self::reduced(number, 1)),
        };
        rate.filter(|rate| (rate.denominator..=rate.denominator.saturating_mul(1000)).contains(&rate.numerator))
            .ok_or_else(|| ALLOWED.to_owned())
    }

    fn show(&self) -> String {
        match self.denominator {
            1 => format!("{} Hz", self.numerator),
            _ => format!("{}/{} Hz", self.numerator, self.denominator),
        }
    }
}

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureSize {
    /// Width.
    pub width: u16,
    /// Height.
    pub height: u16,
}

impl Text for PictureSize {
    const PATTERN: &str = r"^\s*[0-9]{2,4}x[0-9]{2,4}\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        let side = |text: &str| {
            let side = text.parse::<u16>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))?;
            (16..=9998).contains(&side).then_some(side).filter(|side| side % 2 == 0)
        };
        let sides = text.trim().split_once('x').and_then(|(width, height)| side(width).zip(side(height)));
        let (width, height) = sides.ok_or("width and height, even numbers from 16 to 9998: \"640x360\"")?;
        Ok(Self { width, height })
    }

    fn show(&self) -> String {
        format!("{}x{}", self.width, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_rates_are_fractions() {
        let cases = [
            ("25 Hz", Some("25 Hz")),
            ("29.97 Hz", Some("30000/1001 Hz")),
            ("23.976Hz", Some("24000/1001 Hz")),
            ("59.94 Hz", Some("60000/1001 Hz")),
            ("12.5 Hz", Some("25/2 Hz")),
            ("5.0 Hz", Some("5 Hz")),
            ("1.00 Hz", Some("1 Hz")),
            ("50/2 Hz", Some("25 Hz")),
            ("30000/1001 Hz", Some("30000/1001 Hz")),
            ("1000 Hz", Some("1000 Hz")),
            ("1001 Hz", None),
            ("0 Hz", None),
            ("25", None),
            ("25/0 Hz", None),
            ("-25 Hz", None),
            ("25. Hz", None),
            ("0.5 Hz", None),
        ];
        for (text, shown) in cases {
            let parsed = FrameRate::parse(text).ok();
            assert_eq!(parsed.map(|rate| rate.show()).as_deref(), shown, "{text}");
            assert!(parsed.is_none_or(|rate| FrameRate::parse(&rate.show()) == Ok(rate)), "{text}");
        }
    }

    #[test]
    fn sizes_are_even() {
        assert_eq!(PictureSize::parse("640x360"), Ok(PictureSize { width: 640, height: 360 }));
        for text in ["640", "640x", "641x360", "8x8", "640x360x2", "+40x360", "10000x10000"] {
            assert!(PictureSize::parse(text).is_err(), "{text}");
        }
    }
}
