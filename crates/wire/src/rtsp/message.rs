use crate::message::{self, Version};

/// The version that is spoken (RFC 2326, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtsp10;

/// A request (RFC 2326, section 6), whose uri is an absolute URL or `*`.
pub type Request = message::Request<Rtsp10>;

/// A response (RFC 2326, section 7).
pub type Response = message::Response<Rtsp10>;

impl Version for Rtsp10 {
    const PROTOCOL: &'static str = "RTSP";
    const SPOKEN: &'static str = "RTSP/1.0";
    const SPACES_BEFORE_COLON: bool = true;

    fn parse(text: &str) -> Option<Self> {
        (text == Self::SPOKEN).then_some(Self)
    }

    fn as_str(self) -> &'static str {
        Self::SPOKEN
    }
}
