//! How a multiplexer makes a transport stream.

use framewire_units::{Bitrate, Duration};

use super::packet::PROGRAM_PIDS;
use super::tables::{MOST_TRACKS, Program};

/// Packets of a datagram at most: as many as fit into an Ethernet frame, and as everyone sends (ETSI TS 102 034,
/// 7.1.1: seven).
pub(crate) const PACKETS_PER_DATAGRAM: u8 = 7;

/// By how much time stamps are later than those given, and so how long a unit may take to come before it is decoded:
/// FFmpeg's default. The standard allows 1 s of MPEG-2 video (2.4.2.6).
pub(crate) const DEFAULT_DELAY: Duration = Duration::from_millis(700);

/// Program clock references are at most this far apart (ETSI TS 101 154, 4.1.5.3; the standard allows 100 ms, 2.7.2).
pub(crate) const REFERENCE_INTERVAL: Duration = Duration::from_millis(40);

/// The tables are sent at least this often: what ETSI TR 101 211 recommends, and a fifth of what ETSI TR 101 290 measures
/// for (500 ms, 5.2.1).
pub(crate) const TABLE_INTERVAL: Duration = Duration::from_millis(100);

/// A transport stream that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its only program. Its first track is video and has the clock.
    pub program: Program,
    /// By how much time stamps are later than those given.
    pub delay: Duration,
    /// When packets are sent.
    pub rate: Rate,
    /// Whether each unit is described in private data, by which a loss of 16 packets is seen and a delimiter that was put
    /// before it is taken off.
    pub descriptions: bool,
}

/// When packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The packets of a unit one behind the other: the clock goes by as if they were spread over the unit's duration.
    Variable(Layout),
    /// At this rate of the whole stream, with packets without content where there is nothing to send.
    Constant(Bitrate),
}

/// How a stream of variable rate is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Not at all: for a stream of bytes, or for datagrams that are filled whatever they carry.
    Continuous,
    /// Each unit is in datagrams of its own, of so many packets at most. In each the first packet with something of the
    /// track with the clock has a clock reference, by which the datagram can be known. Below 12 frames per second clock
    /// references may be further apart than the limit: a datagram is never without something of a unit.
    Datagrams(u8),
}

impl Settings {
    /// A stream of one video track at a variable rate.
    pub fn new(program: Program, layout: Layout) -> Self {
        Self { program, delay: DEFAULT_DELAY, rate: Rate::Variable(layout), descriptions: true }
    }

    /// Whether such a stream can be.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let program = &self.program;
        let clock = program.tracks.first().ok_or(SettingsError::Clock)?;
        if !clock.stream_type.is_video() || clock.pid != program.clock_pid {
            return Err(SettingsError::Clock);
        }
        if program.tracks.len() > MOST_TRACKS {
            return Err(SettingsError::Tracks(program.tracks.len()));
        }
        let mut pids: Vec<u16> = program.tracks.iter().map(|track| track.pid).chain([program.map_pid]).collect();
        if let Some(&pid) = pids.iter().find(|pid| !PROGRAM_PIDS.contains(pid)) {
            return Err(SettingsError::Pid(pid));
        }
        pids.sort_unstable();
        if let Some(pair) = pids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SettingsError::Twice(pair[0]));
        }
        if self.delay > Duration::from_secs(10) {
            return Err(SettingsError::Delay(self.delay));
        }
        match self.rate {
            Rate::Variable(Layout::Datagrams(packets)) if !(3..=PACKETS_PER_DATAGRAM).contains(&packets) => {
                Err(SettingsError::Datagram(packets))
            }
            Rate::Constant(rate) if rate < SMALLEST_RATE => Err(SettingsError::Rate(rate)),
            _ => Ok(()),
        }
    }
}

/// Tables and clock references alone take 112 kbit/s.
pub(super) const SMALLEST_RATE: Bitrate = Bitrate::from_bps(200_000);

/// A transport stream that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The first track is not one that has the clock.
    #[error("the first track of a program has to be video and to carry the clock")]
    Clock,
    /// Too many tracks.
    #[error("{0} tracks: at most {MOST_TRACKS} are carried")]
    Tracks(usize),
    /// A packet identifier that is reserved.
    #[error("packet identifier {0:#06x} is out of range: 0x0010 to 0x1ffe is allowed")]
    Pid(u16),
    /// A packet identifier of two things.
    #[error("packet identifier {0:#06x} is given twice")]
    Twice(u16),
    /// Nobody buffers so long.
    #[error("a delay of {0:?} is out of range: up to 10 s is allowed")]
    Delay(Duration),
    /// A datagram has room for the two tables and a packet more, and fits into an Ethernet frame.
    #[error("{0} packets per datagram is out of range: 3 to {PACKETS_PER_DATAGRAM} is allowed")]
    Datagram(u8),
    /// Too slow for tables and clock.
    #[error("a rate of {0} is too low: at least {SMALLEST_RATE} is needed")]
    Rate(Bitrate),
}
