use super::error::{PacketError, check_length};
use super::header::{HEADER_LENGTH, Header, PacketType};

/// Why a session ends, or does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The movie has been sent to its end.
    EndOfMovie,
    /// The user of the side that says so wants no more.
    Stopped,
    /// The server has no such movie.
    UnknownTitle,
    /// The server takes no more sessions.
    Busy,
    /// Nothing was received from the other side for too long.
    Vanished,
    /// The movie cannot be read.
    SourceFailed,
    /// The answer to a teardown; never answered itself.
    Acknowledged,
}

impl Reason {
    const ALL: [Self; 7] = [
        Self::EndOfMovie,
        Self::Stopped,
        Self::UnknownTitle,
        Self::Busy,
        Self::Vanished,
        Self::SourceFailed,
        Self::Acknowledged,
    ];
}

/// Either side ends the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teardown {
    /// The session.
    pub session: u64,
    /// Why.
    pub reason: Reason,
}

impl Teardown {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        check_length("teardown", HEADER_LENGTH + body.len(), HEADER_LENGTH + 1)?;
        let reason = Reason::ALL.get(usize::from(body[0])).copied().ok_or(PacketError::Field {
            field: "reason of a teardown",
            value: u64::from(body[0]),
            allowed: "0 to 6",
        })?;
        Ok(Self { session: header.session, reason })
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        Header::plain(PacketType::Teardown, self.session, 0).emit(out);
        out.push(self.reason as u8);
    }
}
