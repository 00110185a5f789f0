//! What the kernel counts of TCP in a network namespace.

use std::fs;

/// The counters of `/proc/net/netstat` and `/proc/net/snmp` that the dataset keeps, with their columns.
pub const KEPT: [(&str, &str); 14] = [
    ("TCPTimeouts", "timeouts"),
    ("TCPLossProbes", "loss_probes"),
    ("TCPLossProbeRecovery", "loss_probe_recoveries"),
    ("TCPSackRecovery", "recoveries"),
    ("TCPFastRetrans", "fast_retransmissions"),
    ("TCPSlowStartRetrans", "slow_start_retransmissions"),
    ("TCPLostRetransmit", "lost_retransmissions"),
    ("TCPSpuriousRTOs", "spurious_timeouts"),
    ("TCPFullUndo", "full_undos"),
    ("TCPPartialUndo", "partial_undos"),
    ("TCPDSACKUndo", "dsack_undos"),
    ("TCPDSACKRecv", "dsacks"),
    ("TCPHystartTrainDetect", "hystart_trains"),
    ("TCPHystartDelayDetect", "hystart_delays"),
];

/// The kept counters of the calling thread's namespace, in the order of [`KEPT`]; 0 where this kernel has none.
pub fn read() -> [u64; KEPT.len()] {
    // /proc/net is that of the process' first thread, which is in another namespace.
    let text = fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
    KEPT.map(|(name, _)| find(&text, name).unwrap_or(0))
}

/// A counter by its name: the file has a line of names, then a line of values.
fn find(text: &str, name: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks_exact(2).find_map(|pair| {
        let position = pair[0].split_whitespace().position(|word| word == name)?;
        pair[1].split_whitespace().nth(position)?.parse().ok()
    })
}

/// The TCP settings of the calling thread's namespace, one per line.
pub fn settings() -> String {
    let folder = "/proc/sys/net/ipv4";
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("tcp_") && !name.contains("key") && !name.contains("available"))
        .collect();
    names.sort();
    let line = |name: &String| {
        let value = fs::read_to_string(format!("{folder}/{name}")).ok()?;
        Some(format!("net.ipv4.{name} = {}\n", value.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    names.iter().filter_map(line).collect()
}
