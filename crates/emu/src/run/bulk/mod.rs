//! A bulk flow: TCP connections whose application always has data, over this kernel's own TCP.

mod receiving;
mod records;
mod sending;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, SocketAddrV4};

use framewire_emu::{Clock, Lane, RECEIVER_ADDRESS};
use framewire_session::FlowSetup;
use framewire_units::{DataSize, Timestamp};

pub use self::receiving::BulkReceiving;
pub use self::records::BulkOutcome;
use self::sending::send;
use super::failure::Failure;
use super::progress::FlowProgress;
use super::sending::IP_AND_TCP_HEADERS;
use super::stop::StopFlag;

/// What a bulk flow does.
#[derive(Clone, Debug)]
pub struct BulkPlan {
    /// Name of the flow.
    pub name: String,
    /// The receiver's port; each connection has one of its own at the sender.
    pub port: u16,
    /// How many connections there are.
    pub connections: u8,
    /// The kernel's name of their congestion control.
    pub congestion: Option<String>,
    /// When they are opened.
    pub start: Timestamp,
    /// When the application ends its streams; what stands in the sockets is still sent. `None`: at the end of the run.
    pub stop: Option<Timestamp>,
    /// `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's own.
    pub send_buffer: Option<DataSize>,
    /// `TCP_NOTSENT_LOWAT`; `None`: no limit.
    pub unsent_limit: Option<DataSize>,
    /// Largest segment.
    pub maximum_segment: u16,
}

impl BulkPlan {
    /// Of a flow of this role, whose receiver listens at `port`.
    pub fn new(setup: &FlowSetup, port: u16) -> Self {
        let flow = setup.settings();
        Self {
            name: flow.name.clone(),
            port,
            connections: flow.connections.expect("invariant: a bulk flow states them"),
            congestion: flow.congestion.clone(),
            start: setup.start(),
            stop: setup.stop(),
            send_buffer: flow.send_buffer,
            unsent_limit: flow.unsent_limit,
            maximum_segment: flow.mtu - IP_AND_TCP_HEADERS,
        }
    }
}

/// Both sides of a bulk flow, to the end: its own, or that of the run, of which `over` tells; or at once, when `stop` is
/// raised.
///
/// # Errors
/// When the kernel does not let a thread into a host.
pub fn stream(
    plan: &BulkPlan,
    receiving: BulkReceiving,
    lane: Lane<'_>,
    clock: Clock,
    progress: &FlowProgress,
    [over, stop]: [&StopFlag; 2],
) -> Result<BulkOutcome, Failure> {
    let end = StopFlag::new()?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receiving.run(clock, progress, &end));
        let sent = lane.in_sender(|| send(plan, clock, progress.sender_wakes(), over, stop));
        // What was acknowledged has arrived.
        end.raise();
        let received = receiver.join().map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
        Ok(BulkOutcome::new(plan, sent?, received))
    })
}

/// Where the receiver listens.
fn address(plan: &BulkPlan) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(RECEIVER_ADDRESS, plan.port))
}
