use framewire_units::{DataSize, Duration};

/// Settings of the rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HybridSettings {
    /// Payload of a packet before one was sent.
    pub payload: DataSize,
    /// IP bytes of a packet of the rivals, which the throughput equation counts in: a full Ethernet frame's.
    pub rival_packet: DataSize,
    /// Bytes of headers that the network carries on top of each payload: 60 of VTP, 28 of UDP and IPv4.
    pub headers: DataSize,
    /// Queueing delay above which the path counts as filled: the most that RFC 6817 (LEDBAT) allows.
    pub queue_target: Duration,
    /// From the first packet to the first frame that is shown: what the player waits for.
    pub startup: Duration,
    /// Video in the client's hands beyond which nothing is sent ahead.
    pub highest_buffer_level: Duration,
    /// How far ahead the plan is looked at.
    pub horizon: Duration,
    /// The share of the lowest level's rate that is still sent, with frames left out, where the stream alone fills the
    /// queue, or this is being tried: a trial sends down to 0.7 of it. 1 for never less than all of the lowest level's but
    /// in trials.
    pub least_share: f64,
}

impl Default for HybridSettings {
    fn default() -> Self {
        Self {
            payload: DataSize::from_bytes(1_000),
            rival_packet: DataSize::from_bytes(1_500),
            headers: DataSize::from_bytes(88),
            queue_target: Duration::from_millis(100),
            startup: Duration::from_secs(1),
            highest_buffer_level: Duration::from_secs(30),
            horizon: Duration::from_secs(20),
            least_share: 0.5,
        }
    }
}

impl HybridSettings {
    pub(super) fn check(&self) -> Result<(), HybridError> {
        let refused = |setting, value: String, allowed| Err(HybridError { setting, value, allowed });
        if !(self.least_share > 0.0 && self.least_share <= 1.0) {
            return refused("least_share", self.least_share.to_string(), "more than 0, to 1");
        }
        if self.queue_target.is_zero() {
            return refused("queue_target", format!("{:?}", self.queue_target), "more than 0");
        }
        if self.horizon < Duration::from_secs(1) || self.horizon > Duration::from_secs(600) {
            return refused("horizon", format!("{:?}", self.horizon), "1 s to 600 s");
        }
        if self.payload.as_bytes() == 0 || self.rival_packet.as_bytes() == 0 {
            return refused("payload and rival_packet", "0".to_owned(), "at least 1 byte");
        }
        Ok(())
    }
}

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} = {value}: allowed is {allowed}")]
pub struct HybridError {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub allowed: &'static str,
}
