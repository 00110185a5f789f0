//! How much may wait in a flow's frame queue.

use framewire_units::{DataSize, Duration};

use crate::error::ScenarioError;
use crate::flow::buffer;
use crate::section::Section;
use crate::transport::Transport;

/// Limits of a frame queue; whichever is reached first acts, and one that is absent does not exist.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueLimits {
    pub(crate) time: Option<Duration>,
    pub(crate) frames: Option<u32>,
    pub(crate) bytes: Option<DataSize>,
}

impl QueueLimits {
    /// Whose keys they are.
    pub(crate) const OWNERS: &'static str = "tcp+dependency, udp+dependency, tcp+leaky and tcp+keyframe";

    /// Those that have a limit in time.
    pub(crate) const OWNERS_OF_TIME: &'static str =
        "tcp+dependency, udp+dependency, tcp+leaky, tcp+keyframe and tcp+obs";

    /// The defaults of a transport whose queue has limits; docs/transports.md says why.
    pub(crate) fn of(transport: Transport) -> Option<Self> {
        let second = Self { time: Some(Duration::from_secs(1)), ..Self::default() };
        match transport {
            Transport::UdpDependency | Transport::TcpDependency | Transport::TcpKeyframe => Some(second),
            Transport::TcpLeaky => {
                Some(Self { frames: Some(200), bytes: Some(DataSize::from_bytes(10 * 1024 * 1024)), ..second })
            }
            // The program's threshold of P frames.
            Transport::TcpObs => Some(Self { time: Some(Duration::from_millis(900)), ..Self::default() }),
            _ => None,
        }
    }

    /// True where a number of frames or bytes may limit what waits.
    pub(crate) fn beside_time(transport: Transport) -> bool {
        transport != Transport::TcpObs && Self::of(transport).is_some()
    }

    pub(crate) fn read(section: &mut Section, transport: Transport) -> Result<Self, ScenarioError> {
        let Some(defaults) = Self::of(transport) else { return Ok(Self::default()) };
        let frames = section
            .integer("queue_frames", 1..=100_000)?
            .map(|frames| u32::try_from(frames).expect("invariant: the range was checked when it was read"));
        Ok(Self {
            time: time(section)?.or(defaults.time),
            frames: frames.or(defaults.frames),
            bytes: buffer(section, "queue_bytes")?.or(defaults.bytes),
        })
    }
}

fn time(section: &mut Section) -> Result<Option<Duration>, ScenarioError> {
    let path = section.key("queue_time");
    match section.text::<Duration>("queue_time")? {
        Some(Duration::ZERO) => Err(ScenarioError::value(&path, "\"0 s\"", "a duration above zero")),
        time => Ok(time),
    }
}
