//! The receiver's end where it listens.

mod discovery;
mod ending;
mod reports;

use std::net::SocketAddr;
use std::path::PathBuf;

use framewire_endpoint::{RunClock, random_session};
use framewire_kernel::{FlowAddresses, FlowSockets};
use framewire_media::access_unit::Codec;
use framewire_session::half::End as Side;
use framewire_session::lifecycle::{FlowEnd, FlowOutcome, MovieReceiving};
use framewire_session::{Announcement, ChannelSetup, DescribedSound, FlowRecording};
use framewire_sockets::{OpenError, Watch, wait_watching};
use framewire_transport::TransportKind;
use framewire_units::{DataSize, Duration, Seed, Timestamp};

use self::ending::Ending;
use self::reports::{Reporting, Reports};
use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::exchange::{Answers, above};
use crate::recorded::{Recorded, record};
use crate::session_description::DescribedStreams;
use crate::{BETWEEN_REPORTS, TICK, directory};

/// What a receiver is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// How the stream is carried.
    pub transport: TransportKind,
    /// The codec of a stream that is not announced; `None`: only what is announced is received.
    pub codec: Option<Codec>,
    /// What another program says of its streams of RTP (RFC 8866); `None`: nothing.
    pub description: Option<DescribedStreams>,
    /// Of a frame with a packet missing, what came up to the first gap is in the movie as received; only of datagrams.
    pub passes_damaged: bool,
    /// It reports of RTP in datagrams (RTCP), as far as its sender or the description lets it.
    pub reports: bool,
    /// How long the first bytes are waited for.
    pub patience: Duration,
    /// A stream that is silent for so long has ended.
    pub silence: Duration,
    /// The most that is taken, as it is the sender that decides how much comes.
    pub most: DataSize,
    /// The directory of this end, which exists.
    pub directory: PathBuf,
}

/// How the receiver's end came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// `complete` or `partial`.
    pub status: &'static str,
    /// `interrupted`, `silence` or `size limit`; `None` when the stream ended by itself.
    pub ended_by: Option<&'static str>,
    /// Why the stream broke, if it did.
    pub failure: Option<String>,
    /// Frames that came whole, and those of which something was missing.
    pub frames: (u32, u32),
    /// Bytes of the stream that came.
    pub bytes: u64,
    /// The movie as received.
    pub movie: PathBuf,
    /// What was received.
    pub announcement: Announcement,
    /// Datagrams and connections of others, which were refused.
    pub of_others: u64,
    /// Datagrams, packets and frames of the stream that made no sense, which were refused.
    pub rejected: u64,
}

/// Receives one stream, and fills the directory with what was recorded of it.
///
/// # Errors
/// When the ports are taken, nothing comes, it is not known what comes, or a file cannot be written.
pub fn receive(
    options: &ReceiveOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Received, RealError> {
    let clock = RunClock::start();
    let (sockets, answers, address) = listen(options, clock)?;
    listener(&Event::Listening(address));
    let reports = Reports::default();
    let mut end = End { options, clock, sockets, address, answers, reports, session: None };
    end.listen_for_described_sound(listener)?;
    let announcement = end.wait_for_stream(is_stopped, listener)?;
    listener(&Event::Started(announcement.to_string()));
    end.receive(&announcement, is_stopped, listener)
}

/// The sockets of the stream and of the exchange above it, and where they are.
type Listening = (FlowSockets<RunClock>, Answers, SocketAddr);

/// Opens them.
fn listen(options: &ReceiveOptions, clock: RunClock) -> Result<Listening, RealError> {
    if options.transport.profile().parts.session.asks() {
        return Err(RealError::Input(format!(
            "{}: its receiver asks for the movie; framewire receive is of transports whose sender opens the connection",
            options.transport
        )));
    }
    if options.passes_damaged && options.transport.is_stream() {
        return Err(RealError::Input(format!(
            "damaged frames by {}: there are none, as a reliable stream brings all of a frame or ends; pass them on by udp, ts \
             or another transport of datagrams",
            options.transport
        )));
    }
    let channel = ChannelSetup::of_announced(options.transport.is_stream());
    let sockets = FlowSockets::open(&[channel], &receiver_at(options.address), clock)?;
    let address = sockets.local_address()?.unwrap_or(options.address);
    let beside = above(address)
        .ok_or_else(|| RealError::Input(format!("{address}: the port above it is needed, too: state a lower one")))?;
    let answers = Answers::listen(beside, clock).map_err(|error| match error {
        OpenError::PortInUse(_) => RealError::Failed(format!("{error}; it is for the exchange of clocks and for RTCP")),
        other => other.into(),
    })?;
    Ok((sockets, answers, address))
}

/// Where a receiver's channels are, at this address.
fn receiver_at(own: SocketAddr) -> FlowAddresses {
    FlowAddresses { end: Side::Receiver, own, peer: None }
}

/// Why sound cannot be listened for.
fn of_sound(error: OpenError) -> RealError {
    RealError::Failed(format!("{error}; it is for the sound"))
}

/// One end at work.
struct End<'a> {
    options: &'a ReceiveOptions,
    clock: RunClock,
    sockets: FlowSockets<RunClock>,
    /// Where it listens.
    address: SocketAddr,
    answers: Answers,
    reports: Reports,
    /// Of the stream that was announced.
    session: Option<u64>,
}

