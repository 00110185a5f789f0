//! RTSP 1.0: a client plays a movie, whose packets go between what both say.

use std::collections::VecDeque;
use std::sync::Arc;

use framewire_units::{Duration, RandomStream, Timestamp};
use framewire_wire::rtsp::{Account, Delivery, Server, ServerEvent, ServerSettings, put_interleaved};

use super::Manner;
use super::body::Body;
use super::catalogue::Catalogue;
use super::client::{Connection, Conversation, Stage};
use super::record::{Client, Ending};
use crate::rtcp::RtcpEnd;
use crate::sender::{PacketSent, Showing};

/// What accounts are of, as a client is told (RFC 2617, section 3.2.1).
const REALM: &str = "framewire";

/// How long a client has to end its session, or the connection, when the movie has ended.
const PARTING: Duration = Duration::from_secs(10);

/// A connection that was accepted now, of a client that plays (see [`Server`]). What its session is called, and what it is asked for
/// a password with, is drawn from `random`: such that nobody can foresee.
pub fn rtsp_client(
    catalogue: &Catalogue,
    manner: Manner,
    account: Option<Account>,
    now: Timestamp,
    random: RandomStream,
) -> Box<dyn Client> {
    let settings = ServerSettings {
        presentations: Arc::clone(&catalogue.presentations),
        ports: None,
        account: account.map(|account| (REALM.to_owned(), account)),
        timeout: manner.next_request,
    };
    Box::new(Connection::new(Rtsp {
        catalogue: catalogue.clone(),
        manner,
        server: Server::new(settings, now, random).with_patience(manner.first_request),
        reports: Vec::new(),
        messages: VecDeque::new(),
        parting: None,
    }))
}

struct Rtsp {
    catalogue: Catalogue,
    manner: Manner,
    server: Server,
    /// About the streams of the movie that is played, or was.
    reports: Vec<Reports>,
    /// Reports that are to be written.
    messages: VecDeque<Vec<u8>>,
    /// When the connection ends, because the movie has.
    parting: Option<Timestamp>,
}

/// Reports about a stream: on which channel they go.
struct Reports {
    stream: usize,
    channel: u8,
    end: RtcpEnd,
}

impl Rtsp {
    fn begin(&mut self, now: Timestamp, movie: usize, deliveries: &[Option<Delivery>], stage: &mut Stage) {
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
        stage.begin(now, &self.catalogue.presentations[movie].path, None, Body::interleaved(session));
    }

    fn about(&mut self, stream: usize) -> Option<&mut RtcpEnd> {
        self.reports.iter_mut().find(|reports| reports.stream == stream).map(|reports| &mut reports.end)
    }

    /// Makes the reports that are due.
    fn report(&mut self, now: Timestamp) {
        let Self { reports, messages, .. } = self;
        for reports in reports {
            let sent = reports.end.drive(now, |datagram| {
                let mut frame = Vec::new();
                put_interleaved(reports.channel, datagram, &mut frame);
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

    fn handle_close(&mut self) {
        self.server.handle_close();
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.server.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_reports = self.reports.iter().filter_map(|reports| reports.end.next_timeout());
        self.server.next_timeout().into_iter().chain(of_reports).chain(self.parting).min()
    }

    fn serve(&mut self, now: Timestamp, stage: &mut Stage) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Play(movie, deliveries) => self.begin(now, movie, &deliveries, stage),
                ServerEvent::Rtcp(stream, packet) => {
                    self.about(stream).into_iter().for_each(|end| end.handle_rtcp(now, &packet));
                }
                ServerEvent::Stop => {
                    let packets = stage.end(now, Ending::Left);
                    self.handle_packets(now, &packets);
                }
            }
        }
    }

    fn poll_message(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.server.poll_transmit().or_else(|| {
            self.report(now);
            self.messages.pop_front()
        })
    }

    fn handle_packets(&mut self, now: Timestamp, packets: &[PacketSent]) {
        for packet in packets {
            let about = self.about(usize::from(packet.is_sound));
            about.into_iter().for_each(|end| end.handle_packet_sent(now, packet.timestamp, packet.octets as usize));
        }
    }

    /// Its streams are left, and the client has some time to leave, too.
    fn handle_written(&mut self, now: Timestamp) {
        self.reports.iter_mut().for_each(|reports| reports.end.leave(now));
        self.parting = Some(now + PARTING);
    }

    fn was_asked(&self) -> bool {
        self.server.was_asked()
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.server.is_over() || self.parting.is_some_and(|at| at <= now)
    }
}
