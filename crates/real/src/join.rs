//! One run of what two ends recorded.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use framewire_recording::record::{FlowLog, FlowStatus, Stuffing};
use framewire_recording::summary::Summary;
use framewire_recording::{SentRecords, WriteError, network_packets, read_received, transits, write_run};
use framewire_scenario::Scenario;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{FlowRecording, FlowSetup, RtpSeed};
use framewire_transport::TransportKind;
use framewire_transport::registry::{Format, Parts};
use framewire_world::{
    Content, FlowPackets, RunDescription, contradiction, flow_log, load_sound, received_file, received_sound,
    write_documents,
};
use serde_json::{Map, Value, json};

use crate::clocks::{Alignment, Sample};
use crate::error::RealError;

/// The table of the reports of RTCP.
const REPORTS: &str = "rtcp.parquet";

/// What became of the two directories.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// `complete` or `partial`.
    pub status: &'static str,
    /// Why the stream broke, if it did.
    pub failure: Option<String>,
    /// How exactly the clocks are known to be aligned, in seconds; `None`: they are not.
    pub clock_error_s: Option<f64>,
    /// What the flow came to.
    pub summary: Summary,
}

/// Makes a run of a sender's and a receiver's directory, in `out`, which exists: all times are the sender's.
///
/// # Errors
/// When one is not what it should be, they are of different streams, the movie is not where it was, or a file cannot be
/// written.
pub fn join(sender: &Path, receiver: &Path, out: &Path) -> Result<Joined, RealError> {
    let (sent, received) = (Side::read(sender, "sender")?, Side::read(receiver, "receiver")?);
    check_session(&sent, &received)?;
    check_transport(&sent, &received)?;
    let scenario = sent.scenario()?;
    let content = sent.content()?;
    let setup = sent.setup(&scenario, &content, out)?;
    let SentRecords { log: mut records, renumbered } = SentRecords::read(sender)?;
    let alignment = align(&sent, &received, &records)?;
    read_received(receiver, &mut records, |at| alignment.map_or(at, |alignment| alignment.to_sender(at)))?;
    records.packets = network_packets(&records);
    let mut flow = outcome(&sent, &received);
    flow.sent.renumbered = renumbered;
    flow.sent.stuffing = sent.stuffing();
    let named = flow_log(&setup, &mut flow.clone(), FlowPackets::new(0, false, None));
    let FlowLog { flow: name, transport, status, frames, stuffing, .. } = named;
    let log = FlowLog { flow: name, transport, status, frames, stuffing, ..records };
    let summary = write_run(out, std::slice::from_ref(&log), scenario.playout)?.remove(0);
    keep_received(&setup, &received, out)?;
    keep_reports(&sent, out)?;
    let accuracy = accuracy(&sent.document["accuracy"][setup.name()], contradiction(&summary, &flow));
    let description = RunDescription {
        world: "real",
        scenario: &scenario,
        content: &content,
        setups: std::slice::from_ref(&setup),
        flows: std::slice::from_ref(&flow),
        summaries: std::slice::from_ref(&summary),
        clock_references_seen: Vec::new(),
        ended_by: [&sent, &received].into_iter().find_map(Side::ended_by),
        origin_utc: sent.document["origin_utc"].clone(),
        kernel: sent.document["kernel"].clone(),
        accuracy: Map::from_iter([(setup.name().to_owned(), accuracy)]),
        beside: beside(&sent, &received, alignment),
    };
    write_documents(out, &description)?;
    let failure = if let FlowStatus::Failed(reason) = &flow.status { Some(reason.clone()) } else { None };
    let error = alignment.and_then(|alignment| alignment.error);
    let clock_error_s = error.map(|nanos| nanos as f64 / 1e9);
    Ok(Joined { status: description.status(), failure, clock_error_s, summary })
}

/// The directory of one end.
struct Side {
    directory: PathBuf,
    document: Value,
}

