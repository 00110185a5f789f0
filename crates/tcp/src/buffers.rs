//! The memory of a sending socket: what a write may queue, and how that grows with the window. Linux: `tcp.c`,
//! `tcp_input.c` and `sock.h`, whose accounting it repeats to the buffer.

use std::collections::VecDeque;

use framewire_units::DataSize;

/// What the kernel charges for a buffer beside its payload: `struct sk_buff` (256) and the small head with its shared
/// info (576). Measured on Linux 6.18: `SK_MEMINFO` against `SIOCOUTQ`.
const BUFFER_OVERHEAD: u64 = 832;
/// Linux: `MAX_TCP_HEADER`.
const LARGEST_HEADER: u64 = 192;
/// Linux: `struct skb_shared_info` and `struct sk_buff`, aligned.
const SHARED_INFO: u64 = 320;
const BUFFER_HEAD: u64 = 256;
/// Payload of one buffer at most: `GSO_LEGACY_MAX_SIZE` less a header.
const LARGEST_BUFFER: u64 = 65_536 - LARGEST_HEADER - 1;
/// Linux: `TCP_INIT_CWND`.
const INITIAL_PACKETS: u64 = 10;

/// What the send buffer is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendBufferConfig {
    /// `SO_SNDBUF` as the kernel accounts it (doubled); `None` for auto-tuning.
    pub fixed: Option<DataSize>,
    /// Where auto-tuning begins. Linux: `tcp_wmem[1]`.
    pub initial: DataSize,
    /// Where it ends. Linux: `tcp_wmem[2]`.
    pub maximum: DataSize,
    /// `TCP_NOTSENT_LOWAT`; `None` for no limit.
    pub unsent_limit: Option<DataSize>,
    /// Packets that one buffer holds at most. Linux: `gso_max_segs`.
    pub offload_packets: u32,
}

impl Default for SendBufferConfig {
    fn default() -> Self {
        Self {
            fixed: None,
            initial: DataSize::from_bytes(16_384),
            maximum: DataSize::from_bytes(4 * 1024 * 1024),
            unsent_limit: None,
            offload_packets: u32::MAX,
        }
    }
}

/// What the endpoint knows when the buffer may grow. Sizes in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// Congestion window.
    pub cwnd: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets that may overtake one another. Linux: `reordering`.
    pub reordering: u32,
    /// Windows that the buffer is to hold. Linux: `sndbuf_expand`: 2, of BBR 3.
    pub windows: u32,
}

/// The send buffer of one socket.
///
/// [`write`](Self::write) takes what fits; the endpoint reports what it [`sent`](Self::sent) for the first time and
/// what is [`acknowledged`](Self::acknowledged), then lets it [`expand`](Self::expand).
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    is_fixed: bool,
    maximum: u64,
    unsent_limit: u64,
    offload_packets: u64,
    /// Linux: `sk_sndbuf`.
    limit: u64,
    segment: u64,
    /// Payload that a buffer is filled with. Linux: `size_goal`.
    whole: u64,
    /// Payload of each buffer that was not sent, oldest first. The last may be filled further.
    unsent_buffers: VecDeque<u64>,
    unsent: u64,
    sent: u64,
    /// Charged for the buffers of what was sent, beside the payload.
    sent_overhead: u64,
    /// A write was refused since the buffer last had space. Linux: `SOCK_NOSPACE`.
    wants_space: bool,
}

impl SendBuffer {
    /// An empty buffer for segments of `segment` payload bytes.
    pub(crate) fn new(config: &SendBufferConfig, segment: u32) -> Self {
        let mut buffer = Self {
            is_fixed: config.fixed.is_some(),
            maximum: config.maximum.as_bytes(),
            unsent_limit: config.unsent_limit.map_or(u64::MAX, DataSize::as_bytes),
            offload_packets: u64::from(config.offload_packets.max(1)),
            limit: config.fixed.unwrap_or(config.initial).as_bytes(),
            segment: 0,
            whole: 0,
            unsent_buffers: VecDeque::new(),
            unsent: 0,
            sent: 0,
            sent_overhead: 0,
            wants_space: false,
        };
        buffer.set_segment(segment, u64::MAX);
        buffer
    }

