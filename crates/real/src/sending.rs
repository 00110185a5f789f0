//! The sender's end.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use framewire_endpoint::{RunClock, random_session};
use framewire_kernel::{FlowAddresses, FlowSockets, Lateness, Wakes};
use framewire_recording::spool::Spool;
use framewire_recording::{SentRecords, WriteError};
use framewire_scenario::Scenario;
use framewire_session::half::End;
use framewire_session::lifecycle::{FlowEnd, FlowOutcome, MovieSending};
use framewire_session::{
    Announcement, ChannelSetup, FlowRecording, FlowSetup, RtpSeed, SocketsSetup, rtcp_records_of_sender,
};
use framewire_sockets::wait_watching;
use framewire_units::{Duration, Seed, Timestamp};
use framewire_wire::exchange::Kind;
use framewire_wire::sdp;
use framewire_world::{
    Content, FlowPackets, RunDescription, failures, flow_log, utc, write_description, write_scenario,
};
use serde_json::{Map, Value, json};

use crate::clocks::{Alignment, Sample};
use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::exchange::{Questions, above};
use crate::{BETWEEN_REPORTS, TICK, directory};

/// What a sender is told beside scenario and movie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// Where the stream goes.
    pub peer: SocketAddr,
    /// How long a peer is waited for that does not take a connection, or takes nothing any more.
    pub patience: Duration,
    /// How long the first frame waits, when all else stands: a receiver that is started by hand needs time.
    pub delay: Duration,
    /// The directory of this end, which exists.
    pub directory: PathBuf,
    /// Of what its streams of RTP draw, drawn at random itself (RFC 3550, sections 5.1 and 8.1).
    pub seed: Seed,
    /// Where a session description is written by which other programs receive the stream (RFC 8866); only for RTP.
    pub description: Option<PathBuf>,
    /// A number by which both ends know that they recorded the same stream; drawn at random.
    pub session: u64,
}

/// How the sender's end came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// `complete` or `partial`.
    pub status: &'static str,
    /// `interrupted`; `None` when the stream ended by itself.
    pub ended_by: Option<&'static str>,
    /// Why the stream broke, if it did.
    pub failure: Option<String>,
    /// Frames given to the transport, and those that were given up.
    pub frames: (u32, u32),
    /// How often the receiver's host has said that nothing receives at the port of the stream.
    pub unreachable: u64,
    /// Datagrams that came where the receiver's reports do, and were of other hosts, or no RTCP.
    pub refused_reports: u64,
    /// How exactly the clocks are known to be aligned, in seconds; `None`: nobody answered.
    pub clock_error_s: Option<f64>,
}

