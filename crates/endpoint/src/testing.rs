//! What the tests of this crate share: a movie, a directory of their own, and the events of a client.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use framewire_adaptive::client::{AudioPacket, ClientEvent, Frame};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::{AudioDescription, Cookie, Description, VideoHeader};

#[allow(unreachable_pub, reason = "the tests of the crate have it too")]
#[path = "../tests/movie/mod.rs"]
pub(crate) mod movie;

/// A directory that is removed with what it holds.
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// An empty one; no two tests may have the same name.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framewire-endpoint-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A link in it to a device of the system: what is wrong with the code that is tested removes the link, and makes a
    /// file beside the link, also where tests may do everything.
    pub(crate) fn link(&self, name: &str, device: &str) -> PathBuf {
        let path = self.path(name);
        std::os::unix::fs::symlink(device, &path).expect("a link");
        path
    }

    /// The names in it, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.0.read_dir().expect("a directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

/// A pipe with a name, as `/dev/stdout` is one: where it can be read, and the path under which it is written to, for as
/// long as the third of these is kept.
pub(crate) fn pipe() -> (std::io::PipeReader, PathBuf, std::io::PipeWriter) {
    use std::os::fd::AsRawFd;
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    (reader, path, writer)
}

/// A movie of 50 frames in two seconds, with so many levels.
pub(crate) fn description(levels: usize) -> Description {
    Description {
        session: 1,
        cookie: Cookie([0; 16]),
        frames: 50,
        duration: Duration::from_secs(2),
        buffer: DataSize::ZERO,
        payload: 1_000,
        ack_every: 5,
        rates: vec![Bitrate::from_bps(1_000_000); levels],
        audio: None,
    }
}

/// The same with audio of this codec.
pub(crate) fn described_with_audio(codec: u8) -> ClientEvent {
    let rate = Bitrate::from_bps(96_000);
    let audio = AudioDescription { codec, channels: 2, sample_rate: 44_100, packets: 77, rate };
    ClientEvent::Described(Description { audio: Some(audio), ..description(1) })
}

pub(crate) fn audio(bytes: &[u8]) -> ClientEvent {
    let bytes = Bytes::copy_from_slice(bytes);
    ClientEvent::Audio(AudioPacket { number: 0, media_time: Duration::ZERO, arrived: Timestamp::ZERO, bytes })
}

pub(crate) fn audio_lost(count: u32) -> ClientEvent {
    ClientEvent::AudioLost { first: 0, count }
}

pub(crate) fn frame(level: usize, key: bool, bytes: &[u8]) -> ClientEvent {
    let (media_time, arrived) = (Duration::ZERO, Timestamp::ZERO);
    let bytes = Bytes::copy_from_slice(bytes);
    ClientEvent::FrameComplete(Frame { frame: 0, level, key, media_time, arrived, packets: 1, bytes })
}

/// A packet of video of this level from a server that knows this round trip.
pub(crate) fn packet(level: u8, round_trip: Duration) -> VideoHeader {
    VideoHeader {
        ack_request: false,
        session: 1,
        sequence: 0,
        sender_time: Timestamp::ZERO,
        size: DataSize::from_bytes(1_000),
        frame: 0,
        index: 0,
        level,
        last: true,
        key: true,
        media_time: Duration::ZERO,
        round_trip,
        repeats: None,
        audio: false,
    }
}

pub(crate) fn arrival(header: VideoHeader) -> ClientEvent {
    ClientEvent::Packet { arrived: Timestamp::ZERO, header, kept: true }
}
