//! HTTP/1.1: the receiver fetches the movie, as a file or as a stream that goes on until the connection is closed.

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::Timestamp;
use framewire_wire::http::{Client, ClientEvent, Fetch, Resource, Server, ServerEvent};

use super::{ClientExchange, ExchangeEvent, PlaybackCommand, ServerExchange};

/// The host that the receiver asks: what stands in its request is a name, which nobody looks up.
const HOST: &str = "sender";

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    path: &'static str,
    media_type: &'static str,
    /// Bytes of a file; `None` of a stream.
    length: Option<u64>,
    /// What stands before the first frame.
    index: Bytes,
}

impl Fetched {
    /// An MP4 file of so many bytes, which begins with its index (RFC 4337, section 2).
    pub(crate) fn file(length: u64, index: Bytes) -> Self {
        Self { path: "/movie.mp4", media_type: "video/mp4", length: Some(length), index }
    }

    /// An MP4 file in fragments, which begins with these bytes.
    pub(crate) fn fragments(index: Bytes) -> Self {
        Self { path: "/movie.mp4", media_type: "video/mp4", length: None, index }
    }

    /// A transport stream (RFC 3555, section 4.2.9).
    pub(crate) fn transport_stream() -> Self {
        Self { path: "/movie.ts", media_type: "video/mp2t", length: None, index: Bytes::new() }
    }
}

/// The server.
#[derive(Debug)]
pub(crate) struct HttpServerExchange {
    server: Server,
    /// What goes before the first frame and was not handed over yet.
    index: Bytes,
    /// The receiver asked for the movie.
    asked: bool,
    commands: VecDeque<PlaybackCommand>,
}

impl HttpServerExchange {
    pub(crate) fn new(fetched: &Fetched, now: Timestamp) -> Self {
        let (path, media_type) = (fetched.path.to_owned(), fetched.media_type.to_owned());
        let resource = Resource { path, media_type, length: fetched.length };
        let server = Server::new(vec![resource], now);
        Self { server, index: fetched.index.clone(), asked: false, commands: VecDeque::new() }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Serve(_) => {
                    self.asked = true;
                    self.commands.push_back(PlaybackCommand::Begin);
                }
                ServerEvent::Answered(_) => {}
                ServerEvent::Stop => self.commands.push_back(PlaybackCommand::End),
            }
        }
    }
}

impl ServerExchange for HttpServerExchange {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), String> {
        let taken = self.server.handle_bytes(now, bytes).map_err(|error| error.to_string());
        self.take_events();
        taken
    }

    fn handle_close(&mut self, _: Timestamp) {
        self.server.handle_close();
        self.take_events();
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.server.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.server.next_timeout()
    }

    fn handle_all_sent(&mut self, now: Timestamp) {
        // What came meanwhile is of no interest any more: the receiver asked for the movie alone.
        drop(self.server.handle_served(now));
    }

    fn poll_command(&mut self) -> Option<PlaybackCommand> {
        self.commands.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        let index = |server: &mut Self| {
            let index = std::mem::take(&mut server.index);
            (server.asked && !index.is_empty()).then(|| index.to_vec())
        };
        self.server.poll_transmit().or_else(|| if self.asked { index(self) } else { None })
    }

    fn is_over(&self) -> bool {
        self.server.is_over()
    }
}

/// The client.
#[derive(Debug)]
pub(crate) struct HttpClientExchange {
    client: Client,
    events: VecDeque<ExchangeEvent>,
    begun: bool,
}

impl HttpClientExchange {
    pub(crate) fn new(fetched: &Fetched) -> Self {
        Self::of_client(Client::default(), HOST, fetched.path)
    }

    /// That fetches what a server has under a path, with escapes, and calls itself so.
    pub(crate) fn at(host: &str, path: &str, user_agent: &str) -> Self {
        Self::of_client(Client::default().with_user_agent(user_agent), host, path)
    }

    fn of_client(mut client: Client, host: &str, path: &str) -> Self {
        let (host, path) = (host.to_owned(), path.to_owned());
        client.fetch(&Fetch { host, path, range: None, is_last: true });
        Self { client, events: VecDeque::new(), begun: false }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            let event = match event {
                ClientEvent::Found { .. } => continue,
                ClientEvent::Body(bytes) => {
                    self.begun = true;
                    ExchangeEvent::Movie(bytes)
                }
                ClientEvent::Complete => ExchangeEvent::Ended(None),
                ClientEvent::Failed(reason) => ExchangeEvent::Ended(Some(reason)),
            };
            self.events.push_back(event);
        }
    }
}

