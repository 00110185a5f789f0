//! When a flow begins and ends that does not follow the movie's frame clock.

use framewire_units::Duration;

use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::Text;
use crate::transport::Transport;

/// Times of the run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) start: Option<Duration>,
    pub(crate) stop: Option<Duration>,
}

impl Times {
    /// An adaptive stream ends with its movie, and bulk connections when they are told to or with the run.
    pub(crate) fn read(section: &mut Section, transport: Transport) -> Result<Self, ScenarioError> {
        let stop_key = section.key("stop");
        let start: Option<Duration> = section.text("start")?;
        let stop: Option<Duration> = section.text("stop")?;
        let begin = start.unwrap_or_default();
        if let Some(stop) = stop.filter(|&stop| stop <= begin) {
            let allowed = format!("a time after its start, {}", begin.show());
            return Err(ScenarioError::value(&stop_key, format!("\"{}\"", stop.show()), allowed));
        }
        Ok(Self { start: start.or((!transport.has_movie()).then_some(Duration::ZERO)), stop })
    }
}