impl Side {
    fn read(directory: &Path, side: &str) -> Result<Self, RealError> {
        let input = |reason: String| RealError::Input(format!("{}: {reason}", directory.display()));
        let text = fs::read_to_string(directory.join("run.json"));
        let text = text.map_err(|error| input(format!("run.json cannot be read: {error}")))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| input(format!("run.json: {error}")))?;
        match document["side"].as_str() {
            Some(of) if of == side => Ok(Self { directory: directory.to_owned(), document }),
            Some(other) => Err(input(format!("it is a {other}'s directory, and a {side}'s is needed"))),
            None => Err(input(format!("it is no {side}'s directory: framewire send and framewire receive write them"))),
        }
    }

    fn error(&self, reason: impl std::fmt::Display) -> RealError {
        RealError::Input(format!("{}: {reason}", self.directory.display()))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.document[key].as_str()
    }

    fn number(&self, key: &str) -> u64 {
        self.document["flows"][0][key].as_u64().unwrap_or(0)
    }

    /// Of a transport stream of constant rate.
    fn stuffing(&self) -> Option<Stuffing> {
        let said = |key: &str| self.document["flows"][0][key].as_u64();
        Some(Stuffing { bytes: said("stuffing_bytes")?, of: said("transport_stream_bytes")? })
    }

    fn ended_by(&self) -> Option<&'static str> {
        let known = ["interrupted", "silence", "size limit"];
        // A stream that just stops has no other end.
        let counts = |one: &&str| self.text("ended_by") == Some(one) && self.text("status") != Some("complete");
        known.into_iter().find(counts)
    }

    fn scenario(&self) -> Result<Scenario, RealError> {
        let text = fs::read_to_string(self.directory.join("scenario.toml"));
        let text = text.map_err(|error| self.error(format!("scenario.toml cannot be read: {error}")))?;
        Scenario::parse(&text, &[]).map_err(|error| self.error(format!("scenario.toml: {error}")))
    }

    /// The movie that was sent, from where it was.
    fn content(&self) -> Result<Content, RealError> {
        let movie = &self.document["movie"];
        let path = Path::new(movie["path"].as_str().ok_or_else(|| self.error("run.json names no movie"))?);
        let content = Content::load(Some(path), None)
            .map_err(|error| self.error(format!("the movie that was sent cannot be read any more: {error}")))?;
        let (_, found) = content.movie().expect("invariant: it was loaded with one");
        let same = [found.size(), found.index.frames.len() as u64].map(Some);
        if same != [movie["bytes"].as_u64(), movie["frames"].as_u64()] {
            return Err(self.error(format!("{} is not the movie that was sent any more", path.display())));
        }
        let sound = &self.document["sound"];
        Ok(match (sound["path"].as_str(), sound["start_ns"].as_i64()) {
            (Some(file), Some(start)) => {
                let loaded = load_sound(Path::new(file), start).map_err(|error| self.error(error))?;
                content.with_sound(file, loaded)
            }
            _ => content,
        })
    }

    fn setup(&self, scenario: &Scenario, content: &Content, out: &Path) -> Result<FlowSetup, RealError> {
        let flow = scenario.flows.first().ok_or_else(|| self.error("scenario.toml has no flow"))?;
        let plan = content.sending_plan().expect("invariant: it was loaded with a movie");
        // What its streams drew does not matter to what it brought.
        let setup = FlowSetup::of_movie(flow, plan, RtpSeed::default())?;
        Ok(setup.recorded(FlowRecording::in_directory(Some(out.into()))))
    }

    /// Of the exchange of clocks.
    fn samples(&self) -> Vec<Sample> {
        let times = |one: &Value| -> Option<[i64; 4]> {
            let times: Option<Vec<i64>> = one.as_array()?.iter().map(Value::as_i64).collect();
            times?.try_into().ok()
        };
        let rows = self.document["exchange"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sample = |[asked, came, answered, arrived]: [i64; 4]| Sample { asked, came, answered, arrived };
        rows.iter().filter_map(times).map(sample).collect()
    }
}

