//! One connection of RTSP 1.0.

use std::collections::VecDeque;
use std::sync::Arc;

use framewire_transport::socket::SocketError;
use framewire_units::{Duration, RandomStream, Timestamp};
use framewire_wire::rtsp::{Account, Delivery, Server, ServerEvent, ServerSettings, put_interleaved};

use super::Manner;
use super::body::{Body, Next};
use super::catalogue::Catalogue;
use super::record::{Client, Ending, Record};
use crate::channels::MOVIE_CHANNEL;
use crate::exchange::Outgoing;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, Channels, End, Half, Wait};
use crate::rtcp::RtcpEnd;
use crate::sender::Showing;

/// What accounts are of, as a client is told (RFC 2617, section 3.2.1).
const REALM: &str = "framewire";

/// How long a client has to end its session, or the connection, when the movie has ended.
const PARTING: Duration = Duration::from_secs(10);

/// A connection of a receiver that plays a movie, interleaved with what both say (see [`Server`]).
pub struct RtspClient {
    catalogue: Catalogue,
    manner: Manner,
    server: Server,
    /// What is written while no movie is: messages of the server.
    outgoing: Outgoing,
    playing: Option<Playing>,
    /// Reports about the streams of the movie that is played, or was.
    reports: Vec<Reports>,
    /// When the connection ends, because the movie has.
    parting: Option<Timestamp>,
    records: VecDeque<Record>,
    late: Vec<Duration>,
    written: u64,
    /// The stream was ended.
    finished: bool,
}

struct Playing {
    body: Body,
    record: Record,
}

/// Reports about a stream: on which channel they go.
struct Reports {
    stream: usize,
    channel: u8,
    end: RtcpEnd,
}

impl RtspClient {
    /// A connection that was accepted now. What its session is called, and what it is asked for a password with, is drawn from
    /// `random`: such that nobody can foresee.
    pub fn new(
        catalogue: &Catalogue,
        manner: Manner,
        account: Option<Account>,
        now: Timestamp,
        random: RandomStream,
    ) -> Self {
        let settings = ServerSettings {
            presentations: Arc::clone(&catalogue.presentations),
            ports: None,
            account: account.map(|account| (REALM.to_owned(), account)),
            timeout: manner.next_request,
        };
        Self {
            catalogue: catalogue.clone(),
            manner,
            server: Server::new(settings, now, random).with_patience(manner.first_request),
            outgoing: Outgoing::default(),
            playing: None,
            reports: Vec::new(),
            parting: None,
            records: VecDeque::new(),
            late: Vec::new(),
            written: 0,
            finished: false,
        }
    }

