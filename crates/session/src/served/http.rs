//! One connection of HTTP/1.1.

use std::collections::VecDeque;

use framewire_transport::socket::SocketError;
use framewire_units::{Duration, Timestamp};
use framewire_wire::http::{Serve, Server, ServerEvent};

use super::Manner;
use super::body::{Body, Next};
use super::catalogue::{Catalogue, Form};
use super::record::{Client, Ending, Record};
use crate::channels::MOVIE_CHANNEL;
use crate::exchange::Outgoing;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, Channels, End, Half, Wait};
use crate::sender::Showing;

/// A connection of a receiver that fetches what it wants, one thing after the other (see [`Server`]).
pub struct HttpClient {
    catalogue: Catalogue,
    manner: Manner,
    server: Server,
    outgoing: Outgoing,
    body: Option<(Body, Record)>,
    records: VecDeque<Record>,
    late: Vec<Duration>,
    written: u64,
    /// The stream was ended.
    finished: bool,
}

impl HttpClient {
    /// A connection that was accepted now.
    pub fn new(catalogue: &Catalogue, manner: Manner, now: Timestamp) -> Self {
        let server = Server::new(catalogue.resources.clone(), now);
        Self {
            catalogue: catalogue.clone(),
            manner,
            server: server.with_patience(manner.first_request, manner.next_request),
            outgoing: Outgoing::default(),
            body: None,
            records: VecDeque::new(),
            late: Vec::new(),
            written: 0,
            finished: false,
        }
    }

    fn take_events(&mut self, now: Timestamp) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Serve(serve) => self.begin(now, &serve),
                ServerEvent::Stop => self.end(now, Ending::Left),
            }
        }
        while let Some(message) = self.server.poll_transmit() {
            self.outgoing.push(message);
        }
    }

    fn begin(&mut self, now: Timestamp, serve: &Serve) {
        let resource = &self.catalogue.resources[serve.resource];
        let body = match &self.catalogue.forms[serve.resource] {
            Form::Page(page) => Body::Bytes(page.slice(serve.bytes.start as usize..serve.bytes.end as usize)),
            Form::File(file) => Body::File { file: file.clone(), left: serve.bytes.clone(), read: Default::default() },
            Form::Movie(setup) => {
                let showing = Showing {
                    start: now,
                    pacing: self.manner.pacing,
                    ahead: self.manner.ahead,
                    is_endless: self.manner.is_endless && resource.length.is_none(),
                };
                let (session, skip) = setup.shown(serve.bytes.start, &showing);
                let (left, is_file) = (serve.bytes.end - serve.bytes.start, resource.length.is_some());
                Body::Movie { session: session.into(), skip, left, is_file }
            }
        };
        let record = Record {
            what: resource.path.clone(),
            bytes: resource.length.map(|_| serve.bytes.clone()),
            began: now,
            ended: now,
            sent: 0,
            frames: [0; 2],
            latest: None,
            ending: Ending::Complete,
        };
        self.body = Some((body, record));
    }

    /// What is being sent has ended.
    fn end(&mut self, now: Timestamp, ending: Ending) {
        self.note_frames();
        if let Some((_, record)) = self.body.take() {
            self.records.push_back(Record { ended: now, ending, ..record });
        }
    }

    fn note_frames(&mut self) {
        let Some((Body::Movie { session, .. }, record)) = &mut self.body else { return };
        let (progress, late) = (session.progress(), session.take_lateness());
        record.frames = [progress.offered, progress.discarded];
        record.latest = record.latest.max(late.iter().max().copied());
        self.late.extend(late);
    }

    /// Writes what there is; what it then waits for.
    fn write(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let room = Wait { room: Some(MOVIE_CHANNEL), ..Wait::default() };
        loop {
            self.take_events(now);
            let written = &mut self.written;
            let all = self.outgoing.write_to(|bytes| {
                let taken = channels.write(MOVIE_CHANNEL, bytes)?;
                *written += taken as u64;
                Ok(taken)
            })?;
            if !all {
                return Ok(room);
            }
            let Some((body, record)) = &mut self.body else { break };
            let before = record.sent;
            let next = body.drive(now, channels, &mut record.sent);
            self.written += record.sent - before;
            self.note_frames();
            match next? {
                Next::Room => return Ok(room),
                Next::Turn => return Ok(Wait { timeout: Some(now), ..Wait::default() }),
                Next::Time(timeout) => return Ok(Wait { timeout, ..Wait::default() }),
                Next::Complete => {
                    self.end(now, Ending::Complete);
                    // What came meanwhile and is no HTTP has ended the connection.
                    drop(self.server.handle_served(now));
                }
            }
        }
        if self.server.is_over() && !self.finished {
            self.finished = true;
            channels.finish(MOVIE_CHANNEL)?;
        }
        Ok(Wait { timeout: self.server.next_timeout(), room: None, finished: self.finished })
    }
}

impl Half for HttpClient {
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

impl Client for HttpClient {
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
