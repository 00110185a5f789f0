//! One end of a flow's RTCP: a participant, and what it sent and got.

use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{Bitrate, DataSize, Seed, Timestamp};
use framewire_wire::rtcp::{Event, Participant, RtcpBandwidth, Settings};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtsp::{FRAME_HEADER, StreamStart};

use crate::channels::{SOUND_CHANNEL, rtcp_of};
use crate::half::{ChannelId, Channels};
use crate::sound::SOUND_TRACK;

/// Bytes of RTCP that are kept of what arrives; more are not recorded, so that a hostile peer cannot fill the memory. Of an end
/// that reports 100 bytes every five seconds that is nine days.
const MOST_KEPT: usize = 16 << 20;

/// The RTCP of a flow, as its description says it to both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RtcpSetup {
    /// The flow's name, from which those of its ends are made.
    pub(crate) flow: String,
    /// The sender's stream. The receiver's source has all bits of its one the other way.
    pub(crate) start: StreamStart,
    /// By which both ends of this session draw other numbers of the seed than those of others.
    pub(crate) place: u32,
    /// What RTCP may take of the session.
    pub(crate) bandwidth: RtcpBandwidth,
    /// Of what both ends draw.
    pub(crate) seed: Seed,
    /// The channel whose packets it is about; its own is the next one.
    pub(crate) media: ChannelId,
    /// Of their time stamps, in hertz.
    pub(crate) clock_rate: u32,
    /// Bytes of headers below RTCP, which count as its own.
    pub(crate) lower_headers: usize,
    /// The sender's first report goes with its first packet.
    pub(crate) at_once: bool,
}

/// Bytes of IPv4 (RFC 791, 3.1) and UDP (RFC 768).
pub(crate) const UDP_HEADERS: usize = 28;

/// The same of IPv4 and TCP without options (RFC 9293, 3.1), and of a frame in RTSP (RFC 2326, section 10.12).
pub(crate) const INTERLEAVED_HEADERS: usize = 40 + FRAME_HEADER;

/// What one end sent and what came to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtcpLog {
    /// The track whose packets it is about.
    pub track: u8,
    /// Of their time stamps, in hertz.
    pub clock_rate: u32,
    /// The sequence number with which they begin.
    pub first_sequence: u16,
    /// Datagrams, in the order in which they were sent.
    pub sent: Vec<(Timestamp, Vec<u8>)>,
    /// Datagrams that came, in order of arrival.
    pub received: Vec<(Timestamp, Vec<u8>)>,
    /// Datagrams that came and were no RTCP.
    pub rejected: u64,
}

/// One end.
#[derive(Clone, Debug)]
pub(crate) struct RtcpEnd {
    participant: Participant,
    log: RtcpLog,
    media: ChannelId,
    /// Bytes that may still be kept of what comes.
    room: usize,
    /// The same of what is sent.
    sent_room: usize,
    /// The other end has left.
    is_alone: bool,
}

/// The channels of a sender, whose reports are told what leaves on the channels that they are about.
pub(crate) struct Tapped<'a> {
    pub(crate) channels: &'a mut dyn Channels,
    pub(crate) reports: &'a mut [RtcpEnd],
    pub(crate) now: Timestamp,
}

impl Channels for Tapped<'_> {
    fn has_room(&self, channel: ChannelId) -> bool {
        self.channels.has_room(channel)
    }

    fn send(
        &mut self,
        channel: ChannelId,
        datagram: &[u8],
        sequence: Option<u32>,
    ) -> Result<DatagramSend, SocketError> {
        let sent = self.channels.send(channel, datagram, sequence)?;
        if sent == DatagramSend::Sent {
            let about = self.reports.iter_mut().filter(|rtcp| rtcp.media == channel);
            about.for_each(|rtcp| rtcp.handle_rtp_sent(self.now, datagram));
        }
        Ok(sent)
    }

    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.channels.free_room(channel)
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.channels.write(channel, bytes)
    }

    fn unsent(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.channels.unsent(channel)
    }

    fn finish(&mut self, channel: ChannelId) -> Result<(), SocketError> {
        self.channels.finish(channel)
    }
}

impl RtcpSetup {
    /// 5 % of the stream's bandwidth, of which receivers may have nothing.
    pub(crate) fn bandwidth(session: Bitrate, receivers: bool) -> RtcpBandwidth {
        RtcpBandwidth::described(session, None, (!receivers).then_some(0))
    }

    /// The sender's end, which joins now, when the first frame is shown: its time stamp is the first one, as that of sound at that moment
    /// is.
    pub(crate) fn sender(&self, now: Timestamp) -> RtcpEnd {
        let mut end = self.end(now, (self.start.ssrc, self.place), "sender", self.at_once);
        end.handle_media_clock(now, self.start.timestamp);
        end
    }

    /// The receiver's end, which joins now.
    pub(crate) fn receiver(&self, now: Timestamp) -> RtcpEnd {
        self.end(now, (!self.start.ssrc, !self.place), "receiver", false)
    }

    fn end(&self, now: Timestamp, (ssrc, place): (u32, u32), end: &str, reports_at_once: bool) -> RtcpEnd {
        let name = format!("{end}@{}", self.flow);
        let (bandwidth, clock_rate, lower_headers) = (self.bandwidth, self.clock_rate, self.lower_headers);
        let settings =
            Settings { ssrc, name, bandwidth, clock_rate, lower_headers, reports_at_once, ..Settings::default() };
        let participant = Participant::new(settings, now, self.seed.stream("rtcp", &[place.into()]));
        let participant = participant.expect("invariant: the name of a flow has at most 64 letters");
        let track = if self.media == SOUND_CHANNEL { SOUND_TRACK } else { 0 };
        let log = RtcpLog { track, clock_rate, first_sequence: self.start.sequence, ..RtcpLog::default() };
        RtcpEnd { participant, log, media: self.media, room: MOST_KEPT, sent_room: usize::MAX, is_alone: false }
    }
}

