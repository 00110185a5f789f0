//! What movie a server has at a URL: asked on a connection for that alone.

use framewire_endpoint::{RunClock, random_session};
use framewire_media::access_unit::Codec;
use framewire_session::{Announcement, ClientRequest, ReceivableSound};
use framewire_sockets::{Interest, TcpOptions, TcpRead, TcpSender, wait};
use framewire_transport::socket::StreamSocket;
use framewire_units::{Seed, Timestamp};
use framewire_wire::http::{Client as Http, Fetch};
use framewire_wire::rtsp::{Client as Rtsp, ClientEvent as RtspEvent, ClientSettings, Want};
use framewire_wire::sdp::Described;

use super::body::{BodyProbe, BodyTracks};
use super::{Asking, ClientOptions};
use crate::TICK;
use crate::error::RealError;

/// What was found at the server.
pub(super) struct ProbedMovie {
    /// How it is requested.
    pub(super) request: ClientRequest,
    pub(super) codec: Codec,
    /// The sound beside it, where there is some that is received.
    pub(super) sound: Option<ReceivableSound>,
    /// Why sound that is there is not received.
    pub(super) without_sound: Option<String>,
    /// Tracks of sound besides, which are not received.
    pub(super) other_sound: usize,
    /// What its description says, of RTSP.
    pub(super) description: Option<Described>,
}

/// What the server has there.
pub(super) fn probe(options: &ClientOptions, is_stopped: &dyn Fn() -> bool) -> Result<ProbedMovie, RealError> {
    let ClientOptions { host, path, .. } = options;
    if options.is_rtsp {
        let url = format!("rtsp://{host}{path}");
        let (want, sound, account) = (Want::Interleaved, None, options.account.clone());
        let user_agent = Some(Asking::Look.to_string());
        let settings = ClientSettings { url: url.clone(), want, sound, account: account.clone(), user_agent };
        let random = Seed(random_session().map_err(|error| RealError::Failed(error.to_string()))?);
        let client = Rtsp::new(settings, Timestamp::ZERO, random.stream("look", &[]));
        let described = converse(options, is_stopped, DescriptionProbe(client))?;
        let unusable = |reason: String| RealError::Input(format!("{url}: {reason}"));
        let description = crate::session_description::described(&described).map_err(unusable)?;
        let name = &description.encoding_name;
        let codec = Announcement::codec_in_rtp(name).ok_or_else(|| unusable(format!("{name} is not received")))?;
        let payload_type = description.payload_type;
        // What is not received is not asked for.
        let (of_sound, why) = received_or_why(crate::session_description::described_sound(&described));
        let (sound, of_sound) = (of_sound.as_ref().map(|(sound, _)| ReceivableSound::in_rtp(sound)), of_sound);
        let sound_of_request = of_sound.map(|(one, _)| Box::new(one));
        let request =
            ClientRequest::Rtsp { url, account, codec, payload_type, sound: sound_of_request, ports: Vec::new() };
        let description = Some(description);
        return Ok(ProbedMovie { request, codec, sound, without_sound: why, other_sound: 0, description });
    }
    let mut client = Http::default().with_user_agent(&Asking::Look.to_string());
    client.fetch(&Fetch { host: host.clone(), path: path.clone(), range: None, is_last: true });
    let BodyTracks { is_file, codec, sound, others } = converse(options, is_stopped, BodyProbe::new(client))?;
    let request = ClientRequest::Http { host: host.clone(), path: path.clone(), is_file };
    let (sound, without_sound) = received_or_why(sound);
    Ok(ProbedMovie { request, codec, sound, without_sound, other_sound: others, description: None })
}

/// What is received, or why it is not.
fn received_or_why<T>(found: Option<Result<T, String>>) -> (Option<T>, Option<String>) {
    match found.transpose() {
        Ok(received) => (received, None),
        Err(why) => (None, Some(why)),
    }
}

/// A conversation with a server until it is known what movie it has.
pub(super) trait Probe {
    type Known;
    fn handle(&mut self, now: Timestamp, bytes: Option<&[u8]>) -> Result<Option<Self::Known>, String>;
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;
}

struct DescriptionProbe(Rtsp);

impl Probe for DescriptionProbe {
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

/// Talks with the server until something is known, on a connection that is closed then.
fn converse<T: Probe>(
    options: &ClientOptions,
    is_stopped: &dyn Fn() -> bool,
    mut probe: T,
) -> Result<T::Known, RealError> {
    let what = format!("{}{}", options.host, options.path);
    let mut sender = TcpSender::connect(None, options.address, &TcpOptions::default(), options.patience)?;
    let mut receiver = sender.receiver()?;
    let (clock, mut buffer) = (RunClock::start(), vec![0; 64 << 10]);
    let mut heard = clock.now();
    loop {
        while let Some(message) = probe.poll_transmit() {
            // A request is short, and nothing is under way before it.
            if sender.write(&message)? < message.len() {
                return Err(RealError::Failed(format!("{what}: the server takes no request")));
            }
        }
        let now = clock.now();
        let known = match receiver.read(&mut buffer)? {
            TcpRead::Bytes { length, .. } => {
                heard = now;
                probe.handle(now, Some(&buffer[..length]))
            }
            TcpRead::End => probe.handle(now, None),
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
