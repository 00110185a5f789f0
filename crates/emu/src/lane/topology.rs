//! The namespaces and devices of one lane.
//!
//! ```text
//!   sender namespace        hub namespace            receiver namespace
//!   10.77.0.1 fw0 ======= s  [link model]  r ======= fw0 10.77.0.2
//! ```
//! `s` and `r` are packet sockets on the hub's ends of two veth pairs. Each host knows the other's hardware address
//! from the start, so nothing but the hosts' own datagrams crosses.

use std::net::Ipv4Addr;

use crate::error::{EmuError, OperationContext};
use crate::kernel::counters::{DeviceCounters, device_counters, packet_queue_drops, udp_receive_overflows};
use crate::kernel::gate::{self, GateMethod};
use crate::kernel::link::{self, Mac, VethEnd};
use crate::kernel::namespace::Namespace;
use crate::kernel::netlink::NetlinkSocket;
use crate::kernel::nfqueue::PacketQueue;
use crate::kernel::packet_ring::PacketRing;
use crate::kernel::{ethtool, sysctl};

/// Address of the sender's host in every lane.
pub const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Address of the receiver's host in every lane.
pub const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Name of the one device that each host has, besides the loopback device.
pub const HOST_DEVICE: &str = "fw0";

const PREFIX_LENGTH: u8 = 24;
const SENDER_MAC: Mac = [0x02, 0x66, 0x77, 0, 0, 1];
const RECEIVER_MAC: Mac = [0x02, 0x66, 0x77, 0, 0, 2];
const HUB_MACS: [Mac; 2] = [[0x02, 0x66, 0x77, 0, 1, 1], [0x02, 0x66, 0x77, 0, 1, 2]];
const QUEUE: u16 = 0;

/// The Ethernet header of what the sender's host sends to the receiver's.
pub(crate) fn forward_header() -> [u8; 14] {
    let mut header = [0; 14];
    header[..6].copy_from_slice(&RECEIVER_MAC);
    header[6..12].copy_from_slice(&SENDER_MAC);
    header[12..].copy_from_slice(&0x0800u16.to_be_bytes());
    header
}

/// A host's namespace.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    index: u32,
}

/// The hub's end of a host's wire.
#[derive(Debug)]
pub(crate) struct HubPort {
    pub(crate) ring: PacketRing,
    index: u32,
}

/// Where packets are held in the sender's namespace, and how they got there.
pub(crate) struct Gate {
    pub(crate) queue: PacketQueue,
    pub(crate) method: GateMethod,
}

/// Everything of a lane that lives in the kernel.
pub(crate) struct Topology {
    pub(crate) sender: Host,
    pub(crate) receiver: Host,
    hub: Namespace,
    pub(crate) hub_ports: [HubPort; 2],
    pub(crate) gate: Option<Gate>,
}

/// Counters of a lane's devices and of the kernel's queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelCounters {
    pub(crate) sender: DeviceCounters,
    pub(crate) receiver: DeviceCounters,
    pub(crate) hub_ports: [DeviceCounters; 2],
    pub(crate) packet_queue_drops: u64,
    pub(crate) receive_overflows: [u64; 2],
}

impl Topology {
    /// Builds a lane; with `gated`, what the sender sends is held in its own device.
    pub(crate) fn build(mtu: u16, gated: bool) -> Result<Self, EmuError> {
        let (hub, sender, receiver) = (prepared()?, prepared()?, prepared()?);
        join(&hub, "s", HUB_MACS[0], &sender, SENDER_MAC, mtu)?;
        join(&hub, "r", HUB_MACS[1], &receiver, RECEIVER_MAC, mtu)?;
        let hub_ports = hub.run(|| Ok::<_, EmuError>([hub_port("s", mtu)?, hub_port("r", mtu)?]))??;
        let sender_index = sender.run(|| host(SENDER_ADDRESS, RECEIVER_ADDRESS, RECEIVER_MAC))??;
        let receiver_index = receiver.run(|| host(RECEIVER_ADDRESS, SENDER_ADDRESS, SENDER_MAC))??;
        let gate = if gated { Some(sender.run(|| open_gate(sender_index))??) } else { None };
        Ok(Self {
            sender: Host { namespace: sender, index: sender_index },
            receiver: Host { namespace: receiver, index: receiver_index },
            hub,
            hub_ports,
            gate,
        })
    }

