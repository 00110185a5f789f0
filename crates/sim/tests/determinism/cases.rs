//! What the snapshots are of: everything that draws, delays, drops or decides is in one of them.

use framewire_scenario::Scenario;
use framewire_tcp::congestion::Algorithm;

use crate::common::scenario;

/// The transports whose frame queue holds one frame.
pub const TRANSPORTS: [&str; 7] =
    ["udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised"];

/// The transports whose frame queue has limits.
pub const QUEUES: [&str; 5] = ["udp+dependency", "tcp+dependency", "tcp+leaky", "tcp+keyframe", "tcp+obs"];

/// The networks that every transport meets.
pub const NETWORKS: [(&str, &str); 4] = [
    (
        "802.11b with an oven and a sniffer",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nretry = 3\n[network.wifi.oven]\non = [[\"1 s\", \"4 s\"]]\n\
         [network.wifi.sniffer]\ncapture = \"65 %\"\n",
    ),
    (
        "802.11b at the receiver",
        "[network]\nkind = \"wifi\"\nbottleneck = \"remote\"\n[network.wifi]\nretry = 2\nerror_floor = \"10 %\"\n",
    ),
    (
        "a remote bottleneck with loss and jitter",
        "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"5 Mbit/s\"\ndelay = \"30 ms\"\njitter = \"5 ms\"\n\
         queue = \"50 ms\"\nloss = \"1 %\"\n",
    ),
    (
        "a local device, loss in bursts and an outage",
        "[network]\nkind = \"wired\"\nbottleneck = \"local-device\"\n[network.wire]\nrate = \"5 Mbit/s\"\n\
         delay = \"10 ms\"\nloss = { good_to_bad = \"1 %\", bad_to_good = \"30 %\" }\noutages = [[\"2 s\", \"2500 ms\"]]\n",
    ),
];

/// The networks that every congestion control meets.
pub const CONGESTED: [(&str, &str); 2] = [
    (
        "a queue that overflows",
        "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"4 Mbit/s\"\ndelay = \"30 ms\"\nqueue = \"80 ms\"\n",
    ),
    (
        "random loss, jitter and an outage",
        "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"20 Mbit/s\"\ndelay = \"50 ms\"\njitter = \"2 ms\"\n\
         loss = \"0.5 %\"\noutages = [[\"5 s\", \"5500 ms\"]]\n",
    ),
];

/// What wireless networks have beyond [`NETWORKS`]: a name, the layout, and the network.
pub const WIRELESS: [(&str, &str, &str); 9] = [
    (
        "802.11g",
        "together",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"802.11g\"\nerror_floor = \"20 %\"\n",
    ),
    (
        "802.11g beside 802.11b, clear to send to itself",
        "together",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"802.11g\"\nprotection = \"cts-to-self\"\n",
    ),
    (
        "802.11g beside 802.11b, request to send, with an oven",
        "side-by-side",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"802.11g\"\nprotection = \"rts-cts\"\n\
         [network.wifi.oven]\non = [[\"1 s\", \"3 s\"]]\n",
    ),
    (
        "802.11a at a fixed rate",
        "together",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"802.11a\"\nrate = \"12 Mbit/s\"\nerror_floor = \"5 %\"\n",
    ),
    (
        "802.11b, short preamble, at a fixed rate",
        "side-by-side",
        "[network]\nkind = \"wifi\"\n[network.wifi]\npreamble = \"short\"\nrate = \"5.5 Mbit/s\"\n",
    ),
    (
        "802.11b, fallback by packet, with an oven",
        "side-by-side",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nfallback = \"packets\"\nretry = 2\n\
         [network.wifi.oven]\non = [[\"1 s\", \"3 s\"]]\nmains = \"60 Hz\"\n",
    ),
    (
        "802.11b, a retry value of the access point's own",
        "side-by-side",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nretry = 2\naccess_point_retry = 7\nerror_floor = \"10 %\"\n",
    ),
    (
        "802.11b, contenders, not heard at once",
        "side-by-side",
        "[network]\nkind = \"wifi\"\n[network.wifi]\ncontenders = 2\ncontender_packet = \"300 B\"\n\
         carrier_sense = \"5 us\"\n",
    ),
    (
        "802.11g, contenders with full packets",
        "together",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nstandard = \"802.11g\"\ncontenders = 5\n",
    ),
];

/// A flow of each of these transports over `network`.
pub fn transports(network: &str, layout: &str, transports: &[&str]) -> Scenario {
    let flows: String = transports.iter().map(|name| format!("[[flow]]\ntransport = \"{name}\"\n")).collect();
    scenario(&format!("name = \"snapshot\"\nseed = 7\nlayout = \"{layout}\"\n{network}{flows}"))
}

/// A flow of each congestion control over `network`.
pub fn algorithms(network: &str) -> Scenario {
    let flow = |algorithm: &Algorithm| {
        format!("[[flow]]\nname = \"{algorithm}\"\ntransport = \"tcp\"\ncongestion = \"{algorithm}\"\n")
    };
    let flows: String = Algorithm::ALL.iter().map(flow).collect();
    scenario(&format!("name = \"snapshot\"\nseed = 7\n{network}{flows}"))
}

/// A station of its own for each of three flows, which compete for the channel.
pub fn stations() -> Scenario {
    let flow = |(station, name): (usize, &str)| format!("[[flow]]\ntransport = \"{name}\"\nstation = {station}\n");
    let flows: String = ["udp-blocking", "udp", "tcp"].into_iter().enumerate().map(flow).collect();
    scenario(&format!("name = \"snapshot\"\nseed = 7\nlayout = \"together\"\n[network]\nkind = \"wifi\"\n{flows}"))
}

/// A cell of the reproduction of Ouwens' thesis, with a short movie: its transports, card and arithmetic.
pub fn thesis() -> Scenario {
    scenario(
        "name = \"snapshot\"\nseed = 7\n[playout]\npolicy = \"stall\"\ntiming = \"thesis\"\n\
         [network]\nkind = \"wifi\"\n[network.wifi]\nretry = 2\naccess_point_retry = 7\nfallback = \"packets\"\n\
         [network.wifi.oven]\non = [[\"0.5 s\", \"1.5 s\"]]\nstrength = \"-5 dB\"\n\
         [[flow]]\ntransport = \"udp-blocking\"\npackets = \"thesis\"\n\
         [[flow]]\ntransport = \"tcp\"\npacing = \"receiver\"\n\
         [[flow]]\ntransport = \"udp\"\npackets = \"thesis\"\n\
         [[flow]]\ntransport = \"tcp+ifd\"\n",
    )
}

/// Adaptive transports beside bulk connections that come and go; `vtp-hybrid`, which is tuned, has tests of its own.
pub fn rivals(network: &str, layout: &str) -> Scenario {
    let mut text = format!("seed = 7\nlayout = \"{layout}\"\nmovie.ladder = \"ladder.vtp\"\n{network}");
    for transport in ["vtp", "tfrc", "rap", "sqrt", "aimd", "fixed"] {
        text += &format!("[[flow]]\ntransport = \"{transport}\"\n");
    }
    text +=
        "[[flow]]\ntransport = \"bulk\"\nconnections = 2\ncongestion = \"reno\"\nstart = \"5 s\"\nstop = \"20 s\"\n";
    text += "[[flow]]\nname = \"to-the-end\"\ntransport = \"bulk\"\n";
    scenario(&text)
}
