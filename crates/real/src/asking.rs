//! The receiver's end where it asks: any server of HTTP or RTSP.

use std::net::SocketAddr;
use std::path::PathBuf;

use framewire_endpoint::{RunClock, random_session};
use framewire_kernel::{FlowSockets, Place};
use framewire_media::access_unit::Codec;
use framewire_recording::record::FlowStatus;
use framewire_session::half::End as Side;
use framewire_session::lifecycle::{FlowEnd, MovieReceiving};
use framewire_session::{Announcement, AskedFor, ChannelSetup, FlowRecording, FoundSound, codec_of, codec_of_file};
use framewire_sockets::{Interest, TcpOptions, TcpRead, TcpSender, wait, wait_watching};
use framewire_transport::TransportKind;
use framewire_transport::socket::StreamSocket;
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_wire::http::{Client as Http, ClientEvent as HttpEvent, Fetch};
use framewire_wire::mp4;
use framewire_wire::mpeg_ts;
use framewire_wire::rtsp::{Account, Client as Rtsp, ClientEvent as RtspEvent, ClientSettings, Want};
use framewire_wire::sdp::Described;

use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::receiving::Received;
use crate::recorded::{Recorded, record};
use crate::{BETWEEN_REPORTS, TICK, directory};

/// The most that is read of a movie to know what it is: the index of a long file.
const MOST_LOOKED_AT: u64 = 72 << 20;

/// The largest access unit, where a movie is only looked at.
const LARGEST_UNIT: DataSize = DataSize::from_bytes(16 << 20);

/// What a receiver that asks is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskOptions {
    /// The server.
    pub address: SocketAddr,
    /// It speaks RTSP; else HTTP.
    pub is_rtsp: bool,
    /// The server's name and port, as the URL has them.
    pub host: String,
    /// The path, with the slash that it begins with and escapes.
    pub path: String,
    /// Who asks, where a server of RTSP wants to know.
    pub account: Option<Account>,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// A stream that is silent for so long has ended.
    pub silence: Duration,
    /// The most that is taken.
    pub most: DataSize,
    /// The directory of this end, which exists.
    pub directory: PathBuf,
}

/// What was found at the server.
struct Found {
    asked: AskedFor,
    codec: Codec,
    /// The sound beside it, where there is some that is received.
    sound: Option<FoundSound>,
    /// Why sound that is there is not received.
    without_sound: Option<String>,
    /// What its description says, of RTSP.
    description: Option<Described>,
}

