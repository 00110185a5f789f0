//! The four parts of every transport: their words, and the table in which a scenario names a transport by them.

use framewire_adaptive::client::ReportKind;
use framewire_adaptive::rate_control::RateControl;
use framewire_transport::registry::{self, Format, Queue, RtpContent, Session, Socket, SocketKind, UnknownFormat};
use framewire_transport::{Overflow, TransportKind};
use framewire_units::{Keyword, keywords};
use schemars::{Schema, json_schema};

use crate::error::ScenarioError;
use crate::names;
use crate::section::Section;
use crate::transport::Transport;

names::text_keywords! { Socket Overflow }

keywords! {
    /// How becomes bytes what is no movie in one stream.
    OtherFormat {
        /// Packets of VTP, which say of which frame of which level they are.
        Vtp = "vtp",
        /// Bytes without meaning, as many as there is room for.
        Filler = "filler",
    }
}

keywords! {
    /// What is said between a server of levels and its client.
    LevelsSession {
        /// VTP's: the client asks for a movie, is told of its levels, and says in control packets what came.
        Vtp = "vtp",
        /// The same with the reports of TFRC (RFC 5348, section 6).
        Tfrc = "tfrc",
    }
}

/// What a transport is made of, in the words of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Which frame goes next: a queue of frames, or the rate control that chooses among levels.
    pub queue: &'static str,
    /// How it becomes bytes.
    pub format: &'static str,
    /// What stands between the format and the socket.
    pub session: &'static str,
    /// Where the bytes go.
    pub socket: &'static str,
    /// What a datagram meets for which there is no room; `None` over a stream, which waits.
    pub overflow: Option<&'static str>,
    /// True where the receiver asks for what is sent, false where the sender begins by itself.
    pub asks: bool,
}

impl Parts {
    pub(crate) fn of_movie(parts: registry::Parts) -> Self {
        Self {
            queue: parts.queue.as_str(),
            format: parts.format.as_str(),
            session: parts.session.as_str(),
            socket: parts.socket.socket().as_str(),
            overflow: parts.socket.overflow().map(Overflow::as_str),
            asks: parts.session.asks(),
        }
    }

    pub(crate) fn of_levels(rate_control: RateControl) -> Self {
        Self {
            queue: rate_control.as_str(),
            format: OtherFormat::Vtp.as_str(),
            session: session_of(rate_control).as_str(),
            socket: Socket::Datagram.as_str(),
            overflow: Some(Overflow::Wait.as_str()),
            // A client of VTP asks for a movie, whichever reports it sends.
            asks: true,
        }
    }

    pub(crate) const fn of_bulk() -> Self {
        Self {
            queue: Queue::Direct.as_str(),
            format: OtherFormat::Filler.as_str(),
            session: Session::None.as_str(),
            socket: Socket::Stream.as_str(),
            overflow: None,
            asks: Session::None.asks(),
        }
    }
}

fn session_of(rate_control: RateControl) -> LevelsSession {
    match rate_control.reports() {
        ReportKind::Control => LevelsSession::Vtp,
        ReportKind::Tfrc(_) => LevelsSession::Tfrc,
    }
}

/// A word of transports of the movie, or one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<M, O> {
    Movie(M),
    Other(O),
}

impl<M: Keyword, O: Keyword> Word<M, O> {
    fn all() -> Vec<Self> {
        let movie = M::ALL.iter().map(|&word| Self::Movie(word));
        movie.chain(O::ALL.iter().map(|&word| Self::Other(word))).collect()
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Movie(word) => word.as_str(),
            Self::Other(word) => word.as_str(),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        names::find(text, &Self::all(), Self::as_str)
    }

    fn schema() -> Schema {
        let of = |word: Self| {
            let meaning = match word {
                Self::Movie(word) => word.meaning(),
                Self::Other(word) => word.meaning(),
            };
            json_schema!({ "description": meaning, "type": "string", "const": word.as_str() })
        };
        let words: Vec<Schema> = Self::all().into_iter().map(of).collect();
        json_schema!({ "description": M::MEANING, "oneOf": words })
    }
}

type QueueWord = Word<Queue, RateControl>;
type FormatWord = Word<Format, OtherFormat>;
type SessionWord = Word<Session, LevelsSession>;

/// The keys of a table of parts. `overflow` is of the socket: what it does when it is full.
pub(crate) const KEYS: &[&str] = &["queue", "format", "session", "socket", "overflow"];

/// What a table says; the socket must be said, the others have defaults.
struct StatedParts {
    queue: Option<QueueWord>,
    format: Option<FormatWord>,
    session: Option<SessionWord>,
    socket: Socket,
    overflow: Option<Overflow>,
}

