//! The scenario's defaults are those that the transports state with their reasons.

use framewire_scenario::{FlowKind, Scenario};
use framewire_transport::TransportKind;

#[test]
fn scenario_and_transport_state_the_same_defaults() {
    for kind in TransportKind::ALL.into_iter().chain(TransportKind::combinations()) {
        let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{kind}\""), &[]).unwrap();
        let (flow, profile) = (&scenario.flows[0], kind.profile());
        assert_eq!(flow.send_buffer(), profile.send_buffer, "{kind}: send_buffer");
        assert_eq!(flow.device_queue, profile.device_queue, "{kind}: device_queue");
        assert_eq!(flow.tcp().and_then(|tcp| tcp.unsent_limit), profile.unsent_limit, "{kind}: unsent_limit");
        let queue = match &flow.kind {
            FlowKind::Datagram(flow) if !kind.is_stream() => flow.queue,
            FlowKind::Stream(flow) if kind.is_stream() => flow.queue,
            other => panic!("{kind}: kind of socket: {other:?}"),
        };
        assert_eq!(queue, kind.queue(), "{kind}: the frame queue with its limits");
    }
}
