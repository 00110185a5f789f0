use super::control::ControlPacket;
use super::description::Description;
use super::error::PacketError;
use super::header::{Header, PacketType};
use super::missing::Missing;
use super::offer::Offer;
use super::opening::{Request, Start};
use super::report::Report;
use super::teardown::Teardown;
use super::video::VideoHeader;

/// Any packet of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Video, with the header apart from the bytes.
    Video(VideoHeader, &'a [u8]),
    /// A control packet.
    Control(ControlPacket),
    /// The client asks for a movie.
    Request(Request),
    /// The server describes it.
    Description(Description),
    /// The client starts it.
    Start(Start),
    /// Either side ends the session.
    Teardown(Teardown),
    /// Feedback of another controller.
    Report(Report<'a>),
    /// What the client can beyond the paper, or what of it the session has.
    Offer(Offer),
    /// The client names packets that did not arrive.
    Missing(Missing),
}

impl<'a> Packet<'a> {
    /// Reads a datagram; where a key is shared, take the tag off first ([`Key::open`](super::Key::open)).
    ///
    /// # Errors
    /// When it is not one packet, whole and valid.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, PacketError> {
        let (header, body) = Header::parse(datagram)?;
        Ok(match header.packet_type {
            PacketType::Video | PacketType::VideoAckRequest => {
                let (video, bytes) = VideoHeader::parse(&header, body)?;
                Self::Video(video, bytes)
            }
            PacketType::Control => Self::Control(ControlPacket::parse(&header, body)?),
            PacketType::Request => Self::Request(Request::parse(&header, body)?),
            PacketType::Description => Self::Description(Description::parse(&header, body)?),
            PacketType::Start => Self::Start(Start::parse(&header, body)?),
            PacketType::Teardown => Self::Teardown(Teardown::parse(&header, body)?),
            PacketType::Report => Self::Report(Report::parse(&header, body)?),
            PacketType::Offer => Self::Offer(Offer::parse(&header, body)?),
            PacketType::Missing => Self::Missing(Missing::parse(&header, body)?),
        })
    }

    /// The session that it belongs to.
    pub fn session(&self) -> u64 {
        match self {
            Self::Video(video, _) => video.session,
            Self::Control(control) => control.session,
            Self::Request(request) => request.session,
            Self::Description(description) => description.session,
            Self::Start(start) => start.session,
            Self::Teardown(teardown) => teardown.session,
            Self::Report(report) => report.session,
            Self::Offer(offer) => offer.session,
            Self::Missing(missing) => missing.session,
        }
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Video(video, bytes) => video.emit(bytes, out),
            Self::Control(control) => control.emit(out),
            Self::Request(request) => request.emit(out),
            Self::Description(description) => description.emit(out),
            Self::Start(start) => start.emit(out),
            Self::Teardown(teardown) => teardown.emit(out),
            Self::Report(report) => report.emit(out),
            Self::Offer(offer) => offer.emit(out),
            Self::Missing(missing) => missing.emit(out),
        }
    }
}
