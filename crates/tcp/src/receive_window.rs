//! The receive window: how much memory the socket may take, what of it is announced, and how both grow with the flow
//! (RFC 9293, section 3.8.6.2; Linux' dynamic right-sizing, `tcp_input.c` and `tcp_output.c`).

use framewire_units::{Duration, Timestamp};

/// Part of the memory that is payload, in 256ths, before a full packet was seen. Linux: `TCP_DEFAULT_SCALING_RATIO`.
const FIRST_RATIO: u64 = 128;
/// Linux: `TCP_RMEM_TO_WIN_SCALE`.
const RATIO_SHIFT: u32 = 8;
/// Largest window without scaling.
pub(crate) const UNSCALED_WINDOW: u64 = 65_535;
/// Largest scale (RFC 7323, section 2.3).
const LARGEST_SCALE: u32 = 14;
/// Packets of the initial window, which bound the first guess of what comes in a round trip. Linux: `TCP_INIT_CWND`.
const INITIAL_PACKETS: u64 = 10;
/// Least clamp of the window. Linux: `SOCK_MIN_RCVBUF / 2`.
const SMALLEST_CLAMP: u64 = 1_152;

/// What the window is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowSettings {
    /// The buffer is what the application chose and stays.
    pub(crate) is_fixed: bool,
    pub(crate) buffer: u64,
    pub(crate) maximum_buffer: u64,
    /// Announced payload of a segment without options.
    pub(crate) maximum_segment: u64,
    /// Bytes of options in every segment.
    pub(crate) options: u64,
    /// The SYN goes out before it is known whether there are options.
    pub(crate) is_client: bool,
    pub(crate) scaling: bool,
}

/// The window and the memory behind it. Sizes in bytes; `rcv_` names are those of `struct tcp_sock`.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveWindow {
    is_fixed: bool,
    maximum_buffer: u64,
    /// Memory that the queue may take. Linux: `sk_rcvbuf`.
    buffer: u64,
    /// Memory that it takes. Linux: `sk_rmem_alloc`.
    charged: u64,
    /// Payload per memory, in 256ths. Linux: `scaling_ratio`.
    ratio: u64,
    scale: u32,
    /// Payload of the segments that the peer was asked to send. Linux: `advmss`.
    segment: u64,
    /// Linux: `window_clamp`.
    clamp: u64,
    /// What is announced at most for now. Linux: `rcv_ssthresh`.
    threshold: u64,
    /// The window as announced last. Linux: `rcv_wnd`.
    announced: u64,
    /// The acknowledgement number it was announced with. Linux: `rcv_wup`.
    announced_at: u64,
    /// Bytes that came per round trip. Linux: `rcvq_space`.
    per_round: u64,
    round_began: Timestamp,
    round_read: u64,
    /// Eight times the round-trip time in microseconds, zero where unknown. Linux: `rcv_rtt_est.rtt_us`.
    round_trip: u64,
    window_began: Option<Timestamp>,
    window_end: u64,
}

impl ReceiveWindow {
    /// The window of the SYN. Linux: `tcp_select_initial_window`.
    pub(crate) fn new(settings: &WindowSettings) -> Self {
        let buffer = settings.buffer;
        let full = (buffer * FIRST_RATIO) >> RATIO_SHIFT;
        let largest = UNSCALED_WINDOW << LARGEST_SCALE;
        let clamp = if settings.is_fixed { full.min(largest) } else { largest };
        let space = full.min(clamp);
        let options = if settings.is_client { 0 } else { settings.options };
        let whole = settings.maximum_segment.saturating_sub(options).max(1);
        let announced = if space > whole { space - space % whole } else { space };
        let scale = if settings.scaling {
            let most = space.max(settings.maximum_buffer).min(clamp).max(1);
            most.ilog2().saturating_sub(15).min(LARGEST_SCALE)
        } else {
            0
        };
        Self {
            is_fixed: settings.is_fixed,
            maximum_buffer: settings.maximum_buffer,
            buffer,
            charged: 0,
            ratio: FIRST_RATIO,
            scale,
            segment: settings.maximum_segment,
            clamp: clamp.min(UNSCALED_WINDOW << scale),
            threshold: announced,
            announced,
            announced_at: 0,
            per_round: 0,
            round_began: Timestamp::ZERO,
            round_read: 0,
            round_trip: 0,
            window_began: None,
            window_end: 0,
        }
    }

    /// The window of a SYN, which is never scaled (RFC 7323, section 2.2).
    pub(crate) fn syn_window(&self) -> u64 {
        self.announced.min(UNSCALED_WINDOW)
    }

