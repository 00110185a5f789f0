//! One end of a connection.

use framewire_units::{DataSize, Timestamp};

use crate::config::TcpConfig;
use crate::info::TcpInfo;
use crate::segment::Segment;
use crate::timer::Timeout;

/// One end of a TCP connection, without sockets and clocks.
///
/// The invariant of who drives it: change it once (a call of the application, a segment, a released packet, a
/// timeout), then take segments from [`poll_transmit`](Self::poll_transmit) until there are none, then ask
/// [`next_timeout`](Self::next_timeout) anew, and [`is_writable`](Self::is_writable) and
/// [`readable`](Self::readable) where someone waits for them. A `now` is never earlier than the one before.
///
/// Every segment with payload that it gives out is told back with [`handle_released`](Self::handle_released) once the
/// sender's own network device is done with it: at once, where the device is not the bottleneck.
#[derive(Debug)]
pub struct Endpoint {
    config: TcpConfig,
}

impl Endpoint {
    /// The side that opens the connection: its SYN is ready to be sent at `now`.
    pub fn client(_config: &TcpConfig, _now: Timestamp) -> Self {
        unimplemented!()
    }

    /// The side that waits for a SYN.
    pub fn server(_config: &TcpConfig) -> Self {
        unimplemented!()
    }

    /// Writes up to `bytes`; returns how many the send buffer took. Zero: it would block.
    pub fn write(&mut self, _now: Timestamp, _bytes: u64) -> u64 {
        unimplemented!()
    }

    /// Whether poll(2) would say `POLLOUT`: connected, a third of the send buffer free, and unsent bytes below
    /// `TCP_NOTSENT_LOWAT`.
    pub fn is_writable(&self) -> bool {
        unimplemented!()
    }

    /// Bytes written that were never sent. Linux: `SIOCOUTQNSD`.
    pub fn unsent(&self) -> DataSize {
        unimplemented!()
    }

    /// Bytes written that are not acknowledged. Linux: `SIOCOUTQ`.
    pub fn queued(&self) -> DataSize {
        unimplemented!()
    }

    /// Ends the stream after what was written. Linux: `shutdown(SHUT_WR)`.
    pub fn finish(&mut self, _now: Timestamp) {
        unimplemented!()
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        unimplemented!()
    }

    /// Reads up to `most` bytes; returns how many. May have a window update ready to be sent.
    pub fn read(&mut self, _now: Timestamp, _most: u64) -> u64 {
        unimplemented!()
    }

    /// True when the peer's stream has ended and all of it was read.
    pub fn has_ended(&self) -> bool {
        unimplemented!()
    }

    /// True from the end of the handshake on.
    pub fn is_established(&self) -> bool {
        unimplemented!()
    }

    /// True when all that was written, and the end after it, is acknowledged.
    pub fn is_done(&self) -> bool {
        unimplemented!()
    }

    /// True when the connection was given up: nothing was acknowledged in spite of `max_retries` timeouts.
    pub fn has_failed(&self) -> bool {
        unimplemented!()
    }

    /// A segment arrives.
    pub fn handle_segment(&mut self, _now: Timestamp, _segment: &Segment) {
        unimplemented!()
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come. Does nothing when it has not.
    pub fn handle_timeout(&mut self, _now: Timestamp) {
        unimplemented!()
    }

    /// The sender's own device is done with a segment of `payload` bytes (TCP small queues). For segments without
    /// payload it does nothing.
    pub fn handle_released(&mut self, _now: Timestamp, _payload: u32) {
        unimplemented!()
    }

    /// The next segment to put on the network, if there is one.
    pub fn poll_transmit(&mut self, _now: Timestamp) -> Option<Segment> {
        unimplemented!()
    }

    /// The earliest deadline.
    pub fn next_timeout(&self) -> Option<Timeout> {
        unimplemented!()
    }

    /// A look inside.
    pub fn info(&self) -> TcpInfo {
        let _ = &self.config;
        unimplemented!()
    }
}
