use super::error::PacketError;
use super::header::{HEADER_LENGTH, Header, PacketType};

/// Bytes of a report's body at most, so that it fits any path that carries an opening.
pub(crate) const MAX_REPORT_BODY: usize = 1_100;

/// Feedback of another controller's receiver, TFRC's for instance, inside a session of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// The session.
    pub session: u64,
    /// Counts the reports of the session from 0.
    pub report: u32,
    /// The feedback in the other controller's own format.
    pub body: &'a [u8],
}

impl<'a> Report<'a> {
    pub(super) fn parse(header: &Header, body: &'a [u8]) -> Result<Self, PacketError> {
        if body.len() > MAX_REPORT_BODY {
            let expected = HEADER_LENGTH + MAX_REPORT_BODY;
            return Err(PacketError::Length { packet: "report", length: HEADER_LENGTH + body.len(), expected });
        }
        Ok(Self { session: header.session, report: header.sequence, body })
    }

    /// Appends the packet to `out`.
    ///
    /// # Panics
    /// When the body is longer than [`MAX_REPORT_BODY`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.body.len() <= MAX_REPORT_BODY, "{} bytes of report", self.body.len());
        Header::plain(PacketType::Report, self.session, self.report).emit(out);
        out.extend(self.body);
    }
}
