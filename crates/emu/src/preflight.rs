//! What the emulated world needs of this machine, whether it is there, and what its absence costs.

use std::fs::{self, OpenOptions};
use std::thread;

use serde::Serialize;

use crate::error::EmuError;
use crate::kernel::gate;
use crate::kernel::link::{self, VethEnd};
use crate::kernel::namespace::{self, Namespace};
use crate::kernel::netlink::NetlinkSocket;
use crate::kernel::nfqueue::PacketQueue;
use crate::kernel::packet_ring::PacketRing;
use crate::kernel::schedule::{self, Scheduling};

/// One thing that the emulated world uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// Whether it works here.
    pub ok: bool,
    /// In which way it works, or why it does not.
    pub detail: String,
    /// What is lost without it.
    pub cost: &'static str,
}

/// Everything that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preflight {
    /// True when emulated runs are possible at all.
    pub can_emulate: bool,
    /// One entry per thing.
    pub capabilities: Vec<Capability>,
}

const NO_EMULATION: &str = "no emulated runs";
const NO_LOCAL: &str = "no runs with bottleneck = \"local-device\"; remote bottlenecks work";

/// Tries out everything that the emulated world uses, in namespaces of its own that are gone afterwards.
///
/// Without root this enters a user namespace, so call it before any thread is started, in a process that does nothing
/// else.
pub fn preflight() -> Preflight {
    let programs = bpf_programs();
    let administration = namespace::gain_network_administration();
    let root = nix::unistd::geteuid().is_root() && administration.is_ok();
    let mut capabilities = vec![capability(
        "namespaces without root",
        administration.map(|()| entered(root)).map_err(|error| error.to_string()),
        NO_EMULATION,
    )];
    let namespace = Namespace::create();
    capabilities.push(capability(
        "network namespaces",
        namespace.as_ref().map(|_| "work".to_owned()).map_err(ToString::to_string),
        NO_EMULATION,
    ));
    if let Ok(namespace) = namespace {
        capabilities.extend(inside(&namespace));
    }
    let can_emulate = capabilities.iter().all(|capability| capability.ok || capability.cost != NO_EMULATION);
    capabilities.extend([programs, real_time(), processors(), tun()]);
    Preflight { can_emulate, capabilities }
}

fn entered(root: bool) -> String {
    let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let initial = uid_map.split_whitespace().eq(["0", "0", "4294967295"]);
    if root && initial { "not needed: this is root" } else { "a user namespace was entered" }.to_owned()
}

fn capability(name: &'static str, result: Result<String, String>, cost: &'static str) -> Capability {
    let ok = result.is_ok();
    let (Ok(detail) | Err(detail)) = result;
    Capability { name, ok, detail, cost }
}

/// What is tried inside a namespace; in this order, because each needs the ones before.
fn inside(namespace: &Namespace) -> Vec<Capability> {
    let own = namespace.raw();
    let tried = namespace.run(|| {
        vec![
            capability("veth", veth(own), NO_EMULATION),
            capability("packet sockets", packet_socket(), NO_EMULATION),
            capability("packet queue (NFQUEUE)", packet_queue(), NO_LOCAL),
            congestion_controls(),
        ]
    });
    tried.unwrap_or_default()
}

fn veth(namespace: i32) -> Result<String, String> {
    let ends = [
        VethEnd { name: "a", mac: [2, 0, 0, 0, 0, 1], namespace },
        VethEnd { name: "b", mac: [2, 0, 0, 0, 0, 2], namespace },
    ];
    let made = NetlinkSocket::open(libc::NETLINK_ROUTE)
        .and_then(|mut socket| link::create_veth(&mut socket, [&ends[0], &ends[1]], 1_500));
    match made {
        Ok(()) => Ok("work".to_owned()),
        Err(error) => Err(format!("{error}; the kernel needs CONFIG_VETH (modprobe veth)")),
    }
}

fn packet_socket() -> Result<String, String> {
    let opened = link::index_of("a").and_then(|index| PacketRing::open(index, 1_500));
    opened.map(|_| "work, with receive rings".to_owned()).map_err(|error| format!("{error}; it needs CONFIG_PACKET"))
}

fn packet_queue() -> Result<String, String> {
    let opened = PacketQueue::open(0).map_err(|error| EmuError::NoGate { tried: format!("packet queue: {error}") });
    let installed = opened.and_then(|_queue| gate::install("a", link::index_of("a").unwrap_or(1), 0));
    installed.map(|method| format!("by {method}")).map_err(|error| error.to_string())
}

fn congestion_controls() -> Capability {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let result = fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| error.to_string());
    capability("TCP congestion controls", result, "the TCP transports run with the kernel's default only")
}

/// Before a user namespace is entered, where none may be loaded.
fn bpf_programs() -> Capability {
    let names = framewire_bpf::names().collect::<Vec<_>>().join(", ");
    let result = match framewire_bpf::load("illinois") {
        Ok(_) => Ok(format!("may be loaded: {names}")),
        Err(error) => Err(error.to_string()),
    };
    let cost = "of TCP congestion controls only the kernel's own; the others are simulated";
    capability("TCP congestion controls by BPF", result, cost)
}

fn real_time() -> Capability {
    let scheduling = thread::spawn(schedule::make_punctual).join().unwrap_or(Scheduling::Normal);
    let result = match scheduling {
        Scheduling::RealTime => Ok(scheduling.to_string()),
        Scheduling::Normal => {
            Err("not permitted; it needs root, or CAP_SYS_NICE in the initial user namespace".to_owned())
        }
    };
    capability("real-time priority", result, "release times suffer when other programs keep all processors busy")
}

fn processors() -> Capability {
    let count = schedule::processors().len();
    let detail = format!("{count} usable");
    let result = if count >= 2 { Ok(detail) } else { Err(detail) };
    capability("two processors", result, "a late timer interrupt delays packets by milliseconds")
}

fn tun() -> Capability {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    let result = opened.map(|_| "may be opened".to_owned()).map_err(|error| format!("/dev/net/tun: {error}"));
    capability("TUN", result, "nothing: the wires are veth pairs")
}