/// Both ends know one stream by a number: that of a sender that announces it, and of a receiver that asks a server for it. A
/// receiver to which nothing was announced does not know it; of a server's answer it has to.
fn check_session(sent: &Side, received: &Side) -> Result<(), RealError> {
    let other = sent.directory.display();
    match (sent.text("session"), received.text("session")) {
        (Some(one), Some(two)) if one == two => Ok(()),
        (Some(one), Some(two)) => {
            Err(received.error(format!("it is of another stream than {other}: {two}, and not {one}{}", hint(sent, two))))
        }
        (None, Some(two)) => Err(received.error(format!(
            "it is of another stream than {other}, which was sent to {}, no receiver of framewire's{}",
            client(sent),
            hint(sent, two)
        ))),
        (_, None) if sent.document["served"].is_object() => Err(received.error(format!(
            "nothing says that it is the end of {other}, which was sent to {}: it asked no server, or is of a version that did not \
             say which stream it asked for; what framewire receive http://... or rtsp://... makes is needed",
            client(sent)
        ))),
        (_, None) => Ok(()),
    }
}

/// Packets and bytes are those of one transport, whatever queue is before it: by another one they would be taken for what they are not,
/// as frames with gaps in them for whole ones. A receiver takes files of both kinds alike.
fn check_transport(sent: &Side, received: &Side) -> Result<(), RealError> {
    let named = |side: &Side| side.document["flows"][0]["transport"].as_str().and_then(|name| name.parse().ok());
    let (Some(one), Some(two)) = (named(sent), named(received)) else { return Ok(()) };
    let carried = |kind: TransportKind| {
        let Parts { format, session, socket, .. } = kind.profile().parts;
        (if format == Format::FragmentedMp4 { Format::Mp4 } else { format }, session, socket.socket())
    };
    if carried(one) == carried(two) {
        return Ok(());
    }
    let why = match sent.document["served"].is_object() {
        true => {
            "; a server of an older version may have named another one than was asked for: both have to be recorded anew"
        }
        false => "",
    };
    Err(received.error(format!("it came by {two}, and {} was sent by {one}{why}", sent.directory.display())))
}

/// Who was sent an answer, and what.
fn client(sent: &Side) -> String {
    let served = &sent.document["served"];
    let said = |key: &str| served[key].as_str().unwrap_or("?").to_owned();
    format!("{} ({})", said("peer"), served["user_agent"].as_str().unwrap_or("which does not say what it is"))
}

/// Which of the answers beside this one is of the stream, where one is.
fn hint(sent: &Side, session: &str) -> String {
    if !sent.document["served"].is_object() {
        return String::new();
    }
    let resolved = fs::canonicalize(&sent.directory).unwrap_or_else(|_| sent.directory.clone());
    let mut beside = resolved.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let of_stream = beside.find_map(|one| {
        let side = Side::read(&one.path(), "sender").ok()?;
        (side.text("session") == Some(session)).then(|| sent.directory.with_file_name(one.file_name()))
    });
    match of_stream {
        Some(path) => format!("; the answer to it is {}", path.display()),
        None => "; none of this server's answers with a ledger is the one to it".to_owned(),
    }
}

/// By the exchange of clocks, where the receiver took part in it; else by the fastest packet.
fn align(sent: &Side, received: &Side, records: &FlowLog) -> Result<Option<Alignment>, RealError> {
    if received.text("session").is_some()
        && let Some(alignment) = Alignment::of(&sent.samples())
    {
        return Ok(Some(alignment));
    }
    let mut unaligned = records.clone();
    read_received(&received.directory, &mut unaligned, |at| at)?;
    Ok(Alignment::of_fastest(transits(&unaligned)))
}

/// What is to be doubted of the flow: how late its sender was by its own account, and where both ends contradict each other.
fn accuracy(sent: &Value, contradiction: Option<String>) -> Value {
    let late = sent["late"].as_str();
    let doubts: Vec<&str> = [late, contradiction.as_deref()].into_iter().flatten().collect();
    json!({
        "disturbed": (!doubts.is_empty()).then(|| doubts.join("; ")),
        "late": late,
        "wakes": { "sender": sent["wakes"]["sender"] },
    })
}

