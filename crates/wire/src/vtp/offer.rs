use super::error::{PacketError, check_length};
use super::header::{HEADER_LENGTH, Header, PacketType, u32_at};

const BODY: usize = 4;

/// What a session can have beyond the paper: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(pub u32);

impl Features {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The client names missing packets ([`Missing`](super::Missing)), and the server repeats what can still be in time.
    pub const REPEATS: Self = Self(1);

    /// What is in both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of `other` is in it.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The client says what it can beyond the paper, and the server, in a packet of the same form, what of it the session
/// has. A side that does not know this packet drops it, as it does every unknown type; bits that are not known are not
/// taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The session.
    pub session: u64,
    /// What is offered, or agreed on.
    pub features: Features,
}

impl Offer {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        check_length("offer", HEADER_LENGTH + body.len(), HEADER_LENGTH + BODY)?;
        Ok(Self { session: header.session, features: Features(u32_at(body, 0)) })
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        Header::plain(PacketType::Offer, self.session, 0).emit(out);
        out.extend(self.features.0.to_be_bytes());
    }
}
