//! Which control packets can be: those that answer a packet that asked, and claim no more than was sent.

use std::collections::VecDeque;

use framewire_units::{DataSize, Timestamp};
use framewire_wire::vtp::ControlPacket;

/// Requests that are remembered; older ones count as lost. At k = 1 and 1,000 packets per second: one second.
pub(crate) const MAX_REQUESTS: usize = 1_024;

/// Packets that asked for a control packet, and what was sent until each.
///
/// A control packet comes from another host: its sequence number has to be that of an open request, the time stamp that
/// it echoes the one that was sent, and what it counts, with all that others counted before it, no more than had left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Oldest first; the front one follows the last that was answered.
    open: VecDeque<Request>,
    sent: Amount,
    claimed: Amount,
    /// Nothing could be sent for a while since the last request.
    idle: bool,
}

/// A request that a control packet answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// When the request left.
    pub(crate) departure: Timestamp,
    /// Requests between the last one answered and this one: they, or their answers, were lost or overtaken.
    pub(crate) skipped: usize,
    /// Between the request before it and this one, nothing could be sent for a while.
    pub(crate) spans_idle: bool,
}

/// Why a control packet cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No request with this sequence number is open.
    Unrequested,
    /// The echoed time stamp is not the one that was sent.
    Forged,
    /// More bytes or packets than were ever sent.
    Implausible,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    sequence: u32,
    departure: Timestamp,
    /// What had been sent in the session, this packet included.
    sent: Amount,
    spans_idle: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    bytes: DataSize,
    packets: u64,
}

impl Amount {
    fn plus(self, bytes: DataSize, packets: u64) -> Self {
        Self { bytes: self.bytes + bytes, packets: self.packets + packets }
    }
}

impl Requests {
    /// A video packet left.
    pub(crate) fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.sent = self.sent.plus(payload, 1);
        if ack_requested {
            if self.open.len() == MAX_REQUESTS {
                self.open.pop_front();
            }
            let spans_idle = std::mem::take(&mut self.idle);
            self.open.push_back(Request { sequence, departure: now, sent: self.sent, spans_idle });
        }
    }

    /// There was nothing to send.
    pub(crate) fn handle_idle(&mut self) {
        self.idle = true;
    }

    /// A control packet arrived, whose fields are anything at all. The request that it answers is closed, and all before
    /// it; a packet that is refused leaves everything as it was.
    pub(crate) fn answer(&mut self, control: &ControlPacket) -> Result<Answer, Refusal> {
        let skipped = self.open.iter().position(|request| request.sequence == control.sequence);
        let skipped = skipped.ok_or(Refusal::Unrequested)?;
        let Request { departure, sent, spans_idle, .. } = self.open[skipped];
        if control.sender_time != departure {
            return Err(Refusal::Forged);
        }
        let claimed = self.claimed.plus(control.size, control.packets.into());
        if claimed.bytes > sent.bytes || claimed.packets > sent.packets {
            return Err(Refusal::Implausible);
        }
        self.claimed = claimed;
        self.open.drain(..=skipped);
        Ok(Answer { departure, skipped, spans_idle })
    }

    /// Requests that were sent after the last one answered.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }
}
