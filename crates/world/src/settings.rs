//! Settings of a scenario as those take them who carry them out.

use framewire_probe::record::{Playout, PlayoutPolicy, Timing};
use framewire_scenario as scenario;

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
