use framewire_units::{DataSize, Duration};
use framewire_wire::vtp::{Key, Secret, Title};

/// Settings of the server's half of a session.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The name that the client asks for.
    pub title: Title,
    /// k: every k-th video packet asks for a control packet.
    pub ack_every: u16,
    /// Random bytes that cookies are made with; drawn by the world.
    pub secret: Secret,
    /// The shared key of control packets; `None` for none, as in the paper.
    pub key: Option<Key>,
    /// b_min of the schedule, sent to the client.
    pub buffer: DataSize,
    /// Bytes of video that a packet of the source has at most, sent to the client.
    pub payload: u16,
    /// The client has vanished when nothing valid came from it for so long.
    pub peer_timeout: Duration,
    /// Whether packets that a client names as missing are repeated, where it asks for that and they can still be shown in
    /// time; the paper's server does not.
    pub repeats: bool,
}

impl ServerSettings {
    /// The paper's k and packet size (section 6.1), no key, and a client that vanishes after 10 s (several control
    /// packets even for k = 20 at the lowest level of the paper's movies, 1.3 s apart).
    pub fn paper(title: Title, secret: Secret) -> Self {
        Self {
            title,
            ack_every: 5,
            secret,
            key: None,
            buffer: DataSize::ZERO,
            payload: 1_000,
            peer_timeout: Duration::from_secs(10),
            repeats: false,
        }
    }
}

/// Why there can be no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// A number is out of range.
    #[error("{what} is {value}, allowed: {allowed}")]
    OutOfRange {
        /// What.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The plan is of another movie.
    #[error("the plan has {plan} levels and the movie {source_levels}")]
    Levels {
        /// Levels of the plan.
        plan: usize,
        /// Levels of the movie.
        source_levels: usize,
    },
}
