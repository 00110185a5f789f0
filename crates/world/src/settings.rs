//! Settings of a scenario as those take them who carry them out.

use framewire_media::access_unit::Codec;
use framewire_recording::record::{Playout, PlayoutPolicy, Timing};
use framewire_scenario as scenario;
use framewire_session::FlowSetup;

/// The name of the file of the movie as a flow received it, in the directory `received`: an elementary stream of the
/// codec that the flow sends, called as FFmpeg's readers of such streams know it.
pub fn received_file(setup: &FlowSetup) -> String {
    let suffix = setup.codec().unwrap_or(Codec::MpegVideo).file_suffix();
    format!("{}.{suffix}", setup.name())
}

/// The player of a scenario.
pub fn playout(playout: &scenario::Playout) -> Playout {
    let policy = match playout.policy {
        scenario::PlayoutPolicy::Live => PlayoutPolicy::Live,
        scenario::PlayoutPolicy::Stall => PlayoutPolicy::Stall,
    };
    let timing = match playout.timing {
        scenario::Timing::Clock => Timing::Clock,
        scenario::Timing::Thesis => Timing::Thesis,
    };
    Playout { policy, startup: playout.startup, timing }
}