/// How the stream ended, and what the receiver counted.
fn outcome(sent: &Side, received: &Side) -> FlowOutcome {
    // A server that is stopped cuts its answer short: that the receiver missed the rest is of that, and broke nothing.
    let is_stopped = sent.document["served"].is_object() && sent.ended_by() == Some("interrupted");
    let counted = if is_stopped { &[sent][..] } else { &[sent, received] };
    let failure = counted.iter().find_map(|side| side.document["flows"][0]["failure"].as_str());
    let is_complete = [sent, received].into_iter().all(|side| side.text("status") == Some("complete"));
    let status = match (failure, is_complete) {
        (Some(reason), _) => FlowStatus::Failed(reason.to_owned()),
        (None, true) => FlowStatus::Complete,
        (None, false) => FlowStatus::Partial,
    };
    let mut outcome = FlowOutcome::of_status(status);
    let count = |key| u32::try_from(received.number(key)).unwrap_or(u32::MAX);
    outcome.received.complete_frames = count("received_frames");
    outcome.received.complete_sound = count("received_sound");
    outcome.received.rejected = received.number("rejected");
    let rejections = received.document["flows"][0]["rejections"].as_array().into_iter().flatten();
    outcome.received.rejections = rejections.filter_map(Value::as_str).map(str::to_owned).collect();
    outcome.kept_bytes = received.number("received_bytes");
    outcome
}

/// The movie as received, and its sound, under the names that they have in a run.
fn keep_received(setup: &FlowSetup, received: &Side, out: &Path) -> Result<(), RealError> {
    let directory = crate::directory::received(out)?;
    // Parameter sets that a description brought are no part of a frame.
    let before = received.number("parameter_set_bytes");
    let files = [Some((received_file(setup), before)), received_sound(setup).map(|name| (name, 0))];
    for (name, before) in files.into_iter().flatten() {
        let suffix = Path::new(&name).extension().unwrap_or_default();
        let (from, to) = (received.directory.join("received/movie").with_extension(suffix), directory.join(&name));
        match before {
            0 => link(&from, &to)?,
            _ => copy_behind(&from, before, &to).map_err(|error| WriteError::new(to, &error))?,
        }
    }
    Ok(())
}

/// What was said by RTCP, where the sender recorded that: its times are the run's.
fn keep_reports(sent: &Side, out: &Path) -> Result<(), RealError> {
    let [from, to] = [&sent.directory, out].map(|directory| directory.join(REPORTS));
    if from.is_file() { link(&from, &to) } else { Ok(()) }
}

/// The same file under another name, where the file system allows it.
fn link(from: &Path, to: &Path) -> Result<(), RealError> {
    let linked = fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
    linked.map_err(|error| WriteError::new(to.to_owned(), &error).into())
}

/// Copies what stands behind the first bytes of a file.
fn copy_behind(from: &Path, before: u64, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    source.seek(SeekFrom::Start(before))?;
    io::copy(&mut source, &mut File::create(to)?).map(drop)
}

/// What only this world has to say.
fn beside(sent: &Side, received: &Side, alignment: Option<Alignment>) -> Map<String, Value> {
    let method = match alignment {
        Some(Alignment { error: Some(_), .. }) => Some("exchange"),
        Some(Alignment { error: None, .. }) => Some("fastest packet"),
        None => None,
    };
    let nanos = |value: f64| value / 1e9;
    // Where both say a number it is the same one: else they are not joined.
    let is_checked = [sent, received].iter().all(|side| side.text("session").is_some());
    let Value::Object(fields) = json!({
        "session": sent.document["session"],
        "session_checked": is_checked,
        "peer": sent.document["peer"],
        "receiver_kernel": received.document["kernel"],
        "clocks": {
            "aligned_by": method,
            "questions": sent.samples().len(),
            "error_s": alignment.and_then(|alignment| alignment.error).map(|error| nanos(error as f64)),
            "drift_s": alignment.and_then(|alignment| alignment.drift()).map(|drift| nanos(drift as f64)),
        },
    }) else {
        unreachable!("invariant: it was written as an object")
    };
    fields
}
