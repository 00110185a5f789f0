//! What comes of viewing, counted while it happens.

use framewire_adaptive::client::{ClientEvent, ClientState};
use framewire_media::access_unit::Codec;
use framewire_media::ladder::Level;
use framewire_wire::vtp::Reason;

/// What came of viewing.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOutcome {
    /// What the client knows at the end.
    pub state: ClientState,
    /// Why the session ended.
    pub ended: Reason,
    /// Whole frames of each level, lowest level first.
    pub frames_by_level: Vec<u64>,
    /// Bytes written.
    pub written: u64,
    /// Whether this side stopped it because no more may be written.
    pub allowance_used_up: bool,
    /// How the video is coded; `None` where no key frame shows it.
    pub codec: Option<Codec>,
    /// Mean frame rate in Hz, as the server described the movie; `None` when it did not, or of a movie of no duration.
    pub frames_per_second: Option<f64>,
}

/// What is known of it before the end.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    frames_by_level: Vec<u64>,
    written: u64,
    codec: Option<Codec>,
    frames_per_second: Option<f64>,
}

impl Tally {
    /// Whatever happens in the session.
    pub(crate) fn handle(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Described(description) => {
                self.frames_by_level = vec![0; description.rates.len()];
                let duration = description.duration.as_secs_f64();
                self.frames_per_second = (duration > 0.0).then(|| f64::from(description.frames) / duration);
            }
            ClientEvent::FrameComplete(frame) => {
                if let Some(count) = self.frames_by_level.get_mut(frame.level) {
                    *count += 1;
                }
                self.written += frame.bytes.len() as u64;
                if frame.key && self.codec.is_none() {
                    self.codec = Level::codec_of(&frame.bytes);
                }
            }
            _ => {}
        }
    }

    /// All of it.
    pub(crate) fn conclude(self, state: ClientState, ended: Reason, allowance_used_up: bool) -> ClientOutcome {
        let Self { frames_by_level, written, codec, frames_per_second } = self;
        ClientOutcome { state, ended, frames_by_level, written, allowance_used_up, codec, frames_per_second }
    }
}

#[cfg(test)]
#[path = "client_outcome_tests.rs"]
mod tests;
