//! RTSP 1.0: a client plays a movie, whose packets go between what both say, or beside it in datagrams.

use std::collections::VecDeque;
use std::sync::Arc;

use framewire_transport::socket::SocketError;
use framewire_units::{Duration, RandomStream, Timestamp};
use framewire_wire::message::Status;
use framewire_wire::rtsp::{
    Account, Delivery, NptRange, Playing, Server, ServerEvent, ServerSettings, put_interleaved,
};

use super::ServingPolicy;
use super::body::Body;
use super::catalogue::Catalogue;
use super::client::{Connection, Conversation, Stage};
use super::record::{Client, Ending, Opening, Record};
use crate::flow::Carried;
use crate::flow::rtp_seed::first_numbers;
use crate::half::{ChannelId, Channels};
use crate::rtcp::{RtcpEnd, RtcpLog};
use crate::sender::{PacketSent, Playback};

/// What accounts are of, as a client is told (RFC 2617, section 3.2.1).
const REALM: &str = "framewire";

/// Bytes of RTCP that a ledger keeps of each stream and direction; more are left out. Of an end that reports 100 bytes every five
/// seconds that is three and a half hours.
const MOST_REPORTED: usize = 256 << 10;

/// How long a client has to end its session, or the connection, when the movie has ended.
const PARTING: Duration = Duration::from_secs(10);

/// A connection that was accepted now, of a client that plays (see [`Server`]). What its session is called, and what it is asked for
/// a password with, is drawn from `random`: such that nobody can foresee.
pub fn rtsp_client(
    catalogue: &Catalogue,
    policy: ServingPolicy,
    account: Option<Account>,
    now: Timestamp,
    mut random: RandomStream,
) -> Box<dyn Client> {
    let presentations = match policy.is_endless {
        false => Arc::clone(&catalogue.presentations),
        true => Arc::clone(&catalogue.endless),
    };
    let settings = ServerSettings {
        presentations,
        over_udp: true,
        account: account.map(|account| (REALM.to_owned(), account)),
        timeout: policy.next_request,
    };
    let first = std::array::from_fn(|_| first_numbers(&mut random));
    let number = random.next_u64() >> 1;
    Box::new(Connection::new(Rtsp {
        first,
        catalogue: catalogue.clone(),
        policy,
        server: Server::new(settings, now, random).with_patience(policy.first_request).described_as(number),
        reports: Vec::new(),
        messages: VecDeque::new(),
        openings: VecDeque::new(),
        until: None,
        leaving: None,
        parting: None,
    }))
}

/// How long after the last packet in datagrams BYE is said: it goes to another port, and players that hear it first read no more of what is
/// still in their sockets.
const LAST_PACKETS: Duration = Duration::from_millis(200);

struct Rtsp {
    /// With which sequence number and time stamp video begins, and sound: other ones for each client (RFC 3550, section 5.1).
    first: [(u16, u32); 2],
    catalogue: Catalogue,
    policy: ServingPolicy,
    server: Server,
    /// About the streams of the movie that is played, or was.
    reports: Vec<Reports>,
    /// Reports that are to be written between packets.
    messages: VecDeque<Vec<u8>>,
    openings: VecDeque<Opening>,
    /// Where what is played ends, where that was asked for.
    until: Option<Duration>,
    /// When its streams are left in datagrams, because the movie has ended.
    leaving: Option<Timestamp>,
    /// When the connection ends, because the movie has.
    parting: Option<Timestamp>,
}

/// Reports about a stream.
struct Reports {
    stream: usize,
    /// The channel on which they go between packets; `None` in datagrams.
    interleaved: Option<u8>,
    end: RtcpEnd,
}

impl Rtsp {
    /// Plays a movie, or goes on, from the place that is asked for; what is said of that.
    fn play(
        &mut self,
        now: Timestamp,
        movie: usize,
        deliveries: &[Option<Delivery>],
        range: Option<NptRange>,
        stage: &mut Stage,
    ) -> Result<Playing, Status> {
        let (catalogue, policy) = (self.catalogue.clone(), self.policy);
        let setup = &catalogue.streams[movie];
        // A stream without an end is played as it comes.
        let range = range.filter(|_| !policy.is_endless);
        let here = stage.session().and_then(|session| session.position()).unwrap_or_default();
        let place = range.map(|NptRange { from, until }| (from.unwrap_or(here), until));
        if place.is_some_and(|(from, until)| from >= setup.length() || until.is_some_and(|until| until <= from)) {
            return Err(Status::INVALID_RANGE);
        }
        if self.parting.is_some() {
            return Err(Status::METHOD_NOT_VALID);
        }
        let is_new = stage.session().is_none();
        if is_new {
            self.begin(now, movie, deliveries, stage);
        }
        let session = stage.session().expect("invariant: it was begun");
        match place {
            Some((from, until)) if !is_new || !from.is_zero() || until.is_some() => {
                self.until = until;
                session.seek(now, [from, policy.ahead], until, setup.queue());
            }
            _ => session.resume(now),
        }
        let playing = setup.playing(session, self.until);
        for reports in &mut self.reports {
            let first = playing.streams.get(reports.stream);
            first.into_iter().for_each(|first| reports.end.handle_media_clock(now, first.timestamp));
        }
        Ok(playing)
    }

