//! How much may wait in a flow's frame queue.

use framewire_transport::Limits;
use framewire_units::Duration;

use crate::error::ScenarioError;
use crate::flow::buffer;
use crate::section::Section;
use crate::transport::Transport;

/// Those of a flow, with the defaults of its transport: docs/transports.md says why.
pub(crate) fn read(section: &mut Section, transport: Transport) -> Result<Limits, ScenarioError> {
    let Some(defaults) = transport.queue_limits() else { return Ok(Limits::default()) };
    let frames = section
        .integer("queue_frames", 1..=100_000)?
        .map(|frames| u32::try_from(frames).expect("invariant: the range was checked when it was read"));
    Ok(Limits {
        time: time(section)?.or(defaults.time),
        frames: frames.or(defaults.frames),
        bytes: buffer(section, "queue_bytes")?.or(defaults.bytes),
    })
}

fn time(section: &mut Section) -> Result<Option<Duration>, ScenarioError> {
    let path = section.key("queue_time");
    match section.text::<Duration>("queue_time")? {
        Some(Duration::ZERO) => Err(ScenarioError::value(&path, "\"0 s\"", "a duration above zero")),
        time => Ok(time),
    }
}
