//! Devices, addresses and neighbours through rtnetlink (rtnetlink(7), linux/rtnetlink.h, linux/if_link.h).

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;

use super::netlink::{Message, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NetlinkSocket};

/// A hardware address.
pub(crate) type Mac = [u8; 6];

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWNEIGH: u16 = 28;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_PERMANENT: u16 = 0x80;

/// Length of the device queue: never the one that drops, because the model's queue does.
const TX_QUEUE_LENGTH: u32 = 10_000;

/// One end of a veth pair.
#[derive(Debug)]
pub(crate) struct VethEnd<'a> {
    /// Device name.
    pub(crate) name: &'a str,
    /// Hardware address.
    pub(crate) mac: Mac,
    /// Descriptor of the namespace it is to live in.
    pub(crate) namespace: i32,
}

/// Creates a pair of devices, each in its namespace.
///
/// Segments are never merged (`IFLA_GSO_MAX_SEGS` = 1), so that TCP accounts for every packet by itself, as it does
/// above a card without segmentation offload.
pub(crate) fn create_veth(socket: &mut NetlinkSocket, ends: [&VethEnd<'_>; 2], mtu: u16) -> io::Result<()> {
    let message = Message::new(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &link_header(0, 0));
    let message = veth_end(message, ends[0], mtu).nested(IFLA_LINKINFO, |info| {
        info.attribute_text(IFLA_INFO_KIND, "veth").nested(IFLA_INFO_DATA, |data| {
            data.nested(VETH_INFO_PEER, |peer| veth_end(peer.raw(&link_header(0, 0)), ends[1], mtu))
        })
    });
    socket.request(message)
}

fn veth_end(message: Message, end: &VethEnd<'_>, mtu: u16) -> Message {
    message
        .attribute_text(IFLA_IFNAME, end.name)
        .attribute(IFLA_ADDRESS, &end.mac)
        .attribute_u32(IFLA_MTU, u32::from(mtu))
        .attribute_u32(IFLA_TXQLEN, TX_QUEUE_LENGTH)
        .attribute_u32(IFLA_NUM_TX_QUEUES, 1)
        .attribute_u32(IFLA_NUM_RX_QUEUES, 1)
        .attribute_u32(IFLA_NET_NS_FD, end.namespace.cast_unsigned())
}

/// Brings a device up and keeps its packets unmerged.
pub(crate) fn set_up(socket: &mut NetlinkSocket, index: u32) -> io::Result<()> {
    let up = libc::IFF_UP.cast_unsigned();
    socket.request(Message::new(RTM_NEWLINK, NLM_F_ACK, &link_header(index, up)).attribute_u32(IFLA_GSO_MAX_SEGS, 1))
}

/// Gives a device an address.
pub(crate) fn add_address(
    socket: &mut NetlinkSocket,
    index: u32,
    address: Ipv4Addr,
    prefix_length: u8,
) -> io::Result<()> {
    let mut header = [0; 8]; // struct ifaddrmsg
    header[0] = libc::AF_INET as u8;
    header[1] = prefix_length;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    socket.request(
        Message::new(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &header)
            .attribute(IFA_LOCAL, &address.octets())
            .attribute(IFA_ADDRESS, &address.octets()),
    )
}

/// Tells a device the hardware address of a neighbour for good, so that no ARP packet is ever sent.
pub(crate) fn add_neighbour(socket: &mut NetlinkSocket, index: u32, address: Ipv4Addr, mac: Mac) -> io::Result<()> {
    let mut header = [0; 12]; // struct ndmsg
    header[0] = libc::AF_INET as u8;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    socket.request(
        Message::new(RTM_NEWNEIGH, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &header)
            .attribute(NDA_DST, &address.octets())
            .attribute(NDA_LLADDR, &mac),
    )
}

/// The number of a device in the namespace of the calling thread.
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: `name` is a string that ends in zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// A `struct ifinfomsg` that sets `flags` and leaves all other flags as they are.
pub(crate) fn link_header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}
