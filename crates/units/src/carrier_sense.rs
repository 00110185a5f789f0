use crate::Duration;

/// Times of the stations of an 802.11 network that decide which of them collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenseTimes {
    /// Slot time.
    pub slot: Duration,
    /// Time that a receiver may take to assess the channel (aCCATime).
    pub assessment: Duration,
    /// Time from the decision to transmit to the first symbol, in which a station receives nothing
    /// (aRxTxTurnaroundTime).
    pub turnaround: Duration,
}

impl SenseTimes {
    /// 802.11b, also where a station of it is associated in a network of 802.11g: IEEE Std 802.11b-1999, 18.3, the
    /// numbers of 802.11-1999, 15.3.2. The standards say "at most" of the last two times.
    pub const LONG_SLOT: Self = Self::of(20, 15, 5);
    /// 802.11g alone: IEEE Std 802.11-2016, 18.4.5.
    pub const SHORT_SLOT: Self = Self::of(9, 4, 5);
    /// 802.11a: IEEE Std 802.11-2016, 17.4.4.
    pub const OFDM_AT_5_GHZ: Self = Self::of(9, 4, 2);

    const fn of(slot: u64, assessment: u64, turnaround: u64) -> Self {
        let micros = Duration::from_micros;
        Self { slot: micros(slot), assessment: micros(assessment), turnaround: micros(turnaround) }
    }

    /// Time for which another's beginning goes unnoticed: assessing the channel and turning from receiving to sending.
    /// A slot holds both, with propagation and what the MAC needs (802.11-1999, 9.2.10: aSlotTime = aCCATime +
    /// aRxTxTurnaroundTime + aAirPropagationTime + aMACProcessingDelay), so that stations that count the same slots
    /// notice one that began a slot before.
    pub fn carrier_sense(&self) -> Duration {
        self.assessment + self.turnaround
    }
}