    /// The handshake is over, `next` is expected. Linux: `tcp_init_buffer_space`.
    pub(crate) fn establish(&mut self, now: Timestamp, next: u64, options: u64, scaling: bool) {
        if !scaling {
            self.scale = 0;
            self.clamp = self.clamp.min(UNSCALED_WINDOW);
            self.announced = self.announced.min(UNSCALED_WINDOW);
        }
        self.announced_at = next;
        self.segment = self.segment.saturating_sub(options).max(1);
        self.round_began = now;
        self.round_read = next;
        let most = self.full_space();
        if self.clamp >= most {
            self.clamp = most;
        }
        if self.clamp > 2 * self.segment && self.clamp + self.segment > most {
            self.clamp = most.saturating_sub(self.segment).max(2 * self.segment);
        }
        self.threshold = self.threshold.min(self.clamp);
        self.per_round = self.threshold.min(self.announced).min(INITIAL_PACKETS * self.segment).max(1);
    }

    fn window_of(&self, space: u64) -> u64 {
        (space * self.ratio) >> RATIO_SHIFT
    }

    fn full_space(&self) -> u64 {
        self.window_of(self.buffer)
    }

    fn free_space(&self) -> u64 {
        self.window_of(self.buffer.saturating_sub(self.charged))
    }

    /// Payload of the segments that the peer was asked to send.
    pub(crate) fn segment(&self) -> u64 {
        self.segment
    }

    /// The window as announced last.
    pub(crate) fn announced(&self) -> u64 {
        self.announced
    }

    /// Acknowledgement number of the last announcement, below which segments are old (RFC 7323, section 4.3:
    /// Last.ACK.sent).
    pub(crate) fn announced_at(&self) -> u64 {
        self.announced_at
    }

    /// What is left of the announced window when `next` is expected. Linux: `tcp_receive_window`.
    pub(crate) fn remaining(&self, next: u64) -> u64 {
        (self.announced_at + self.announced).saturating_sub(next)
    }

    /// Memory charged.
    #[cfg(test)]
    pub(crate) fn charged(&self) -> u64 {
        self.charged
    }

    /// Charges the queue for `truesize`.
    pub(crate) fn charge(&mut self, truesize: u64) {
        self.charged += truesize;
    }

    /// Memory was given back.
    pub(crate) fn release(&mut self, truesize: u64) {
        self.charged = self.charged.saturating_sub(truesize);
    }

    /// True while another packet may be charged. Linux: `tcp_can_ingest`.
    pub(crate) fn can_ingest(&self) -> bool {
        self.charged <= self.buffer
    }

    /// The queue has outgrown the buffer: grow that, or take the window back. Linux: `tcp_clamp_window`.
    pub(crate) fn make_room(&mut self) {
        if !self.is_fixed && self.buffer < self.maximum_buffer {
            self.buffer = self.charged.min(self.maximum_buffer);
        }
        if !self.can_ingest() {
            self.threshold = self.clamp.min(2 * self.segment);
        }
    }

    /// A packet showed how much payload the memory holds. Linux: `tcp_measure_rcv_mss`, `tcp_set_window_clamp`.
    pub(crate) fn set_ratio(&mut self, payload: u64, truesize: u64) {
        let ratio = ((payload << RATIO_SHIFT) / truesize.max(1)).max(1);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let clamp = self.full_space().max(SMALLEST_CLAMP);
        if clamp != self.clamp {
            if clamp < self.clamp {
                self.threshold = self.threshold.min(clamp);
            }
            self.clamp = clamp;
            self.threshold = self.threshold.max(self.announced.min(clamp));
        }
        self.per_round = self.per_round.min(self.clamp);
    }

    /// Announces more after a packet, where packets of its kind would fit; true when it does. Linux:
    /// `tcp_grow_window`.
    pub(crate) fn grow(&mut self, payload: u64, truesize: u64, full_packet: u64) -> bool {
        let room = self.clamp.min(self.free_space()).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let increase = if self.window_of(truesize) <= payload {
            2 * self.segment
        } else {
            self.cautious_increase(payload, truesize, full_packet)
        };
        if increase == 0 {
            return false;
        }
        self.threshold += room.min(increase.max(2 * payload));
        true
    }

    /// Linux: `__tcp_grow_window`.
    fn cautious_increase(&self, payload: u64, truesize: u64, full_packet: u64) -> u64 {
        let mut needed = self.window_of(truesize) / 2;
        let mut window = self.window_of(self.maximum_buffer) / 2;
        while self.threshold <= window {
            if needed <= payload {
                return 2 * full_packet;
            }
            needed /= 2;
            window /= 2;
        }
        0
    }

    /// Buffer for what arrives beyond a hole that reaches `span` bytes ahead. Linux: the end of
    /// `tcp_data_queue_ofo`.
    pub(crate) fn cover_hole(&mut self, span: u64) {
        self.grow_buffer(self.per_round, span);
    }

