//! The receiver's thread of an external flow.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use framewire_scenario::Input;
use framewire_session::{ContentLog, ContentMatcher};
use framewire_transport::frame::Payload;
use nix::fcntl::{FcntlArg, fcntl};

use super::plan::ExternalFlow;
use super::polling::wait_for_any;
use super::process::{Pipes, Process};
use super::rendezvous::Rendezvous;
use crate::control::{StopFlag, sharpen_timers};

/// Size of the pipe: the most that an unprivileged process gets, so that no receiver waits for us.
const PIPE_SIZE: i32 = 1 << 20;
/// Bytes that one read takes.
const READ_SIZE: usize = 64 * 1024;
/// A receiver that is sent nothing any more, and that has given out nothing for so long, is asked to end: it may hold
/// frames back for their time (SRT's latency, a jitter buffer).
const QUIET: Duration = Duration::from_secs(1);
/// One that goes on giving out is asked to after so long.
const TRAILING: Duration = Duration::from_secs(10);
/// And of a run that is to end at once, whatever its sender does: that one is dead by then.
const AFTER_THE_SENDER: Duration = Duration::from_millis(1_500);
/// Most reads from the pipe between two looks at what else there is.
const READS_AT_A_TIME: usize = 8;
/// Bytes that a receiver may give out: so many times the movie, whose frames may come more than once, and this much
/// beside. What is behind that is not read, and the receiver is ended.
const TIMES_THE_MOVIE: u64 = 4;
/// See [`TIMES_THE_MOVIE`].
const BESIDE_THE_MOVIE: u64 = 64 << 20;
/// What a receiver is given until it listens, where the sender paces itself; otherwise until the first frame is due.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks at whether the application has ended.
const TICK: Duration = Duration::from_millis(20);

/// What the receiver's thread leaves behind.
#[derive(Debug, Default)]
pub struct Received {
    /// What was found in the stream that it gave out.
    pub content: ContentLog,
    /// Bytes of the movie as received.
    pub kept_bytes: u64,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
}

/// Runs the receiving application, from inside the receiver's host, until it has ended; asks it to when `end` is
/// raised. Raises `gone` when it has.
pub fn receive(flow: &ExternalFlow<'_>, meeting: &Rendezvous, end: &StopFlag, gone: &StopFlag) -> Received {
    sharpen_timers();
    let received = run(flow, meeting, end, gone);
    meeting.cancel_unless_listening();
    gone.raise();
    received.unwrap_or_else(|failure| Received { failure: Some(failure), ..Received::default() })
}

fn run(flow: &ExternalFlow<'_>, meeting: &Rendezvous, end: &StopFlag, gone: &StopFlag) -> Result<Received, String> {
    let movie = flow.setup.plan.movie();
    let matcher = flow.setup.plan.matcher().ok_or("the movie's codec has no start codes")?;
    let given_up = || flow.stop.is_raised() || end.is_raised();
    if flow.setup.sender.listens && !meeting.wait_for_listener(given_up) {
        return Ok(Received::default());
    }
    let pipes = Pipes { input: false, output: true };
    let started = Process::start(&flow.receiver_arguments(), pipes, flow.receiver_rights(), &flow.log("receiver"));
    let mut process =
        started.map_err(|error| format!("{} cannot be started: {error}", flow.setup.receiver.program.name()))?;
    let output = process.take_output().map_err(|error| format!("its standard output: {error}"))?;
    if let Some(output) = &output {
        // A smaller pipe would do as well.
        let _ = fcntl(output.as_fd(), FcntlArg::F_SETPIPE_SZ(PIPE_SIZE));
    }
    let size: u64 = movie.index.frames.iter().map(|frame| u64::from(frame.size)).sum();
    let most = size * TIMES_THE_MOVIE + BESIDE_THE_MOVIE;
    let mut receiving = Receiving { flow, process, output, matcher, buffer: vec![0; READ_SIZE], taken: 0, most };
    if !flow.setup.sender.listens && !receiving.listens(meeting, given_up) {
        return Err(receiving.never_listened(flow.stop.is_raised()));
    }
    receiving.stream(end);
    gone.raise();
    receiving.finish(end.is_raised())
}

struct Receiving<'a> {
    flow: &'a ExternalFlow<'a>,
    process: Process,
    /// `None` once it has closed it.
    output: Option<ChildStdout>,
    matcher: ContentMatcher,
    buffer: Vec<u8>,
    /// Bytes that it gave out.
    taken: u64,
    /// Most that are taken of it.
    most: u64,
}

/// What is in the pipe of a receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// Nothing was.
    Nothing,
    /// Everything was taken.
    All,
    /// More than is taken at a time.
    Some,
}

