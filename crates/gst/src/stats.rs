//! How an element reports what it counts.

use std::sync::LazyLock;

use framewire_endpoint::writer::Snapshot;
use framewire_endpoint::{Clock, MonotonicClock};
use framewire_media::PictureType;
use framewire_sockets::TcpInfo;
use framewire_transport::frame::{OutgoingFrame, Payload};
use framewire_transport::live::Tally;
use framewire_transport::queue::Level;
use framewire_units::Timestamp;

use crate::frames::Held;

/// The `stats` property.
pub(crate) fn structure(tally: &Tally, level: Level) -> gst::Structure {
    let by_type = |kind| tally.dropped_by_type.get(&kind).copied().unwrap_or(0);
    let rules = tally.dropped_by_rule.iter().map(|(rule, count)| {
        gst::Structure::builder("dropped-by-rule").field("rule", *rule).field("frames", *count).build()
    });
    gst::Structure::builder("application/x-framewire-queue-stats")
        .field("accepted", tally.accepted.frames)
        .field("accepted-bytes", tally.accepted.bytes)
        .field("sent", tally.sent.frames)
        .field("sent-bytes", tally.sent.bytes)
        .field("dropped", tally.dropped.frames)
        .field("dropped-bytes", tally.dropped.bytes)
        .field("dropped-i", by_type(PictureType::I))
        .field("dropped-p", by_type(PictureType::P))
        .field("dropped-b", by_type(PictureType::B) + by_type(PictureType::D))
        .field("dropped-by-rule", gst::Array::new(rules))
        .field("groups-lost", tally.groups_lost)
        .field("key-frame-requests", tally.key_frame_requests)
        .field("unreadable", tally.unreadable)
        .field("events-dropped", tally.events_dropped)
        .field("current-level-buffers", u64::from(level.frames))
        .field("current-level-bytes", level.bytes.as_bytes())
        .field("current-level-time", nanos(level))
        .field("highest-level-buffers", u64::from(tally.highest.frames))
        .field("highest-level-bytes", tally.highest.bytes.as_bytes())
        .field("highest-level-time", nanos(tally.highest))
        .build()
}

/// Name of the structure that describes a writer.
pub(crate) const WRITER: &str = "application/x-framewire-sink-stats";

/// The `stats` property of a writer. What is not known is not in it.
pub(crate) fn of_writer(snapshot: &Snapshot) -> gst::Structure {
    let mut structure = structure(&snapshot.counts, snapshot.level);
    structure.set_name(WRITER);
    structure.set("connected", snapshot.connected);
    structure.set("connections", snapshot.connections);
    if let Some(unsent) = snapshot.unsent {
        structure.set("unsent-bytes", unsent.as_bytes());
    }
    if let Some((info, congestion)) = &snapshot.tcp {
        set_tcp(&mut structure, info, congestion);
    }
    structure
}

/// What the kernel says of the connection (tcp(7), `TCP_INFO`).
fn set_tcp(structure: &mut gst::Structure, info: &TcpInfo, congestion: &str) {
    let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    structure.set("congestion", congestion);
    structure.set("cwnd", info.cwnd_packets);
    if let Some(ssthresh) = info.ssthresh_packets {
        structure.set("ssthresh", ssthresh);
    }
    structure.set("srtt", nanos(info.srtt));
    structure.set("rttvar", nanos(info.rttvar));
    if let Some(min_rtt) = info.min_rtt {
        structure.set("min-rtt", nanos(min_rtt));
    }
    structure.set("unacked", info.unacked_packets);
    structure.set("retransmissions", info.total_retransmissions);
    structure.set("mss", info.mss);
    if let Some(rate) = info.delivery_rate {
        structure.set("delivery-rate", rate.as_bps());
    }
}

/// The time that waits, as GStreamer counts it.
pub(crate) fn nanos(level: Level) -> u64 {
    u64::try_from(level.time.as_nanos()).unwrap_or(u64::MAX)
}

/// What the message `framewire-frame-dropped` says of a frame.
pub(crate) fn drop_message(
    frame: &OutgoingFrame<Held>,
    rule: &str,
    segment: Option<&gst::FormattedSegment<gst::ClockTime>>,
) -> gst::Structure {
    let Held { buffer, .. } = &frame.bytes;
    let times = segment.zip(buffer.pts());
    gst::Structure::builder("framewire-frame-dropped")
        .field("frame", frame.bytes.number)
        .field("group", frame.bytes.group)
        .field("type", frame.kind.to_string())
        .field("rule", rule)
        .field("size", frame.bytes.size())
        .field("pts", buffer.pts())
        .field("dts", buffer.dts())
        .field("duration", frame.bytes.duration())
        .field("running-time", times.and_then(|(segment, pts)| segment.to_running_time(pts)))
        .field("stream-time", times.and_then(|(segment, pts)| segment.to_stream_time(pts)))
        .build()
}

/// The time by which requests for key frames keep their distance.
pub(crate) fn now() -> Timestamp {
    static CLOCK: LazyLock<MonotonicClock> = LazyLock::new(MonotonicClock::start);
    CLOCK.now()
}