/// Asks a server for a movie, and fills the directory with what was recorded of it. It looks first what it is, on a connection for
/// that alone, and then asks for it.
///
/// # Errors
/// When nobody answers, what is there is no movie that is received, or a file cannot be written.
pub fn ask(
    options: &AskOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Received, RealError> {
    let found = look(options, is_stopped)?;
    let transport = match &found.asked {
        AskedFor::Http { is_file: true, .. } => "http",
        AskedFor::Http { .. } => "http+ts",
        AskedFor::Rtsp { .. } => "rtsp",
    };
    let transport: TransportKind = transport.parse().expect("invariant: the registry has it");
    let announcement = Announcement {
        transport,
        codec: found.codec,
        mpeg2: true,
        ssrc: None,
        payload_type: found.description.as_ref().map(|of| of.payload_type),
        sound: None,
        sound_packets: None,
        frame_rate: None,
    };
    listener(&Event::Started(announcement.to_string()));
    if let Some(reason) = found.without_sound {
        listener(&Event::SoundLeftOut { name: String::new(), transport: transport.to_string(), reason });
    }
    let clock = RunClock::start();
    let recording = FlowRecording::in_directory(Some(options.directory.as_path().into())).in_real_time();
    let seed = Seed(random_session().map_err(|error| RealError::Failed(error.to_string()))?);
    let session = found.asked.receiver(&recording, clock.now(), seed).map_err(RealError::Input)?;
    let folder = directory::received(&options.directory)?;
    let movie = folder.join(format!("movie.{}", found.codec.file_suffix()));
    let headers = found.description.as_ref().map(Described::parameter_sets).unwrap_or_default();
    let mut receiving = MovieReceiving::new(session, directory::create_behind(&movie, &headers)?);
    if let Some(FoundSound { codec, format }) = found.sound {
        let file = folder.join(format!("movie.{}", codec.name()));
        receiving = receiving.with_sound(directory::create(&file)?, format);
    }
    let place = Place { end: Side::Receiver, own: any_like(options.address), peer: Some(options.address) };
    let mut sockets = FlowSockets::open(&[ChannelSetup::of_asked()], &place, clock)?;
    sockets.connect()?;
    if !sockets.wait_for_peer(options.patience, TICK, is_stopped)? {
        return Err(RealError::Stopped);
    }
    let ended_by = drive(options, clock, &mut sockets, &mut receiving, is_stopped, listener)?;
    let frames = receiving.frames();
    let status = if matches!(ended_by, None | Some("silence")) { FlowStatus::Complete } else { FlowStatus::Partial };
    let outcome = receiving.into_received(status);
    let recorded = Recorded {
        directory: &options.directory,
        clock,
        ended_by,
        peer: Some(options.address),
        session: None,
        bytes: sockets.came(),
        of_others: 0,
    };
    record(&recorded, &outcome, &announcement)?;
    let (status, failure) = directory::status(&outcome.status);
    let (failure, bytes, of_others) = (failure.map(str::to_owned), sockets.came(), 0);
    let rejected = outcome.received.rejected;
    Ok(Received { status, ended_by, failure, frames, bytes, movie, announcement, of_others, rejected })
}

fn drive(
    options: &AskOptions,
    clock: RunClock,
    sockets: &mut FlowSockets<RunClock>,
    receiving: &mut MovieReceiving,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Option<&'static str>, RealError> {
    let begun = clock.now();
    let (mut reported, mut ended_by) = (begun, None);
    loop {
        let now = clock.now();
        let heard = sockets.last().map_or(begun, |last| last.max(begun));
        ended_by = ended_by.or_else(|| match () {
            () if is_stopped() => Some("interrupted"),
            () if sockets.came() >= options.most.as_bytes() => Some("size limit"),
            () if now.saturating_since(heard) >= options.silence => Some("silence"),
            () => None,
        });
        if ended_by.is_some() {
            sockets.stop_reading();
            receiving.handle_other_ended(now);
        }
        let again = receiving.poll(now, sockets);
        if receiving.has_ended() || now.saturating_since(reported) >= BETWEEN_REPORTS {
            reported = now;
            let (whole, dropped) = receiving.frames();
            let (whole, bytes) = (Some(whole), sockets.came());
            listener(&Event::Progress { at: now, offered: None, frames: None, dropped, whole, bytes });
        }
        if receiving.has_ended() {
            return Ok(ended_by);
        }
        if !again {
            let (watched, until) = sockets.watched(receiving);
            wait_watching(&watched, until.map_or(TICK, |at| at.saturating_since(now).min(TICK)))?;
        }
    }
}

/// What the server has there.
fn look(options: &AskOptions, is_stopped: &dyn Fn() -> bool) -> Result<Found, RealError> {
    let AskOptions { host, path, .. } = options;
    if options.is_rtsp {
        let url = format!("rtsp://{host}{path}");
        let (want, sound, account) = (Want::Interleaved, None, options.account.clone());
        let settings = ClientSettings { url: url.clone(), want, sound, account: account.clone() };
        let random = Seed(random_session().map_err(|error| RealError::Failed(error.to_string()))?);
        let client = Rtsp::new(settings, Timestamp::ZERO, random.stream("look", &[]));
        let described = converse(options, is_stopped, DescribedBy(client))?;
        let unusable = |reason: String| RealError::Input(format!("{url}: {reason}"));
        let description = crate::described::described(&described).map_err(unusable)?;
        let name = &description.encoding_name;
        let codec = Announcement::codec_in_rtp(name).ok_or_else(|| unusable(format!("{name} is not received")))?;
        let payload_type = description.payload_type;
        // What is not received is not asked for.
        let (of_sound, why) = received_or_why(crate::described::described_sound(&described));
        let (sound, of_sound) = (of_sound.as_ref().map(|(sound, _)| FoundSound::in_rtp(sound)), of_sound);
        let asked = AskedFor::Rtsp { url, account, codec, payload_type, sound: of_sound.map(|(one, _)| Box::new(one)) };
        return Ok(Found { asked, codec, sound, without_sound: why, description: Some(description) });
    }
    let mut client = Http::default();
    client.fetch(&Fetch { host: host.clone(), path: path.clone(), range: None, is_last: true });
    let (is_file, codec, sound) = converse(options, is_stopped, FoundIn::new(client))?;
    let asked = AskedFor::Http { host: host.clone(), path: path.clone(), is_file };
    let (sound, without_sound) = received_or_why(sound);
    Ok(Found { asked, codec, sound, without_sound, description: None })
}

/// What is received, or why it is not.
fn received_or_why<T>(found: Option<Result<T, String>>) -> (Option<T>, Option<String>) {
    match found.transpose() {
        Ok(received) => (received, None),
        Err(why) => (None, Some(why)),
    }
}

/// What is talked about until something is known.
trait Talk {
    type Known;
    fn handle(&mut self, now: Timestamp, bytes: Option<&[u8]>) -> Result<Option<Self::Known>, String>;
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;
}

struct DescribedBy(Rtsp);

impl Talk for DescribedBy {
    type Known = String;

    fn handle(&mut self, now: Timestamp, bytes: Option<&[u8]>) -> Result<Option<String>, String> {
        match bytes {
            Some(bytes) => drop(self.0.handle_bytes(now, bytes)),
            None => self.0.handle_close(),
        }
        while let Some(event) = self.0.poll_event() {
            match event {
                RtspEvent::Described(text) => return Ok(Some(text)),
                RtspEvent::Ended(reason) => return Err(reason.unwrap_or_else(|| "the server said nothing".to_owned())),
                RtspEvent::Playing(_) | RtspEvent::Rtp(..) | RtspEvent::Rtcp(..) => {}
            }
        }
        Ok(None)
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.0.poll_transmit()
    }
}

/// Whether a body is a file, its video, and its sound or why that is not received.
type InBody = (bool, Codec, Option<Result<FoundSound, String>>);

/// What a body is, by its first bytes: an MP4 file, or a transport stream.
struct FoundIn {
    client: Http,
    /// What the server says that it is.
    media_type: Option<String>,
    first: Vec<u8>,
    file: Option<mp4::Demultiplexer>,
    stream: Option<mpeg_ts::Demultiplexer>,
    read: u64,
}

impl FoundIn {
    fn new(client: Http) -> Self {
        Self { client, media_type: None, first: Vec::new(), file: None, stream: None, read: 0 }
    }

    fn take(&mut self, now: Timestamp, bytes: &[u8]) -> Result<Option<InBody>, String> {
        self.read += bytes.len() as u64;
        if self.read > MOST_LOOKED_AT {
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
        let codecs: Vec<_> = if let Some(file) = &mut self.file {
            file.handle_bytes(now, bytes);
            if let Some(fault) = file.poll_fault() {
                return Err(fault.to_string());
            }
            while file.poll_unit().is_some() {}
            let tracks = file.tracks().iter();
            tracks.map(|track| (codec_of_file(track.coding), FoundSound::in_track(track))).collect()
        } else if let Some(stream) = &mut self.stream {
            stream.handle_bytes(now, bytes);
            while stream.poll_unit().is_some() || stream.poll_fault().is_some() {}
            stream
                .program()
                .map(|program| {
                    let types = program.tracks.iter().map(|track| track.stream_type);
                    types.map(|coding| (codec_of(coding), FoundSound::in_program(coding).map(Ok))).collect()
                })
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        let sound = codecs.iter().find_map(|(_, sound)| sound.clone());
        match codecs.iter().find_map(|(codec, _)| *codec) {
            Some(codec) => Ok(Some((self.file.is_some(), codec, sound))),
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

impl Talk for FoundIn {
    type Known = InBody;

    fn handle(&mut self, now: Timestamp, bytes: Option<&[u8]>) -> Result<Option<Self::Known>, String> {
        match bytes {
            Some(bytes) => drop(self.client.handle_bytes(bytes)),
            None => drop(self.client.handle_close()),
        }
        while let Some(event) = self.client.poll_event() {
            match event {
                HttpEvent::Body(bytes) => {
                    if let Some(known) = self.take(now, &bytes)? {
                        return Ok(Some(known));
                    }
                }
                HttpEvent::Failed(reason) => return Err(reason),
                HttpEvent::Complete => return Err("there is no movie in it".to_owned()),
                HttpEvent::Found { media_type, .. } => self.media_type = media_type,
            }
        }
        Ok(None)
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }
}

/// Talks with the server until something is known, on a connection that is closed then.
fn converse<T: Talk>(options: &AskOptions, is_stopped: &dyn Fn() -> bool, mut talk: T) -> Result<T::Known, RealError> {
    let what = format!("{}{}", options.host, options.path);
    let mut sender = TcpSender::connect(None, options.address, &TcpOptions::default(), options.patience)?;
    let mut receiver = sender.receiver()?;
    let (clock, mut buffer) = (RunClock::start(), vec![0; 64 << 10]);
    let mut heard = clock.now();
    loop {
        while let Some(message) = talk.poll_transmit() {
            // A request is short, and nothing is under way before it.
            if sender.write(&message)? < message.len() {
                return Err(RealError::Failed(format!("{what}: the server takes no request")));
            }
        }
        let now = clock.now();
        let known = match receiver.read(&mut buffer)? {
            TcpRead::Bytes { length, .. } => {
                heard = now;
                talk.handle(now, Some(&buffer[..length]))
            }
            TcpRead::End => talk.handle(now, None),
            TcpRead::Nothing => {
                if is_stopped() {
                    return Err(RealError::Stopped);
                }
                if now.saturating_since(heard) >= options.patience {
                    return Err(RealError::Failed(format!("{what}: the server does not answer")));
                }
                wait(&receiver, Interest::Read, TICK)?;
                continue;
            }
        };
        if let Some(known) = known.map_err(|reason| RealError::Failed(format!("{what}: {reason}")))? {
            return Ok(known);
        }
    }
}

/// Any address and port of this host, of the same family.
fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 8], 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_from_a_movie() {
        let found = |media_type: Option<&str>, body: &[u8]| {
            let mut found = FoundIn::new(Http::default());
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
