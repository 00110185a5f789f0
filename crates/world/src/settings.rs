//! Settings of a scenario as those take them who carry them out.

use framewire_media::Movie;
use framewire_probe::record::{Playout, PlayoutPolicy, Timing};
use framewire_scenario as scenario;
use framewire_session::{FlowSetup, SendingPlan};
use framewire_units::Timestamp;

/// The flows of a scenario, each to send `movie` from the origin of the run on.
pub fn flow_setups(scenario: &scenario::Scenario, movie: &Movie) -> Vec<FlowSetup> {
    let numbered = scenario.flows.iter().zip(1..);
    let plan = SendingPlan::new(movie.clone(), Timestamp::ZERO);
    numbered.map(|(flow, number)| FlowSetup::new(flow, plan.clone(), number)).collect()
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
