//! Which flows share a network, and by which ports they are distinguished there.

use framewire_scenario::{Layout, Scenario};
use framewire_session::SOUND_PORTS;
use framewire_units::{Duration, Seed};

/// Port of the first flow: the customary one for RTP (RFC 3551, section 8). RTP ports are even.
const FIRST_PORT: u16 = 5_004;

/// Which flows share a network: numbers of flows, network by network.
pub fn groups(scenario: &Scenario) -> Vec<Vec<usize>> {
    let all = 0..scenario.flows.len();
    match scenario.layout {
        Layout::SideBySide => all.map(|flow| vec![flow]).collect(),
        Layout::Together => vec![all.collect()],
    }
}

/// The name of the network that the flows of `group` share.
pub fn group_name(scenario: &Scenario, group: &[usize]) -> String {
    match group {
        [flow] => scenario.flows[*flow].name.clone(),
        _ => "together".to_owned(),
    }
}

/// The port of flow number `flow`, at both ends; a scenario has at most 64.
pub fn port(flow: usize) -> u16 {
    FIRST_PORT + 2 * flow as u16
}

/// The port of the sound of the flow with this port, at both ends, where it has packets of RTP for itself; RTCP has the next one.
pub(crate) fn sound_port(port: u16) -> u16 {
    port + SOUND_PORTS
}

/// What both halves of the session of flow number `flow` draw from, in every world.
pub fn session_seed(scenario: &Scenario, flow: usize) -> Seed {
    Seed(scenario.seed().stream("session", &[flow as u64]).next_u64())
}

/// When flow number `flow` begins, and of several connections each: at its start or, where that is random, at a time
/// after it that the seed decides.
pub fn start_of(scenario: &Scenario, flow: usize, connection: usize) -> Duration {
    let settings = &scenario.flows[flow];
    let start = settings.start().unwrap_or_default();
    let Some(within) = settings.start_within() else { return start };
    let draw = scenario.seed().stream("start of a flow", &[flow as u64, connection as u64]).next_f64();
    start + within.mul_f64(draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(layout: &str, flows: usize) -> Scenario {
        let flow = |number| format!("[[flow]]\nname = \"f{number}\"\ntransport = \"udp\"\n");
        let flows: String = (0..flows).map(flow).collect();
        Scenario::parse(&format!("layout = \"{layout}\"\n{flows}"), &[]).unwrap()
    }

    #[test]
    fn the_seed_decides_when_a_flow_with_a_random_start_begins() {
        let text = |seed| {
            format!(
                "seed = {seed}\nlimit = \"60 s\"\n[[flow]]\ntransport = \"bulk\"\nconnections = 3\nstart = \"1 s\"\n\
                 start_within = \"5 s\"\n[[flow]]\nname = \"b\"\ntransport = \"bulk\"\nstart = \"2 s\"\n"
            )
        };
        let starts = |seed| {
            let scenario = Scenario::parse(&text(seed), &[]).unwrap();
            [0, 1, 2].map(|connection| start_of(&scenario, 0, connection))
        };
        let (once, other) = (starts(1), starts(2));
        assert_eq!(once, starts(1));
        assert!(once.iter().zip(other).all(|(one, other)| *one != other) && once[0] != once[1] && once[1] != once[2]);
        let within = Duration::from_secs(1)..Duration::from_secs(6);
        assert!(once.iter().chain(&other).all(|start| within.contains(start)), "{once:?} {other:?}");
        let scenario = Scenario::parse(&text(1), &[]).unwrap();
        assert_eq!(start_of(&scenario, 1, 0), Duration::from_secs(2), "what is not random is as it is told");
    }

    #[test]
    fn flows_share_a_network_or_have_one_each() {
        assert_eq!(groups(&scenario("side-by-side", 3)), [vec![0], vec![1], vec![2]]);
        assert_eq!(groups(&scenario("together", 3)), [vec![0, 1, 2]]);
    }

    #[test]
    fn a_network_of_one_flow_has_its_name() {
        let scenario = scenario("together", 2);
        assert_eq!(group_name(&scenario, &[1]), "f1");
        assert_eq!(group_name(&scenario, &[0, 1]), "together");
    }

    #[test]
    fn ports_are_even_and_differ() {
        assert_eq!((port(0), port(1), port(63)), (5_004, 5_006, 5_130));
    }
}
