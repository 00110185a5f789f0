//! A live source on the standard input of an application: each frame when it is due.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::ChildStdin;

use bytes::Bytes;
use framewire_recording::record::{FrameEvent, FrameEventKind};
use framewire_recording::spool::Spool;
use framewire_session::{ExternalSetup, SendingPlan};
use framewire_units::Timestamp;
use nix::fcntl::{FcntlArg, fcntl};

/// Size of the pipe: a quarter of the kernel's 64 KiB, so that little lies in it that the application has not taken.
const PIPE_SIZE: i32 = 16 * 1024;

/// Frames on their way into an application.
///
/// A frame is offered when it is due, and is queued when the application's pipe has taken its first byte. What the pipe
/// does not take waits here: a camera does not wait for its network.
pub struct Feeding<'a> {
    plan: &'a SendingPlan,
    /// `None` once it is closed, by us or by the application.
    input: Option<ChildStdin>,
    /// Frames that wait; of the first, a part may have been taken.
    waiting: VecDeque<(u32, Bytes)>,
    first_is_begun: bool,
    offered: u32,
    taken: u32,
    /// Bytes that the pipe took.
    written: u64,
    began: Option<Timestamp>,
    events: Spool<FrameEvent>,
}

/// What became of the frames.
#[derive(Clone, Debug, Default)]
pub struct Fed {
    /// When the application had read something of the first.
    pub began: Option<Timestamp>,
    /// Offers and first bytes, in order.
    pub events: Spool<FrameEvent>,
    /// How many frames the application's pipe took whole: the first so many.
    pub taken: u32,
}

impl<'a> Feeding<'a> {
    /// Feeds the frames of `plan` into `input`.
    pub fn new(setup: &'a ExternalSetup, input: ChildStdin) -> Self {
        // A larger pipe would do as well; what lies in it would only look as if it had been taken.
        let _ = fcntl(input.as_fd(), FcntlArg::F_SETPIPE_SZ(PIPE_SIZE));
        Self {
            plan: &setup.plan,
            input: Some(input),
            waiting: VecDeque::new(),
            first_is_begun: false,
            offered: 0,
            taken: 0,
            written: 0,
            began: None,
            events: setup.common.records(),
        }
    }

    /// Offers what is due, and writes what the pipe takes. Closes the pipe behind the last frame.
    pub fn drive(&mut self, now: Timestamp) {
        while self.next_due().is_some_and(|due| due <= now) {
            let frame = self.offered;
            self.events.push(FrameEvent { frame, at: self.plan.due(frame), what: FrameEventKind::Offered });
            self.waiting.push_back((frame, self.plan.movie().frame_bytes(frame as usize)));
            self.offered += 1;
        }
        if self.began.is_none() && self.written > 0 && self.unread().is_some_and(|unread| unread < self.written) {
            self.began = Some(now);
        }
        while self.write_some(now) {}
        if self.taken == self.plan.len() {
            self.close();
        }
    }

    /// When the next frame is due; `None` once all have been offered.
    pub fn next_due(&self) -> Option<Timestamp> {
        (self.offered < self.plan.len()).then(|| self.plan.due(self.offered))
    }

    /// The pipe, where something waits for room in it.
    pub fn wants_room(&self) -> Option<BorrowedFd<'_>> {
        self.input.as_ref().filter(|_| !self.waiting.is_empty()).map(ChildStdin::as_fd)
    }

    /// Frames offered so far.
    pub fn offered(&self) -> u32 {
        self.offered
    }

    /// Ends the stream.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// What became of the frames.
    pub fn into_fed(self) -> Fed {
        Fed { began: self.began, events: self.events, taken: self.taken }
    }

    /// Bytes in the pipe.
    fn unread(&self) -> Option<u64> {
        let mut bytes: libc::c_int = 0;
        let input = self.input.as_ref()?.as_raw_fd();
        // SAFETY: FIONREAD writes one int.
        let asked = unsafe { libc::ioctl(input, libc::FIONREAD, &mut bytes) };
        u64::try_from(bytes).ok().filter(|_| asked == 0)
    }

    /// Writes once; false when there is nothing to write or no room.
    fn write_some(&mut self, now: Timestamp) -> bool {
        let (Some(input), Some((frame, bytes))) = (&mut self.input, self.waiting.front_mut()) else { return false };
        match input.write(bytes) {
            Ok(length) => {
                if !std::mem::replace(&mut self.first_is_begun, true) {
                    self.events.push(FrameEvent { frame: *frame, at: now, what: FrameEventKind::Queued });
                }
                let _ = bytes.split_to(length);
                self.written += length as u64;
                if bytes.is_empty() {
                    self.waiting.pop_front();
                    self.first_is_begun = false;
                    self.taken += 1;
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(_) => {
                // It has closed its standard input; what that means follows from how it ends.
                self.close();
                false
            }
        }
    }
}