impl RtcpEnd {
    /// What is presented now has this time stamp: the stream begins, or goes on from another place.
    pub(crate) fn handle_media_clock(&mut self, now: Timestamp, timestamp: u32) {
        self.participant.handle_media_clock(now, timestamp);
    }

    /// The same that keeps nothing of what is said.
    pub(crate) fn unrecorded(self) -> Self {
        Self { room: 0, sent_room: 0, ..self }
    }

    /// Keeps what is said from now on, so many bytes in each direction.
    pub(crate) fn record(&mut self, most: usize) {
        (self.room, self.sent_room) = (most, most);
    }

    /// The channel whose packets it is about.
    pub(crate) fn media(&self) -> ChannelId {
        self.media
    }

    /// Its own.
    pub(crate) fn channel(&self) -> ChannelId {
        rtcp_of(self.media)
    }

    /// A packet of RTP was sent.
    pub(crate) fn handle_rtp_sent(&mut self, now: Timestamp, datagram: &[u8]) {
        if let Ok((header, payload)) = RtpHeader::parse(datagram) {
            self.handle_packet_sent(now, header.timestamp, payload.len());
        }
    }

    /// The same of one with this time stamp, and so many bytes of payload.
    pub(crate) fn handle_packet_sent(&mut self, now: Timestamp, timestamp: u32, octets: usize) {
        self.participant.handle_rtp_sent(now, timestamp, octets);
    }

    /// A packet of RTP came.
    pub(crate) fn handle_rtp(&mut self, now: Timestamp, datagram: &[u8]) {
        if let Ok((header, _)) = RtpHeader::parse(datagram) {
            self.participant.handle_rtp(now, &header);
        }
    }

    /// Datagrams that came and were no RTCP.
    pub(crate) fn rejected(&self) -> u64 {
        self.log.rejected
    }

    /// A datagram of RTCP came. Where the other end sends BYE, this one does as well.
    pub(crate) fn handle_rtcp(&mut self, now: Timestamp, datagram: &[u8]) {
        if self.participant.handle_rtcp(now, datagram).is_err() {
            self.log.rejected += 1;
            return;
        }
        if let Some(room) = self.room.checked_sub(datagram.len()) {
            self.room = room;
            self.log.received.push((now, datagram.to_vec()));
        }
        // What they say is recorded as it came.
        let mut has_left = false;
        while let Some(event) = self.participant.poll_event() {
            has_left |= matches!(event, Event::Left { .. });
        }
        if has_left && self.participant.census().members == 1 {
            self.is_alone = true;
            self.participant.leave(now);
        }
    }

    /// True when the other end has sent BYE, and nobody else is there.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Sends what is due; `send` says whether it left. A report that finds no room is lost, as a datagram is.
    ///
    /// # Errors
    /// When the socket is broken.
    pub(crate) fn drive(
        &mut self,
        now: Timestamp,
        mut send: impl FnMut(&[u8]) -> Result<bool, SocketError>,
    ) -> Result<(), SocketError> {
        while let Some(datagram) = self.participant.poll_transmit(now) {
            let left = self.sent_room.checked_sub(datagram.len());
            if let (true, Some(left)) = (send(&datagram)?, left) {
                self.sent_room = left;
                self.log.sent.push((now, datagram));
            }
        }
        Ok(())
    }

    /// The same on its channel.
    ///
    /// # Errors
    /// When the channel is broken.
    pub(crate) fn drive_on(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<(), SocketError> {
        let channel = self.channel();
        self.drive(now, |datagram| Ok(channels.send(channel, datagram, None)? == DatagramSend::Sent))
    }

    /// When it has something to send by itself.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.participant.next_timeout()
    }

    /// Sends BYE when it is driven next.
    pub(crate) fn leave(&mut self, now: Timestamp) {
        self.participant.leave(now);
    }

    /// True when it has sent BYE.
    pub(crate) fn has_left(&self) -> bool {
        self.participant.has_left()
    }

    /// What it sent and got.
    pub(crate) fn into_log(self) -> RtcpLog {
        self.log
    }
}

#[cfg(test)]
mod tests {
    use framewire_wire::rtcp::{Compound, Report};

    use super::*;

    #[test]
    fn what_a_hostile_end_says_is_kept_up_to_a_limit() {
        let bandwidth = RtcpSetup::bandwidth(Bitrate::from_mbps(1), true);
        let (flow, media, clock_rate, lower_headers) = ("rtp".to_owned(), ChannelId(0), 90_000, UDP_HEADERS);
        let setup = RtcpSetup {
            flow,
            start: StreamStart { ssrc: 1, sequence: 0, timestamp: 0 },
            place: 1,
            bandwidth,
            seed: Seed(1),
            media,
            clock_rate,
            lower_headers,
            at_once: false,
        };
        let mut end = setup.receiver(Timestamp::ZERO);
        let report = Report { ssrc: 9, ..Report::default() };
        let names = (0..31).map(|ssrc| (ssrc, "n".repeat(255))).collect();
        let datagram = Compound { reports: vec![report], names, ..Compound::default() }.emit().unwrap();
        for _ in 0..3_000 {
            end.handle_rtcp(Timestamp::ZERO, &datagram);
            end.handle_rtcp(Timestamp::ZERO, b"nonsense");
        }
        let log = end.into_log();
        let kept: usize = log.received.iter().map(|(_, datagram)| datagram.len()).sum();
        assert!(kept <= MOST_KEPT && kept + datagram.len() > MOST_KEPT, "{kept}");
        assert_eq!(log.rejected, 3_000);
    }
}
