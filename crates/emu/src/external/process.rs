//! One application: started in the host that the calling thread is in, and gone when we are.
//!
//! ```text
//! framewire-emu (thread in the host's namespace)
//!   └─ init: first process of a PID namespace; killed by the kernel when that thread ends
//!        └─ the application, and whatever it starts; killed by the kernel when init ends
//! ```
//! So nothing of an application survives us, however we end, also where it started other processes.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, pipe2};

use super::inaccessible::closed_to;
use super::init::{Emulator, become_child_of_init};
use super::log::Log;
use super::user::Rights;

/// What an application that was asked to end is given until it is asked more firmly.
#[derive(Clone, Copy, Debug)]
struct Grace {
    /// From SIGINT to SIGTERM: a pipeline ends its stream and its file.
    after_interrupt: Duration,
    /// From SIGTERM to SIGKILL.
    after_terminate: Duration,
}

/// At the end of a stream.
const AT_THE_END: Grace = Grace { after_interrupt: Duration::from_secs(3), after_terminate: Duration::from_secs(2) };
/// Where the run is to end at once: sender and receiver are asked one after the other, and the whole command
/// ends within 5 s.
const AT_ONCE: Grace =
    Grace { after_interrupt: Duration::from_millis(400), after_terminate: Duration::from_millis(200) };

/// Most of its messages that are read at a time: what the pipe holds (pipe(7)). An application that writes more waits
/// for the next look, so that messages without end do not take a core.
const WORDS_AT_A_TIME: usize = 64 * 1024;

/// What is connected to the application's standard input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipes {
    /// Its standard input is ours to write; otherwise it is empty.
    pub input: bool,
    /// Its standard output is ours to read; otherwise it goes to the log.
    pub output: bool,
}

/// An application that was started.
pub struct Process {
    child: Child,
    /// Its messages; `None` once it has closed them.
    words: Option<File>,
    log: Log,
    status: Option<ExitStatus>,
    /// It writes more than is read at a time.
    floods: bool,
    /// How it was asked to end last, and when.
    asked: Option<(Signal, Instant)>,
    grace: Grace,
    /// Why it may have failed, where it has not the rights of the user that started it.
    closed: Option<String>,
}

/// How an application ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// In words.
    pub how: String,
    /// True when it ended by itself, and well.
    pub well: bool,
    /// True when we had asked it to end.
    pub asked: bool,
}

