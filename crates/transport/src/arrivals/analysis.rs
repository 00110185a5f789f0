//! From frames and the moments at which they came to rows.

use framewire_media::access_unit::AccessUnit;
use framewire_media::timing::{GroupOrder, GroupPlace, Times, TransportClock};
use framewire_media::{FrameRate, GopHeader};
use framewire_units::{Duration, JitterEstimator, Timestamp, Timing};
use framewire_wire::{rtp, rtp_payload};

use super::row::{FrameRow, GroupRow, Row};

/// A frame as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When its last byte came.
    pub at: Timestamp,
    /// Bytes.
    pub size: u64,
    /// What its headers say.
    pub unit: AccessUnit,
    /// Whether frames are numbered from 0 in each group, as in MPEG-1 and MPEG-2.
    pub numbered: bool,
    /// The frame rate, where the stream or its caps state one.
    pub frame_rate: Option<FrameRate>,
    /// Time stamps of its buffer.
    pub times: Times,
    /// Of its packets, when it came in packets.
    pub rtp_timestamp: Option<u32>,
}

/// Makes rows of one stream.
#[derive(Debug)]
pub struct Analysis {
    timing: Timing,
    /// When the first packet came: all arrivals count from here.
    origin: Option<Timestamp>,
    /// When the first frame is due: all expectations count from here.
    first_due: Option<i64>,
    order: GroupOrder,
    clock: TransportClock,
    jitter: JitterEstimator,
    rtp: RtpClock,
    /// The first time code of the stream, and the last one that came.
    group_times: Option<(Duration, Duration)>,
    frames: u64,
    groups: u64,
    /// A group whose first frame that is shown has not come for certain.
    open_group: Option<GroupRow>,
}

impl Analysis {
    /// Nothing has come yet.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            origin: None,
            first_due: None,
            order: GroupOrder::default(),
            clock: TransportClock::default(),
            jitter: JitterEstimator::default(),
            rtp: RtpClock::default(),
            group_times: None,
            frames: 0,
            groups: 0,
            open_group: None,
        }
    }

    /// Something of the stream came: arrivals count from the first time.
    pub fn packet(&mut self, at: Timestamp) {
        self.origin.get_or_insert(at);
    }

    /// Makes the rows of frames that arrived.
    pub fn rows(&mut self, arrivals: &[Arrival]) -> Vec<Row> {
        let mut rows = vec![];
        for arrival in arrivals {
            let (group, frame) = self.frame(arrival);
            rows.extend(group.map(Row::Group));
            rows.push(Row::Frame(frame));
        }
        rows
    }

    /// Makes the row of a frame; before it, the row of its group when one begins or the one before it is complete.
    pub fn frame(&mut self, arrival: &Arrival) -> (Option<GroupRow>, FrameRow) {
        self.packet(arrival.at);
        let unit = &arrival.unit;
        if let Some(header) = unit.gop_header {
            self.order.begin_group();
            self.note_time_code(header, arrival.frame_rate);
        }
        let place = self.place(arrival);
        let begins_group = unit.gop_header.is_some() || unit.key.is_some();
        self.groups += u64::from(begins_group);
        let rtp_timestamp = arrival.rtp_timestamp.or_else(|| Some(ticks(self.shown(arrival, place)?)));
        let arrival_nanos = arrival.at.saturating_since(self.origin.unwrap_or(arrival.at)).as_nanos();
        let arrival_nanos = u64::try_from(arrival_nanos).unwrap_or(u64::MAX);
        let expected_nanos = match self.timing {
            Timing::Clock => self.expected_by_clock(arrival, place),
            Timing::Thesis => self.expected_by_time_code(arrival, place),
        };
        let latency_nanos = expected_nanos.map(|expected| signed(arrival_nanos).saturating_sub(expected));
        let row = FrameRow {
            frame: self.frames,
            group: self.groups.saturating_sub(1),
            arrival_nanos,
            expected_nanos,
            latency_nanos,
            jitter_nanos: latency_nanos.and_then(|latency| self.jitter.update(latency)),
            kind: unit.kind,
            key: unit.key.is_some(),
            temporal_reference: unit.display_order,
            rtp_timestamp,
            size: arrival.size,
            missing_reference: unit.missing_reference,
        };
        self.frames += 1;
        (self.group(arrival, begins_group, place, &row), row)
    }

    /// The stream has ended: the group that is still open, if any.
    pub fn end(&mut self) -> Option<GroupRow> {
        self.open_group.take()
    }

    /// What comes next does not go on from what came. Counts and the origin of times stay.
    pub fn flush(&mut self) -> Option<GroupRow> {
        self.clock = TransportClock::default();
        self.order.begin_group();
        self.open_group.take()
    }

    /// MPEG video numbers its frames in each group; other codecs leave no transport order to derive it from.
    fn place(&mut self, arrival: &Arrival) -> Option<GroupPlace> {
        let reference = u16::try_from(arrival.unit.display_order.filter(|_| arrival.numbered)?).ok()?;
        Some(self.order.place(arrival.unit.kind, reference))
    }

    fn note_time_code(&mut self, header: GopHeader, rate: Option<FrameRate>) {
        if let Some(rate) = rate {
            let time = header.time_code.time_at(rate);
            let first = self.group_times.map_or(time, |(first, _)| first);
            self.group_times = Some((first, time));
        }
    }

    fn expected_by_time_code(&self, arrival: &Arrival, place: Option<GroupPlace>) -> Option<i64> {
        let (first, last) = self.group_times.unwrap_or_default();
        let place = time_of(arrival.frame_rate?, place?.sent);
        Some(signed(last.as_nanos()) - signed(first.as_nanos()) + place)
    }

    fn expected_by_clock(&mut self, arrival: &Arrival, place: Option<GroupPlace>) -> Option<i64> {
        let due = self.due(arrival, place)?;
        Some(due - *self.first_due.get_or_insert(due))
    }

    /// When the frame is due in transport order, on the clock of the stream.
    fn due(&mut self, arrival: &Arrival, place: Option<GroupPlace>) -> Option<i64> {
        if let (Some(dts), None) = (arrival.times.dts, arrival.rtp_timestamp) {
            return Some(signed(dts.as_nanos()));
        }
        let shown = match arrival.rtp_timestamp {
            Some(timestamp) => self.rtp.nanos(timestamp),
            None => signed(arrival.times.pts?.as_nanos()),
        };
        match (place, arrival.frame_rate) {
            (Some(place), Some(rate)) => Some(shown - time_of(rate, place.shown) + time_of(rate, place.sent)),
            _ => {
                let pts = Duration::from_nanos(u64::try_from(shown).ok()?);
                let due = self.clock.due(Times { pts: Some(pts), dts: None, ..arrival.times })?;
                Some(signed(due.as_nanos()))
            }
        }
    }

    /// When the frame is shown, on the clock of the stream: its presentation time, or its decode time and its place.
    fn shown(&self, arrival: &Arrival, place: Option<GroupPlace>) -> Option<Duration> {
        if let Some(pts) = arrival.times.pts {
            return Some(pts);
        }
        let (dts, place, rate) = (arrival.times.dts?, place?, arrival.frame_rate?);
        let shown = signed(dts.as_nanos()) - time_of(rate, place.sent) + time_of(rate, place.shown);
        Some(Duration::from_nanos(u64::try_from(shown).unwrap_or(0)))
    }

    /// The row of a group: at once where temporal references show when its first frame is shown, and otherwise when the
    /// frames that are shown before its key frame have come.
    fn group(
        &mut self,
        arrival: &Arrival,
        begins: bool,
        place: Option<GroupPlace>,
        row: &FrameRow,
    ) -> Option<GroupRow> {
        if begins {
            let first_shown = |timestamp: u32| match (place, arrival.frame_rate) {
                (Some(place), Some(rate)) => timestamp.wrapping_sub(ticks_of(rate, place.shown)),
                _ => timestamp,
            };
            let group = GroupRow {
                group: row.group,
                frame: row.frame,
                arrival_nanos: row.arrival_nanos,
                header: arrival.unit.gop_header,
                rtp_timestamp: row.rtp_timestamp.map(first_shown),
            };
            let exact = place.is_some() && arrival.frame_rate.is_some();
            return if exact { Some(group) } else { self.open_group.replace(group) };
        }
        let group = self.open_group.as_mut()?;
        if arrival.unit.leading {
            group.rtp_timestamp = earlier(group.rtp_timestamp, row.rtp_timestamp);
            return None;
        }
        self.open_group.take()
    }
}

