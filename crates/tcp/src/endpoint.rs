//! One end of a connection.

use framewire_units::{DataSize, Timestamp};

use crate::config::TcpConfig;
use crate::congestion::EcnUse;
use crate::handshake::{Handshake, Opened, Step};
use crate::info::TcpInfo;
use crate::receive::{Negotiated, ReceiveConfig, ReceiveSide};
use crate::segment::{Flags, SackBlocks, Segment, TimestampsOption};
use crate::send::{Outgoing, Sender, timestamp_value};
use crate::timer::{Reason, Timeout};

/// One end of a TCP connection, without sockets and clocks.
///
/// The invariant of its driver: change it once (a call of the application, a segment, a released packet, a
/// timeout), then take segments from [`poll_transmit`](Self::poll_transmit) until there are none, then ask
/// [`next_timeout`](Self::next_timeout) anew, and [`is_writable`](Self::is_writable) and
/// [`readable`](Self::readable) where someone waits for them. A `now` is never earlier than the one before.
///
/// Every segment with payload that it gives out is reported back with [`handle_released`](Self::handle_released)
/// once the sender's own network device is done with it: at once, where the device is not the bottleneck.
#[derive(Debug)]
pub struct Endpoint {
    config: TcpConfig,
    handshake: Handshake,
    receive: ReceiveSide,
    /// From the end of the handshake on.
    open: Option<Open>,
    /// The application has ended the stream before that.
    finishes: bool,
}

/// What an open connection has beside its receiving half.
#[derive(Debug)]
struct Open {
    sender: Sender,
    timestamps: bool,
    /// Where ECN was agreed on.
    ecn: Option<EcnUse>,
    /// IP and TCP payload of a full packet, options counted.
    largest_packet: DataSize,
}

impl Endpoint {
    /// The side that opens the connection: its SYN is ready to be sent at `now`.
    pub fn client(config: &TcpConfig, now: Timestamp) -> Self {
        Self::new(config, Handshake::open(config, ecn_use(config), now), true)
    }

    /// The side that waits for a SYN.
    pub fn server(config: &TcpConfig) -> Self {
        Self::new(config, Handshake::listen(config, ecn_use(config)), false)
    }

    fn new(config: &TcpConfig, handshake: Handshake, is_client: bool) -> Self {
        let receive = ReceiveSide::new(&ReceiveConfig {
            buffer: config.receive_buffer,
            maximum_segment: config.maximum_segment,
            timestamps: config.timestamps,
            window_scaling: config.window_scaling,
            is_client,
            minimum_ack_delay: config.min_ack_delay,
            maximum_ack_delay: config.max_ack_delay,
            tick: config.timer_tick,
            ..ReceiveConfig::default()
        });
        Self { config: config.clone(), handshake, receive, open: None, finishes: false }
    }

    /// Writes up to `bytes`; returns how many the send buffer took. Zero: it would block, or the stream has been ended.
    pub fn write(&mut self, now: Timestamp, bytes: u64) -> u64 {
        self.open.as_mut().map_or(0, |open| open.sender.write(now, bytes))
    }

