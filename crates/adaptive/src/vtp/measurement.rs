use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;

use super::estimate::Estimate;
use super::estimator::BandwidthEstimator;
use super::settings::VtpSettings;
use crate::requests::{Refusal, Requests};

/// What a control packet reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// From the request's departure to its answer.
    pub round_trip: Duration,
    /// b_i of equation 1 in bits per second; the first control packet of a session has none.
    pub bandwidth: Option<f64>,
}

/// Why a control packet gave no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// No request with this sequence number is open.
    Unrequested,
    /// The echoed time stamp is not the one that was sent.
    Forged,
    /// More bytes or packets than were ever sent.
    Implausible,
    /// A request or an answer before this one was lost (section 4.1): the next one counts again.
    Gap,
    /// The sender's clock went backwards over the round trip.
    ClockJump,
    /// No time between the arrivals, or less than none.
    NoInterval,
    /// The stream had nothing to send for a while in between: the paper's movies always have.
    Idle,
}

/// Samples of round-trip time and bandwidth from control packets (section 4.1), and what follows from them: the
/// minimum round-trip time (section 5.1) and the estimate of equation 2.
///
/// Samples come only from two consecutively arriving control packets that answer consecutive requests.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    estimate: Estimate,
    estimator: BandwidthEstimator,
    requests: Requests,
    last: Option<Answered>,
    round_trip: Option<Duration>,
    least_round_trip: Option<Duration>,
    smoothed_round_trip: Option<Duration>,
    samples: u64,
    discarded: u64,
}

impl From<Refusal> for Discard {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unrequested => Self::Unrequested,
            Refusal::Forged => Self::Forged,
            Refusal::Implausible => Self::Implausible,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Answered {
    sequence: u32,
    arrival: Timestamp,
    size: DataSize,
    packets: u32,
}

impl Measurement {
    /// Nothing measured yet.
    pub(crate) fn new(settings: &VtpSettings) -> Self {
        Self {
            estimate: settings.estimate,
            estimator: BandwidthEstimator::new(settings.alpha),
            requests: Requests::default(),
            last: None,
            round_trip: None,
            least_round_trip: None,
            smoothed_round_trip: None,
            samples: 0,
            discarded: 0,
        }
    }

    /// A video packet left.
    pub(crate) fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.requests.handle_sent(now, sequence, payload, ack_requested);
    }

    /// There was nothing to send.
    pub(crate) fn handle_idle(&mut self) {
        self.requests.handle_idle();
    }

    /// A control packet arrived. The packet's fields are anything at all.
    ///
    /// # Errors
    /// Why it gives no sample; then nothing of it is used but its place in the order, and of forged packets not
    /// even that.
    pub(crate) fn handle_control(&mut self, now: Timestamp, control: &ControlPacket) -> Result<Sample, Discard> {
        let sample = self.sample(now, control);
        match sample {
            Ok(_) => self.samples += 1,
            Err(_) => self.discarded += 1,
        }
        sample
    }

    fn sample(&mut self, now: Timestamp, control: &ControlPacket) -> Result<Sample, Discard> {
        let answer = self.requests.answer(control)?;
        let (sequence, arrival) = (control.sequence, control.receiver_time);
        let answered = Answered { sequence, arrival, size: control.size, packets: control.packets };
        let last = self.last.replace(answered);
        if answer.skipped > 0 {
            return Err(Discard::Gap);
        }
        if now < answer.departure {
            return Err(Discard::ClockJump);
        }
        if answer.spans_idle {
            return Err(Discard::Idle);
        }
        let bandwidth = match last {
            Some(last) => {
                let sample = equation_1(self.estimate, &last, control).ok_or(Discard::NoInterval)?;
                self.estimator.update(sample);
                Some(sample)
            }
            None => None,
        };
        let round_trip = now.saturating_since(answer.departure);
        self.round_trip = Some(round_trip);
        self.least_round_trip = Some(self.least_round_trip.map_or(round_trip, |least| least.min(round_trip)));
        // RFC 6298, 2.3: alpha is 1/8.
        let smoothed = self.smoothed_round_trip.map_or(round_trip, |smoothed| (smoothed * 7 + round_trip) / 8);
        self.smoothed_round_trip = Some(smoothed);
        Ok(Sample { round_trip, bandwidth })
    }

    /// The minimum round-trip time of the session, which the rate control uses (section 5.1).
    pub(crate) fn least_round_trip(&self) -> Option<Duration> {
        self.least_round_trip
    }

    /// The smoothed round-trip time, for tables: nothing of the rate control looks at it.
    pub(crate) fn smoothed_round_trip(&self) -> Option<Duration> {
        self.smoothed_round_trip
    }

    /// The last round-trip sample.
    pub(crate) fn last_round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// B_i in bits per second.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.estimator.estimate()
    }

    /// b_i in bits per second.
    pub(crate) fn last_sample(&self) -> Option<f64> {
        self.estimator.sample()
    }

    /// Requests that were sent after the last one answered.
    pub(crate) fn open_requests(&self) -> usize {
        self.requests.open()
    }

    /// Control packets that gave a sample, and that gave none.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.samples, self.discarded)
    }
}

/// b_i in bits per second, by one of the readings; `None` where the interval has no length.
fn equation_1(estimate: Estimate, last: &Answered, control: &ControlPacket) -> Option<f64> {
    let (start, bits) = match estimate {
        Estimate::BytesOverGaps { header } => (last.arrival, with_headers(control, header)),
        Estimate::KOverKMinus1 if control.packets > 1 => (control.first_arrival, control.size.as_bits() as f64),
        Estimate::KOverKMinus1 if control.sequence.wrapping_sub(last.sequence) == 1 && last.packets == 1 => {
            (last.arrival, (last.size + control.size).as_bits() as f64)
        }
        Estimate::KOverKMinus1 => (last.arrival, control.size.as_bits() as f64),
    };
    if start < last.arrival || start >= control.receiver_time {
        return None;
    }
    Some(bits / control.receiver_time.saturating_since(start).as_secs_f64())
}

/// Bits of SIZE where that counts headers. Ours counts video, and the packets beside it: what their headers have is known
/// to the sender.
fn with_headers(control: &ControlPacket, header: DataSize) -> f64 {
    control.size.as_bits() as f64 + f64::from(control.packets) * header.as_bits() as f64
}

/// A rate in bits per second as a unit, to the nearest bit.
pub(super) fn bitrate(bits_per_second: f64) -> Bitrate {
    Bitrate::from_bps(libm::round(bits_per_second) as u64)
}

#[cfg(test)]
#[path = "measurement_tests.rs"]
mod tests;
