//! One turn of a server's loop: in which order it sends and reads.

use std::net::SocketAddr;

use framewire_adaptive::datagram::{Channel, Transmit};
use framewire_adaptive::host::Host;
use framewire_sockets::SEND_MOST;
use framewire_units::Timestamp;

use crate::error::EndpointError;

/// Datagrams that are sent before the sockets are looked into: about 0.3 ms of a core's work.
const SEND_MOST_IN_A_TURN: usize = 4 * SEND_MOST;

/// Datagrams that are read of each socket before video is looked at again: about 0.1 ms.
const READ_MOST_IN_A_TURN: usize = SEND_MOST;

/// Takes a datagram: when it arrived, on which socket, from whom.
pub(crate) type Handle<'a> = dyn FnMut(Timestamp, Channel, SocketAddr, &[u8]) + 'a;

/// What a turn needs of the two sockets and of their clock.
pub(crate) trait Post {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Whether nothing waits for room.
    fn has_room(&self) -> bool;

    /// Sends these after what waits, as far as there is room, and leaves none in `batch`; the rest waits. `left` is
    /// told of each datagram with a due time that has left, and when it had.
    fn send_all(&mut self, batch: &mut Vec<Transmit>, left: &mut dyn FnMut(Timestamp, Timestamp));

    /// Reads up to `most` datagrams of each socket; true when there was any.
    fn read(&mut self, most: usize, handle: &mut Handle<'_>) -> Result<bool, EndpointError>;
}

/// Sends what is due, and reads what came; true when there was anything to read.
///
/// Video that is due leaves first, in batches of one call of the kernel each: what a batch holds has waited for those
/// before it in the batch only. But there is an end to it even when more is always due, and to reading even when more
/// always comes: a server with too much to do is late with everything, and deaf and dumb to nobody.
pub(crate) fn turn(host: &mut Host, post: &mut impl Post) -> Result<bool, EndpointError> {
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
    post.read(READ_MOST_IN_A_TURN, &mut |at, channel, from, bytes| host.handle_datagram(at, channel, from, bytes))
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
