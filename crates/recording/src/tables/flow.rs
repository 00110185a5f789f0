//! `flows.parquet`: state of each flow over time; and `accuracy.parquet`: releases of the emulated network.

use std::borrow::Cow;

use super::table::Table;
use crate::record::{FlowLog, FlowSample, ReleaseRecord};

/// A sample of a flow's state with the flow that it belongs to.
#[derive(Clone, Debug)]
pub struct SampleRow<'a> {
    flow: &'a str,
    sample: Cow<'a, FlowSample>,
}

impl<'a> SampleRow<'a> {
    /// The samples of a flow.
    pub fn all(log: &'a FlowLog) -> impl Iterator<Item = Self> {
        log.samples.iter().map(|sample| Self { flow: &log.flow, sample })
    }
}

/// The state of each flow over time.
pub fn flows<'a>() -> Table<SampleRow<'a>> {
    Table::<SampleRow<'a>>::named("flows")
        .text("flow", |r| r.flow.into())
        .int64("at_ns", |r| r.sample.at)
        .int32("connection", |r| r.sample.connection.map(u16::from))
        .int32("cwnd_packets", |r| r.sample.cwnd_packets)
        .int32("ssthresh_packets", |r| r.sample.ssthresh_packets)
        .int64("srtt_ns", |r| r.sample.srtt)
        .int64("rttvar_ns", |r| r.sample.rttvar)
        .int32("in_flight_packets", |r| r.sample.in_flight_packets)
        .int64("unsent_bytes", |r| r.sample.unsent_bytes)
        .int64("queued_bytes", |r| r.sample.queued_bytes)
        .int64("delivery_rate_bps", |r| r.sample.delivery_rate.map(|rate| rate.as_bps()))
        .int32("retransmissions", |r| r.sample.retransmissions)
        .int32("timeouts", |r| r.sample.timeouts)
        .int64("received_bytes", |r| r.sample.received_bytes)
        .int64("sending_rate_bps", |r| r.sample.sending_rate.map(|rate| rate.as_bps()))
        .int64("estimate_bps", |r| r.sample.estimate.map(|rate| rate.as_bps()))
        .int32("level", |r| r.sample.level.map(u16::from))
}

/// A release of the emulated network with the flow that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseRow<'a> {
    flow: &'a str,
    release: ReleaseRecord,
}

impl<'a> ReleaseRow<'a> {
    /// The releases of a flow.
    pub(crate) fn all(log: &'a FlowLog) -> impl Iterator<Item = Self> {
        log.releases.iter().map(|release| Self::of(&log.flow, *release))
    }

    /// A release of this flow.
    pub(super) fn of(flow: &'a str, release: ReleaseRecord) -> Self {
        Self { flow, release }
    }
}

/// The release errors of the emulated network, one row per released packet.
pub fn accuracy<'a>() -> Table<ReleaseRow<'a>> {
    Table::<ReleaseRow<'a>>::named("accuracy")
        .text("flow", |r| r.flow.into())
        .int64("packet", |r| r.release.packet)
        .int64("intended_ns", |r| r.release.intended)
        .int64("actual_ns", |r| r.release.actual)
}
