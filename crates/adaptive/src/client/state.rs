use framewire_units::{DataSize, Duration};

use super::assembly::{Frame, Output};
use super::event::{AudioPacket, ClientEvent};
use crate::datagram::Drops;

/// What a client knows, for tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientState {
    /// Packets of video and of audio that arrived, each counted once.
    pub packets: u64,
    /// Such packets up to the newest that did not arrive (yet); those that came and had no room are counted in `drops`.
    pub missing: u64,
    /// Packets among those that arrived that repeat one that did not, as far as the server was asked for them.
    pub repeated: u64,
    /// Bytes of video and of audio that arrived.
    pub received: DataSize,
    /// Frames that came out whole.
    pub frames_complete: u64,
    /// Frames that were given up.
    pub frames_lost: u64,
    /// Packets of audio that came out.
    pub audio_complete: u64,
    /// Packets of audio that were given up.
    pub audio_lost: u64,
    /// The level of the last whole frame.
    pub level: Option<usize>,
    /// The round trip as the server measures it, by the last packet of video that has it.
    pub round_trip: Option<Duration>,
    /// Memory in use.
    pub buffered: DataSize,
    /// Datagrams thrown away.
    pub drops: Drops,
}

impl ClientState {
    /// Counts the audio that comes out.
    pub(super) fn count_audio(&mut self, output: Output) -> ClientEvent {
        match output {
            Output::Lost { first, count } => {
                self.audio_lost += u64::from(count);
                ClientEvent::AudioLost { first, count }
            }
            Output::Whole(Frame { frame: number, media_time, arrived, bytes, .. }) => {
                self.audio_complete += 1;
                ClientEvent::Audio(AudioPacket { number, media_time, arrived, bytes })
            }
        }
    }

    /// Counts the video that comes out. A change of level goes before the frame that brings it.
    pub(super) fn count_video(&mut self, output: Output) -> (ClientEvent, Option<ClientEvent>) {
        match output {
            Output::Lost { first, count } => {
                self.frames_lost += u64::from(count);
                (ClientEvent::FramesLost { first, count }, None)
            }
            Output::Whole(frame) => {
                self.frames_complete += 1;
                let before = self.level.replace(frame.level);
                match before.filter(|&from| from != frame.level) {
                    Some(from) => {
                        let change = ClientEvent::LevelChanged { frame: frame.frame, from, to: frame.level };
                        (change, Some(ClientEvent::FrameComplete(frame)))
                    }
                    None => (ClientEvent::FrameComplete(frame), None),
                }
            }
        }
    }
}
