/// A status code of three digits (RFC 9110, section 15; RFC 2326, section 7.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl Status {
    /// All is well.
    pub const OK: Self = Self(200);
    /// All is well, and this is the part that was asked for.
    pub const PARTIAL_CONTENT: Self = Self(206);
    /// The request is not well formed.
    pub const BAD_REQUEST: Self = Self(400);
    /// Who asks has to say who they are.
    pub const UNAUTHORIZED: Self = Self(401);
    /// There is no such thing.
    pub const NOT_FOUND: Self = Self(404);
    /// The method is known, and not for this.
    pub const METHOD_NOT_ALLOWED: Self = Self(405);
    /// The description is not of a kind that was asked for.
    pub const NOT_ACCEPTABLE: Self = Self(406);
    /// The request did not come in time.
    pub const REQUEST_TIMEOUT: Self = Self(408);
    /// The body is larger than is taken.
    pub const TOO_LARGE: Self = Self(413);
    /// The URL is longer than is taken.
    pub const URI_TOO_LONG: Self = Self(414);
    /// There is no such part.
    pub const RANGE_NOT_SATISFIABLE: Self = Self(416);
    /// Fields of the request are too many or too long (RFC 6585, section 5).
    pub const HEADER_TOO_LARGE: Self = Self(431);
    /// A parameter is not known (RTSP).
    pub const PARAMETER_NOT_UNDERSTOOD: Self = Self(451);
    /// There is no such session (RTSP).
    pub const SESSION_NOT_FOUND: Self = Self(454);
    /// Not now (RTSP).
    pub const METHOD_NOT_VALID: Self = Self(455);
    /// There is no such part of it (RTSP).
    pub const INVALID_RANGE: Self = Self(457);
    /// A stream is meant, and not the whole of which it is one (RTSP).
    pub const AGGREGATE_NOT_ALLOWED: Self = Self(459);
    /// None of the transports that were offered (RTSP).
    pub const UNSUPPORTED_TRANSPORT: Self = Self(461);
    /// The method is not known.
    pub const NOT_IMPLEMENTED: Self = Self(501);
    /// Not now, as too many ask.
    pub const UNAVAILABLE: Self = Self(503);
    /// Another version.
    pub const VERSION_NOT_SUPPORTED: Self = Self(505);
    /// An option that is required is not known (RTSP).
    pub const OPTION_NOT_SUPPORTED: Self = Self(551);

    /// Its phrase, as the documents have it; in that of 505, the protocol stands before it.
    pub fn reason(self) -> &'static str {
        match self.0 {
            200 => "OK",
            206 => "Partial Content",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            405 => "Method Not Allowed",
            406 => "Not Acceptable",
            408 => "Request Timeout",
            413 => "Request Entity Too Large",
            414 => "URI Too Long", // In RTSP, Request-URI Too Large.
            416 => "Range Not Satisfiable",
            431 => "Request Header Fields Too Large",
            451 => "Parameter Not Understood",
            454 => "Session Not Found",
            455 => "Method Not Valid In This State",
            457 => "Invalid Range",
            459 => "Aggregate Operation Not Allowed",
            461 => "Unsupported Transport",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            505 => "Version Not Supported",
            551 => "Option Not Supported",
            _ => "Unknown",
        }
    }
}
