//! The records of one end of a stream in its directory, where the other end is on another machine: written there, and read
//! again when both are together.

use std::path::Path;

use framewire_media::picture_order::Renumbering;
use framewire_units::Timestamp;

use crate::record::{
    DatagramReceived, DatagramSent, FlowLog, FlowSample, FrameEvent, FrameEventKind, HandedOn, LossPlace, PacketRecord,
    StreamRead,
};
use crate::run::{Staged, WriteError, check_records, groups};
use crate::spool::{Found, Sorter, Spool};
use crate::tables::side::{
    event_named, received_datagrams, received_discards, received_handed_on, received_reads, sent_datagrams,
    sent_events, sent_renumbered,
};
use crate::tables::{self, ReadError, Renumbered, RtcpRow, SampleRow};

/// What a sender recorded by itself: of the log, what happened to frames, datagrams and samples; and the frames whose
/// numbers it changed.
#[derive(Clone, Debug, Default)]
pub struct SentRecords {
    /// The log, without what the receiver and the network add.
    pub log: FlowLog,
    /// Frames whose numbers were changed before they were sent, in decode order.
    pub renumbered: Spool<Renumbered>,
}

impl SentRecords {
    /// Writes them into the sender's directory: all tables or none.
    ///
    /// # Errors
    /// When a table cannot be written; the error names the file.
    pub fn write(&self, directory: &Path) -> Result<(), WriteError> {
        let log = &self.log;
        let mut ends = log.frame_ends.iter().copied();
        let events = log.frame_events.iter().map(|event| {
            let end = if event.what == FrameEventKind::LastByte { ends.next() } else { None };
            (event.into_owned(), end)
        });
        let mut staged = Staged::new(directory);
        staged.table(&sent_events(), groups(events))?;
        staged.table(&sent_datagrams(), groups(log.datagrams_sent.iter().map(|one| one.into_owned())))?;
        staged.optional(&sent_renumbered(), groups(self.renumbered.iter().map(|one| one.into_owned())))?;
        staged.table(&tables::flows(), groups(SampleRow::all(log)))?;
        staged.optional(&tables::rtcp(), groups(RtcpRow::all(log)))?;
        check_records(std::slice::from_ref(log))?;
        staged.publish()
    }

    /// Reads them again.
    ///
    /// # Errors
    /// When a table is not there, or is not what was written.
    pub fn read(directory: &Path) -> Result<Self, ReadError> {
        let mut read = Self::default();
        let SentRecords { log, renumbered } = &mut read;
        sent_events().read(directory, |cells| {
            let what = event_named(cells.text(2)?, cells.text(4), cells.text(5))?;
            log.frame_ends.extend(cells.number::<u64>(3));
            log.frame_events.push(FrameEvent { frame: cells.number(0)?, at: time(cells.number(1)?), what });
            Some(())
        })?;
        sent_datagrams().read(directory, |cells| {
            log.datagrams_sent.push(DatagramSent {
                sequence: cells.number(0)?,
                frame: cells.number(1),
                part: None,
                size: cells.number(2)?,
                headers: cells.number(3)?,
                at: time(cells.number(4)?),
                sent: cells.flag(5)?,
            });
            Some(())
        })?;
        sent_renumbered().read_if_there(directory, |cells| {
            let by = Renumbering { frame_num: cells.number(1)?, order: cells.number(2)? };
            renumbered.push((cells.number(0)?, by, cells.number(3)));
            Some(())
        })?;
        read_samples(directory, log)?;
        Ok(read)
    }
}

fn read_samples(directory: &Path, log: &mut FlowLog) -> Result<(), ReadError> {
    use framewire_units::{Bitrate, Duration};
    tables::flows().read(directory, |cells| {
        let rate = |place| cells.number(place).map(Bitrate::from_bps);
        log.samples.push(FlowSample {
            at: time(cells.number(1)?),
            connection: cells.number(2),
            cwnd_packets: cells.number(3),
            ssthresh_packets: cells.number(4),
            srtt: cells.number(5).map(Duration::from_nanos),
            rttvar: cells.number(6).map(Duration::from_nanos),
            in_flight_packets: cells.number(7),
            unsent_bytes: cells.number(8),
            queued_bytes: cells.number(9),
            delivery_rate: rate(10),
            retransmissions: cells.number(11),
            timeouts: cells.number(12),
            received_bytes: cells.number(13),
            sending_rate: rate(14),
            estimate: rate(15),
            level: cells.number(16),
        });
        Some(())
    })
}

