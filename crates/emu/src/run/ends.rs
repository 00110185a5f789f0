//! A flow of two halves: both of its ends over this kernel's sockets, a thread each, whatever it carries.

use std::net::SocketAddr;
use std::path::Path;

use framewire_emu::{Clock, Lane};
use framewire_kernel::{FlowAddresses, FlowSockets};
use framewire_session::half::End;
use framewire_session::lifecycle::{FlowEnd, FlowEnds, FlowOutcome, Notice};
use framewire_session::{FlowSetup, Halves};
use framewire_sockets::OpenError;
use framewire_units::Seed;
use framewire_world::{FlowState, received_file, received_sound};

use super::sockets::{cannot_open, create, receiver_address, sender_address};
use crate::control::{Failure, FlowProgress, Interest, StopFlag, sharpen_timers, sleep_until, wait_for_any};

/// Both ends of a flow, whose sockets stand but for connections, which are opened when it begins.
pub struct Ends {
    ends: FlowEnds,
    sender: FlowSockets<Clock>,
    receiver: FlowSockets<Clock>,
}

/// What both threads of a flow are given.
pub struct OneFlow<'a> {
    /// Its network.
    pub lane: Lane<'a>,
    /// The run's clock.
    pub clock: Clock,
    /// What is shown of it.
    pub progress: &'a FlowProgress,
    /// Ends it early.
    pub stop: &'a StopFlag,
}

impl Ends {
    /// Opens the sockets of a flow at this port in both hosts of the lane. What is received is written to files in `received`.
    ///
    /// # Errors
    /// When the flow cannot be built, a port is taken, the kernel does not make a socket as the flow says, or a file cannot be
    /// created.
    pub fn open(
        (setup, halves): (&FlowSetup, Halves<'_>),
        (port, session): (u16, Seed),
        (lane, clock): (Lane<'_>, Clock),
        received: &Path,
    ) -> Result<Self, Failure> {
        let channels = setup.channels();
        let sound = received_sound(setup).map(|name| create(&received.join(name))).transpose()?;
        let movies = [create(&received.join(received_file(setup)))?, sound.unwrap_or_default()];
        let ends = FlowEnds::of(halves, session, movies).map_err(Failure::run)?;
        let open = |end, own: SocketAddr, peer: SocketAddr| {
            let addresses = FlowAddresses { end, own, peer: Some(peer) };
            FlowSockets::open(&channels, &addresses, clock)
        };
        let failed = |end| move |error: OpenError| cannot_open(setup.name(), end, error);
        let (sender, receiver) = (sender_address(port), receiver_address(port));
        Ok(Self {
            ends,
            sender: lane.in_sender(|| open(End::Sender, sender, receiver))?.map_err(failed("sender"))?,
            receiver: lane.in_receiver(|| open(End::Receiver, receiver, sender))?.map_err(failed("receiver"))?,
        })
    }

    /// Both, to the end; `settle` waits until nothing is under way in the network.
    ///
    /// # Errors
    /// When there are no descriptors left, or a thread panics.
    pub fn stream(self, flow: &OneFlow<'_>, settle: impl FnOnce()) -> Result<FlowOutcome, Failure> {
        let Self { mut ends, sender, receiver } = self;
        let (sender_gone, receiver_gone) = (StopFlag::new()?, StopFlag::new()?);
        let [sending, receiving] = ends.both();
        let received = std::thread::scope(|scope| {
            let received = scope.spawn(|| {
                Driven { flow, end: receiving, which: End::Receiver, other_gone: &sender_gone }.run(receiver);
                receiver_gone.raise();
            });
            Driven { flow, end: sending, which: End::Sender, other_gone: &receiver_gone }.run(sender);
            match sending.notice() {
                Notice::InStream => {}
                Notice::WhenSettled => {
                    settle();
                    sender_gone.raise();
                }
                Notice::AtOnce => sender_gone.raise(),
            }
            received.join()
        });
        flow.progress.set_state(FlowState::Done);
        received.map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
        Ok(ends.into_outcome().0)
    }
}

/// One end in its thread.
struct Driven<'a> {
    flow: &'a OneFlow<'a>,
    end: &'a mut (dyn FlowEnd + Send),
    which: End,
    other_gone: &'a StopFlag,
}

impl Driven<'_> {
    /// From its start to its end. A socket stays in the host in which it was opened, wherever its thread is.
    fn run(&mut self, mut sockets: FlowSockets<Clock>) {
        let OneFlow { lane, clock, stop, .. } = *self.flow;
        sharpen_timers();
        sleep_until(clock, self.end.start(), stop);
        if self.which == End::Receiver && stop.is_raised() && clock.now() < self.end.start() {
            return self.end.stop(clock.now());
        }
        let connect = || sockets.connect().map_err(|error| error.to_string());
        let connected = match self.which {
            End::Sender => lane.in_sender(connect),
            End::Receiver => lane.in_receiver(connect),
        };
        if let Err(reason) = connected.map_err(|error| error.to_string()).and_then(|connected| connected) {
            return self.end.fail(clock.now(), reason);
        }
        if let Some(due) = self.end.first_due() {
            self.flow.progress.sender_wakes().begin(due, clock.now());
        }
        self.drive(&mut sockets);
    }

    fn drive(&mut self, sockets: &mut FlowSockets<Clock>) {
        let OneFlow { clock, stop, .. } = *self.flow;
        // A receiver is ended by its sender.
        let (mut told, mut stopped) = (false, self.which == End::Receiver);
        loop {
            let now = clock.now();
            if !told && self.other_gone.is_raised() {
                told = true;
                self.end.handle_other_ended(now);
            }
            if !stopped && stop.is_raised() {
                stopped = true;
                self.end.stop(now);
            }
            let again = self.end.poll(now, sockets);
            self.show(sockets);
            if self.end.wait().finished {
                return;
            }
            if !again {
                self.wait(sockets, [(self.other_gone, told), (stop, stopped)]);
            }
        }
    }

    /// Waits for sockets, a time, or a flag that was not seen yet.
    fn wait(&mut self, sockets: &FlowSockets<Clock>, flags: [(&StopFlag, bool); 2]) {
        let progress = self.flow.progress;
        let wakes = if self.which == End::Sender { progress.sender_wakes() } else { progress.receiver_wakes() };
        let flags = flags.into_iter().filter(|(_, seen)| !seen);
        let flags = flags.map(|(flag, _)| (flag.descriptor(), Interest::Readable));
        let (watched, until) = sockets.watched(&*self.end);
        let sockets = watched.into_iter().flat_map(|(socket, watch)| {
            let read = if watch.read { Interest::Readable } else { Interest::Nothing };
            let write = if watch.write { Interest::Writable } else { Interest::Nothing };
            [(socket, read), (socket, write)]
        });
        if let Err(error) = wait_for_any(flags.chain(sockets), self.flow.clock, until, wakes) {
            self.end.fail(self.flow.clock.now(), format!("ppoll: {error}"));
        }
    }

    fn show(&self, sockets: &mut FlowSockets<Clock>) {
        let (progress, shown) = (self.flow.progress, self.end.progress());
        match self.which {
            End::Sender => progress.set_sender(shown.frames),
            End::Receiver => {
                progress.add_received(sockets.take_count(), shown.frames.arrived, shown.frames.lost);
            }
        }
        if shown.is_draining {
            progress.set_state(FlowState::Draining);
        }
    }
}
