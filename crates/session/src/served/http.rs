//! HTTP/1.1: a client fetches what it wants, one thing after the other.

use framewire_units::{Duration, Timestamp};
use framewire_wire::http::{Serve, Server, ServerEvent};

use super::ServingPolicy;
use super::body::Body;
use super::catalogue::{Catalogue, Form};
use super::client::{Connection, Conversation, Stage};
use super::record::{Client, Ending, Record};
use crate::sender::Playback;

/// A connection that was accepted now, of a client that fetches (see [`Server`]). Time zero is `time_of_day` after 1970-01-01 UTC,
/// where that is known: responses then say when they were made.
pub fn http_client(
    catalogue: &Catalogue,
    policy: ServingPolicy,
    time_of_day: Option<Duration>,
    now: Timestamp,
) -> Box<dyn Client> {
    let server = Server::new(catalogue.resources.clone(), now);
    let server = time_of_day.into_iter().fold(server, Server::with_time_of_day);
    let server = server.with_patience(policy.first_request, policy.next_request);
    Box::new(Connection::new(Http { catalogue: catalogue.clone(), policy, server }))
}

struct Http {
    catalogue: Catalogue,
    policy: ServingPolicy,
    server: Server,
}

impl Http {
    fn begin(&self, now: Timestamp, serve: &Serve, stage: &mut Stage) {
        let resource = &self.catalogue.resources[serve.resource];
        let body = match &self.catalogue.forms[serve.resource] {
            Form::Page(page) => Body::Bytes(page.slice(serve.bytes.start as usize..serve.bytes.end as usize)),
            Form::File(file) => Body::File { file: file.clone(), left: serve.bytes.clone(), read: Default::default() },
            Form::Movie(setup) => {
                let playback = Playback {
                    start: now,
                    pacing: self.policy.pacing,
                    ahead: self.policy.ahead,
                    first: Default::default(),
                    is_endless: self.policy.is_endless && resource.length.is_none(),
                };
                let (session, skip) = setup.played_from(serve.bytes.start, &playback);
                Body::fetched(session, skip, &serve.bytes, resource.length.is_some())
            }
        };
        let bytes = resource.length.map(|_| serve.bytes.clone());
        stage.begin(Record::new(now, self.server.asked(), &resource.path, bytes), body);
    }
}

impl Conversation for Http {
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
        self.server.next_timeout()
    }

    fn serve(&mut self, now: Timestamp, stage: &mut Stage) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Serve(serve) => self.begin(now, &serve, stage),
                ServerEvent::Answered(answered) => stage.note_answer(now, &answered),
                ServerEvent::Stop => drop(stage.end(now, Ending::Left)),
            }
        }
    }

    fn poll_message(&mut self, _: Timestamp) -> Option<Vec<u8>> {
        self.server.poll_transmit()
    }

    fn handle_written(&mut self, now: Timestamp) {
        // What came meanwhile and is no HTTP has ended the connection.
        drop(self.server.handle_served(now));
    }

    fn was_asked(&self) -> bool {
        self.server.was_asked()
    }

    fn is_over(&self, _: Timestamp) -> bool {
        self.server.is_over()
    }
}
