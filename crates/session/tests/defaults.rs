//! The scenario's defaults are those that the transports state with their reasons.

use framewire_scenario::Scenario;
use framewire_transport::{Limits, TransportKind};

#[test]
fn scenario_and_transport_state_the_same_defaults() {
    for kind in TransportKind::ALL.into_iter().chain(TransportKind::combinations()) {
        let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{kind}\""), &[]).unwrap();
        let (flow, profile) = (&scenario.flows[0], kind.profile());
        assert_eq!(flow.send_buffer, profile.send_buffer, "{kind}: send_buffer");
        assert_eq!(flow.device_queue, profile.device_queue, "{kind}: device_queue");
        assert_eq!(flow.unsent_limit, profile.unsent_limit, "{kind}: unsent_limit");
        let limits = Limits { frames: flow.queue_frames, bytes: flow.queue_bytes, time: flow.queue_time };
        assert_eq!(limits, kind.queue().limits().unwrap_or_default(), "{kind}: limits of the frame queue");
        assert_eq!(flow.transport.is_datagram(), !kind.is_stream(), "{kind}: kind of socket");
    }
}
