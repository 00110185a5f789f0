use std::collections::VecDeque;

use framewire_units::{Duration, RandomStream, Timestamp};

use super::bandwidth::{Census, MINIMUM_INTERVAL, RtcpBandwidth};
use super::compound::{Compound, Report, ReportBlock, RtcpError, SenderInfo};
use super::members::{Members, is_idle};
use super::ntp::{NtpTime, short_units};
use super::timer::ReportTimer;
use crate::rtp::{self, RtpHeader};

/// The most blocks of one report: their number has five bits (RFC 3550, section 6.4.1).
const MOST_BLOCKS: usize = 31;

/// Bytes of IPv4 (RFC 791, 3.1) and UDP (RFC 768), which count for the bandwidth of RTCP, too (RFC 3550, section 6.2).
const IP_AND_UDP_HEADERS: usize = 28;

/// What a participant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// Its canonical name (CNAME, RFC 3550, section 6.5.1), at most 255 bytes.
    pub name: String,
    /// Of the time stamps of all streams of the session, in hertz.
    pub clock_rate: u32,
    /// What RTCP may take.
    pub bandwidth: RtcpBandwidth,
    /// Least mean time between two reports.
    pub minimum: Duration,
    /// Bytes of headers below RTCP, which count as its own.
    pub lower_headers: usize,
    /// The first report goes with the first packet of the own stream, and none before it: in a session of two ends it need not wait
    /// (RFC 3550, section 6.2), and so a receiver knows at once what is presented together.
    pub reports_at_once: bool,
}

impl Default for Settings {
    /// A participant without a name that sends no RTCP over UDP.
    fn default() -> Self {
        Self {
            ssrc: 0,
            name: String::new(),
            clock_rate: crate::rtp_payload::CLOCK_RATE,
            bandwidth: RtcpBandwidth::NONE,
            minimum: MINIMUM_INTERVAL,
            lower_headers: IP_AND_UDP_HEADERS,
            reports_at_once: false,
        }
    }
}

/// What a participant learns from what arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another one says how it receives this one's stream.
    Report {
        /// The other one.
        from: u32,
        /// What it says.
        block: ReportBlock,
        /// To it and back, as far as the report shows it ([`ReportBlock::round_trip`]).
        round_trip: Option<Duration>,
    },
    /// A sender says what it has sent.
    Sender {
        /// Who it is.
        from: u32,
        /// What it says.
        info: SenderInfo,
    },
    /// A participant has left.
    Left {
        /// Who it was.
        ssrc: u32,
    },
}

/// One end of a session of RTP, as far as RTCP goes (RFC 3550, section 6).
///
/// Contract: tell it of every packet that is sent ([`handle_rtp_sent`](Self::handle_rtp_sent)) and received
/// ([`handle_rtp`](Self::handle_rtp), [`handle_rtcp`](Self::handle_rtcp)). Then drain [`poll_event`](Self::poll_event) and
/// [`poll_transmit`](Self::poll_transmit), each until it gives nothing, and call the latter again when
/// [`next_timeout`](Self::next_timeout) has come. At the end [`leave`](Self::leave), and go on until it
/// [has left](Self::has_left).
///
/// # Limits
/// A member is valid with its first packet of RTCP. Collisions of sources are not resolved (section 8.2): what comes under the own
/// number is passed over. Contributing sources are no members.
#[derive(Clone, Debug)]
pub struct Participant {
    settings: Settings,
    timer: ReportTimer,
    members: Members,
    stream: Option<Stream>,
    /// A moment, and the time stamp of what is presented at it.
    media_clock: Option<(Timestamp, u32)>,
    /// The last source that was reported, where there were too many for one report.
    reported_last: u32,
    events: VecDeque<Event>,
    bye: Bye,
}

/// The stream that this one sends.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// When its last packet was sent; `None` once it counts as a sender no more.
    sent: Option<Timestamp>,
    packets: u32,
    octets: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bye {
    No,
    AtOnce,
    ByTimer,
    Sent,
}

