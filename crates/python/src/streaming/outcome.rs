//! What came of an experiment, as numbers.

use framewire_adaptive::tfrc::Equation;
use framewire_sim::experiment::streaming::{
    AdaptiveOutcome, Fate, FlowOutcome, KindOutcome, Meter, PacketCounts, StreamSample, StreamingOutcome, ViewedFrame,
};
use framewire_units::{Bitrate, Duration, Timestamp};
use serde_json::{Value, json};

use super::PAYLOAD;

/// The stream and the connections beside it, from the stream's first packet to its last.
pub(super) fn described(outcome: &StreamingOutcome, series: bool) -> Value {
    let streams = outcome.flows.iter().filter_map(|flow| match &flow.kind {
        KindOutcome::Adaptive(adaptive) => Some((flow, adaptive)),
        KindOutcome::Bulk(_) => None,
    });
    let Some((flow, adaptive)) = streams.into_iter().next() else {
        unreachable!("invariant: every experiment asked for from Python has a stream")
    };
    let window = (adaptive.begin.unwrap_or(flow.start), adaptive.end.unwrap_or(outcome.end));
    let others = outcome.flows.iter().filter(|flow| matches!(flow.kind, KindOutcome::Bulk(_)));
    json!({
        "simulated_s": outcome.end.as_secs_f64(),
        "stream": stream(flow, adaptive, window, series),
        "tcp": others.map(|flow| connection(flow, window)).collect::<Vec<_>>(),
    })
}

fn connection(flow: &FlowOutcome, window: (Timestamp, Timestamp)) -> Value {
    json!({
        "start_s": flow.start.as_secs_f64(),
        "throughput_bps": rate(&flow.received, window),
        "goodput_bps": rate(&flow.goodput, window),
        "packets": counts(&flow.packets),
    })
}

fn stream(flow: &FlowOutcome, adaptive: &AdaptiveOutcome, window: (Timestamp, Timestamp), series: bool) -> Value {
    let viewing = &adaptive.viewing;
    let frames = 0..viewing.frames().len();
    let levels: String = viewing.frames().iter().map(|frame| frame.level.map_or('-', digit)).collect();
    let fates: String = frames.map(|frame| letter(viewing.fate(frame))).collect();
    let completed = |frame: &ViewedFrame| frame.complete.map(|at| at.as_secs_f64());
    json!({
        "start_s": flow.start.as_secs_f64(),
        "begin_s": window.0.as_secs_f64(),
        "end_s": window.1.as_secs_f64(),
        "finished": adaptive.finished,
        "throughput_bps": rate(&flow.received, window),
        "throughput_bps_by_second": by_second(&flow.received, window),
        "video_bps": rate(&flow.goodput, window),
        "video_bps_by_second": by_second(&flow.goodput, window),
        "packets": counts(&flow.packets),
        "levels": levels,
        "fates": fates,
        "completed_s": series.then(|| viewing.frames().iter().map(completed).collect::<Vec<_>>()),
        "switches": adaptive.level_changes,
        "least_over_floor": least_over_floor(adaptive),
        "rate_over_top": rate_over_top(adaptive),
        "tfrc_over_equation": over_equation(adaptive),
        "series": series.then(|| course(adaptive)),
    })
}

/// Rates, levels and the client's buffer over time.
fn course(adaptive: &AdaptiveOutcome) -> Value {
    let samples = &adaptive.samples;
    let kbps = |rate: Bitrate| rate.as_bps() as f64 / 1e3;
    let times: Vec<Timestamp> = samples.iter().map(|sample| sample.at).collect();
    let buffer = adaptive.viewing.buffer_levels(&times);
    let of = |value: &dyn Fn(&StreamSample) -> Value| samples.iter().map(value).collect::<Vec<_>>();
    json!({
        "t": of(&|sample| sample.at.as_secs_f64().into()),
        "rate_kbps": of(&|sample| kbps(sample.controller.rate).into()),
        "estimate_kbps": of(&|sample| sample.controller.estimate.map(kbps).into()),
        "sample_kbps": of(&|sample| sample.controller.sample.map(kbps).into()),
        "state": of(&|sample| sample.controller.name.into()),
        "level": of(&|sample| sample.level.into()),
        "plan_kbps": of(&|sample| sample.plan.iter().map(|&rate| kbps(rate)).collect::<Vec<_>>().into()),
        "buffer_kb": buffer.iter().map(|size| size.as_bytes() as f64 / 1e3).collect::<Vec<_>>(),
    })
}

/// The least of the sending rate over the plan of the lowest level, which the paper calls the floor.
fn least_over_floor(adaptive: &AdaptiveOutcome) -> Option<f64> {
    adaptive.samples.iter().filter_map(|sample| ratio(sample.controller.rate, *sample.plan.first()?)).reduce(f64::min)
}

/// From the tenth second on, as figure 20 is of a steady state.
fn steady(adaptive: &AdaptiveOutcome) -> impl Iterator<Item = &StreamSample> + Clone {
    let from = adaptive.begin.map(|begin| begin + Duration::from_secs(10));
    adaptive.samples.iter().filter(move |sample| from.is_some_and(|from| sample.at >= from))
}

/// The mean of the sending rate over the plan of the top level.
fn rate_over_top(adaptive: &AdaptiveOutcome) -> Option<f64> {
    mean(steady(adaptive).filter_map(|sample| ratio(sample.controller.rate, *sample.plan.last()?)))
}

/// The mean sending rate over that of the throughput equation at the mean loss event rate and round-trip time; `None`
/// for a controller that knows no loss event rate.
fn over_equation(adaptive: &AdaptiveOutcome) -> Option<f64> {
    let samples = steady(adaptive);
    let losses = mean(samples.clone().filter_map(|sample| sample.controller.loss_event_rate))?;
    let round_trip = mean(samples.clone().filter_map(|sample| Some(sample.controller.round_trip?.as_secs_f64())))?;
    let packets = Equation::RFC.packets_per_second(Duration::from_secs_f64(round_trip), losses);
    Some(mean(samples.map(|sample| sample.controller.rate.as_bps() as f64))? / (packets * f64::from(PAYLOAD) * 8.0))
}

fn ratio(rate: Bitrate, reference: Bitrate) -> Option<f64> {
    (reference > Bitrate::default()).then(|| rate.as_bps() as f64 / reference.as_bps() as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn rate(meter: &Meter, (from, to): (Timestamp, Timestamp)) -> u64 {
    meter.throughput(from, to).as_bps()
}

/// In each whole second of the window, from the first whole interval in it on.
fn by_second(meter: &Meter, (from, to): (Timestamp, Timestamp)) -> Vec<u64> {
    let second = Duration::from_secs(1);
    let starts = std::iter::successors(Some(from), |&start| Some(start + second));
    starts.take_while(|&start| start + second <= to).map(|start| rate(meter, (start, start + second))).collect()
}

fn counts(packets: &PacketCounts) -> Value {
    json!({
        "sent": packets.sent,
        "delivered": packets.delivered,
        "queue_drops": packets.queue_drops,
        "random_losses": packets.random_losses,
    })
}

fn digit(level: u8) -> char {
    char::from_digit(u32::from(level), 36).unwrap_or('?')
}

fn letter(fate: Fate) -> char {
    match fate {
        Fate::Intact => 'i',
        Fate::Late => 'l',
        Fate::Lost => 'x',
    }
}