/// Sends the movie of a scenario of one flow, and fills the directory with what was recorded of it.
///
/// # Errors
/// When the scenario does not send a movie by one flow, nobody takes the connection, or a file cannot be written.
pub fn send(
    scenario: &Scenario,
    content: &Content,
    options: &SendOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Sent, RealError> {
    let setup = flow_setup(scenario, content, options)?;
    let announcement = Announcement::of(&setup)
        .ok_or_else(|| RealError::Input(format!("{} sends no movie by itself", setup.transport())))?;
    if let Some(file) = &options.description {
        describe(&announcement, &setup, content, options.peer, file)?;
    }
    let mut questions = compare(&announcement, options, is_stopped, listener)?;
    let mut sockets = open(&setup, &announcement, options.peer, listener)?;
    sockets.connect()?;
    if !sockets.wait_for_peer(options.patience, TICK, is_stopped)? {
        return Err(RealError::Stopped);
    }
    let clock = RunClock::starting_in(options.delay);
    let sockets = sockets.on(clock);
    wait_for_origin(clock, is_stopped)?;
    listener(&Event::Started(announcement.to_string()));
    let (sending, (lateness, unreachable, of_others)) = drive(&setup, sockets, clock, is_stopped, listener)?;
    let counts = sending.counts();
    let flow = sending.into_outcome();
    if let Some(questions) = questions.as_mut() {
        questions.ask(Kind::End, is_stopped)?;
    }
    let samples = questions.map(|questions| questions.samples(clock)).unwrap_or_default();
    let no_rtcp: u64 = flow.sent.rtcp.iter().map(|log| log.rejected).sum();
    let refused_reports = of_others + no_rtcp;
    let ended_by = is_stopped().then_some("interrupted");
    let mut flows = [flow];
    content.settle(std::slice::from_ref(&setup), &mut flows);
    let failure = failures(std::slice::from_ref(&setup), &flows).pop();
    let description = RunDescription {
        world: "real",
        scenario,
        content,
        setups: std::slice::from_ref(&setup),
        flows: &flows,
        summaries: &[],
        clock_references_seen: Vec::new(),
        ended_by,
        origin_utc: utc(clock.to_unix(Timestamp::ZERO)).into(),
        kernel: directory::kernel(),
        accuracy: Map::from_iter([(setup.name().to_owned(), accuracy(lateness))]),
        beside: beside(options, &announcement, &samples, (unreachable, refused_reports)),
    };
    let status = description.status();
    let document = directory::without_what_came(description.to_json());
    write(&setup, scenario, flows, options, &document)?;
    let clock_error_s = Alignment::of(&samples).and_then(|alignment| alignment.error).map(seconds);
    let frames = (counts.offered, counts.missing());
    Ok(Sent { status, ended_by, failure, frames, unreachable, refused_reports, clock_error_s })
}

/// Opens the channels of a flow. Where its receiver reports, packets and reports of each session have two ports that follow each other
/// (RFC 3550, section 11), so that a receiver finds the second by the first; which ones is told.
fn open(
    setup: &FlowSetup,
    announcement: &Announcement,
    peer: SocketAddr,
    listener: &mut Listener<'_>,
) -> Result<FlowSockets<RunClock>, RealError> {
    let own = any_like(peer);
    let addresses = FlowAddresses { end: End::Sender, own, peer: Some(peer) };
    let channels = setup.channels();
    let sessions = announcement.reported_sessions();
    let is_reported = |setup: &&ChannelSetup| sessions.iter().any(|of| [of.media, of.reports].contains(&setup.id));
    let others: Vec<ChannelSetup> = channels.iter().filter(|setup| !is_reported(setup)).cloned().collect();
    let mut sockets = FlowSockets::open(&others, &addresses, RunClock::start())?;
    for session in sessions {
        let pair = [session.media, session.reports].map(|id| channels.iter().find(|setup| setup.id == id).cloned());
        let [Some(media), Some(reports)] = pair else { continue };
        let peers = [&media, &reports].map(|of| SocketAddr::new(peer.ip(), peer.port().saturating_add(of.port)));
        let (_, port) = sockets.open_reported(&[media, reports], own.ip(), peers)?;
        listener(&Event::TakingReports(port));
    }
    Ok(sockets)
}

/// Writes the session description of a stream in RTP, with what its reports may take.
fn describe(
    announcement: &Announcement,
    setup: &FlowSetup,
    content: &Content,
    peer: SocketAddr,
    file: &Path,
) -> Result<(), RealError> {
    let (_, movie) = content.movie().expect("invariant: the flow sends a movie");
    let text = announcement.session_description(peer, &movie.frame_bytes(0));
    let text = text.ok_or_else(|| {
        RealError::Input(format!("{}: session descriptions are of RTP; it needs none", announcement.transport))
    })?;
    let number = random_session().map_err(|error| RealError::Failed(error.to_string()))?;
    let text = sdp::with_session(&text, number >> 1);
    let text = sdp::with_rtcp_bandwidth(&text, setup.rtcp_bandwidths());
    Ok(fs::write(file, text).map_err(|error| WriteError::new(file.to_owned(), &error))?)
}

/// The synchronisation source of the picture (RFC 3550, section 3).
fn source_of(announcement: &Announcement) -> u32 {
    announcement.origin.map_or(0, |origin| origin.ssrc)
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// The flow, recorded in the directory.
fn flow_setup(scenario: &Scenario, content: &Content, options: &SendOptions) -> Result<FlowSetup, RealError> {
    let [flow] = scenario.flows.as_slice() else {
        return Err(RealError::Input("the real world has one flow at a time: state one [[flow]]".to_owned()));
    };
    if let Some(reason) = scenario.needs_simulation() {
        return Err(RealError::Input(reason));
    }
    let plan = content.sending_plan().ok_or_else(|| RealError::Input("there is no movie to be sent".to_owned()))?;
    let setup = FlowSetup::between_machines(flow, plan, RtpSeed { seed: options.seed, flow: 0 })?;
    check_ports(&setup, options.peer)?;
    if let Some(reason) = not_between_machines(&setup) {
        return Err(RealError::Input(format!("{}: {reason}", setup.transport())));
    }
    let recording = FlowRecording::in_directory(Some(options.directory.as_path().into()));
    Ok(setup.recorded(recording.in_real_time()))
}

/// Why a flow that can be simulated and emulated is not carried from one machine to another.
fn not_between_machines(setup: &FlowSetup) -> Option<&'static str> {
    let channels = setup.channels();
    let asks = channels.iter().any(|setup| matches!(setup.sockets, SocketsSetup::Stream(End::Receiver, _)));
    asks.then_some(
        "its receiver asks for the movie; framewire send --to is of transports whose sender opens the connection",
    )
}

/// Whether there are all the ports to which a flow goes.
fn check_ports(setup: &FlowSetup, peer: SocketAddr) -> Result<(), RealError> {
    let highest = setup.channels().iter().map(|channel| channel.port).max().unwrap_or(0);
    match peer.port().checked_add(highest) {
        Some(_) => Ok(()),
        None => Err(RealError::Input(format!(
            "{peer}: its sound and reports go to the {highest} ports above; state a lower one"
        ))),
    }
}

/// Says what is sent, and compares the clocks; `None` where nobody answers.
fn compare(
    announcement: &Announcement,
    options: &SendOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Option<Questions>, RealError> {
    let Some(peer) = above(options.peer) else {
        listener(&Event::NotAligned);
        return Ok(None);
    };
    listener(&Event::Asking(peer));
    let mut questions = Questions::new(peer, options.session, source_of(announcement), announcement.to_string())?;
    let answered = questions.ask(Kind::Question, is_stopped)?;
    let error = Alignment::of(&questions.samples(RunClock::start())).and_then(|alignment| alignment.error);
    listener(&error.map_or(Event::NotAligned, |error| Event::Aligned(seconds(error))));
    Ok(answered.then_some(questions))
}

/// Waits until the first frame is due.
fn wait_for_origin(clock: RunClock, is_stopped: &dyn Fn() -> bool) -> Result<(), RealError> {
    while let Some(left) = clock.until_origin() {
        if is_stopped() {
            return Err(RealError::Stopped);
        }
        std::thread::sleep(left.min(TICK));
    }
    Ok(())
}

/// Streams from now on to the end; how late it was woken, how often nothing received at the port of the stream, and how many datagrams
/// of others came.
fn drive(
    setup: &FlowSetup,
    mut sockets: FlowSockets<RunClock>,
    clock: RunClock,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<(MovieSending, (Lateness, u64, u64)), RealError> {
    let (session, samples) = match setup {
        FlowSetup::Datagram(setup) => (setup.sender(), setup.common.samples()),
        FlowSetup::Stream(setup) => (setup.sender(), setup.common.samples()),
        _ => return Err(RealError::Input(format!("{} sends no movie by itself", setup.transport()))),
    };
    let mut sending = MovieSending::new(session, samples);
    let mut offered_bytes = Offered::new(setup);
    let (mut reported, mut is_draining, mut is_unreachable) = (Timestamp::ZERO, false, false);
    let wakes = Wakes::default();
    wakes.begin(Timestamp::ZERO, clock.now());
    loop {
        let now = clock.now();
        if sockets.refusals() > 0 && !std::mem::replace(&mut is_unreachable, true) {
            listener(&Event::Unreachable(now));
        }
        match is_stopped() {
            true => sending.stop(now),
            false => drop(sending.poll(now, &mut sockets)),
        }
        if sending.has_ended() || now.saturating_since(reported) >= BETWEEN_REPORTS {
            reported = now;
            let (at, counts) = (now, sending.counts());
            let (offered, frames) = (Some(counts.offered), Some(setup.frames()));
            let (dropped, bytes) = (counts.missing(), offered_bytes.of(counts.offered));
            listener(&Event::Progress { at, offered, frames, dropped, whole: None, bytes });
        }
        if sending.has_ended() {
            return Ok((sending, (wakes.lateness(), sockets.refusals(), sockets.of_others())));
        }
        if sending.is_draining() && !std::mem::replace(&mut is_draining, true) {
            listener(&Event::Draining);
        }
        wait(&sending, &sockets, clock, &wakes)?;
    }
}

/// Bytes of the frames that were offered, for a display.
struct Offered {
    sizes: Vec<u32>,
    counted: usize,
    bytes: u64,
}

impl Offered {
    fn new(setup: &FlowSetup) -> Self {
        let sizes = setup.facts().iter().filter(|facts| facts.track == 0).map(|facts| facts.size).collect();
        Self { sizes, counted: 0, bytes: 0 }
    }

    fn of(&mut self, frames: u32) -> u64 {
        let until = (frames as usize).min(self.sizes.len());
        self.bytes += self.sizes[self.counted..until].iter().map(|&size| u64::from(size)).sum::<u64>();
        self.counted = until;
        self.bytes
    }
}

fn wait(
    sending: &MovieSending,
    sockets: &FlowSockets<RunClock>,
    clock: RunClock,
    wakes: &Wakes,
) -> Result<(), RealError> {
    let (watched, until) = sockets.watched(sending);
    let now = clock.now();
    let waited = wait_watching(&watched, until.map_or(TICK, |at| at.saturating_since(now).min(TICK)));
    wakes.note(now, until, clock.now());
    Ok(waited?)
}

/// How far the sender kept to its own clock: what it was late is not the network's.
fn accuracy(lateness: Lateness) -> Value {
    json!({ "late": lateness.doubt("sender"), "wakes": { "sender": lateness.to_json() } })
}

/// Any address and port of this host, of the same family.
fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 8], 0)),
    }
}

