//! What a receiver's directory holds of a stream, listened for or asked for.

use std::net::SocketAddr;
use std::path::Path;

use framewire_endpoint::RunClock;
use framewire_recording::record::FlowLog;
use framewire_recording::write_received;
use framewire_session::Announcement;
use framewire_session::lifecycle::FlowOutcome;
use framewire_units::Timestamp;
use framewire_world::{utc, write_description};
use serde_json::json;

use crate::directory;
use crate::error::RealError;

/// What a receiver's directory says beside its tables.
pub(crate) struct Recorded<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) clock: RunClock,
    /// What ended it before the stream had.
    pub(crate) ended_by: Option<&'static str>,
    pub(crate) peer: Option<SocketAddr>,
    /// The number by which both ends know the stream: its sender's, where it was announced, and its own, where it was asked for.
    pub(crate) session: Option<u64>,
    /// Bytes of the stream, and datagrams and connections of others.
    pub(crate) bytes: u64,
    pub(crate) of_others: u64,
    /// What stands before the first frame in the movie as received, as it did not come with the stream.
    pub(crate) parameter_sets: &'a [Vec<u8>],
}

/// Writes what a receiver recorded.
pub(crate) fn record(
    recorded: &Recorded<'_>,
    outcome: &FlowOutcome,
    announcement: &Announcement,
) -> Result<(), RealError> {
    let received = &outcome.received;
    let log = FlowLog {
        datagrams_received: received.datagrams.clone(),
        stream_reads: received.reads.clone(),
        discarded: received.discarded.clone(),
        handed_on: received.handed_on.clone(),
        ..FlowLog::default()
    };
    write_received(recorded.directory, &log)?;
    let (status, failure) = directory::status(&outcome.status);
    let document = json!({
        "format": framewire_recording::tables::FORMAT_VERSION,
        "program": "framewire",
        "version": env!("CARGO_PKG_VERSION"),
        "world": "real",
        "side": "receiver",
        "status": status,
        "ended_by": recorded.ended_by,
        "origin_utc": utc(recorded.clock.to_unix(Timestamp::ZERO)),
        "kernel": directory::kernel(),
        "peer": recorded.peer.map(|sender| sender.to_string()),
        "session": recorded.session.map(|session| format!("{session:016x}")),
        "announcement": announcement.to_string(),
        "bytes": recorded.bytes,
        "of_others": recorded.of_others,
        "flows": [{
            "name": announcement.transport.name(),
            "transport": announcement.transport.name(),
            "failure": failure,
            "received_frames": received.complete_frames,
            "received_sound": received.complete_sound,
            "incomplete_frames": received.incomplete_frames,
            "received_bytes": outcome.kept_bytes,
            "parameter_set_bytes": directory::bytes_before(recorded.parameter_sets),
            "rejected": received.rejected,
            "rejections": received.rejections,
        }],
    });
    Ok(write_description(recorded.directory, &document)?)
}