/// RTP time stamps, which wrap, as times that do not.
#[derive(Clone, Copy, Debug, Default)]
struct RtpClock {
    /// The last time stamp, and how many ticks it is after the first one.
    last: Option<(u32, i64)>,
}

impl RtpClock {
    /// Nanoseconds on a clock that begins an hour before the first time stamp, so that frames that were shown before it
    /// have a time as well.
    fn nanos(&mut self, timestamp: u32) -> i64 {
        const AN_HOUR: i64 = 3_600_000_000_000;
        let ticks = self.last.map_or(0, |(last, ticks)| ticks + i64::from(timestamp.wrapping_sub(last) as i32));
        self.last = Some((timestamp, ticks));
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(rtp_payload::CLOCK_RATE);
        AN_HOUR.saturating_add(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

/// When a frame starts that so many others come before, negative ones too, in nanoseconds.
fn time_of(rate: FrameRate, frames: i64) -> i64 {
    signed(rate.time_of(frames.unsigned_abs()).as_nanos()) * frames.signum()
}

fn ticks(time: Duration) -> u32 {
    rtp::timestamp(time, rtp_payload::CLOCK_RATE)
}

fn ticks_of(rate: FrameRate, frames: i64) -> u32 {
    let ticks = ticks(rate.time_of(frames.unsigned_abs()));
    if frames < 0 { ticks.wrapping_neg() } else { ticks }
}

/// The earlier of two time stamps that wrap.
fn earlier(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) if (other.wrapping_sub(one) as i32) < 0 => Some(other),
        (one, other) => one.or(other),
    }
}

fn signed(nanos: impl TryInto<i64>) -> i64 {
    nanos.try_into().unwrap_or(i64::MAX)
}