impl Receiving<'_> {
    /// Waits until it listens, in time for the first frame where the lab offers frames.
    fn listens(&mut self, meeting: &Rendezvous, given_up: impl Fn() -> bool) -> bool {
        let patience = match self.flow.setup.sender.input {
            Input::Frames => self.flow.clock.until_origin().unwrap_or_default(),
            Input::Nothing => PATIENCE,
        };
        meeting.wait_until_listening(&mut self.process, self.flow.port, patience, given_up)
    }

    /// Ends an application that did not listen, and says so.
    fn never_listened(mut self, stopped: bool) -> String {
        let ended_by_itself = self.process.tend();
        self.process.ask_to_end();
        while !self.process.tend() {
            if self.flow.stop.is_raised() {
                self.process.end_at_once();
            }
            std::thread::sleep(TICK);
        }
        let how = self.process.into_ending().how;
        match (ended_by_itself, stopped) {
            (true, _) => format!("{how} before it listened on port {}", self.flow.port),
            (false, true) => format!("did not listen on port {} before the run was stopped", self.flow.port),
            (false, false) => format!(
                "did not listen on port {} of {} in time for the first frame; it {how}",
                self.flow.port,
                framewire_emu::RECEIVER_ADDRESS
            ),
        }
    }

    /// Takes what it gives out until it has ended.
    fn stream(&mut self, end: &StopFlag) {
        let mut last_output = Instant::now();
        let (mut ended_since, mut stopped_since) = (None, None);
        loop {
            let ended = self.process.tend();
            let taken = self.take();
            if taken != Taken::Nothing {
                last_output = Instant::now();
            }
            if ended && taken != Taken::Some {
                return;
            }
            if end.is_raised() {
                let since = ended_since.get_or_insert_with(Instant::now);
                if last_output.elapsed() >= QUIET || since.elapsed() >= TRAILING {
                    self.process.ask_to_end();
                }
            }
            if self.flow.stop.is_raised() {
                let since = stopped_since.get_or_insert_with(Instant::now);
                if end.is_raised() || since.elapsed() >= AFTER_THE_SENDER {
                    self.process.end_at_once();
                }
            }
            if self.is_too_much() {
                self.process.end_at_once();
            }
            if taken != Taken::Some {
                self.wait();
            }
        }
    }

    fn wait(&self) {
        let output = self.output.as_ref().filter(|_| !self.is_too_much()).map(ChildStdout::as_fd);
        if wait_for_any(output.into_iter().chain(self.process.words()), None, TICK).is_err() {
            std::thread::sleep(TICK);
        }
    }

    /// True once it has given out more than can be made of the movie.
    fn is_too_much(&self) -> bool {
        self.taken >= self.most
    }

    /// Takes what is in the pipe, up to a bound: a receiver that writes without end must not keep us from looking at
    /// anything else.
    fn take(&mut self) -> Taken {
        let mut taken = Taken::Nothing;
        for _ in 0..READS_AT_A_TIME {
            let Some(output) = self.output.as_mut().filter(|_| self.taken < self.most) else { return taken };
            match output.read(&mut self.buffer) {
                Ok(length @ 1..) => {
                    taken = Taken::All;
                    self.taken += length as u64;
                    self.matcher.handle_bytes(self.flow.clock.now(), &self.buffer[..length]);
                    self.flow.progress.add_received(length as u64, self.matcher.whole_frames(), 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return taken,
                Ok(0) | Err(_) => self.output = None,
            }
        }
        Taken::Some
    }

    /// `expected` says whether nothing was to come any more when it ended.
    fn finish(self, expected: bool) -> Result<Received, String> {
        let is_too_much = self.is_too_much();
        let content = self.matcher.finish();
        let kept_bytes =
            keep(self.flow, &content).map_err(|error| format!("the received movie cannot be written: {error}"))?;
        self.flow.progress.add_received(
            0,
            content.frames.iter().filter(|found| found.whole_at.is_some()).count() as u32,
            0,
        );
        let too_much = is_too_much.then(|| {
            format!(
                "gave out more than {} MB, the most that is taken ({TIMES_THE_MOVIE} times the movie and {} MB); what \
                 came after was cut off",
                self.most / 1_000_000,
                BESIDE_THE_MOVIE / 1_000_000
            )
        });
        let ending = self.process.into_ending();
        let early = if expected { "" } else { " before the stream did" };
        let broke = (!ending.asked && !ending.well).then(|| format!("{}{early}", ending.how));
        let failure = too_much.or(broke);
        Ok(Received { content, kept_bytes, failure })
    }
}

/// Writes the frames that came whole, as the other receivers keep them.
fn keep(flow: &ExternalFlow<'_>, content: &ContentLog) -> io::Result<u64> {
    let path = flow.directory.join("received").join(&flow.received);
    let mut file = BufWriter::new(File::create(path)?);
    let mut bytes = 0;
    for found in content.frames.iter().filter(|found| found.whole_at.is_some()) {
        let movie = flow.setup.plan.movie();
        let mut frame = movie.frame_bytes(found.frame as usize);
        let order = movie.index.frames[found.frame as usize].picture_order;
        if let (Some(numbers), Some(&by)) =
            (order.and_then(|order| order.numbers), content.renumbered.get(&found.frame))
        {
            frame.renumber(numbers, by);
        }
        file.write_all(&frame)?;
        bytes += frame.len() as u64;
    }
    file.flush()?;
    Ok(bytes)
}