/// Writes what a receiver recorded by itself into its directory: all tables or none.
///
/// # Errors
/// When a table cannot be written; the error names the file.
pub fn write_received(directory: &Path, log: &FlowLog) -> Result<(), WriteError> {
    let mut staged = Staged::new(directory);
    staged.table(&received_datagrams(), groups(log.datagrams_received.iter().map(|one| one.into_owned())))?;
    staged.table(&received_reads(), groups(log.stream_reads.iter().map(|one| one.into_owned())))?;
    staged.optional(&received_discards(), groups(log.discarded.iter().map(|one| one.into_owned())))?;
    staged.optional(&received_handed_on(), groups(log.handed_on.iter().map(|one| one.into_owned())))?;
    check_records(std::slice::from_ref(log))?;
    staged.publish()
}

/// Reads it again into a log; `on_its_clock` says what a time was by the clock of the log's sender.
///
/// # Errors
/// When a table is not there, or is not what was written.
pub fn read_received(
    directory: &Path,
    log: &mut FlowLog,
    on_its_clock: impl Fn(Timestamp) -> Timestamp,
) -> Result<(), ReadError> {
    received_datagrams().read(directory, |cells| {
        let at = on_its_clock(time(cells.number(2)?));
        let (sequence, size, kept) = (cells.number(0)?, cells.number(1)?, cells.flag(3)?);
        log.datagrams_received.push(DatagramReceived { sequence, size, at, kept });
        Some(())
    })?;
    received_reads().read(directory, |cells| {
        let at = on_its_clock(time(cells.number(1)?));
        log.stream_reads.push(StreamRead { total: cells.number(0)?, at });
        Some(())
    })?;
    received_discards().read_if_there(directory, |cells| {
        log.discarded.push(cells.number(0)?);
        Some(())
    })?;
    received_handed_on().read_if_there(directory, |cells| {
        log.handed_on.push(HandedOn { sequence: cells.number(0)?, bytes: cells.number(1)? });
        Some(())
    })
}

/// Bytes of the headers of IPv4 without options (RFC 791, 3.1) and UDP (RFC 768).
const IP_AND_UDP_HEADERS: u32 = 28;

/// What is between two ends of whose network nothing else is known.
const NETWORK: &str = "network";

/// Why a datagram did not come that was sent: nothing between the two sockets says more.
const NOT_RECEIVED: &str = "not received";

/// Every datagram that left the sender, and whether it came and when: what two ends know together of the network between
/// them.
pub fn network_packets(log: &FlowLog) -> Spool<PacketRecord> {
    let crossings = crossings(log).zip(0..);
    log.datagrams_sent.with(crossings.map(|((sent, arrival), packet)| PacketRecord {
        packet,
        forward: true,
        protocol: "udp",
        size: sent.size.saturating_add(IP_AND_UDP_HEADERS),
        sequence: Some(sent.sequence),
        payload: sent.size,
        hop: NETWORK,
        enqueued: sent.at,
        started: None,
        finished: arrival.unwrap_or(sent.at),
        transmissions: Vec::new(),
        dropped: if arrival.is_some() { None } else { Some((LossPlace::Link, NOT_RECEIVED)) },
        marked: false,
        clamped: false,
        sniffed: None,
    }))
}

/// How long each datagram that came was under way, in nanoseconds; of a stream, its first bytes. With clocks that are not
/// aligned, it is more or less by as much as they are apart.
pub fn transits(log: &FlowLog) -> impl Iterator<Item = i64> {
    let first_byte = log.frame_events.iter().find(|event| event.what == FrameEventKind::FirstByte);
    let first_read = log.stream_reads.iter().find(|read| read.total > 0);
    let of_stream = first_byte.zip(first_read).map(|(written, read)| read.at.nanos_since(written.at));
    crossings(log).filter_map(|(sent, arrival)| Some(arrival?.nanos_since(sent.at))).chain(of_stream)
}

/// The datagrams that left the sender in order of their numbers, each with its first arrival.
fn crossings(log: &FlowLog) -> impl Iterator<Item = (DatagramSent, Option<Timestamp>)> {
    let sent = log.datagrams_sent.iter().filter(|datagram| datagram.sent).map(|datagram| datagram.into_owned());
    let sent = Sorter::of(log.datagrams_sent.beside(), |datagram: &DatagramSent| datagram.sequence, sent);
    let arrivals = log.datagrams_received.iter().map(|datagram| (datagram.sequence, datagram.at));
    let arrivals = Sorter::of(log.datagrams_sent.beside(), |&arrival: &(u64, Timestamp)| arrival, arrivals);
    let mut last = None;
    let firsts = arrivals.iter().filter(|&(sequence, _)| last.replace(sequence) != Some(sequence));
    let mut found = Found::new(log.datagrams_sent.beside(), firsts);
    let sent: Spool<DatagramSent> = log.datagrams_sent.with(sent.iter());
    sent.into_records().map(move |datagram| {
        let arrival = found.of(datagram.sequence);
        (datagram, arrival)
    })
}

fn time(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

#[cfg(test)]
mod tests;
