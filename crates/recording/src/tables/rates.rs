//! `rates.parquet`: what has come to each receiver, and how fast an adaptive stream is sent, at equal times of a run.

use super::table::Table;
use crate::record::RateSample;

/// A sample with the flow that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RateRow<'a> {
    flow: &'a str,
    sample: &'a RateSample,
}

impl<'a> RateRow<'a> {
    /// The samples of a flow.
    pub fn all(flow: &'a str, samples: &'a [RateSample]) -> impl Iterator<Item = Self> {
        samples.iter().map(move |sample| Self { flow, sample })
    }
}

/// Totals and rates over time: a row per connection and time.
pub fn rates<'a>() -> Table<RateRow<'a>> {
    Table::<RateRow<'a>>::named("rates")
        .text("flow", |r| r.flow.into())
        .int32("connection", |r| r.sample.connection.map(u16::from))
        .int64("at_ns", |r| r.sample.at)
        .int64("received_bytes", |r| r.sample.received_bytes)
        .int64("received_packet_bytes", |r| r.sample.received_packet_bytes)
        .int64("sending_rate_bps", |r| r.sample.sending_rate.map(|rate| rate.as_bps()))
        .int64("estimate_bps", |r| r.sample.estimate.map(|rate| rate.as_bps()))
        .int64("lowest_plan_bps", |r| r.sample.lowest_plan.map(|rate| rate.as_bps()))
        .int64("highest_plan_bps", |r| r.sample.highest_plan.map(|rate| rate.as_bps()))
        .int32("level", |r| r.sample.level.map(u16::from))
        .int64("round_trip_ns", |r| r.sample.round_trip)
        .double("loss_event_rate", |r| r.sample.loss_event_rate)
}
