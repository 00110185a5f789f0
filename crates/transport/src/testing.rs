//! A small movie and toy sockets for the tests of the halves.

use framewire_media::PictureType;
use framewire_units::{DataSize, Duration};
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};

use crate::access_unit;
use crate::frame::{Dependencies, OutgoingFrame};
use crate::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};

/// Frames of the given types (`I`, `P`, `B`) and roughly `size` bytes, each a valid MPEG-2 access unit (720x576,
/// 25 Hz; sequence and GOP headers before every I).
pub(crate) fn movie(types: &str, size: usize) -> Vec<OutgoingFrame> {
    let mut temporal_reference = 0;
    let frame = |(id, letter): (usize, char)| {
        let kind = match letter {
            'I' => PictureType::I,
            'P' => PictureType::P,
            'B' => PictureType::B,
            other => panic!("no frame type {other}"),
        };
        temporal_reference = if letter == 'I' { 0 } else { temporal_reference + 1 };
        OutgoingFrame {
            id: id as u32,
            kind,
            dependencies: Dependencies::default(),
            duration: Duration::from_millis(40),
            rtp_timestamp: id as u32 * 3_600,
            decode_timestamp: id as u32 * 3_600,
            bytes: access_unit::mpeg2(kind, None, temporal_reference, size, id as u8 | 0x80),
        }
    };
    types.chars().enumerate().map(frame).collect()
}

/// A packetizer with the default MTU.
pub(crate) fn packetizer(rule: PacketRule) -> Packetizer {
    Packetizer::new(
        &mpeg_video::FORMAT,
        rule,
        DataSize::from_bytes(1_500),
        StreamOrigin { ssrc: 7, initial_sequence: 65_530 },
    )
    .expect("the settings are valid")
}

/// A stream socket that takes what a test allows it to, and sends what the test says.
#[derive(Debug, Default)]
pub(crate) struct ToyStream {
    /// Bytes that it still takes.
    pub room: usize,
    /// Everything taken.
    pub taken: Vec<u8>,
    /// Bytes taken and not yet sent.
    pub unsent: u64,
    /// How often the end was signalled.
    pub finished: u32,
    /// Fails from now on.
    pub broken: bool,
}

impl ToyStream {
    fn check(&self, operation: &'static str) -> Result<(), SocketError> {
        if self.broken { Err(SocketError { operation, reason: "broken pipe".to_owned() }) } else { Ok(()) }
    }
}

impl StreamSocket for ToyStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        self.check("write")?;
        assert_eq!(self.finished, 0, "nothing is written after the end");
        let taken = bytes.len().min(self.room);
        self.taken.extend_from_slice(&bytes[..taken]);
        self.room -= taken;
        self.unsent += taken as u64;
        Ok(taken)
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        self.check("unsent")?;
        Ok(DataSize::from_bytes(self.unsent))
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        self.check("finish")?;
        self.finished += 1;
        Ok(())
    }
}

/// A datagram socket with outcomes written down beforehand; `Sent` when they are used up.
#[derive(Debug, Default)]
pub(crate) struct ToyDatagrams {
    /// What happens to the next datagrams, last one first.
    pub outcomes: Vec<DatagramSend>,
    /// Datagrams sent.
    pub sent: Vec<Vec<u8>>,
    /// Calls of `send`.
    pub calls: usize,
    /// Fails from now on.
    pub broken: bool,
}

impl DatagramSocket for ToyDatagrams {
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError> {
        if self.broken {
            return Err(SocketError { operation: "send", reason: "connection refused".to_owned() });
        }
        self.calls += 1;
        let outcome = self.outcomes.pop().unwrap_or(DatagramSend::Sent);
        if outcome == DatagramSend::Sent {
            self.sent.push(datagram.to_vec());
        }
        Ok(outcome)
    }

    fn free_room(&mut self) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }
}
