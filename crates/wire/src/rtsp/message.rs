use std::fmt::Write;

/// The version that is spoken (RFC 2326, section 3.1).
pub(super) const VERSION: &str = "RTSP/1.0";

/// Header fields, in their order; names do not distinguish upper and lower case (RFC 2326, section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

/// A request (RFC 2326, section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its method, as it is written: the set is open (section 10).
    pub method: String,
    /// What it is about: an absolute URL, or `*`.
    pub uri: String,
    /// Its fields, without Content-Length.
    pub headers: Headers,
    /// What follows them.
    pub body: Vec<u8>,
}

/// A response (RFC 2326, section 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Its code.
    pub status: Status,
    /// Its fields, without Content-Length.
    pub headers: Headers,
    /// What follows them.
    pub body: Vec<u8>,
}

/// A status code of three digits (RFC 2326, section 7.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl Headers {
    /// The value of the first field of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The values of all fields of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The same with one field more. Line breaks in it, which would begin another field, become spaces.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.push(name.to_owned(), value.into());
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, name: String, value: String) {
        self.0.push((name, in_one_line(&value)));
    }

    /// Adds to the value of the last field: a line that begins with a space goes on where the one before it ended.
    pub(super) fn extend_last(&mut self, more: &str) -> bool {
        let Some((_, value)) = self.0.last_mut() else { return false };
        if !value.is_empty() && !more.is_empty() {
            value.push(' ');
        }
        value.push_str(&in_one_line(more));
        true
    }

    fn emit(&self, body: &[u8], out: &mut String) {
        for (name, value) in &self.0 {
            write!(out, "{name}: {value}\r\n").expect("invariant: a string takes all");
        }
        if !body.is_empty() {
            write!(out, "Content-Length: {}\r\n", body.len()).expect("invariant: a string takes all");
        }
        out.push_str("\r\n");
    }
}

/// Text without line breaks, which would begin another field.
fn in_one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, uri: &str) -> Self {
        Self { method: method.to_owned(), uri: uri.to_owned(), headers: Headers::default(), body: Vec::new() }
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<String>) -> Self {
        Self { headers: self.headers.with(name, value), ..self }
    }

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut text = format!("{} {} {VERSION}\r\n", self.method, self.uri);
        self.headers.emit(&self.body, &mut text);
        [text.as_bytes(), &self.body].concat()
    }
}

impl Response {
    /// A response without a body.
    pub fn new(status: Status) -> Self {
        Self { status, headers: Headers::default(), body: Vec::new() }
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<String>) -> Self {
        Self { headers: self.headers.with(name, value), ..self }
    }

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut text = format!("{VERSION} {} {}\r\n", self.status.0, self.status.reason());
        self.headers.emit(&self.body, &mut text);
        [text.as_bytes(), &self.body].concat()
    }
}

impl Status {
    /// All is well.
    pub const OK: Self = Self(200);
    /// The request is not well formed.
    pub const BAD_REQUEST: Self = Self(400);
    /// Who asks has to say who they are.
    pub const UNAUTHORIZED: Self = Self(401);
    /// There is no such stream.
    pub const NOT_FOUND: Self = Self(404);
    /// The description is not of a kind that was asked for.
    pub const NOT_ACCEPTABLE: Self = Self(406);
    /// A parameter is not known.
    pub const PARAMETER_NOT_UNDERSTOOD: Self = Self(451);
    /// There is no such session.
    pub const SESSION_NOT_FOUND: Self = Self(454);
    /// Not now.
    pub const METHOD_NOT_VALID: Self = Self(455);
    /// None of the transports that were offered.
    pub const UNSUPPORTED_TRANSPORT: Self = Self(461);
    /// The method is not known.
    pub const NOT_IMPLEMENTED: Self = Self(501);
    /// Another version.
    pub const VERSION_NOT_SUPPORTED: Self = Self(505);
    /// An option that is required is not known.
    pub const OPTION_NOT_SUPPORTED: Self = Self(551);

    /// Its phrase, as section 7.1.1 has it.
    pub fn reason(self) -> &'static str {
        match self.0 {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            406 => "Not Acceptable",
            451 => "Parameter Not Understood",
            454 => "Session Not Found",
            455 => "Method Not Valid In This State",
            461 => "Unsupported Transport",
            501 => "Not Implemented",
            505 => "RTSP Version Not Supported",
            551 => "Option Not Supported",
            _ => "Unknown",
        }
    }
}
