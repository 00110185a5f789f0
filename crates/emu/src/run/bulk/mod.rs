//! A bulk flow: TCP connections whose application always has data, over this kernel's own TCP.

mod receiving;
mod records;
mod sending;
#[cfg(test)]
mod tests;

use framewire_emu::{Clock, Lane};
use framewire_session::lifecycle::{BulkSending, FlowOutcome};
use framewire_session::{BulkSetup, ConnectionSettings};

pub use self::receiving::BulkReceiving;
use self::records::outcome;
use self::sending::send;
use crate::control::{Failure, FlowProgress, StopFlag};

/// What the connections of a bulk flow are.
#[derive(Clone, Debug)]
pub struct BulkPlan {
    /// Name of the flow.
    pub name: String,
    /// The receiver's port; each connection has one of its own at the sender.
    pub port: u16,
    /// How many connections there are.
    pub connections: u8,
    /// What the sender's sockets are to be like.
    pub connection: ConnectionSettings,
}

impl BulkPlan {
    /// Of a flow whose receiver listens at `port`.
    pub fn new(setup: &BulkSetup, port: u16) -> Self {
        let name = setup.common.name().to_owned();
        Self { name, port, connections: setup.connections, connection: setup.connection.clone() }
    }
}

/// Both sides of a bulk flow, to the end: its own, or that of the run, which `over` signals; or at once, when `stop` is
/// raised.
///
/// # Errors
/// When the kernel does not let a thread into a host.
pub fn stream(
    (plan, sending): (&BulkPlan, BulkSending),
    receiving: BulkReceiving,
    lane: Lane<'_>,
    clock: Clock,
    progress: &FlowProgress,
    [over, stop]: [&StopFlag; 2],
) -> Result<FlowOutcome, Failure> {
    let end = StopFlag::new()?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receiving.run(clock, progress, &end));
        let sent = lane.in_sender(|| send(plan, sending, clock, progress.sender_wakes(), [over, stop]));
        // What was acknowledged has arrived.
        end.raise();
        let received = receiver.join().map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
        Ok(outcome(plan, sent?, received))
    })
}