    fn take_events(&mut self, now: Timestamp) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Play(movie, deliveries) => self.begin(now, movie, &deliveries),
                ServerEvent::Rtcp(stream, packet) => {
                    let about = self.reports.iter_mut().find(|reports| reports.stream == stream);
                    about.into_iter().for_each(|reports| reports.end.handle_rtcp(now, &packet));
                }
                ServerEvent::Stop => self.end(now, Ending::Left),
            }
        }
        while let Some(message) = self.server.poll_transmit() {
            self.say(message);
        }
    }

    /// Writes a message behind the packet that was begun.
    fn say(&mut self, message: Vec<u8>) {
        match &mut self.playing {
            Some(Playing { body: Body::Movie { session, .. }, .. }) => session.handle_message(message),
            _ => self.outgoing.push(message),
        }
    }

    fn begin(&mut self, now: Timestamp, movie: usize, deliveries: &[Option<Delivery>]) {
        let setup = &self.catalogue.streams[movie];
        let channels = |stream: usize| match deliveries.get(stream).copied().flatten() {
            Some(Delivery::Interleaved(rtp, rtcp)) => Some((rtp, rtcp)),
            Some(Delivery::Udp(..)) | None => None,
        };
        let showing = Showing {
            start: now,
            pacing: self.manner.pacing,
            ahead: self.manner.ahead,
            is_endless: self.manner.is_endless,
        };
        let session = setup.interleaved(&showing, [0, 1].map(|stream| channels(stream).map(|(rtp, _)| rtp)));
        let ends = setup.report_ends(now).into_iter().enumerate();
        self.reports = ends
            .filter_map(|(stream, end)| Some(Reports { stream, channel: channels(stream)?.1, end: end? }))
            .collect();
        let body = Body::Movie { session: session.into(), skip: 0, left: u64::MAX, is_file: false };
        let record = Record {
            what: self.catalogue.presentations[movie].path.clone(),
            bytes: None,
            began: now,
            ended: now,
            sent: 0,
            frames: [0; 2],
            latest: None,
            ending: Ending::Complete,
        };
        self.playing = Some(Playing { body, record });
    }

    fn end(&mut self, now: Timestamp, ending: Ending) {
        self.note_frames(now);
        if let Some(Playing { body, record }) = self.playing.take() {
            // What is said now goes behind the packet that was begun.
            if let Body::Movie { mut session, .. } = body {
                session.take_begun().into_iter().for_each(|rest| self.outgoing.push(rest.to_vec()));
            }
            self.records.push_back(Record { ended: now, ending, ..record });
        }
    }

    fn note_frames(&mut self, now: Timestamp) {
        let Some(Playing { body: Body::Movie { session, .. }, record }) = &mut self.playing else { return };
        let (progress, late) = (session.progress(), session.take_lateness());
        record.frames = [progress.offered, progress.discarded];
        record.latest = record.latest.max(late.iter().max().copied());
        self.late.extend(late);
        for packet in session.take_packets() {
            let about = self.reports.iter_mut().find(|reports| reports.stream == usize::from(packet.is_sound));
            about.into_iter().for_each(|reports| {
                reports.end.handle_packet_sent(now, packet.timestamp, packet.octets as usize);
            });
        }
    }

    /// Hands over the reports that are due.
    fn report(&mut self, now: Timestamp) {
        let mut due = Vec::new();
        for reports in &mut self.reports {
            let sent = reports.end.drive(now, |datagram| {
                let mut frame = Vec::new();
                put_interleaved(reports.channel, datagram, &mut frame);
                due.push(frame);
                Ok(true)
            });
            sent.expect("invariant: a list takes all");
        }
        due.into_iter().for_each(|frame| self.say(frame));
    }

    /// All of the movie is written: its streams are left, and the client has some time to leave, too.
    fn part(&mut self, now: Timestamp) {
        self.end(now, Ending::Complete);
        self.reports.iter_mut().for_each(|reports| reports.end.leave(now));
        self.parting = Some(now + PARTING);
    }

    fn write(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let room = Wait { room: Some(MOVIE_CHANNEL), ..Wait::default() };
        loop {
            self.take_events(now);
            self.report(now);
            let written = &mut self.written;
            let all = self.outgoing.write_to(|bytes| {
                let taken = channels.write(MOVIE_CHANNEL, bytes)?;
                *written += taken as u64;
                Ok(taken)
            })?;
            if !all {
                return Ok(Wait { timeout: self.next_timeout(), ..room });
            }
            let Some(Playing { body, record }) = &mut self.playing else { break };
            let before = record.sent;
            let next = body.drive(now, channels, &mut record.sent);
            self.written += record.sent - before;
            self.note_frames(now);
            let own = self.next_timeout();
            match next? {
                Next::Room => return Ok(Wait { timeout: own, ..room }),
                Next::Turn => return Ok(Wait { timeout: Some(now), ..Wait::default() }),
                Next::Time(timeout) => {
                    let timeout = timeout.into_iter().chain(own).min();
                    return Ok(Wait { timeout, ..Wait::default() });
                }
                Next::Complete => self.part(now),
            }
        }
        let is_over = self.server.is_over() || self.parting.is_some_and(|at| at <= now);
        if is_over && !self.finished {
            self.finished = true;
            channels.finish(MOVIE_CHANNEL)?;
        }
        Ok(Wait { timeout: self.next_timeout(), room: None, finished: self.finished })
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_reports = self.reports.iter().filter_map(|reports| reports.end.next_timeout());
        self.server.next_timeout().into_iter().chain(of_reports).chain(self.parting).min()
    }
}

impl Half for RtspClient {
    fn channels(&self) -> Vec<Channel> {
        vec![Channel { id: MOVIE_CHANNEL, kind: ChannelKind::Stream(End::Receiver) }]
    }

    fn handle_arrival(&mut self, now: Timestamp, _: ChannelId, arrival: Arrival<'_>) {
        match arrival {
            // What makes no sense was answered, and ends the connection.
            Arrival::Bytes(bytes) => drop(self.server.handle_bytes(now, bytes)),
            Arrival::Ended => self.server.handle_close(),
            Arrival::Opened | Arrival::Datagram(_) => {}
        }
        self.take_events(now);
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        if self.finished {
            return Ok(Wait { finished: true, ..Wait::default() });
        }
        self.server.handle_timeout(now);
        self.write(now, channels)
    }

    fn stop(&mut self, now: Timestamp) {
        self.end(now, Ending::Stopped);
        self.server.handle_close();
        while self.server.poll_event().is_some() {}
    }
}

impl Client for RtspClient {
    fn has_asked(&self) -> bool {
        self.server.was_asked()
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    fn take_lateness(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.late)
    }

    fn written(&self) -> u64 {
        self.written
    }

    fn handle_failure(&mut self, now: Timestamp, reason: &str) {
        self.end(now, Ending::Broken(reason.to_owned()));
        self.finished = true;
    }
}
