//! What movie the body of an HTTP response is.

use framewire_media::access_unit::Codec;
use framewire_session::{ReceivableSound, codec_of, codec_of_file};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::http::{Client, ClientEvent};
use framewire_wire::{mp4, mpeg_ts};

use super::probe::Probe;

/// The most that is read of a movie to know what it is: the index of a long file.
const MOST_PROBED: u64 = 72 << 20;

/// The largest access unit, where a movie is only looked at.
const LARGEST_UNIT: DataSize = DataSize::from_bytes(16 << 20);

/// What a body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BodyTracks {
    /// A file; else a transport stream.
    pub(super) is_file: bool,
    /// Of its video.
    pub(super) codec: Codec,
    /// Its sound, or why that is not received.
    pub(super) sound: Option<Result<ReceivableSound, String>>,
    /// Tracks of sound besides.
    pub(super) others: usize,
}

/// What a body is, by its first bytes: an MP4 file, or a transport stream.
pub(super) struct BodyProbe {
    client: Client,
    /// What the server says that it is.
    media_type: Option<String>,
    first: Vec<u8>,
    file: Option<mp4::Demultiplexer>,
    stream: Option<mpeg_ts::Demultiplexer>,
    read: u64,
}

impl BodyProbe {
    pub(super) fn new(client: Client) -> Self {
        Self { client, media_type: None, first: Vec::new(), file: None, stream: None, read: 0 }
    }

    fn take(&mut self, now: Timestamp, bytes: &[u8]) -> Result<Option<BodyTracks>, String> {
        self.read += bytes.len() as u64;
        if self.read > MOST_PROBED {
            return Err("there is no movie within its first 72 MiB".to_owned());
        }
        let joined;
        let bytes = if self.file.is_none() && self.stream.is_none() {
            self.first.extend_from_slice(bytes);
            if self.first.len() < 8 {
                return Ok(None);
            }
            joined = std::mem::take(&mut self.first);
            match joined[0] {
                _ if is_text(self.media_type.as_deref(), joined[0]) => {
                    let kind = self.media_type.as_deref().unwrap_or("text");
                    return Err(format!(
                        "it is a page ({kind}) and no movie: the URL of an MP4 file or of a transport stream is needed"
                    ));
                }
                0x47 => self.stream = Some(mpeg_ts::Demultiplexer::new(None, LARGEST_UNIT)),
                _ => self.file = Some(mp4::Demultiplexer::new(LARGEST_UNIT)),
            }
            &joined
        } else {
            bytes
        };
        let (mut codecs, mut left_out) = (Vec::new(), Vec::new());
        if let Some(file) = &mut self.file {
            file.handle_bytes(now, bytes);
            if let Some(fault) = file.poll_fault() {
                return Err(fault.to_string());
            }
            while file.poll_unit().is_some() {}
            let tracks = file.tracks().iter();
            codecs.extend(tracks.map(|track| (codec_of_file(track.coding), ReceivableSound::in_track(track))));
            left_out.extend(file.left_out().iter().filter(|track| !track.is_video).map(|track| track.why.clone()));
        } else if let Some(stream) = &mut self.stream {
            stream.handle_bytes(now, bytes);
            while stream.poll_unit().is_some() || stream.poll_fault().is_some() {}
            let types = stream.program().into_iter().flat_map(|program| &program.tracks).map(|track| track.stream_type);
            codecs.extend(types.map(|coding| (codec_of(coding), ReceivableSound::in_program(coding).map(Ok))));
        }
        let mut of_sound = codecs.iter().filter_map(|(_, sound)| sound.clone());
        let found = of_sound.next();
        let others = of_sound.count() + left_out.len() - usize::from(found.is_none() && !left_out.is_empty());
        let refused = || left_out.iter().flatten().next().map(|why| Err(why.to_string()));
        let (is_file, sound) = (self.file.is_some(), found.or_else(refused));
        match codecs.iter().find_map(|(codec, _)| *codec) {
            Some(codec) => Ok(Some(BodyTracks { is_file, codec, sound, others })),
            None if codecs.is_empty() => Ok(None),
            None => Err("there is no video in it that is received".to_owned()),
        }
    }
}

/// Whether a body is to be read rather than seen: by its media type, or as it begins with a tag, which an MP4 file would do
/// with a first box of a gigabyte.
fn is_text(media_type: Option<&str>, first: u8) -> bool {
    first == b'<' || (first != 0x47 && media_type.is_some_and(|kind| kind.starts_with("text/")))
}

impl Probe for BodyProbe {
    type Known = BodyTracks;

    fn handle(&mut self, now: Timestamp, bytes: Option<&[u8]>) -> Result<Option<Self::Known>, String> {
        match bytes {
            Some(bytes) => drop(self.client.handle_bytes(bytes)),
            None => drop(self.client.handle_close()),
        }
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Body(bytes) => {
                    if let Some(known) = self.take(now, &bytes)? {
                        return Ok(Some(known));
                    }
                }
                ClientEvent::Failed(reason) => return Err(reason),
                ClientEvent::Complete => return Err("there is no movie in it".to_owned()),
                ClientEvent::Found { media_type, .. } => self.media_type = media_type,
            }
        }
        Ok(None)
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_from_a_movie() {
        let found = |media_type: Option<&str>, body: &[u8]| {
            let mut found = BodyProbe::new(Client::default());
            found.media_type = media_type.map(str::to_owned);
            found.take(Timestamp::ZERO, body)
        };
        for (media_type, body) in [
            (Some("text/html; charset=utf-8"), "<!DOCTYPE html>"),
            (None, "<html>..."),
            (Some("text/plain"), "No movie"),
        ] {
            let said = found(media_type, body.as_bytes()).unwrap_err();
            assert!(said.contains("it is a page") && said.contains(media_type.unwrap_or("text")), "{said}");
        }
        assert_eq!(found(Some("text/plain"), &[0x47; 188]), Ok(None), "servers know little of transport streams");
        assert_eq!(found(Some("video/mp4"), b"\0\0\0\x18ftypisom"), Ok(None));
    }
}
