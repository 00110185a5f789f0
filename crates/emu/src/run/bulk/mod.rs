//! A bulk flow: TCP connections whose application always has data, over this kernel's own TCP.

mod receiving;
mod records;
mod sending;
#[cfg(test)]
mod tests;

use framewire_emu::{Clock, Lane};
use framewire_session::{BulkSetup, ConnectionSettings};
use framewire_units::Timestamp;

pub use self::receiving::BulkReceiving;
pub use self::records::BulkOutcome;
use self::sending::send;
use super::failure::Failure;
use super::progress::FlowProgress;
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
    /// When they are opened.
    pub start: Timestamp,
    /// When the application ends its streams; what stands in the sockets is still sent. `None`: at the end of the run.
    pub stop: Option<Timestamp>,
    /// What the sender's sockets are to be like.
    pub connection: ConnectionSettings,
}

impl BulkPlan {
    /// Of a flow whose receiver listens at `port`.
    pub fn new(setup: &BulkSetup, port: u16) -> Self {
        let BulkSetup { connections, start, stop, .. } = *setup;
        let name = setup.common.name().to_owned();
        Self { name, port, connections, start, stop, connection: setup.connection.clone() }
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
