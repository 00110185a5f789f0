//! The sender's thread of a flow of the movie.

use framewire_session::lifecycle::MovieSending;
use framewire_sockets::OpenError;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::MovieFlow;
use super::socket::SenderSocket;
use crate::control::{Interest, sharpen_timers, sleep_until, wait_for_any};
use framewire_world::FlowState;

/// Streams from inside the sender's host, from the origin of the clock to the end of the stream: all data has left the
/// host, or the peer has acknowledged it, when this returns. `open` opens its socket.
pub fn send(
    flow: &MovieFlow<'_>,
    mut sending: MovieSending,
    open: impl FnOnce() -> Result<SenderSocket, OpenError>,
) -> MovieSending {
    sharpen_timers();
    sleep_until(flow.clock, Timestamp::ZERO, flow.stop);
    match open() {
        Ok(mut socket) => {
            flow.progress.sender_wakes().begin(sending.first_due(), flow.clock.now());
            drive(flow, &mut sending, &mut socket);
        }
        Err(error) => sending.fail(flow.clock.now(), error),
    }
    sending
}

fn drive(flow: &MovieFlow<'_>, sending: &mut MovieSending, socket: &mut SenderSocket) {
    loop {
        let now = flow.clock.now();
        if let Err(error) = take_reports(flow, sending, socket) {
            sending.fail(now, error);
        }
        sending.listen(now, socket);
        if flow.stop.is_raised() {
            sending.stop(now);
        } else {
            sending.poll(now, socket);
        }
        let done = sending.progress();
        flow.progress.set_sender(done.offered, done.discarded);
        if sending.has_ended() {
            return;
        }
        if sending.is_draining() {
            flow.progress.set_state(FlowState::Draining);
        }
        let interest = if sending.waits_for_room() { Interest::Writable } else { Interest::Nothing };
        let deadline = sending.next_timeout();
        let heard = if sending.listens() { Interest::Readable } else { Interest::Nothing };
        let reports = socket.report_descriptors().map(|reports| (reports, Interest::Readable));
        let own = [(socket.descriptor(), interest), (socket.descriptor(), heard)];
        let watched = [(flow.stop.descriptor(), Interest::Readable)].into_iter().chain(own);
        let waited = wait_for_any(watched.chain(reports), flow.clock, deadline, flow.progress.sender_wakes());
        if let Err(error) = waited {
            sending.fail(flow.clock.now(), format!("ppoll: {error}"));
        }
    }
}

/// Hands over the receiver's reports, where the flow has them.
fn take_reports(
    flow: &MovieFlow<'_>,
    sending: &mut MovieSending,
    socket: &mut SenderSocket,
) -> Result<(), SocketError> {
    for (channel, reports) in socket.reports() {
        while let Some((at, report)) = reports.receive(flow.clock)? {
            sending.handle_report(at, *channel, report);
        }
    }
    Ok(())
}