/// What only this end has to say.
fn beside(
    options: &SendOptions,
    announcement: &Announcement,
    samples: &[Sample],
    (unreachable, refused_reports): (u64, u64),
) -> Map<String, Value> {
    let exchange = samples.iter().map(|one| json!([one.asked, one.came, one.answered, one.arrived]));
    let Value::Object(fields) = json!({
        "side": "sender",
        "peer": options.peer.to_string(),
        "session": format!("{:016x}", options.session),
        "ssrc": source_of(announcement),
        "announcement": announcement.to_string(),
        "exchange": exchange.collect::<Vec<_>>(),
        "unreachable": unreachable,
        "refused_reports": refused_reports,
    }) else {
        unreachable!("invariant: it was written as an object")
    };
    fields
}

fn write(
    setup: &FlowSetup,
    scenario: &Scenario,
    [mut flow]: [FlowOutcome; 1],
    options: &SendOptions,
    document: &Value,
) -> Result<(), RealError> {
    let renumbered: Spool<_> = flow.sent.renumbered.clone();
    let mut log = flow_log(setup, &mut flow, FlowPackets::new(options.peer.port(), false, None));
    log.rtcp = rtcp_records_of_sender(&flow.sent.rtcp);
    SentRecords { log, renumbered }.write(&options.directory)?;
    write_scenario(&options.directory, scenario)?;
    Ok(write_description(&options.directory, document)?)
}
