//! How the two ends of a stream compare their clocks, and what the sender says of the stream beforehand: an exchange of
//! time stamps as NTP has it (RFC 5905, section 8), in packets of an application of RTCP (APP, RFC 3550, section 6.7).
//!
//! They go to the port of RTCP, and each stands alone in its datagram: a receiver that expects reports there throws them
//! away, as the first packet of a compound one is a report (RFC 3550, appendix A.2).

use std::fmt;
use std::str;

/// RTCP's number of packets of applications (RFC 3550, section 12.1).
const APP: u8 = 204;

/// The name of this application.
const NAME: &[u8; 4] = b"FWIR";

/// Bytes in front of the text: header, source, name, session, number, three times and the length of the text.
const FIXED: usize = 4 + 4 + 4 + 8 + 4 + 3 * 8 + 4;

/// The longest text in bytes.
pub(crate) const LONGEST_TEXT: usize = 512;

/// What a packet is; its number is the subtype of APP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What time is it there? Of the sender, with what it says of the stream.
    Question,
    /// The times, of the receiver.
    Answer,
    /// The same as a question, and the stream has ended.
    End,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Question, Self::Answer, Self::End];
}

/// One packet. Times are nanoseconds of clocks that count from whatever they like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange<'a> {
    /// What it is.
    pub kind: Kind,
    /// The sender's synchronisation source.
    pub ssrc: u32,
    /// Which stream it is about, drawn by the sender; the same in the answer.
    pub session: u64,
    /// Which question it is, or answers.
    pub number: u32,
    /// When the question left, by the clock of who asked (T1 of RFC 5905).
    pub asked: u64,
    /// When it came, by the clock of who answers (T2); 0 in a question.
    pub came: u64,
    /// When the answer left, by the same clock (T3); 0 in a question.
    pub answered: u64,
    /// What is said of the stream; empty in an answer.
    pub text: &'a str,
}

/// Why a datagram is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// It is no packet of this application.
    Other,
    /// It is one, but not well formed; what is wrong.
    Malformed(&'static str),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("no exchange of clocks"),
            Self::Malformed(what) => write!(f, "exchange of clocks: {what}"),
        }
    }
}

impl<'a> Exchange<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// When it is no such packet, or not well formed.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, ExchangeError> {
        let malformed = |what| Err(ExchangeError::Malformed(what));
        if datagram.len() < 12 || datagram[1] != APP || &datagram[8..12] != NAME {
            return Err(ExchangeError::Other);
        }
        if datagram[0] & 0xE0 != 0x80 {
            return malformed("another version, or padded");
        }
        let Some(kind) = Kind::ALL.get(usize::from(datagram[0] & 0x1F)).copied() else {
            return malformed("a subtype that is not known");
        };
        let words = usize::from(u16::from_be_bytes([datagram[2], datagram[3]])) + 1;
        if words * 4 != datagram.len() || datagram.len() < FIXED {
            return malformed("another length than it says");
        }
        let length = u32::from_be_bytes(field(datagram, FIXED - 4)) as usize;
        let text = datagram.get(FIXED..FIXED + length.min(LONGEST_TEXT + 1));
        let Some(text) = text.filter(|text| text.len() == length && length <= LONGEST_TEXT) else {
            return malformed("its text is cut off or too long");
        };
        let Ok(text) = str::from_utf8(text) else { return malformed("its text is no UTF-8") };
        Ok(Self {
            kind,
            ssrc: u32::from_be_bytes(field(datagram, 4)),
            session: u64::from_be_bytes(field(datagram, 12)),
            number: u32::from_be_bytes(field(datagram, 20)),
            asked: u64::from_be_bytes(field(datagram, 24)),
            came: u64::from_be_bytes(field(datagram, 32)),
            answered: u64::from_be_bytes(field(datagram, 40)),
            text,
        })
    }

    /// The datagram. An answer is never longer than the question that it answers.
    ///
    /// # Panics
    /// When the text is longer than [`LONGEST_TEXT`].
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(self.text.len() <= LONGEST_TEXT, "invariant: the text has at most {LONGEST_TEXT} bytes");
        let words = (FIXED + self.text.len()).div_ceil(4);
        let subtype = Kind::ALL.iter().position(|kind| *kind == self.kind).expect("invariant: all kinds are listed");
        let mut bytes = vec![0x80 | subtype as u8, APP];
        bytes.extend(u16::try_from(words - 1).expect("invariant: the text is short").to_be_bytes());
        bytes.extend(self.ssrc.to_be_bytes());
        bytes.extend(NAME);
        bytes.extend(self.session.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        [self.asked, self.came, self.answered].iter().for_each(|time| bytes.extend(time.to_be_bytes()));
        bytes.extend((self.text.len() as u32).to_be_bytes());
        bytes.extend(self.text.as_bytes());
        bytes.resize(words * 4, 0);
        bytes
    }

    /// The answer to this question, which came and leaves at these times.
    #[must_use]
    pub fn answer(&self, came: u64, answered: u64) -> Exchange<'static> {
        let Self { ssrc, session, number, asked, .. } = *self;
        Exchange { kind: Kind::Answer, ssrc, session, number, asked, came, answered, text: "" }
    }
}

fn field<const N: usize>(datagram: &[u8], at: usize) -> [u8; N] {
    datagram[at..at + N].try_into().expect("invariant: the length was checked")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Compound;

    fn question(text: &str) -> Exchange<'_> {
        let kind = Kind::Question;
        Exchange { kind, ssrc: 7, session: 1 << 40, number: 3, asked: 1_000, came: 0, answered: 0, text }
    }

    #[test]
    fn an_exchange_is_read_as_it_was_written() {
        for text in ["", "a", "transport=udp", "täxt"] {
            let question = question(text);
            let bytes = question.to_bytes();
            assert_eq!(bytes.len() % 4, 0);
            assert_eq!(Exchange::parse(&bytes), Ok(question.clone()));
            let answer = question.answer(2_000, 2_500).to_bytes();
            assert!(answer.len() <= bytes.len(), "no answer is longer than its question");
            let read = Exchange::parse(&answer).unwrap();
            assert_eq!((read.kind, read.asked, read.came, read.answered), (Kind::Answer, 1_000, 2_000, 2_500));
        }
    }

    #[test]
    fn an_exchange_that_is_cut_or_changed_is_refused() {
        let bytes = question("transport=udp").to_bytes();
        for length in 0..bytes.len() {
            assert!(Exchange::parse(&bytes[..length]).is_err(), "{length}");
        }
        let changed = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            Exchange::parse(&bytes).map(|read| read.number)
        };
        assert_eq!(changed(1, 200), Err(ExchangeError::Other));
        assert_eq!(changed(0, 0x83), Err(ExchangeError::Malformed("a subtype that is not known")));
        assert_eq!(changed(FIXED - 1, 200), Err(ExchangeError::Malformed("its text is cut off or too long")));
        assert_eq!(changed(FIXED, 0xFF), Err(ExchangeError::Malformed("its text is no UTF-8")));
    }

    #[test]
    fn an_end_that_expects_reports_throws_it_away() {
        assert!(Compound::parse(&question("").to_bytes()).is_err());
    }
}
