//! What happened to the frames of each client: a directory as that of a sender to one receiver.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use framewire_endpoint::RunClock;
use framewire_recording::record::FlowStatus;
use framewire_recording::{SentRecords, WriteError};
use framewire_scenario::Scenario;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::served::{Catalogue, Ending, Ledger, Record};
use framewire_session::{FlowRecording, FlowSetup, RtpSeed};
use framewire_world::{Content, FlowPackets, RunDescription, flow_log, utc, write_description, write_scenario};
use serde_json::{Map, Value, json};

use super::journal::{asking, entry};
use super::movies::ServedMovie;
use crate::client::Asking;
use crate::directory;
use crate::error::RealError;

/// Ledgers that are kept at a time, those that are being written included: each holds up to some 300 kB, and 8 bytes a frame (200 kB of
/// 52 s at 25 Hz were measured).
pub(super) const MOST_AT_A_TIME: usize = 64;

/// Ledgers that a server writes in all.
pub(super) const MOST: usize = 1_000;

/// The folder of them.
const FOLDER: &str = "clients";

/// A client whose ledger is to be written.
pub(super) struct Kept {
    pub(super) connection: u64,
    pub(super) peer: SocketAddr,
    pub(super) ledger: Ledger,
}

/// Writes ledgers on a thread of its own, so that no other client waits for the disk.
pub(super) struct Ledgers {
    recording: FlowRecording,
    queue: Sender<Kept>,
    thread: JoinHandle<Result<usize, RealError>>,
    /// Those that wait to be written, and all that there were.
    waiting: Arc<AtomicUsize>,
    taken: usize,
}

impl Ledgers {
    pub(super) fn new(writer: Writer) -> Self {
        let recording = FlowRecording::in_directory(Some(writer.directory.as_path().into())).in_real_time();
        let (queue, kept) = channel::<Kept>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let thread = std::thread::spawn(move || {
            let mut written = 0;
            for one in kept {
                let outcome = writer.write(&one);
                left.fetch_sub(1, Ordering::Relaxed);
                written += usize::from(outcome?);
            }
            Ok(written)
        });
        Self { recording, queue, thread, waiting, taken: 0 }
    }

    /// Where a client that asks now is recorded, while so many others are; `None` where there is no room.
    pub(super) fn recording(&self, open: usize) -> Option<FlowRecording> {
        let waiting = self.waiting.load(Ordering::Relaxed);
        (open + waiting < MOST_AT_A_TIME && self.taken + open < MOST).then(|| self.recording.clone())
    }

    pub(super) fn write(&mut self, kept: Kept) {
        self.taken += 1;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Where the thread has ended, its error is told at the end.
        let _ = self.queue.send(kept);
    }

    /// How many were written.
    pub(super) fn finish(self) -> Result<usize, RealError> {
        drop(self.queue);
        self.thread.join().map_err(|_| RealError::Failed("the thread that writes ledgers has ended".to_owned()))?
    }
}

/// What is needed to describe a client.
pub(super) struct Writer {
    pub(super) directory: PathBuf,
    pub(super) scenario: Scenario,
    pub(super) movies: Vec<ServedMovie>,
    pub(super) catalogue: Catalogue,
    pub(super) clock: RunClock,
}

/// How a movie was sent.
struct Described {
    content: Content,
    setup: FlowSetup,
    scenario: Scenario,
}

impl Writer {
    /// Writes `clients/N`; false where there is no movie behind it, or only a look at it.
    fn write(&self, kept: &Kept) -> Result<bool, RealError> {
        let Ledger { record, sent, reports } = &kept.ledger;
        if asking(record) == Some(Asking::Look) {
            return Ok(false);
        }
        let Some(Described { content, setup, scenario }) = self.described(record) else {
            return Ok(false);
        };
        let directory = self.place(kept.connection)?;
        let status = match &record.ending {
            Ending::Complete => FlowStatus::Complete,
            Ending::Left | Ending::Stopped | Ending::Refused(_) => FlowStatus::Partial,
            Ending::Broken(reason) => FlowStatus::Failed(reason.clone()),
        };
        let mut flow = FlowOutcome::of_status(status);
        flow.sent = sent.clone();
        let document = self.describe(kept, &content, &scenario, &setup, &flow);
        let renumbered = flow.sent.renumbered.clone();
        let mut log = flow_log(&setup, &mut flow, FlowPackets::new(kept.peer.port(), false, None));
        log.rtcp = reports.clone();
        SentRecords { log, renumbered }.write(&directory)?;
        write_scenario(&directory, &scenario)?;
        write_description(&directory, &document)?;
        Ok(true)
    }

