//! What makes two flows, or two scenarios, the same.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::flow::{Flow, FlowKind, Rtcp};
use crate::scenario::Scenario;

impl Scenario {
    /// Names of flows of datagrams that do the same, those of each kind beside each other; empty where all may differ.
    ///
    /// With a remote bottleneck a datagram is in the network at once (docs/transports.md): a send never waits and is never
    /// refused, so that flows that differ in what they do then do the same.
    pub fn equivalent_flows(&self) -> Vec<Vec<&str>> {
        let mut groups: Vec<(&Flow, Vec<&str>)> = Vec::new();
        let held = |flow: &Flow| self.network.holds_packets_of(flow.from.as_deref());
        let datagrams = self.flows.iter().filter(|flow| matches!(flow.kind, FlowKind::Datagram(_)));
        for flow in datagrams.filter(|flow| !held(flow)) {
            match groups.iter_mut().find(|(first, _)| do_the_same(first, flow)) {
                Some((_, names)) => names.push(&flow.name),
                None => groups.push((flow, vec![&flow.name])),
            }
        }
        groups.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1).collect()
    }

    /// What decides what a run brings, beside its movie: names do not, and of the recording of a link not where it is but
    /// what is in it, of which `trace_digests` has the digests by path.
    pub fn identity(&self, trace_digests: &BTreeMap<String, String>) -> Value {
        let mut decisive = self.clone();
        for trace in decisive.network.wires_mut().into_iter().filter_map(|wire| wire.trace.as_mut()) {
            if let Some(digest) = trace_digests.get(trace) {
                digest.clone_into(trace);
            }
        }
        let mut document =
            serde_json::to_value(&decisive).expect("invariant: it is written as texts, numbers and lists");
        let keys = document.as_object_mut().expect("invariant: a scenario is a table");
        keys.remove("name");
        keys.remove("movie");
        document
    }
}

/// Whether two flows send the same where the socket and the device are never full.
fn do_the_same(one: &Flow, other: &Flow) -> bool {
    let acting = |flow: &Flow| {
        let FlowKind::Datagram(own) = &flow.kind else { return None };
        let parts = own.transport.profile().parts;
        let of_flow = (flow.station, flow.mtu, parts.format, parts.session);
        let rtcp = own.rtcp.filter(|&rtcp| rtcp != Rtcp::Off);
        Some((of_flow, own.packets, own.spread, own.damaged, rtcp, own.pacing, own.ts_rate, own.queue.limits()))
    };
    (&one.from, &one.to) == (&other.from, &other.to) && acting(one) == acting(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(bottleneck: &str, flows: &[&str]) -> Scenario {
        let flows: String = flows.iter().map(|flow| format!("[[flow]]\n{flow}\n")).collect();
        Scenario::parse(&format!("[network]\nbottleneck = \"{bottleneck}\"\n{flows}"), &[]).unwrap()
    }

    #[test]
    fn flows_that_differ_only_where_the_socket_is_full_do_the_same_behind_a_remote_bottleneck() {
        let flows = ["transport = \"udp\"", "transport = \"tcp\"", "transport = \"udp-blocking\""];
        assert_eq!(scenario("remote", &flows).equivalent_flows(), [["udp", "udp-blocking"]; 0], "it has a frame clock");
        let flows = [
            "transport = \"udp\"",
            "transport = \"tcp\"",
            "name = \"large\"\ntransport = \"udp\"\nsend_buffer = \"1 MiB\"",
        ];
        assert_eq!(scenario("remote", &flows).equivalent_flows(), [["udp", "large"]]);
        assert_eq!(scenario("local-device", &flows).equivalent_flows(), [[""; 0]; 0]);
    }

    #[test]
    fn what_leaves_in_other_packets_does_not_do_the_same() {
        for other in [
            "transport = \"udp\"\nmtu = 576",
            "transport = \"udp\"\nspread = \"frame-interval\"",
            "transport = \"ts+udp\"",
        ] {
            let flows = ["transport = \"udp\"", &format!("name = \"other\"\n{other}")];
            assert_eq!(scenario("remote", &flows).equivalent_flows(), [[""; 0]; 0], "{other}");
        }
    }

    #[test]
    fn names_and_the_place_of_a_recording_are_no_part_of_the_identity() {
        let of = |name: &str, trace: &str, seed: u64| {
            let text = format!(
                "name = \"{name}\"\nseed = {seed}\n[network]\nkind = \"wired\"\n[network.wire]\ntrace = \"{trace}\"\n\
                 [[flow]]\ntransport = \"udp\""
            );
            Scenario::parse(&text, &[]).unwrap().identity(&BTreeMap::from([(trace.to_owned(), "digest".to_owned())]))
        };
        assert_eq!(of("one", "here", 1), of("other", "there", 1));
        assert_ne!(of("one", "here", 1), of("one", "here", 2));
        assert_eq!(of("one", "here", 1)["network"]["wire"]["trace"], "digest");
    }
}
