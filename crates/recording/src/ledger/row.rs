//! One row of the ledger: what became of one frame.

use framewire_units::{Duration, Timestamp};

use crate::record::LossPlace;

/// What became of a frame, by precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// Arrived whole, decodable and in time.
    Shown,
    /// Decodable, but it came after its deadline.
    Late,
    /// Arrived whole, but a frame that it refers to is missing, or so many before it that a decoder shows it elsewhere.
    Undecodable,
    /// Did not arrive whole.
    Lost,
    /// Was not given to the transport, or was still under way and could have come in time: the run was ended before. No
    /// transport lost it.
    NotOffered,
}

impl Fate {
    /// All fates.
    pub(crate) const ALL: [Self; 5] = [Self::Shown, Self::Late, Self::Undecodable, Self::Lost, Self::NotOffered];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Late => "late",
            Self::Undecodable => "undecodable",
            Self::Lost => "lost",
            Self::NotOffered => "not offered",
        }
    }
}

/// The first loss that doomed a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCause {
    /// Where.
    pub place: LossPlace,
    /// The rule or event.
    pub cause: String,
}

impl RootCause {
    /// A cause at a place.
    pub(crate) fn new(place: LossPlace, cause: impl Into<String>) -> Self {
        Self { place, cause: cause.into() }
    }
}

/// One frame of the movie, or packet of its sound, on one flow; the columns are described in `docs/results.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRow {
    /// The track that it is of: 0 for video.
    pub track: u8,
    /// Number in decode order, from 0 in each track.
    pub frame: u32,
    /// Number in display order, from 0.
    pub display: u32,
    /// `'I'`, `'P'` or `'B'`.
    pub kind: char,
    /// Group of pictures, from 0.
    pub gop: u32,
    /// Bytes.
    pub size: u32,
    /// The level of the ladder that it was sent from, or would have been.
    pub level: Option<u8>,
    /// When it is shown, counted from the first frame shown.
    pub display_time: Duration,
    /// S_i: when the frame clock offers it.
    pub due: Timestamp,
    /// When it was given to the transport.
    pub offered: Option<Timestamp>,
    /// When the transport took it into its queue.
    pub queued: Option<Timestamp>,
    /// When its first byte entered the socket.
    pub first_byte: Option<Timestamp>,
    /// When its last byte entered the socket.
    pub last_byte: Option<Timestamp>,
    /// R_i: when its last missing byte had arrived; `None` when it never arrived whole.
    pub arrival: Option<Timestamp>,
    /// R_i counted from the first arrival of the flow.
    pub arrival_relative: Option<Duration>,
    /// L_i = R_i - S_i in nanoseconds.
    pub latency_nanos: Option<i64>,
    /// Jitter estimate in nanoseconds (RFC 3550, 6.4.1) when it arrived; `None` for the first frame that did.
    pub jitter_nanos: Option<i64>,
    /// Datagrams that it was cut into; `None` on a byte stream and for a frame that was never cut.
    pub packets: Option<u32>,
    /// Of them, those that did not arrive.
    pub packets_lost: Option<u32>,
    /// Bytes that a rule of the sending pipeline gave up: the frame, less what the socket had taken of it.
    pub bytes_shed: u64,
    /// Bytes of the frame that arrived, whole or not.
    pub bytes_received: u64,
    /// Every byte arrived.
    pub complete: bool,
    /// Complete, and so is everything it refers to; and a decoder shows it in its place.
    pub decodable: bool,
    /// When it can be decoded: it and what it refers to have arrived; `None` where it cannot.
    pub ready: Option<Timestamp>,
    /// When the player shows it (policy `live`).
    pub deadline: Option<Timestamp>,
    /// What became of it.
    pub fate: Fate,
    /// The first loss that doomed it; `None` for frames shown, late or not offered.
    pub root_cause: Option<RootCause>,
    /// The place that threw the frame, or the rest of it, away; `None` for frames shown, late or not offered.
    pub discarded_at: Option<LossPlace>,
    /// For [`Fate::Undecodable`]: the first frame that is missing; `None` when it is not in the movie.
    pub missing_reference: Option<u32>,
    /// Of a frame that did not arrive whole, bytes that the receiver handed on, up to its first gap; 0 where it discarded them.
    pub handed_on: u32,
}