/// A transport by its parts.
pub(crate) fn read(path: &str, mut section: Section) -> Result<Transport, ScenarioError> {
    let (socket_key, overflow_key) = (section.key("socket"), section.key("overflow"));
    let socket = section.text("socket")?.ok_or_else(|| ScenarioError::missing(&socket_key, "datagram or stream"))?;
    let overflow = section.text("overflow")?;
    if let (Socket::Stream, Some(other @ (Overflow::Drop | Overflow::DropRestOfFrame))) = (socket, overflow) {
        let allowed = "\"wait\" with socket \"stream\", which loses nothing";
        return Err(ScenarioError::value(&overflow_key, format!("\"{other}\""), allowed));
    }
    let queue = section.word("queue", QueueWord::parse)?;
    let format = section.word("format", parse_format)?;
    // RTP around a transport stream was a session in earlier versions.
    let session = section.word("session", |text| match text {
        "rtp" => Ok(None),
        _ => SessionWord::parse(text).map(Some),
    })?;
    let senseless = |reason| ScenarioError::new(path, format!("the parts make no sense together: {reason}"));
    let format = match (session, format) {
        (Some(None), Some(Word::Movie(inner))) => {
            Some(Word::Movie(inner.within(Format::Rtp(RtpContent::Frames)).map_err(senseless)?))
        }
        (Some(None), _) => return Err(senseless("RTP is a format: \"rtp\", or around a transport stream \"ts+rtp\"")),
        (_, format) => format,
    };
    StatedParts { queue, format, session: session.flatten(), socket, overflow }.transport().map_err(senseless)
}

fn parse_format(text: &str) -> Result<FormatWord, String> {
    FormatWord::parse(text).map_err(|allowed| match text.parse::<Format>() {
        Err(UnknownFormat::Senseless(reason)) => format!("{allowed}: {reason}"),
        _ => allowed,
    })
}

impl StatedParts {
    fn transport(self) -> Result<Transport, &'static str> {
        match self {
            Self { queue: Some(Word::Other(_)), .. }
            | Self { format: Some(Word::Other(OtherFormat::Vtp)), .. }
            | Self { session: Some(Word::Other(_)), .. } => self.levels(),
            Self { format: Some(Word::Other(OtherFormat::Filler)), .. } => self.filler(),
            Self {
                queue: None | Some(Word::Movie(_)),
                format: None | Some(Word::Movie(_)),
                session: None | Some(Word::Movie(_)),
                ..
            } => self.movie(),
        }
    }

    fn movie(self) -> Result<Transport, &'static str> {
        let format = self.format.and_then(Word::movie).unwrap_or(Format::default_over(self.socket));
        let parts = registry::Parts {
            queue: self.queue.and_then(Word::movie).unwrap_or(Queue::Direct),
            format,
            session: self.session.and_then(Word::movie).unwrap_or(Session::default_of(format, self.socket)),
            socket: match self.socket {
                Socket::Datagram => SocketKind::Datagram(self.overflow.unwrap_or(Overflow::Wait)),
                Socket::Stream => SocketKind::Stream,
            },
        };
        TransportKind::of(parts).map(Transport::Movie)
    }

    fn levels(self) -> Result<Transport, &'static str> {
        let Some(Word::Other(rate_control)) = self.queue else {
            return Err(
                "VTP carries levels of a ladder, among which a rate control chooses: queue \"vtp\", \"tfrc\" or another \
                        one's name",
            );
        };
        if !matches!(self.format, None | Some(Word::Other(OtherFormat::Vtp))) {
            return Err(
                "a rate control chooses among levels of a ladder, and a packet has to say of which level it is: format \
                        \"vtp\" does",
            );
        }
        match (self.session, session_of(rate_control)) {
            (None, _) => {}
            (Some(Word::Other(asked)), own) if asked == own => {}
            (_, LevelsSession::Tfrc) => {
                return Err(
                    "TFRC's rate is computed of the loss event rate, which only its own reports state: session \"tfrc\"",
                );
            }
            (_, LevelsSession::Vtp) => {
                return Err("this rate control lives on control packets of VTP: session \"vtp\"");
            }
        }
        if self.socket == Socket::Stream {
            return Err(
                "a rate control takes the place of TCP's, which would delay its packets once more: socket \"datagram\"",
            );
        }
        if !matches!(self.overflow, None | Some(Overflow::Wait)) {
            return Err("a server of levels sends a packet again when there is room for it: overflow \"wait\"");
        }
        Ok(Transport::Adaptive(rate_control))
    }

    fn filler(self) -> Result<Transport, &'static str> {
        match (self.queue, self.session, self.socket) {
            (Some(queue), ..) if queue != Word::Movie(Queue::Direct) => {
                Err("filler bytes are no frames of which some could be given up: queue \"direct\"")
            }
            (_, Some(session), _) if session != Word::Movie(Session::None) => {
                Err("filler bytes are all that its connections carry: session \"none\"")
            }
            (.., Socket::Datagram) => Err("filler bytes are as many as TCP takes: socket \"stream\""),
            _ => Ok(Transport::Bulk),
        }
    }
}

impl<M, O> Word<M, O> {
    fn movie(self) -> Option<M> {
        if let Self::Movie(word) = self { Some(word) } else { None }
    }
}

/// What a table of parts may say.
pub(crate) fn schema() -> Schema {
    json_schema!({
        "description": "A transport by its parts.",
        "type": "object",
        "properties": {
            "queue": QueueWord::schema(),
            "format": FormatWord::schema(),
            "session": SessionWord::schema(),
            "socket": names::schema::<Socket>(),
            "overflow": names::schema::<Overflow>(),
        },
        "required": ["socket"],
        "additionalProperties": false,
    })
}
