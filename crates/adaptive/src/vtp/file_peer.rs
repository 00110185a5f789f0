use std::sync::Arc;

use framewire_units::{Bitrate, Duration, Timestamp};

use super::machine::Machine;
use super::settings::{SettingsError, VtpSettings};
use crate::controller::{Decision, PlanRates};
use crate::server::{Cursor, NextPacket};
use crate::source::{PacketSource, Plan, SourceError};

/// The file side of section 5.1, "FileSystemPeer": fetches packets of a level, and realises the algorithm of section
/// 4.2 for the provider of estimates.
pub struct FileSystemPeer {
    settings: VtpSettings,
    cursor: Cursor,
    plan: Arc<dyn Plan>,
    rates: Vec<Bitrate>,
    machine: Option<Machine>,
}

impl FileSystemPeer {
    /// Opens a source at its first packet.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn new(
        source: Arc<dyn PacketSource>,
        plan: Arc<dyn Plan>,
        settings: VtpSettings,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self { settings, cursor: Cursor::new(source), plan, rates: vec![], machine: None })
    }

    /// getPacket: the next packet, from this level if it may be taken over here (it may at I frames), else from the
    /// level before. `None` at the end of the file.
    ///
    /// # Errors
    /// When the source cannot give it.
    pub fn get_packet(&mut self, quality: usize) -> Result<Option<NextPacket>, SourceError> {
        self.cursor.take(quality)
    }

    /// setRate: the sending rate and the level for a new estimate and the round-trip time.
    pub fn set_rate(&mut self, now: Timestamp, round_trip: Duration, estimate: Bitrate) -> Decision {
        let now_in_stream = self.cursor.media_time();
        self.rates.clear();
        self.rates.extend((0..self.plan.levels()).map(|level| self.plan.rate_at(level, now_in_stream)));
        let plan = PlanRates { now_in_stream, rates: &self.rates };
        let machine = self.machine.get_or_insert_with(|| Machine::new(&self.settings, now, &plan));
        machine.handle_estimate(now, estimate.as_bps() as f64, round_trip, &plan);
        Decision { rate: machine.rate(), level: machine.level() }
    }
}