    /// Reads all counters.
    pub(crate) fn counters(&self) -> Result<KernelCounters, EmuError> {
        let (sender, sender_overflows, packet_queue_drops) = self
            .sender
            .namespace
            .run(|| (read_counters(self.sender.index), udp_receive_overflows(), packet_queue_drops()))?;
        let (receiver, receiver_overflows) =
            self.receiver.namespace.run(|| (read_counters(self.receiver.index), udp_receive_overflows()))?;
        let indices = [self.hub_ports[0].index, self.hub_ports[1].index];
        let hub_ports = self.hub.run(|| indices.map(read_counters))?;
        let [sender_plug, receiver_plug] = hub_ports;
        Ok(KernelCounters {
            sender: sender?,
            receiver: receiver?,
            hub_ports: [sender_plug?, receiver_plug?],
            packet_queue_drops,
            receive_overflows: [sender_overflows, receiver_overflows],
        })
    }
}

fn prepared() -> Result<Namespace, EmuError> {
    let namespace = Namespace::create()?;
    namespace.run(sysctl::prepare_namespace)?.doing("write settings of a network namespace")?;
    Ok(namespace)
}

fn join(hub: &Namespace, name: &str, mac: Mac, host: &Namespace, host_mac: Mac, mtu: u16) -> Result<(), EmuError> {
    hub.run(|| {
        let hub_end = VethEnd { name, mac, namespace: hub.raw() };
        let host_end = VethEnd { name: HOST_DEVICE, mac: host_mac, namespace: host.raw() };
        link::create_veth(&mut netlink()?, [&hub_end, &host_end], mtu).doing("create a veth pair")
    })?
}

fn hub_port(name: &str, mtu: u16) -> Result<HubPort, EmuError> {
    let index = link::index_of(name).doing("find the hub's device")?;
    ethtool::disable_offloads(name).doing("switch off offloads of the hub's device")?;
    // A socket that is bound to a device that is down has an error waiting (ENETDOWN), so the device comes first.
    link::set_up(&mut netlink()?, index).doing("bring the hub's device up")?;
    let ring = PacketRing::open(index, mtu).doing("open a packet socket")?;
    Ok(HubPort { ring, index })
}

fn host(own: Ipv4Addr, peer: Ipv4Addr, peer_mac: Mac) -> Result<u32, EmuError> {
    let mut netlink = netlink()?;
    let loopback = link::index_of("lo").doing("find the loopback device")?;
    link::set_up(&mut netlink, loopback).doing("bring the loopback device up")?;
    let index = link::index_of(HOST_DEVICE).doing("find the host's device")?;
    ethtool::disable_offloads(HOST_DEVICE).doing("switch off offloads of the host's device")?;
    link::add_address(&mut netlink, index, own, PREFIX_LENGTH).doing("give the host its address")?;
    link::set_up(&mut netlink, index).doing("bring the host's device up")?;
    link::add_neighbour(&mut netlink, index, peer, peer_mac).doing("tell the host its neighbour")?;
    Ok(index)
}

fn open_gate(device_index: u32) -> Result<Gate, EmuError> {
    let queue =
        PacketQueue::open(QUEUE).map_err(|error| EmuError::NoGate { tried: format!("packet queue: {error}") })?;
    let method = gate::install(HOST_DEVICE, device_index, QUEUE)?;
    Ok(Gate { queue, method })
}

fn read_counters(index: u32) -> Result<DeviceCounters, EmuError> {
    device_counters(&mut netlink()?, index).doing("read device counters")
}

fn netlink() -> Result<NetlinkSocket, EmuError> {
    NetlinkSocket::open(libc::NETLINK_ROUTE).doing("open a netlink socket")
}