    /// Whether poll(2) would say `POLLOUT`: connected, a third of the send buffer free, and unsent bytes below
    /// `TCP_NOTSENT_LOWAT`.
    pub fn is_writable(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.sender.is_writable())
    }

    /// Bytes written that were never sent. Linux: `SIOCOUTQNSD`.
    pub fn unsent(&self) -> DataSize {
        DataSize::from_bytes(self.open.as_ref().map_or(0, |open| open.sender.unsent()))
    }

    /// Bytes written that are not acknowledged. Linux: `SIOCOUTQ`.
    pub fn queued(&self) -> DataSize {
        DataSize::from_bytes(self.open.as_ref().map_or(0, |open| open.sender.queued()))
    }

    /// Ends the stream after what was written. Linux: `shutdown(SHUT_WR)`.
    pub fn finish(&mut self, now: Timestamp) {
        self.finishes = true;
        if let Some(open) = &mut self.open {
            open.sender.finish(now);
        }
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receive.readable()
    }

    /// Reads up to `most` bytes; returns how many. May have a window update ready to be sent.
    pub fn read(&mut self, now: Timestamp, most: u64) -> u64 {
        self.receive.read(now, most)
    }

    /// True when the peer's stream has ended and all of it was read.
    pub fn has_ended(&self) -> bool {
        self.receive.has_ended()
    }

    /// True from the end of the handshake on.
    pub fn is_established(&self) -> bool {
        self.open.is_some()
    }

    /// True when all that was written, and the end after it, is acknowledged.
    pub fn is_done(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.sender.is_done())
    }

    /// True when the connection was given up: nothing was acknowledged in spite of `max_retries` timeouts, or the SYN
    /// was not answered.
    pub fn has_failed(&self) -> bool {
        self.open.as_ref().map_or(self.handshake.has_failed(), |open| open.sender.has_failed())
    }

    /// A segment arrives. One that no connection can have is ignored.
    pub fn handle_segment(&mut self, now: Timestamp, segment: &Segment) {
        if !segment.is_possible() {
            return;
        }
        if self.open.is_none() {
            match self.handshake.handle_segment(now, segment) {
                Step::Nothing => return,
                Step::Synchronized(first, timestamp) => return self.receive.synchronize(first, timestamp),
                Step::Opened(opened, Some((first, timestamp))) => {
                    self.receive.synchronize(first, timestamp);
                    self.open(now, &opened);
                    self.receive.request_ack();
                    return;
                }
                // The acknowledgement that opens a server's side may carry data.
                Step::Opened(opened, None) => self.open(now, &opened),
            }
        }
        self.handle_open_segment(now, segment);
    }

    fn open(&mut self, now: Timestamp, opened: &Opened) {
        let agreement = &opened.agreement;
        let mut sender = Sender::new(&self.config, agreement, now);
        self.receive.establish(
            now,
            Negotiated {
                timestamps: agreement.timestamps,
                sack: agreement.sack,
                window_scaling: opened.window_scaling,
                ecn: agreement.ecn,
            },
        );
        self.receive.set_round_trip(sender.srtt(), sender.rto());
        if self.finishes {
            sender.finish(now);
        }
        let mut full = Segment { payload: agreement.maximum_segment, ..Segment::default() };
        full.timestamps = agreement.timestamps.then_some(TimestampsOption { value: 0, echo: 0 });
        let largest_packet = full.packet_size();
        let (timestamps, ecn) = (agreement.timestamps, agreement.ecn);
        self.open = Some(Open { sender, timestamps, ecn, largest_packet });
    }

    fn handle_open_segment(&mut self, now: Timestamp, segment: &Segment) {
        let Some(open) = &mut self.open else { return };
        if segment.flags.ack && !segment.flags.syn {
            open.sender.handle_acknowledgement(now, segment);
            self.receive.set_round_trip(open.sender.srtt(), open.sender.rto());
        }
        self.receive.handle_segment(now, segment);
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come. Does nothing when it has not.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        match &mut self.open {
            Some(open) => {
                open.sender.handle_timeout(now);
                self.receive.handle_timeout(now);
            }
            None => self.handshake.handle_timeout(now),
        }
    }

    /// The sender's own device is done with a segment of `payload` bytes (TCP small queues). For a segment without
    /// payload it does nothing.
    pub fn handle_released(&mut self, now: Timestamp, payload: u32) {
        if let Some(open) = &mut self.open {
            open.sender.handle_released(now, payload);
        }
    }

    /// The next segment to put on the network, if there is one.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Segment> {
        let Some(open) = &mut self.open else {
            let mut syn = self.handshake.poll_transmit(now)?;
            self.receive.fill(&mut syn);
            return Some(syn);
        };
        if let Some(echo) = self.receive.take_earlier_echo() {
            let mut segment = open.segment(now, None);
            self.receive.fill_earlier(&mut segment, &echo);
            return Some(segment);
        }
        let outgoing = open.sender.pop_output();
        if outgoing.is_none() && !self.receive.is_ack_due() {
            return None;
        }
        let mut segment = open.segment(now, outgoing.as_ref());
        self.receive.fill(&mut segment);
        if segment.payload > 0 {
            self.receive.data_sent(now);
            if open.make_room(&mut segment) {
                self.receive.request_ack();
            }
        }
        Some(segment)
    }

    /// The earliest deadline.
    pub fn next_timeout(&self) -> Option<Timeout> {
        let Some(open) = &self.open else { return self.handshake.next_timeout() };
        let reason = Reason::Acknowledgement;
        let acknowledgement = self.receive.next_ack_timeout().map(|at| Timeout { at, reason });
        Timeout::earlier(open.sender.next_timeout(), acknowledgement)
    }

    /// Recounts what is counted.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        if let Some(open) = &self.open {
            open.sender.check();
        }
    }

    /// A look inside.
    pub fn info(&self) -> TcpInfo {
        let mut info = TcpInfo::default();
        if let Some(open) = &self.open {
            open.sender.describe(&mut info);
            info.received = DataSize::from_bytes(self.receive.received());
        }
        info
    }
}

impl Open {
    /// The segment for what is to be sent, or one for an acknowledgement alone.
    fn segment(&self, now: Timestamp, outgoing: Option<&Outgoing>) -> Segment {
        let mut segment = Segment {
            sequence: self.sender.next(),
            flags: Flags { ack: true, ..Flags::default() },
            timestamps: self.timestamps.then(|| TimestampsOption { value: timestamp_value(now), echo: 0 }),
            sent: now,
            ..Segment::default()
        };
        if let Some(outgoing) = outgoing {
            segment.sequence = outgoing.sequence;
            segment.payload = outgoing.payload;
            segment.retransmission = outgoing.retransmission;
            let Outgoing { fin, push, cwr, .. } = *outgoing;
            segment.flags = Flags { ack: true, fin, push, cwr, ..Flags::default() };
        }
        if let Some(ecn_use) = self.ecn {
            segment.ecn = ecn_use.field(segment.payload > 0 && !segment.retransmission);
        }
        segment
    }

    /// A packet with data has no room for selective acknowledgements unless they were expected: takes them out of one
    /// that is too large, and has the next ones cut shorter. Returns true where they are to be sent by themselves.
    fn make_room(&mut self, segment: &mut Segment) -> bool {
        let without = Segment { sack: SackBlocks::default(), ..*segment };
        let options = segment.packet_size() - without.packet_size();
        self.sender.set_option_bytes(options.as_bytes() as u32);
        let is_too_large = !segment.sack.is_empty() && segment.packet_size() > self.largest_packet;
        if is_too_large {
            *segment = without;
        }
        is_too_large
    }
}

/// How the algorithm of `config` uses the ECN field.
fn ecn_use(config: &TcpConfig) -> EcnUse {
    config.congestion.build(config.seed).ecn_use()
}
