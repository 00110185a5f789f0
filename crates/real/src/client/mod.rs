//! The receiver's end where it is a client: of any server of HTTP or RTSP.

mod asking;
mod body;
mod probe;

use std::net::SocketAddr;
use std::path::PathBuf;

use framewire_endpoint::{RunClock, random_session};
use framewire_kernel::{FlowAddresses, FlowSockets};
use framewire_recording::record::FlowStatus;
use framewire_session::half::End as Side;
use framewire_session::lifecycle::{FlowEnd, MovieReceiving};
use framewire_session::{Announcement, ChannelSetup, ClientRequest, FlowRecording, ReceivableSound};
use framewire_sockets::wait_watching;
use framewire_transport::TransportKind;
use framewire_units::{DataSize, Duration, Seed};
use framewire_wire::rtsp::Account;
use framewire_wire::sdp::Described;

pub(crate) use self::asking::Asking;
use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::receiving::Received;
use crate::recorded::{Recorded, record};
use crate::{BETWEEN_REPORTS, TICK, directory};

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// The server.
    pub address: SocketAddr,
    /// It speaks RTSP; else HTTP.
    pub is_rtsp: bool,
    /// By RTSP, packets are to come in datagrams; else in the connection.
    pub over_udp: bool,
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

/// Asks a server for a movie, and fills the directory with what was recorded of it. It looks first what it is, on a connection for
/// that alone, and then asks for it.
///
/// # Errors
/// When nobody answers, what is there is no movie that is received, or a file cannot be written.
pub fn receive_from_server(
    options: &ClientOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Received, RealError> {
    let found = probe::probe(options, is_stopped)?;
    let transport = match &found.request {
        ClientRequest::Http { is_file: true, .. } => "http",
        ClientRequest::Http { .. } => "http+ts",
        ClientRequest::Rtsp { .. } if options.over_udp => "rtsp+udp",
        ClientRequest::Rtsp { .. } => "rtsp",
    };
    let transport: TransportKind = transport.parse().expect("invariant: the registry has it");
    let announcement = Announcement {
        transport,
        codec: found.codec,
        mpeg2: true,
        origin: None,
        payload_type: found.description.as_ref().map(|of| of.payload_type),
        sound: None,
        sound_packets: None,
        frame_rate: None,
        reports: Vec::new(),
    };
    listener(&Event::Started(announcement.to_string()));
    if let Some(reason) = found.without_sound {
        listener(&Event::SoundLeftOut { name: String::new(), transport: transport.to_string(), reason });
    }
    if found.other_sound > 0 {
        listener(&Event::OtherSound(found.other_sound));
    }
    let clock = RunClock::start();
    let recording = FlowRecording::in_directory(Some(options.directory.as_path().into())).in_real_time();
    let draw = || random_session().map_err(|error| RealError::Failed(error.to_string()));
    let (seed, number) = (Seed(draw()?), draw()?);
    let user_agent = Asking::Stream(number).to_string();
    let (request, mut sockets) = open(options, clock, found.request, is_stopped)?;
    let session = request.receiver(&recording, &user_agent, clock.now(), seed).map_err(RealError::Input)?;
    let folder = directory::received(&options.directory)?;
    let movie = folder.join(format!("movie.{}", found.codec.file_suffix()));
    let headers = found.description.as_ref().map(Described::parameter_sets).unwrap_or_default();
    let mut receiving = MovieReceiving::new(session, directory::create_behind(&movie, &headers)?);
    if let Some(ReceivableSound { codec, format }) = found.sound {
        let file = folder.join(format!("movie.{}", codec.name()));
        receiving = receiving.with_sound(directory::create(&file)?, format);
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
        session: Some(number),
        bytes: sockets.came(),
        of_others: sockets.of_others(),
        parameter_sets: &headers,
    };
    record(&recorded, &outcome, &announcement)?;
    let (status, failure) = directory::status(&outcome.status);
    let (failure, bytes, of_others) = (failure.map(str::to_owned), sockets.came(), sockets.of_others());
    let rejected = outcome.received.rejected;
    Ok(Received { status, ended_by, failure, frames, bytes, movie, announcement, of_others, rejected })
}

/// Connects to the server, and opens the ports to which datagrams come: the request that says them, and the sockets.
fn open(
    options: &ClientOptions,
    clock: RunClock,
    request: ClientRequest,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(ClientRequest, FlowSockets<RunClock>), RealError> {
    let addresses = FlowAddresses { end: Side::Receiver, own: any_like(options.address), peer: Some(options.address) };
    let connection = if options.over_udp { ChannelSetup::beside_datagrams() } else { ChannelSetup::of_asked() };
    let mut sockets = FlowSockets::open(&[connection], &addresses, clock)?;
    sockets.connect()?;
    if !sockets.wait_for_peer(options.patience, TICK, is_stopped)? {
        return Err(RealError::Stopped);
    }
    if !options.over_udp {
        return Ok((request, sockets));
    }
    let (own, from) = (sockets.connected_from()?.ip(), options.address.ip());
    let pairs = request.datagram_channels();
    let ports = pairs.iter().map(|pair| sockets.listen_pair(pair, own, from)).collect::<Result<_, _>>()?;
    Ok((request.over_udp(ports), sockets))
}

fn drive(
    options: &ClientOptions,
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
        }
        if ended_by.is_some() || receiving.is_over_beside() {
            receiving.handle_other_ended(now);
        }
        while let Some((channel, port)) = receiving.poll_report_port() {
            sockets.answer_to(channel, port);
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

/// Any address and port of this host, of the same family.
fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 8], 0)),
    }
}