    /// Learns the payload of a full segment and the largest window that the peer has announced: half of that goes into
    /// one buffer at most. Linux: `tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`.
    pub(crate) fn set_segment(&mut self, segment: u32, largest_window: u64) {
        self.segment = u64::from(segment.max(1));
        let most = LARGEST_BUFFER.min(largest_window / 2);
        self.whole = (most / self.segment).clamp(1, self.offload_packets) * self.segment;
    }

    /// Memory that is charged. Linux: `sk_wmem_queued`.
    pub(crate) fn charged(&self) -> DataSize {
        DataSize::from_bytes(self.charge())
    }

    fn charge(&self) -> u64 {
        let unsent_overhead = BUFFER_OVERHEAD * self.unsent_buffers.len() as u64;
        self.unsent + unsent_overhead + self.sent + self.sent_overhead
    }

    /// Memory that may be charged. Linux: `sk_sndbuf`.
    pub(crate) fn limit(&self) -> DataSize {
        DataSize::from_bytes(self.limit)
    }

    /// Bytes written that were never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Bytes written that are not acknowledged.
    pub(crate) fn queued(&self) -> u64 {
        self.unsent + self.sent
    }

    /// Takes up to `offered` bytes; returns how many. Memory is only asked for when another buffer has to begin, so
    /// that the last one may go beyond the limit. Linux: `tcp_sendmsg_locked`.
    pub(crate) fn write(&mut self, offered: u64) -> u64 {
        let mut left = offered;
        while left > 0 {
            let has_room = self.unsent_buffers.back().is_some_and(|&last| last < self.whole);
            if !has_room {
                if !self.has_memory() {
                    self.wants_space = true;
                    break;
                }
                self.unsent_buffers.push_back(0);
            }
            let last = self.unsent_buffers.back_mut().expect("invariant: a buffer with room is last");
            let taken = left.min(self.whole.saturating_sub(*last));
            *last += taken;
            self.unsent += taken;
            left -= taken;
        }
        offered - left
    }

    /// Linux: `sk_stream_memory_free`.
    fn has_memory(&self) -> bool {
        self.charge() < self.limit && self.unsent < self.unsent_limit
    }

    /// Whether poll(2) says `POLLOUT`: a third of the memory is free, and unsent bytes are below half of
    /// `TCP_NOTSENT_LOWAT`. A blocked write goes on only then. Linux: `__sk_stream_is_writeable`.
    pub(crate) fn is_writable(&self) -> bool {
        let charge = self.charge();
        self.limit.checked_sub(charge).is_some_and(|free| free >= charge / 2)
            && self.unsent.saturating_mul(2) < self.unsent_limit
    }

    /// `payload` bytes were sent for the first time, in a burst of `burst` packets that share a buffer.
    pub(crate) fn sent(&mut self, payload: u64, burst: u32) {
        let payload = payload.min(self.unsent);
        if payload == 0 {
            return;
        }
        self.unsent -= payload;
        self.sent += payload;
        self.sent_overhead += BUFFER_OVERHEAD / u64::from(burst.max(1));
        let mut left = payload;
        while let Some(first) = self.unsent_buffers.front_mut() {
            let taken = left.min(*first);
            *first -= taken;
            left -= taken;
            if *first > 0 {
                break;
            }
            self.unsent_buffers.pop_front();
        }
    }

    /// `payload` bytes were acknowledged by number: their memory is free.
    pub(crate) fn acknowledged(&mut self, payload: u64) {
        let payload = payload.min(self.sent);
        if payload == 0 {
            return;
        }
        self.sent_overhead -= self.sent_overhead * payload / self.sent;
        self.sent -= payload;
    }