impl Process {
    /// Starts `arguments` with `rights`, in the network namespace of the calling thread. The thread has to live as long
    /// as the application is to run.
    ///
    /// # Errors
    /// When the program cannot be started or its log not be made.
    pub fn start(arguments: &[String], pipes: Pipes, rights: Rights, log: &Path) -> io::Result<Self> {
        let mut log = Log::create(log)?;
        log.add(format!("[framewire: {}]\n", arguments.join(" ")).as_bytes());
        // Its children end with it. Where the kernel has no PID namespaces for us, its own death is still certain.
        let _ = unshare(CloneFlags::CLONE_NEWPID);
        let (words, said) = pipe2(OFlag::O_CLOEXEC)?;
        let emulator = Emulator::current()?;
        let mut command = Command::new(&arguments[0]);
        command.args(&arguments[1..]).process_group(0).stderr(said.try_clone()?);
        command.stdin(if pipes.input { Stdio::piped() } else { Stdio::null() });
        command.stdout(if pipes.output { Stdio::piped() } else { Stdio::from(said) });
        // SAFETY: between fork and exec only functions that are async-signal-safe are called, and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                become_child_of_init(&emulator)?;
                rights.take()
            });
        }
        let closed = closed_to(rights, arguments);
        let child = command.spawn().map_err(|error| match &closed {
            Some(closed) if error.kind() == ErrorKind::PermissionDenied => {
                io::Error::other(format!("{error}; {closed}"))
            }
            _ => error,
        })?;
        set_nonblocking(words.as_fd())?;
        let words = Some(File::from(words));
        Ok(Self { child, words, log, status: None, floods: false, asked: None, grace: AT_THE_END, closed })
    }

    /// Its standard input, without waiting on writes.
    ///
    /// # Errors
    /// When the kernel refuses the setting.
    pub fn take_input(&mut self) -> io::Result<Option<ChildStdin>> {
        let input = self.child.stdin.take();
        input.as_ref().map_or(Ok(()), |input| set_nonblocking(input.as_fd()))?;
        Ok(input)
    }

    /// Its standard output, without waiting on reads.
    ///
    /// # Errors
    /// As [`take_input`](Self::take_input).
    pub fn take_output(&mut self) -> io::Result<Option<ChildStdout>> {
        let output = self.child.stdout.take();
        output.as_ref().map_or(Ok(()), |output| set_nonblocking(output.as_fd()))?;
        Ok(output)
    }

    /// The pipe that it writes its messages to, while that is open, and worth waiting for: of one that floods it, there
    /// is always more.
    pub fn words(&self) -> Option<BorrowedFd<'_>> {
        self.words.as_ref().filter(|_| !self.floods).map(File::as_fd)
    }

    /// Keeps what it wrote, looks whether it has ended, and sends the next signal where it was asked to end and did
    /// not. True once it has ended.
    pub fn tend(&mut self) -> bool {
        self.listen();
        if self.status.is_none() {
            // Nothing else waits for this child, so the only error would be a defect; it then counts as running.
            self.status = self.child.try_wait().unwrap_or(None);
            if self.status.is_some() {
                self.listen();
            }
        }
        let firmer = match self.asked {
            Some((Signal::SIGINT, at)) if at.elapsed() >= self.grace.after_interrupt => Some(Signal::SIGTERM),
            Some((Signal::SIGTERM, at)) if at.elapsed() >= self.grace.after_terminate => Some(Signal::SIGKILL),
            _ => None,
        };
        if let Some(signal) = firmer.filter(|_| self.status.is_none()) {
            self.signal(signal);
        }
        self.status.is_some()
    }

    /// Asks it to end, unless it was asked before: by SIGINT, on which a pipeline ends its stream.
    pub fn ask_to_end(&mut self) {
        if self.asked.is_none() && self.status.is_none() {
            self.signal(Signal::SIGINT);
        }
    }

    /// Asks it to end, and gives it 0.6 s for that: the run is to end at once.
    pub fn end_at_once(&mut self) {
        self.grace = AT_ONCE;
        self.ask_to_end();
    }

    /// True when it was asked to end.
    pub fn was_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Closes its log and says how it ended; it has ended.
    pub fn into_ending(mut self) -> Ending {
        let how = match (self.status, self.asked) {
            (Some(status), Some((signal, _))) => format!("{} after {signal}", describe(status)),
            (Some(status), None) => describe(status),
            (None, _) => "still running".to_owned(),
        };
        self.log.close(&how);
        let words = self.log.last_words();
        let well = self.status.is_some_and(|status| status.success());
        let asked = self.asked.is_some();
        // What it wrote is not reported where all went well.
        let how = if well || words.is_empty() { how } else { format!("{how}; its last words: {words}") };
        let how = match self.closed.take().filter(|_| !well && !asked) {
            Some(closed) => format!("{how}; {closed}"),
            None => how,
        };
        Ending { how, well, asked }
    }

    fn signal(&mut self, signal: Signal) {
        let group = Pid::from_raw(self.child.id() as i32);
        // It may have ended meanwhile.
        let _ =
            if signal == Signal::SIGKILL { self.child.kill().map_err(|_| Errno::ESRCH) } else { killpg(group, signal) };
        self.asked = Some((signal, Instant::now()));
    }

    fn listen(&mut self) {
        let mut buffer = [0; 4_096];
        self.floods = false;
        for _ in 0..WORDS_AT_A_TIME / buffer.len() {
            let Some(words) = &mut self.words else { return };
            match words.read(&mut buffer) {
                Ok(length @ 1..) => self.log.add(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => self.words = None,
            }
        }
        self.floods = true;
    }
}

impl Drop for Process {
    /// Nothing is left behind, whatever went wrong.
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn set_nonblocking(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Init reports the end of the application by a signal as shells do.
fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) => match Signal::try_from(code - 128) {
            Ok(signal) => format!("ended by {signal}"),
            Err(_) => format!("ended with exit code {code}"),
        },
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => match Signal::try_from(signal) {
            Ok(signal) => format!("ended by {signal}"),
            Err(_) => format!("ended by signal {signal}"),
        },
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests;