impl ClientExchange for HttpClientExchange {
    fn handle_bytes(&mut self, _: Timestamp, bytes: &[u8]) {
        // What is wrong with them is an event as well.
        drop(self.client.handle_bytes(bytes));
        self.take_events();
    }

    fn handle_close(&mut self, _: Timestamp) {
        drop(self.client.handle_close());
        self.take_events();
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.events.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }

    fn has_begun(&self) -> bool {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &[u8] = b"index";

    fn file() -> Fetched {
        Fetched::file(14, Bytes::from_static(INDEX))
    }

    fn ends(fetched: &Fetched) -> (HttpServerExchange, HttpClientExchange) {
        (HttpServerExchange::new(fetched, Timestamp::ZERO), HttpClientExchange::new(fetched))
    }

    fn movie(client: &mut HttpClientExchange) -> (Vec<u8>, Option<ExchangeEvent>) {
        let mut came = Vec::new();
        loop {
            match client.poll_event() {
                Some(ExchangeEvent::Movie(bytes)) => came.extend(&bytes),
                other => return (came, other),
            }
        }
    }

    #[test]
    fn a_movie_is_asked_for_and_fetched() {
        for (fetched, before) in [(file(), INDEX), (Fetched::transport_stream(), b"")] {
            let (mut server, mut client) = ends(&fetched);
            assert_eq!((server.poll_transmit(), server.poll_command(), server.is_over()), (None, None, false));
            let request = client.poll_transmit().unwrap();
            let (first, rest) = request.split_at(20);
            server.handle_bytes(Timestamp::ZERO, first).unwrap();
            assert_eq!((server.poll_command(), server.poll_transmit()), (None, None), "it is not there whole");
            server.handle_bytes(Timestamp::ZERO, rest).unwrap();
            assert_eq!((server.poll_command(), server.poll_command()), (Some(PlaybackCommand::Begin), None));
            let said: Vec<u8> = std::iter::from_fn(|| server.poll_transmit()).flatten().collect();
            client.handle_bytes(Timestamp::ZERO, &said[..said.len() - before.len()]);
            assert!(!client.has_begun(), "the header of the response is nothing of the movie");
            client.handle_bytes(Timestamp::ZERO, &[before, b"frame one".as_slice()].concat());
            assert!(client.has_begun() && !server.is_over());
            server.handle_all_sent(Timestamp::from_secs(1));
            assert!(server.is_over() && server.poll_transmit().is_none());
            client.handle_close(Timestamp::from_secs(1));
            assert_eq!(movie(&mut client), ([before, b"frame one"].concat(), Some(ExchangeEvent::Ended(None))));
        }
    }

    #[test]
    fn a_receiver_that_goes_is_silent_or_makes_no_sense_is_told_apart() {
        let (mut gone, mut client) = ends(&file());
        gone.handle_bytes(Timestamp::ZERO, &client.poll_transmit().unwrap()).unwrap();
        gone.handle_close(Timestamp::from_secs(1));
        assert_eq!(
            (gone.poll_command(), gone.poll_command()),
            (Some(PlaybackCommand::Begin), Some(PlaybackCommand::End))
        );
        let (mut silent, _) = ends(&file());
        let patience = silent.next_timeout().unwrap();
        silent.handle_timeout(patience);
        assert!(silent.is_over() && silent.poll_command().is_none());
        let (mut confused, _) = ends(&file());
        let reason = confused.handle_bytes(Timestamp::ZERO, b"PLAY rtsp://sender/movie RTSP/1.0\r\n\r\n").unwrap_err();
        assert!(reason.starts_with("neither a request nor a response of HTTP"), "{reason}");
        let (mut other, _) = ends(&file());
        other.handle_bytes(Timestamp::ZERO, b"GET /other HTTP/1.1\r\nHost: sender\r\n\r\n").unwrap();
        assert!(other.poll_command().is_none() && other.poll_transmit().unwrap().starts_with(b"HTTP/1.1 404 "));
        assert!(other.poll_transmit().is_none(), "no index either");
    }

    #[test]
    fn a_receiver_says_why_it_has_no_movie() {
        let failed = |answer: &[u8]| {
            let (_, mut client) = ends(&file());
            client.handle_bytes(Timestamp::ZERO, answer);
            client.handle_close(Timestamp::ZERO);
            let (_, Some(ExchangeEvent::Ended(Some(reason)))) = movie(&mut client) else { panic!("it failed") };
            reason
        };
        assert_eq!(
            failed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
            "the server answers 404 (Not Found)"
        );
        assert_eq!(failed(b""), "the server closed the connection");
        let cut = failed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nframe");
        assert_eq!(cut, "the connection was closed within a message");
    }
}
