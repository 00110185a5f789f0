//! One turn of a server's loop: in which order it sends and reads.

use std::net::SocketAddr;

use framewire_adaptive::datagram::{Channel, Transmit};
use framewire_adaptive::host::Host;
use framewire_sockets::SEND_MOST;
use framewire_units::{Duration, Timestamp};

use crate::error::EndpointError;

/// Datagrams that are sent before the sockets are looked into: about 0.3 ms of a core's work.
const SEND_MOST_IN_A_TURN: usize = 4 * SEND_MOST;

/// Datagrams that are read of each socket before video is looked at again: about 0.1 ms.
const READ_MOST_IN_A_TURN: usize = SEND_MOST;

/// While something is due all the time, turns begin so far apart: what becomes due meanwhile leaves together, and
/// reports that come one by one wake no thread. A turn of its own for each packet would cost more than the packet.
const GRAIN: Duration = Duration::from_micros(100);

/// What to do after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another turn.
    Turn,
    /// Sleep until then whatever comes, and then another turn.
    Pause(Timestamp),
    /// Wait until then (`None`: for as long as it takes), or until something can be read, or until there is room.
    Wait(Option<Timestamp>),
}

/// Takes a datagram: when it arrived, on which socket, from whom.
pub(crate) type Handle<'a> = dyn FnMut(Timestamp, Channel, SocketAddr, &[u8]) + 'a;

/// What a turn needs of the two sockets and of their clock.
pub(crate) trait ServerSockets {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Whether nothing waits for room.
    fn has_room(&self) -> bool;

    /// Sends these after what waits, as far as there is room, and leaves none in `batch`; the rest waits. `left` is
    /// called with each datagram with a due time that has left, and when it had.
    fn send_all(&mut self, batch: &mut Vec<Transmit>, left: &mut dyn FnMut(Timestamp, Timestamp));

    /// Reads up to `most` datagrams of each socket; true when there was any.
    fn read(&mut self, most: usize, handle: &mut Handle<'_>) -> Result<bool, EndpointError>;
}

/// Sends what is due, and reads what came.
///
/// Video that is due leaves first, in batches of one call of the kernel each: what a batch holds has waited for those
/// before it in the batch only. But there is an end to it even when more is always due, and to reading even when more
/// always comes: a server with too much to do is late with everything, but serves every client.
pub(crate) fn turn(host: &mut Host, post: &mut impl ServerSockets) -> Result<Next, EndpointError> {
    let began = post.now();
    send_due(host, post);
    let any =
        post.read(READ_MOST_IN_A_TURN, &mut |at, channel, from, bytes| host.handle_datagram(at, channel, from, bytes))?;
    let next = if post.has_room() { host.next_timeout() } else { None };
    let grain = began + GRAIN;
    Ok(match next {
        Some(at) if at <= grain && post.now() < grain => Next::Pause(grain),
        Some(at) if at <= grain => Next::Turn,
        _ if any => Next::Turn,
        next => Next::Wait(next),
    })
}

fn send_due(host: &mut Host, post: &mut impl ServerSockets) {
    let mut batch = Vec::with_capacity(SEND_MOST);
    // What waits goes first.
    post.send_all(&mut batch, &mut |due, at| host.handle_departure(due, at));
    let mut allowed = SEND_MOST_IN_A_TURN;
    while allowed > 0 && post.has_room() {
        let now = post.now();
        batch.extend(std::iter::from_fn(|| host.poll_transmit(now)).take(SEND_MOST));
        if batch.is_empty() {
            break;
        }
        allowed = allowed.saturating_sub(batch.len());
        post.send_all(&mut batch, &mut |due, at| host.handle_departure(due, at));
    }
}

#[cfg(test)]
#[path = "server_loop_tests.rs"]
mod tests;
