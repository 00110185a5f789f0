//! How fast a stream of constant rate has to be for what it carries.

use framewire_units::{Bitrate, Duration};

use super::clock::SYSTEM_CLOCK;
use super::constant::ADAPTATION;
use super::delimiter;
use super::description;
use super::packet::{BODY_LENGTH, PACKET_LENGTH};
use super::pes;
use super::settings::SMALLEST_RATE;
use super::variable::REFERENCE_FIELD;
use super::writer::{REFERENCE_TICKS, TABLE_PACKETS, TABLE_TICKS, ticks};

/// Rates are told apart by this much.
const STEP: u64 = 1_000;

/// A frame, or a packet of audio, that is to be in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedUnit {
    /// Which track of the program it is of; 0 is the video.
    pub track: usize,
    /// When it may be sent, from the begin of the stream: a decoder has it by the delay later.
    pub start: Duration,
    /// Its bytes.
    pub bytes: u64,
    /// Decoding can begin with it: of video tables stand before it.
    pub random_access: bool,
}

/// The lowest rate at which all of these, in order of their starts, come before they are decoded; no lower one is accepted, though for
/// some streams one a few percent lower would do: it allows for clocks, tables and groups of `most` packets where they are most, and
/// for all audio that waits until a decoder has room for it.
pub(super) fn least_rate(units: &[PlannedUnit], delay: Duration, most: u64) -> Bitrate {
    let loads = loads(units, ticks(delay), most);
    let is_enough = |rate: u64| is_enough(&loads, ticks(delay), most, rate);
    let mut high = SMALLEST_RATE.as_bps();
    while !is_enough(high) {
        high = high.saturating_mul(2);
        if high > 1 << 50 {
            return Bitrate::from_bps(high);
        }
    }
    let mut low = high / 2;
    while high - low > STEP {
        let middle = low + (high - low) / 2;
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Bitrate::from_bps(high.next_multiple_of(STEP).max(SMALLEST_RATE.as_bps()))
}

/// What a unit asks of the stream.
struct Load {
    start: u64,
    packets: u64,
    /// Packets of audio that may still wait when it may be sent.
    audio: u64,
}

fn loads(units: &[PlannedUnit], delay: u64, most: u64) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::with_capacity(units.len());
    let (mut oldest, mut audio) = (0, 0);
    for unit in units {
        let start = ticks(unit.start);
        while loads.get(oldest).is_some_and(|load: &Load| load.start + delay < start) {
            if units[oldest].track != 0 {
                audio -= loads[oldest].packets;
            }
            oldest += 1;
        }
        let packets = packets(unit, most);
        loads.push(Load { start, packets, audio });
        if unit.track != 0 {
            audio += packets;
        }
    }
    loads
}

/// The packets of a unit, each group of which begins with a clock reference, with the tables before it.
fn packets(unit: &PlannedUnit, most: u64) -> u64 {
    let head = (pes::LONGEST_HEADER + delimiter::LONGEST + ADAPTATION + description::LENGTH) as u64;
    let body = BODY_LENGTH as u64;
    let groups = (unit.bytes + head).div_ceil(most * body) + 1;
    let tables = if unit.track == 0 && unit.random_access { TABLE_PACKETS as u64 } else { 0 };
    (unit.bytes + head + groups * REFERENCE_FIELD as u64).div_ceil(body) + tables
}

fn is_enough(loads: &[Load], delay: u64, most: u64, rate: u64) -> bool {
    let packet = (PACKET_LENGTH as u64 * 8) as f64 * SYSTEM_CLOCK as f64 / rate as f64;
    // Tables, and clock references in packets of their own, come up to a group early.
    let early = packet * (most + 3) as f64;
    let share = |count: f64, interval: u64| count * packet / (interval as f64 - early);
    let taken = share(TABLE_PACKETS as f64, TABLE_TICKS) + share(1.0, REFERENCE_TICKS);
    if early >= REFERENCE_TICKS as f64 || taken >= 0.9 {
        return false;
    }
    let packet = packet / (1.0 - taken);
    // A group that has begun is finished, one that has no room for tables is filled, and so are those behind them.
    let slack = packet * (most + 3 * TABLE_PACKETS as u64) as f64;
    let mut free = 0.0f64;
    loads.iter().all(|load| {
        free = free.max(load.start as f64) + load.packets as f64 * packet;
        free + load.audio as f64 * packet + slack <= (load.start + delay) as f64
    })
}
