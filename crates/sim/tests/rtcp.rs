//! What the ends of a flow report to each other by RTCP, beside what is so, in virtual time.

use std::collections::BTreeSet;

use crate::common;
use common::{movie, run, scenario, summaries};
use framewire_recording::record::{FlowStatus, PacketRecord, RtcpRecord};
use framewire_sim::Simulated;

const LOSSY: &str = "[network]\nkind = \"wired\"\nbottleneck = \"remote\"\n\
                     [network.wire]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nloss = \"2 %\"\n";

fn simulated(network: &str, flow: &str) -> Simulated {
    run(&scenario(&format!("{network}[[flow]]\n{flow}")), &movie(3.0, 120), true)
}

/// Those from the sender, and those from the receiver.
fn reports(simulated: &Simulated) -> (Vec<&RtcpRecord>, Vec<&RtcpRecord>) {
    simulated.logs[0].rtcp.iter().partition(|report| report.from_sender)
}

/// Packets of the packet table that have no sequence number, as only those of RTCP do.
fn of_rtcp(simulated: &Simulated) -> Vec<PacketRecord> {
    simulated.logs[0].packets.to_vec().into_iter().filter(|packet| packet.sequence.is_none()).collect()
}

#[test]
fn what_is_reported_is_what_was_so() {
    for transport in ["udp", "udp-blocking", "udp+dependency", "ts+rtp"] {
        let simulated = simulated(LOSSY, &format!("transport = \"{transport}\"\nrtcp = \"full\""));
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
        let (from_sender, from_receiver) = reports(&simulated);
        // Every 5 s on average; the first sooner, and a BYE packet at the end.
        for sent in [&from_sender, &from_receiver] {
            assert!((18..=34).contains(&sent.len()), "{transport}: {} in 120 s", sent.len());
        }
        let last = from_sender.last().unwrap();
        assert!(last.bye && from_sender.iter().filter(|report| report.bye).count() == 1);
        let sent = simulated.logs[0].datagrams_sent.len();
        assert_eq!(last.packets.map(|packets| packets as usize), Some(sent), "{transport}");
        let blocks: Vec<_> = from_receiver.iter().filter(|report| report.lost.is_some()).collect();
        assert!(blocks.len() + 2 >= from_receiver.len());
        for report in &blocks {
            // Of numbers before the second in a row that came, a receiver knows nothing.
            let (said, so) = (i64::from(report.lost.unwrap()), report.true_lost.unwrap() as i64);
            assert!((0..=3).contains(&(so - said)), "{transport}: {said} lost, {so} in truth");
            let (said, so) = (report.fraction_lost.unwrap(), report.true_fraction_lost.unwrap());
            assert!((-0.002..0.012).contains(&(so - said)), "{transport}: {said} lost, {so} in truth");
        }
        let lost = blocks.last().unwrap().true_lost.unwrap() as f64;
        let share = lost / f64::from(blocks.last().unwrap().highest_sequence.unwrap());
        assert!((0.012..0.03).contains(&share), "{transport}: {share}");
        let trips: Vec<_> =
            blocks.iter().filter_map(|report| Some((report.round_trip?, report.true_round_trip?))).collect();
        assert!(trips.len() > 10, "{transport}");
        for (said, so) in trips {
            let (said, so) = (said.as_secs_f64(), so.as_secs_f64());
            assert!((said - so).abs() < 3.0 / 65_536.0 && (0.04..0.1).contains(&so), "{transport}: {said} s, {so} s");
        }
        // All of it crossed the network, and some of it was lost there.
        let rtcp = of_rtcp(&simulated);
        let (forward, back): (Vec<_>, Vec<_>) = rtcp.iter().partition(|packet| packet.forward);
        let crossed =
            |packets: &[&PacketRecord]| packets.iter().map(|packet| packet.packet).collect::<BTreeSet<_>>().len();
        assert_eq!((crossed(&forward), crossed(&back)), (from_sender.len(), from_receiver.len()), "{transport}");
    }
}

#[test]
fn receivers_may_be_silent_and_by_default_both_ends_are() {
    let only_senders = simulated(LOSSY, "transport = \"udp\"\nrtcp = \"no-receiver-reports\"");
    let (from_sender, from_receiver) = reports(&only_senders);
    assert!((18..=34).contains(&from_sender.len()) && from_receiver.is_empty());
    assert!(of_rtcp(&only_senders).iter().all(|packet| packet.forward));
    for flow in ["transport = \"udp\"", "transport = \"udp\"\nrtcp = \"none\""] {
        let silent = simulated(LOSSY, flow);
        assert!(silent.logs[0].rtcp.is_empty() && of_rtcp(&silent).is_empty());
    }
}

#[test]
fn reports_take_nothing_from_the_movie_where_there_is_room() {
    let quiet = "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n";
    let shown = |rtcp: &str| {
        let simulated = simulated(quiet, &format!("transport = \"udp-blocking\"\nrtcp = \"{rtcp}\""));
        let summary = &summaries(&simulated)[0];
        (summary.fates.unwrap(), simulated.logs[0].datagrams_sent.len())
    };
    let (silent, full) = (shown("none"), shown("full"));
    assert_eq!(silent, full);
    assert_eq!((silent.0.lost, silent.0.late), (0, 0));
}

#[test]
fn the_same_seed_reports_at_the_same_times_and_another_one_does_not() {
    let times = |seed: u64| {
        let text = format!("seed = {seed}\n{LOSSY}[[flow]]\ntransport = \"udp\"\nrtcp = \"full\"");
        let simulated = run(&scenario(&text), &movie(1.0, 30), false);
        simulated.logs[0].rtcp.clone()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}