    /// Linux: `tcp_rcvbuf_grow`. A packet sent now arrives a round trip later: twice what came, and twice the growth
    /// on top, so that a slow start is not held back.
    fn grow_buffer(&mut self, per_round: u64, span: u64) {
        let before = std::mem::replace(&mut self.per_round, per_round);
        if self.is_fixed {
            return;
        }
        let doubled = 2 * per_round;
        let growth = 2 * (doubled * per_round.saturating_sub(before) / before.max(1));
        let space = ((doubled + growth + span) << RATIO_SHIFT) / self.ratio;
        let buffer = space.min(self.maximum_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
        }
    }

    /// Data was read up to `read`, `next` is expected; `last_arrival` is the clock of the last segment. Linux:
    /// `tcp_rcv_space_adjust`.
    pub(crate) fn adjust(&mut self, last_arrival: Timestamp, read: u64, next: u64, span: u64) {
        let elapsed = last_arrival.saturating_since(self.round_began);
        if self.round_trip == 0 || (elapsed.as_micros() as u64) < self.round_trip >> 3 {
            return;
        }
        let came = (read - self.round_read).saturating_sub(next - read);
        if came > self.per_round {
            self.grow_buffer(came, span);
        }
        self.round_read = read;
        self.round_began = last_arrival;
    }

    /// The round-trip time as this side sees it, zero where unknown.
    pub(crate) fn round_trip(&self) -> Duration {
        Duration::from_micros(self.round_trip >> 3)
    }

    /// A window's worth of data takes at least a round trip. Linux: `tcp_rcv_rtt_measure`.
    pub(crate) fn measure_round_trip(&mut self, now: Timestamp, next: u64) {
        if let Some(began) = self.window_began {
            if next < self.window_end {
                return;
            }
            let sample = 8 * (now.saturating_since(began).as_micros() as u64).max(1);
            if self.round_trip == 0 || sample < self.round_trip {
                self.round_trip = sample;
            }
        }
        self.window_end = next + self.announced;
        self.window_began = Some(now);
    }

    /// A timestamp came back after `milliseconds`. `is_drained`: all was read before. Linux:
    /// `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`.
    pub(crate) fn note_echo(&mut self, milliseconds: u64, is_drained: bool) {
        let sample = milliseconds.saturating_mul(1_000);
        if sample == 0 {
            return;
        }
        let scaled = sample.saturating_mul(8);
        if self.round_trip == 0 || scaled < self.round_trip {
            self.round_trip = scaled;
        } else if is_drained {
            self.round_trip = self.round_trip - (self.round_trip >> 3) + sample;
        }
    }

    /// The window to announce if it were up to memory alone, avoiding silly windows (RFC 9293, section 3.8.6.2.2).
    /// The second value is true where memory is short. Linux: `__tcp_select_window`.
    pub(crate) fn select(&self, full_packet: u64) -> (u64, bool) {
        let allowed = self.full_space();
        let full = self.clamp.min(allowed);
        let packet = full_packet.min(full);
        if packet == 0 {
            return (0, false);
        }
        let unit = 1 << self.scale;
        let mut free = self.free_space();
        let is_short = free < full / 2;
        if is_short {
            free -= free % unit;
            if free < allowed >> 4 || free < packet {
                return (0, true);
            }
        }
        free = free.min(self.threshold);
        if self.scale > 0 {
            return (free.next_multiple_of(unit), is_short);
        }
        let window = if self.announced + packet <= free || self.announced > free {
            free - free % packet
        } else if packet == full && free > self.announced + full / 2 {
            free
        } else {
            self.announced
        };
        (window, is_short)
    }

    /// Chooses the window to announce with the acknowledgement of `next`. What was announced is never taken back
    /// (RFC 9293, section 3.8.6). The second value is true where memory is short. Linux: `tcp_select_window`.
    pub(crate) fn announce(&mut self, next: u64, full_packet: u64) -> (u64, bool) {
        let remaining = self.remaining(next);
        let (mut window, is_short) = self.select(full_packet);
        if window < remaining {
            window = remaining.next_multiple_of(1 << self.scale);
        }
        self.announced = window;
        self.announced_at = next;
        (window.min(UNSCALED_WINDOW << self.scale), is_short)
    }

    /// True where a read has opened the window so far that it should be reported to the sender. Linux:
    /// `__tcp_cleanup_rbuf`.
    pub(crate) fn is_update_due(&self, next: u64, full_packet: u64) -> bool {
        let remaining = self.remaining(next);
        if 2 * remaining > self.clamp {
            return false;
        }
        let (window, _) = self.select(full_packet);
        window > 0 && window >= 2 * remaining
    }
}

#[cfg(test)]
mod tests;