impl Participant {
    /// A participant that joins now, and draws from this stream when it reports.
    ///
    /// # Errors
    /// When the name is longer than 255 bytes.
    pub fn new(settings: Settings, now: Timestamp, random: RandomStream) -> Result<Self, RtcpError> {
        let first = Self::compound(&settings, Report { ssrc: settings.ssrc, ..Report::default() });
        let size = first.emit()?.len() + settings.lower_headers;
        let timer = ReportTimer::new(now, settings.bandwidth, settings.minimum, size, random);
        let timer = if settings.reports_at_once { timer.waiting() } else { timer };
        Ok(Self {
            settings,
            timer,
            members: Members::default(),
            stream: None,
            media_clock: None,
            reported_last: u32::MAX,
            events: VecDeque::new(),
            bye: Bye::No,
        })
    }

    /// The media clock reads this time stamp at this moment. Its reports derive that of any other from it, whatever order pictures
    /// are sent in, so that a receiver finds which of several streams are presented together (RFC 3550, section 6.4.1). Without,
    /// it reads that of the first packet when that is sent.
    pub fn handle_media_clock(&mut self, at: Timestamp, rtp_timestamp: u32) {
        self.media_clock = Some((at, rtp_timestamp));
    }

    /// It sent a packet of RTP with this time stamp and so many bytes of payload.
    pub fn handle_rtp_sent(&mut self, now: Timestamp, timestamp: u32, octets: usize) {
        let begins = self.sent().is_none();
        self.media_clock.get_or_insert((now, timestamp));
        let stream = self.stream.get_or_insert(Stream { sent: None, packets: 0, octets: 0 });
        stream.sent = Some(now);
        stream.packets = stream.packets.wrapping_add(1);
        stream.octets = stream.octets.wrapping_add(octets as u32);
        if begins {
            self.timer.handle_role(now, self.census());
            if self.settings.reports_at_once && !self.timer.has_sent() && self.bye == Bye::No {
                self.timer.expire_at_once(now);
            }
        }
    }

    /// A packet of RTP came. While this one leaves, they count no more.
    pub fn handle_rtp(&mut self, now: Timestamp, header: &RtpHeader) {
        if self.bye != Bye::No || header.ssrc == self.settings.ssrc {
            return;
        }
        let Some(member) = self.members.heard(now, header.ssrc, false) else { return };
        if member.reception.handle_packet(now, header, self.settings.clock_rate) {
            member.handle_valid_rtp(now);
        }
    }