impl End<'_> {
    fn receive(
        mut self,
        announcement: &Announcement,
        is_stopped: &dyn Fn() -> bool,
        listener: &mut Listener<'_>,
    ) -> Result<Received, RealError> {
        let recording = FlowRecording::in_directory(Some(self.options.directory.as_path().into())).in_real_time();
        let directory = directory::received(&self.options.directory)?;
        let movie = directory.join(format!("movie.{}", announcement.codec.file_suffix()));
        let file = directory::create_behind(&movie, &self.parameter_sets())?;
        let seed = Seed(random_session().map_err(|error| RealError::Failed(error.to_string()))?);
        let session = announcement.reporting_receiver(&recording, self.clock.now(), seed)?;
        let session = session.passing_damaged(self.options.passes_damaged);
        let mut receiving = MovieReceiving::new(session, file);
        let described = announcement.sound_packets.as_ref();
        if let Some(codec) = announcement.sound.map(|sound| sound.codec).or(described.map(|sound| sound.codec)) {
            let file = directory::create(&directory.join(format!("movie.{}", codec.name())))?;
            let format = announcement.sound.or_else(|| described.and_then(DescribedSound::file_format));
            receiving = receiving.with_sound(file, format);
        } else if announcement.may_have_sound() {
            receiving = receiving.with_sound(directory::create_sound_of_any(&directory), None);
        }
        let ending = self.drive(&mut receiving, is_stopped, listener)?;
        let frames = receiving.frames();
        let outcome = receiving.into_received(ending.status());
        self.write(&outcome, announcement, &ending)?;
        let (status, failure) = directory::status(&outcome.status);
        Ok(Received {
            status,
            ended_by: ending.ended_by,
            failure: failure.map(str::to_owned),
            frames,
            bytes: self.sockets.came(),
            movie,
            announcement: announcement.clone(),
            of_others: self.sockets.of_others() + self.reports.of_others,
            rejected: outcome.received.rejected,
        })
    }

    /// Receives to the end of the stream.
    fn drive(
        &mut self,
        receiving: &mut MovieReceiving,
        is_stopped: &dyn Fn() -> bool,
        listener: &mut Listener<'_>,
    ) -> Result<Ending, RealError> {
        let mut ending = Ending { is_announced: self.session.is_some(), ..Ending::default() };
        let begun = self.clock.now();
        let mut reported = begun;
        loop {
            let now = self.clock.now();
            ending.said |= self.take_end()?;
            self.reports.take(&mut self.answers, &self.sockets, self.clock, receiving)?;
            ending.ended_by = ending.ended_by.or(self.early_end(now, begun, is_stopped));
            if ending.ended_by.is_some() {
                // A sender that goes on does not keep it from its end.
                self.sockets.stop_reading();
            }
            if ending.ended_by.is_some() || ending.said && self.is_settled(now) {
                receiving.handle_other_ended(now);
            }
            let Self { sockets, answers, reports, .. } = self;
            let again = receiving.poll(now, &mut Reporting { sockets, answers, reports });
            if receiving.has_ended() || now.saturating_since(reported) >= BETWEEN_REPORTS {
                reported = now;
                self.report(receiving, listener);
            }
            if receiving.has_ended() {
                break;
            }
            if !again {
                self.wait(receiving, now)?;
            }
        }
        if ending.is_announced && ending.ended_by.is_none() {
            ending.said |= self.linger(is_stopped)?;
        }
        Ok(ending)
    }

    /// Those that come with the description of a stream that is not announced.
    fn parameter_sets(&self) -> Vec<Vec<u8>> {
        let description = self.options.description.as_ref().filter(|_| self.session.is_none());
        description.map(|streams| streams.video.parameter_sets()).unwrap_or_default()
    }

    fn wait(&self, receiving: &MovieReceiving, now: Timestamp) -> Result<(), RealError> {
        let (mut watched, until) = self.sockets.watched(receiving);
        let beside = self.reports.descriptors().chain([self.answers.descriptor()]);
        watched.extend(beside.map(|socket| (socket, Watch { read: true, write: false })));
        let left = until.map_or(TICK, |at| at.saturating_since(now).min(TICK));
        Ok(wait_watching(&watched, left)?)
    }

    fn report(&self, receiving: &MovieReceiving, listener: &mut Listener<'_>) {
        let (whole, dropped) = receiving.frames();
        let (whole, bytes) = (Some(whole), self.sockets.came());
        listener(&Event::Progress { at: self.clock.now(), offered: None, frames: None, dropped, whole, bytes });
    }

    fn write(&self, outcome: &FlowOutcome, announcement: &Announcement, ending: &Ending) -> Result<(), RealError> {
        let recorded = Recorded {
            directory: &self.options.directory,
            clock: self.clock,
            ended_by: ending.ended_by,
            peer: self.sockets.heard(),
            session: self.session,
            bytes: self.sockets.came(),
            of_others: self.sockets.of_others() + self.reports.of_others,
            parameter_sets: &self.parameter_sets(),
        };
        record(&recorded, outcome, announcement)
    }
}