    /// A directory of its own: the number of the connection, and behind that of what was asked for before on it.
    fn place(&self, connection: u64) -> Result<PathBuf, RealError> {
        let names = (1u32..).map(|count| match count {
            1 => connection.to_string(),
            _ => format!("{connection}-{count}"),
        });
        let free = |path: &PathBuf| !path.exists();
        let mut places = names.map(|name| self.directory.join(FOLDER).join(name));
        let path = places.find(free).expect("invariant: there are fewer directories than numbers");
        std::fs::create_dir_all(&path).map_err(|error| WriteError::new(path.clone(), &error))?;
        Ok(path)
    }

    /// What was sent, by which flow, and the scenario of that flow alone; `None` where it is no movie.
    fn described(&self, record: &Record) -> Option<Described> {
        let (number, served) = self.catalogue.movie_at(&record.what)?;
        let movie = self.movies.get(number)?;
        let own = self.scenario.flows.iter().find(|flow| flow.name == served.common.name())?;
        let flow = if record.in_datagrams { own.in_datagrams()? } else { own.clone() };
        let content = movie.content.clone();
        // A form that does not carry its sound is served without it.
        let content = if served.has_sound() { content } else { content.without_sound() };
        let setup = FlowSetup::of_movie(&flow, content.sending_plan()?, RtpSeed::default()).ok()?;
        let mut scenario = self.scenario.clone();
        scenario.flows = vec![flow];
        scenario.movie.source = Some(movie.path.display().to_string());
        Some(Described { content, setup, scenario })
    }

    fn describe(
        &self,
        kept: &Kept,
        content: &Content,
        scenario: &Scenario,
        setup: &FlowSetup,
        flow: &FlowOutcome,
    ) -> Value {
        let record = &kept.ledger.record;
        let session = match asking(record) {
            Some(Asking::Stream(number)) => Some(format!("{number:016x}")),
            Some(Asking::Look) | None => None,
        };
        let Value::Object(beside) = json!({
            "side": "sender",
            "peer": kept.peer.to_string(),
            "session": session,
            "served": entry(kept.connection, kept.peer, record),
        }) else {
            unreachable!("invariant: it was written as an object")
        };
        let description = RunDescription {
            world: "real",
            scenario,
            content,
            setups: std::slice::from_ref(setup),
            flows: std::slice::from_ref(flow),
            summaries: &[],
            clock_references_seen: Vec::new(),
            ended_by: (record.ending == Ending::Stopped).then_some("interrupted"),
            origin_utc: utc(self.clock.to_unix(record.began)).into(),
            kernel: directory::kernel(),
            accuracy: Map::new(),
            beside,
        };
        directory::without_what_came(description.to_json())
    }
}

#[cfg(test)]
mod tests {
    use framewire_session::SenderLog;
    use framewire_units::Timestamp;

    use super::*;

    /// A client of what is no title, of which nothing is written.
    fn kept(connection: u64) -> Kept {
        let record = Record {
            method: "GET".to_owned(),
            what: "/none".to_owned(),
            user_agent: None,
            bytes: None,
            began: Timestamp::ZERO,
            ended: Timestamp::ZERO,
            sent: 0,
            frames: [0; 2],
            latest: None,
            ledger: Some(true),
            in_datagrams: false,
            ending: Ending::Complete,
        };
        let ledger = Ledger { record, sent: SenderLog::default(), reports: Vec::new() };
        Kept { connection, peer: "127.0.0.1:5".parse().expect("an address"), ledger }
    }

    #[test]
    fn there_is_room_for_64_ledgers_at_a_time_and_for_1_000_in_all() {
        let scenario = Scenario::parse("[[flow]]\ntransport = \"http\"", &[]).expect("well formed");
        let (movies, catalogue, clock) = (Vec::new(), Catalogue::new(&[]), RunClock::start());
        let directory = std::env::temp_dir();
        let mut ledgers = Ledgers::new(Writer { directory, scenario, movies, catalogue, clock });
        let has_room = |ledgers: &Ledgers, open| ledgers.recording(open).is_some();
        assert_eq!([0, 63, 64, 65].map(|open| has_room(&ledgers, open)), [true, true, false, false]);
        for connection in 1..=1_000 {
            assert!(ledgers.taken < 1_000);
            ledgers.write(kept(connection));
            if connection == 990 {
                while ledgers.waiting.load(Ordering::Relaxed) > 0 {
                    std::thread::yield_now();
                }
                let room = [0, 9, 10, 63].map(|open| has_room(&ledgers, open));
                assert_eq!(room, [true, true, false, false], "ten more, those that are open included");
            }
        }
        while ledgers.waiting.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        assert!(!has_room(&ledgers, 0));
        assert_eq!(ledgers.finish().expect("nothing is written"), 0);
    }
}
