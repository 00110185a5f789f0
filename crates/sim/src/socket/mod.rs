//! Sockets of the simulated hosts: the kernel's accounting, without a kernel.
//!
//! What they share with the kernel's: a UDP socket counts memory and not payload, and wakes its owner when half of its
//! buffer is free; with a local bottleneck a datagram stays charged to it until the device has let go; with a remote one
//! it is charged to no socket, so that a send never blocks. A TCP socket keeps to its endpoint's accounting.
//!
//! What is left out: a simulated receiver reads at once, so the receive buffer of a UDP socket, 425,984 bytes in the
//! other world, never fills.

mod memory;
mod sockets;
mod stream;
mod udp;

pub(crate) use sockets::FlowSockets;
pub(crate) use stream::{endpoint_sample, timed_out};
