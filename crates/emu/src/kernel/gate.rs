//! Holding what leaves by a device: the rule that sends packets to this program's queue, by whichever way works here.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::nftables::{QueueExpression, queue_packets_leaving};
use crate::error::EmuError;

/// The way in which packets are sent to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateMethod {
    /// The `queue` expression of nf_tables, set through netlink.
    NfTables,
    /// The NFQUEUE target inside nf_tables, set through netlink.
    NfTablesCompatible,
    /// The program `iptables-legacy`.
    IptablesLegacy,
    /// The program `iptables`, whichever that is here.
    Iptables,
}

impl fmt::Display for GateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NfTables => "nf_tables",
            Self::NfTablesCompatible => "the NFQUEUE target in nf_tables",
            Self::IptablesLegacy => "iptables-legacy",
            Self::Iptables => "iptables",
        })
    }
}

const METHODS: [GateMethod; 4] =
    [GateMethod::NfTables, GateMethod::NfTablesCompatible, GateMethod::IptablesLegacy, GateMethod::Iptables];

/// Installs the rule in the namespace of the calling thread and says how.
///
/// # Errors
/// When no way works, with each way's own reason.
pub(crate) fn install(device: &str, device_index: u32, queue: u16) -> Result<GateMethod, EmuError> {
    let mut tried = Vec::new();
    for method in METHODS {
        match attempt(method, device, device_index, queue) {
            Ok(()) => return Ok(method),
            Err(error) => tried.push(format!("{method}: {error}")),
        }
    }
    Err(EmuError::NoGate { tried: tried.join(", ") })
}

fn attempt(method: GateMethod, device: &str, device_index: u32, queue: u16) -> io::Result<()> {
    match method {
        GateMethod::NfTables => queue_packets_leaving(device_index, queue, QueueExpression::Native),
        GateMethod::NfTablesCompatible => queue_packets_leaving(device_index, queue, QueueExpression::Compatible),
        GateMethod::IptablesLegacy => run_iptables("iptables-legacy", device, queue),
        GateMethod::Iptables => run_iptables("iptables", device, queue),
    }
}

/// The program inherits the namespace of the calling thread, and touches nothing outside it.
fn run_iptables(program: &str, device: &str, queue: u16) -> io::Result<()> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program)
        .env("PATH", path)
        // Its lock file belongs to root; a namespace of our own needs none.
        .env("XTABLES_LOCKFILE", "/dev/null")
        .args(["-t", "mangle", "-A", "POSTROUTING", "-o", device, "-j", "NFQUEUE"])
        .args(["--queue-num", &queue.to_string()])
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(words.lines().next().unwrap_or("failed").to_owned()))
}