    /// A datagram of RTCP came.
    ///
    /// # Errors
    /// Where it is none ([`Compound::parse`]); nothing is changed then.
    pub fn handle_rtcp(&mut self, now: Timestamp, datagram: &[u8]) -> Result<(), RtcpError> {
        let compound = Compound::parse(datagram)?;
        let is_bye = !compound.leaving.is_empty();
        self.timer.handle_packet(datagram.len() + self.settings.lower_headers, is_bye);
        for report in &compound.reports {
            self.handle_report(now, report);
        }
        for &(ssrc, _) in &compound.names {
            self.handle_member(now, ssrc);
        }
        for &ssrc in &compound.leaving {
            if ssrc != self.settings.ssrc && self.members.remove(ssrc) {
                self.events.push_back(Event::Left { ssrc });
            }
        }
        if is_bye {
            self.timer.handle_fewer(now, self.census().members);
        }
        Ok(())
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`poll_transmit`](Self::poll_transmit) may have something by itself; `None` where it will not.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        match self.bye {
            Bye::No | Bye::ByTimer => self.timer.next(),
            Bye::AtOnce => Some(Timestamp::ZERO),
            Bye::Sent => None,
        }
    }

    /// The datagram of RTCP that is to be sent now, if there is one.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if self.next_timeout().is_none_or(|at| at > now) {
            return None;
        }
        if self.bye == Bye::No {
            self.expire(now);
        }
        let goes = self.bye == Bye::AtOnce || self.timer.expire(now, self.census());
        if !goes {
            return None;
        }
        let report = self.report(now);
        let mut compound = Self::compound(&self.settings, report);
        if self.bye != Bye::No {
            compound.leaving.push(self.settings.ssrc);
            self.bye = Bye::Sent;
        }
        let packet = compound.emit().expect("invariant: the name was short enough when it joined");
        self.timer.sent(now, packet.len() + self.settings.lower_headers, self.census());
        Some(packet)
    }

    /// It leaves: what is still to be sent is a BYE packet, and in a large session that may take a while. Who has sent nothing
    /// leaves without one (section 6.3.7).
    pub fn leave(&mut self, now: Timestamp) {
        if self.bye != Bye::No {
            return;
        }
        if self.stream.is_none() && !self.timer.has_sent() {
            self.bye = Bye::Sent;
            return;
        }
        let mut compound = Self::compound(&self.settings, Report { ssrc: self.settings.ssrc, ..Report::default() });
        compound.leaving.push(self.settings.ssrc);
        let packet = compound.emit().expect("invariant: the name was short enough when it joined");
        let size = packet.len() + self.settings.lower_headers;
        let may_send = self.settings.bandwidth != RtcpBandwidth::NONE;
        self.bye = match self.timer.leave(now, size, self.census().members) {
            _ if !may_send => Bye::Sent,
            true => Bye::AtOnce,
            false => Bye::ByTimer,
        };
    }

    /// True when it has left: nothing more will be sent.
    pub fn has_left(&self) -> bool {
        self.bye == Bye::Sent
    }

    /// Who is in the session, as far as it knows.
    pub fn census(&self) -> Census {
        self.members.census(self.sent().is_some())
    }

    fn sent(&self) -> Option<Timestamp> {
        self.stream.and_then(|stream| stream.sent)
    }

    fn handle_report(&mut self, now: Timestamp, report: &Report) {
        if report.ssrc == self.settings.ssrc {
            return;
        }
        self.handle_member(now, report.ssrc);
        if let Some(info) = report.sender {
            if let Some(member) = self.members.heard(now, report.ssrc, true).filter(|_| self.bye == Bye::No) {
                member.last_report = Some((info.ntp.middle(), now));
            }
            self.events.push_back(Event::Sender { from: report.ssrc, info });
        }
        for &block in report.blocks.iter().filter(|block| block.ssrc == self.settings.ssrc) {
            let round_trip = block.round_trip(NtpTime::of(now));
            self.events.push_back(Event::Report { from: report.ssrc, block, round_trip });
        }
    }

    fn handle_member(&mut self, now: Timestamp, ssrc: u32) {
        if self.bye == Bye::No && ssrc != self.settings.ssrc {
            self.members.heard(now, ssrc, true);
        }
    }

    /// Forgets who is silent, itself as a sender included (sections 6.3.5 and 6.3.8).
    fn expire(&mut self, now: Timestamp) {
        let census = self.census();
        let interval = self.timer.mean_interval(Census { we_sent: false, ..census });
        // Where receivers send nothing, senders are still heard by their interval.
        let interval = interval.or(self.timer.mean_interval(census)).unwrap_or(self.settings.minimum);
        self.members.expire(now, interval);
        if let Some(stream) = &mut self.stream {
            stream.sent = stream.sent.filter(|&sent| !is_idle(now, sent, interval));
        }
        self.timer.handle_fewer(now, self.census().members);
    }

    /// What it has to report now: of itself where it sends, and of those that it receives (section 6.4).
    fn report(&mut self, now: Timestamp) -> Report {
        let clock_rate = self.settings.clock_rate;
        let sender = self.stream.filter(|stream| stream.sent.is_some()).zip(self.media_clock);
        let sender = sender.map(|(stream, clock)| stream.info(now, clock, clock_rate));
        let mut blocks = Vec::new();
        for (ssrc, member) in self.members.reportable(self.reported_last).into_iter().take(MOST_BLOCKS) {
            let (last_report, delay) = match member.last_report {
                Some((last_report, at)) => (last_report, short_units(now.saturating_since(at))),
                None => (0, 0),
            };
            blocks.push(member.reception.report(ssrc, clock_rate, last_report, delay));
            member.is_new = false;
            self.reported_last = ssrc;
        }
        Report { ssrc: self.settings.ssrc, sender, blocks }
    }

    fn compound(settings: &Settings, report: Report) -> Compound {
        let names = vec![(settings.ssrc, settings.name.clone())];
        Compound { reports: vec![report], names, ..Compound::default() }
    }
}

impl Stream {
    fn info(&self, now: Timestamp, (at, timestamp): (Timestamp, u32), clock_rate: u32) -> SenderInfo {
        let since = rtp::timestamp(now.saturating_since(at), clock_rate);
        let until = rtp::timestamp(at.saturating_since(now), clock_rate);
        SenderInfo {
            ntp: NtpTime::of(now),
            rtp_timestamp: timestamp.wrapping_add(since).wrapping_sub(until),
            packets: self.packets,
            octets: self.octets,
        }
    }
}