    /// Makes room for a few windows where the application waits for it and the network does not. Call it after an
    /// acknowledgement, and with `is_start` at the end of the handshake. Linux: `tcp_new_space`, `tcp_sndbuf_expand`.
    pub(crate) fn expand(&mut self, flight: &Flight, is_start: bool) {
        let is_wanted = self.wants_space || !self.is_writable();
        if self.is_fixed || !(is_start || is_wanted && flight.in_flight < flight.cwnd) {
            return;
        }
        let per_packet = (self.segment + LARGEST_HEADER + SHARED_INFO).next_power_of_two() + BUFFER_HEAD;
        let packets = u64::from(flight.cwnd.max(flight.reordering.saturating_add(1))).max(INITIAL_PACKETS);
        let wanted = u64::from(flight.windows) * packets * per_packet;
        self.limit = self.limit.max(wanted.min(self.maximum));
        self.wants_space &= !self.is_writable();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEGMENT: u32 = 1_448;

    /// A socket after the handshake with a peer that announced `window`.
    fn established(windows: u32, config: &SendBufferConfig) -> SendBuffer {
        let mut buffer = SendBuffer::new(config, SEGMENT);
        buffer.set_segment(SEGMENT, 65_160);
        buffer.expand(&Flight { cwnd: 10, in_flight: 0, reordering: 3, windows }, true);
        buffer
    }

    /// Writes chunks and sends the first ten packets as soon as they are full, as a socket with `TCP_NODELAY` does.
    fn fill(buffer: &mut SendBuffer, chunk: u64, burst: u32) -> u64 {
        let mut total = 0;
        let mut packets = 0;
        loop {
            let taken = buffer.write(chunk);
            total += taken;
            while packets < 10 && buffer.unsent() > 0 {
                buffer.sent(buffer.unsent().min(u64::from(SEGMENT)), burst);
                packets += 1;
            }
            if taken < chunk {
                return total;
            }
        }
    }

    #[test]
    fn takes_what_the_kernel_takes() {
        // Linux 6.18, nothing acknowledged: chunk, packets per buffer, accepted, memory charged.
        for (windows, limit, chunk, burst, accepted, charged) in [
            (2, 46_080, 1_448, 1, 46_336, 55_488),
            (2, 46_080, 1_000, 1, 41_856, 51_008),
            (2, 46_080, 100, 1, 64_712, 74_696),
            (3, 69_120, 1_448, 1, 78_192, 88_176),
            (3, 69_120, 1_000, 1, 73_712, 83_696),
        ] {
            let mut buffer = established(windows, &SendBufferConfig::default());
            assert_eq!(buffer.limit().as_bytes(), limit);
            assert_eq!(fill(&mut buffer, chunk, burst), accepted, "chunk {chunk}");
            assert_eq!(buffer.charged().as_bytes(), charged, "chunk {chunk}");
        }
        // A large write is sent two packets to a buffer.
        let mut buffer = established(2, &SendBufferConfig::default());
        buffer.write(14_480);
        (0..10).for_each(|_| buffer.sent(1_448, 2));
        assert_eq!(14_480 + buffer.write(1_000_000), 46_336);
        assert_eq!(buffer.charged().as_bytes(), 51_328);
    }

    #[test]
    fn without_offload_each_packet_has_a_buffer_of_its_own() {
        // Linux 6.18 above a device with `gso_max_segs` of 1: 46,080 allowed, 21 buffers of 832 and a packet charged.
        let config = SendBufferConfig { offload_packets: 1, ..SendBufferConfig::default() };
        let mut buffer = established(2, &config);
        assert_eq!(buffer.write(1_000_000), 21 * 1_448);
        assert_eq!(buffer.charged().as_bytes(), 47_880);
    }

    #[test]
    fn is_writable_again_when_a_third_is_free() {
        let mut buffer = established(2, &SendBufferConfig::default());
        fill(&mut buffer, 1_448, 1);
        assert!(!buffer.is_writable());
        // Two thirds of 46,080 are 30,720; the unsent 31,856 alone are more.
        buffer.acknowledged(14_480);
        assert!(!buffer.is_writable());
        buffer.sent(1_448, 1);
        buffer.acknowledged(1_448);
        assert!(!buffer.is_writable(), "{:?}", buffer.charged());
        buffer.sent(1_448, 1);
        buffer.acknowledged(1_448);
        assert!(buffer.is_writable(), "{:?}", buffer.charged());
    }

    #[test]
    fn an_unsent_limit_refuses_writes_and_wakes_at_half() {
        let limit = DataSize::from_bytes(16_384);
        let config = SendBufferConfig { unsent_limit: Some(limit), ..SendBufferConfig::default() };
        let mut buffer = established(2, &config);
        // It is looked at when a buffer begins: the first is filled.
        assert_eq!(buffer.write(1_000_000), 31_856);
        assert_eq!(buffer.write(1), 0);
        buffer.sent(31_856 - 8_192, 2);
        buffer.acknowledged(31_856 - 8_192);
        assert!(!buffer.is_writable());
        buffer.sent(1, 2);
        assert!(buffer.is_writable());
    }

    #[test]
    fn grows_with_the_window_only_where_it_is_wanted() {
        let flight = Flight { cwnd: 100, in_flight: 99, reordering: 3, windows: 2 };
        let mut buffer = established(2, &SendBufferConfig::default());
        buffer.expand(&flight, false);
        assert_eq!(buffer.limit().as_bytes(), 46_080, "nobody waits");
        buffer.write(u64::MAX);
        buffer.expand(&Flight { in_flight: 100, ..flight }, false);
        assert_eq!(buffer.limit().as_bytes(), 46_080, "the window is full: the network is the limit");
        buffer.expand(&flight, false);
        assert_eq!(buffer.limit().as_bytes(), 2 * 100 * 2_304);
        buffer.write(u64::MAX);
        buffer.expand(&Flight { cwnd: 100_000, ..flight }, false);
        assert_eq!(buffer.limit().as_bytes(), 4_194_304);

        let config = SendBufferConfig { fixed: Some(DataSize::from_bytes(20_000)), ..SendBufferConfig::default() };
        let mut fixed = established(2, &config);
        fixed.write(u64::MAX);
        fixed.expand(&flight, false);
        assert_eq!(fixed.limit().as_bytes(), 20_000);
    }

    proptest! {
        /// Bytes are neither lost nor made, memory is bounded, and all of it comes back.
        #[test]
        fn the_books_balance(steps in proptest::collection::vec((0u8..3, 1u64..200_000, 1u32..8), 1..200)) {
            let mut buffer = established(2, &SendBufferConfig::default());
            let (mut written, mut sent, mut acknowledged) = (0, 0, 0);
            for (step, size, burst) in steps {
                match step {
                    0 => written += buffer.write(size),
                    1 => {
                        let payload = size.min(1_448).min(written - sent);
                        if payload > 0 {
                            buffer.sent(payload, burst);
                            sent += payload;
                        }
                    }
                    _ => {
                        let payload = size.min(sent - acknowledged);
                        buffer.acknowledged(payload);
                        acknowledged += payload;
                    }
                }
                prop_assert_eq!(buffer.unsent(), written - sent);
                prop_assert_eq!(buffer.queued(), written - acknowledged);
                prop_assert!(buffer.charge() >= buffer.queued());
                prop_assert!(buffer.unsent() <= buffer.limit + buffer.whole);
                prop_assert_eq!(buffer.unsent_buffers.iter().sum::<u64>(), buffer.unsent());
                prop_assert!(buffer.unsent_buffers.iter().all(|&size| size > 0));
            }
            buffer.sent(written - sent, 2);
            buffer.acknowledged(written);
            prop_assert_eq!(buffer.charge(), 0);
            prop_assert!(buffer.is_writable());
        }
    }
}
