//! What of a scenario cannot be simulated.

use framewire_scenario::Scenario;
use framewire_tcp::congestion::Algorithm;
use framewire_world::network_model;

use crate::error::SimError;

/// Refuses what only the emulated world has, before anything is simulated: applications of the user's own, and
/// congestion controls of the kernel's. Also a network that cannot be, such as one that follows a missing recording.
///
/// # Errors
/// [`SimError::Input`], with the key, the value and what is allowed.
pub fn check_scenario(scenario: &Scenario) -> Result<(), SimError> {
    if let Some(reason) = scenario.needs_emulation() {
        return Err(SimError::Input(reason));
    }
    check_network(scenario)?;
    let mut flows = scenario.flows.iter().enumerate();
    flows.try_for_each(|(number, flow)| {
        congestion(flow.congestion(), &scenario.flow_key(number, "congestion")).map(drop)
    })
}

/// Refuses a network that cannot be, in any world.
///
/// # Errors
/// [`SimError::Input`], with the key, the value and what is wrong with it.
pub fn check_network(scenario: &Scenario) -> Result<(), SimError> {
    network_model(scenario, &[]).map(|_| ()).map_err(|error| SimError::Input(error.to_string()))
}

/// The congestion control of this name, which stands at `key`.
pub(crate) fn congestion(name: Option<&str>, key: &str) -> Result<Algorithm, SimError> {
    match name {
        None => Ok(Algorithm::default()),
        Some(name) => name.parse().map_err(|error| SimError::Input(format!("{key}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use framewire_scenario::needs_ecn;
    use framewire_units::Seed;

    use super::*;

    #[test]
    fn scenarios_know_which_congestion_controls_need_ecn() {
        for algorithm in Algorithm::ALL {
            let needs = algorithm.build(Seed(1)).ecn_use().is_needed();
            assert_eq!(needs_ecn(algorithm.name()), needs, "{algorithm}");
        }
    }
}
