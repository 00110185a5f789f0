use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;

use super::measurement::{Discard, Measurement, Sample, bitrate};
use super::settings::{SettingsError, VtpSettings};
use crate::server::Pacer;

/// The network side of section 5.1, "NetPeer": an estimate of the connection's bandwidth and round-trip time for
/// the part that decides rates, and packets let go at the rate decided.
#[derive(Clone, Debug)]
pub struct NetPeer {
    measurement: Measurement,
    pacer: Pacer,
    ack_every: u32,
    sequence: u32,
}

/// A packet that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its sequence number.
    pub sequence: u32,
    /// Whether it asks for a control packet.
    pub ack_request: bool,
}

impl NetPeer {
    /// A connection on which nothing has been sent; every `ack_every`-th packet (k) asks for a control packet.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn new(settings: &VtpSettings, ack_every: u32) -> Result<Self, SettingsError> {
        settings.check()?;
        if ack_every == 0 {
            return Err(SettingsError { setting: "k", value: "0".into(), allowed: "at least 1" });
        }
        Ok(Self { measurement: Measurement::new(settings), pacer: Pacer::default(), ack_every, sequence: 0 })
    }

    /// getBWE: B_i, `None` before two control packets.
    pub fn bandwidth(&self) -> Option<Bitrate> {
        self.measurement.estimate().map(bitrate)
    }

    /// getRTT: the least of the session.
    pub fn round_trip(&self) -> Option<Duration> {
        self.measurement.least_round_trip()
    }

    /// What the control socket delivered.
    ///
    /// # Errors
    /// Why it gives no sample.
    pub fn handle_control(&mut self, now: Timestamp, control: &ControlPacket) -> Result<Sample, Discard> {
        self.measurement.handle_control(now, control)
    }

    /// When sendData would let the next packet go.
    pub fn next_departure(&self, rate: Bitrate) -> Timestamp {
        self.pacer.due(rate)
    }

    /// sendData: lets a packet go if its time has come.
    pub fn send_data(&mut self, now: Timestamp, rate: Bitrate, payload: DataSize) -> Option<Departure> {
        if !self.pacer.try_depart(now, rate, payload) {
            return None;
        }
        let sequence = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        let ack_request = self.sequence.is_multiple_of(self.ack_every);
        self.measurement.handle_sent(now, sequence, payload, ack_request);
        Some(Departure { sequence, ack_request })
    }
}