    fn begin(&mut self, now: Timestamp, movie: usize, deliveries: &[Option<Delivery>], stage: &mut Stage) {
        let setup = &self.catalogue.streams[movie];
        let delivery = |stream: usize| deliveries.get(stream).copied().flatten();
        let interleaved = |stream: usize| match delivery(stream) {
            Some(Delivery::Interleaved(rtp, rtcp)) => Some((rtp, rtcp)),
            Some(Delivery::Udp(..)) | None => None,
        };
        let playback = Playback {
            start: now,
            pacing: self.policy.pacing,
            ahead: self.policy.ahead,
            first: self.first,
            is_endless: self.policy.is_endless,
        };
        let in_datagrams = deliveries.iter().flatten().any(|delivery| matches!(delivery, Delivery::Udp(..)));
        let carried = match in_datagrams {
            true => Carried::Datagrams([0, 1].map(|stream| delivery(stream).is_some())),
            false => Carried::Interleaved([0, 1].map(|stream| interleaved(stream).map(|(rtp, _)| rtp))),
        };
        let ends = setup.report_ends(now, self.first, carried).into_iter().enumerate();
        let ends = ends.filter(|(stream, _)| delivery(*stream).is_some());
        self.reports = ends
            .filter_map(|(stream, end)| {
                let interleaved = interleaved(stream).map(|(_, rtcp)| rtcp);
                Some(Reports { stream, interleaved, end: end? })
            })
            .collect();
        let body = Body::streamed(setup.streamed(&playback, carried), in_datagrams);
        let path = &self.catalogue.presentations[movie].path;
        let record = Record { in_datagrams, ..Record::new(now, self.server.asked(), path, None) };
        stage.begin(record, body);
        if stage.has_ledger() {
            self.reports.iter_mut().for_each(|reports| reports.end.record(MOST_REPORTED));
        }
    }

    fn about(&mut self, stream: usize) -> Option<&mut RtcpEnd> {
        self.reports.iter_mut().find(|reports| reports.stream == stream).map(|reports| &mut reports.end)
    }

    /// Makes the reports that are due between packets.
    fn report_between(&mut self, now: Timestamp) {
        let Self { reports, messages, .. } = self;
        for Reports { interleaved, end, .. } in reports {
            let Some(channel) = *interleaved else { continue };
            let sent = end.drive(now, |datagram| {
                let mut frame = Vec::new();
                put_interleaved(channel, datagram, &mut frame);
                messages.push_back(frame);
                Ok(true)
            });
            sent.expect("invariant: a list takes all");
        }
    }
}

impl Conversation for Rtsp {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        drop(self.server.handle_bytes(now, bytes));
    }

    /// Reports are signs of life, and what else comes opens the way through a router.
    fn handle_datagram(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) {
        let about = self.reports.iter_mut().find(|reports| reports.end.channel() == channel);
        if let Some(reports) = about.filter(|reports| reports.interleaved.is_none()) {
            let rejected = reports.end.rejected();
            reports.end.handle_rtcp(now, datagram);
            if reports.end.rejected() == rejected {
                self.server.handle_life(now);
            }
        }
    }

    fn handle_close(&mut self) {
        self.server.handle_close();
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.server.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_reports = self.reports.iter().filter_map(|reports| reports.end.next_timeout());
        self.server.next_timeout().into_iter().chain(of_reports).chain(self.leaving).chain(self.parting).min()
    }

    fn serve(&mut self, now: Timestamp, stage: &mut Stage) {
        // What is wrong with requests behind one that is answered here was answered, and ends the connection.
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Open { movie, stream, client } => {
                    let channels = self.catalogue.streams[movie].stream_channels(stream);
                    self.openings.push_back(Opening { channels, client });
                }
                ServerEvent::Play { movie, deliveries, range } => {
                    let playing = self.play(now, movie, &deliveries, range, stage);
                    drop(self.server.handle_playing(now, playing));
                }
                ServerEvent::Pause => stage.session().into_iter().for_each(|session| session.pause(now)),
                ServerEvent::Rtcp(stream, packet) => {
                    self.about(stream).into_iter().for_each(|end| end.handle_rtcp(now, &packet));
                }
                ServerEvent::Answered(answered) => stage.note_answer(now, &answered),
                ServerEvent::Stop => {
                    let packets = stage.end(now, Ending::Left);
                    self.handle_packets(now, &packets);
                }
            }
        }
    }

    fn poll_message(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.server.poll_transmit().or_else(|| {
            self.report_between(now);
            self.messages.pop_front()
        })
    }

    fn report(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<(), SocketError> {
        if self.leaving.is_some_and(|at| at <= now) {
            self.leaving = None;
            self.reports.iter_mut().for_each(|reports| reports.end.leave(now));
        }
        let mut beside = self.reports.iter_mut().filter(|reports| reports.interleaved.is_none());
        beside.try_for_each(|reports| reports.end.drive_on(now, channels))
    }

    fn poll_opening(&mut self) -> Option<Opening> {
        self.openings.pop_front()
    }

    fn handle_opened(&mut self, now: Timestamp, ports: Option<(u16, u16)>) {
        drop(self.server.handle_opened(now, ports));
    }

    fn handle_packets(&mut self, now: Timestamp, packets: &[PacketSent]) {
        for packet in packets {
            let about = self.about(usize::from(packet.is_sound));
            about.into_iter().for_each(|end| end.handle_packet_sent(now, packet.timestamp, packet.octets as usize));
        }
    }

    /// Its streams are left, and the client has some time to leave, too.
    fn handle_written(&mut self, now: Timestamp) {
        let (between, beside): (Vec<_>, Vec<_>) =
            self.reports.iter_mut().partition(|reports| reports.interleaved.is_some());
        between.into_iter().for_each(|reports| reports.end.leave(now));
        self.leaving = Some(now + LAST_PACKETS).filter(|_| !beside.is_empty());
        self.parting = Some(now + PARTING);
    }

    fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    fn take_reports(&mut self) -> Vec<RtcpLog> {
        self.reports.drain(..).map(|reports| reports.end.into_log()).collect()
    }

    fn was_asked(&self) -> bool {
        self.server.was_asked()
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.server.is_over() || self.parting.is_some_and(|at| at <= now)
    }
}
