//! HTTP/1.1: the receiver fetches the movie, as a file or as a stream that goes on until the connection is closed.

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::Timestamp;
use framewire_wire::http::{Client, ClientEvent, Fetch, Resource, Server, ServerEvent};

use super::{Asking, Heard, Serving, Wish};

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
pub(crate) struct HttpServing {
    server: Server,
    /// What goes before the first frame and was not handed over yet.
    index: Bytes,
    /// The receiver asked for the movie.
    asked: bool,
    wishes: VecDeque<Wish>,
}

impl HttpServing {
    pub(crate) fn new(fetched: &Fetched, now: Timestamp) -> Self {
        let (path, media_type) = (fetched.path.to_owned(), fetched.media_type.to_owned());
        let resource = Resource { path, media_type, length: fetched.length };
        let server = Server::new(vec![resource], now);
        Self { server, index: fetched.index.clone(), asked: false, wishes: VecDeque::new() }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Serve(_) => {
                    self.asked = true;
                    self.wishes.push_back(Wish::Begin);
                }
                ServerEvent::Stop => self.wishes.push_back(Wish::End),
            }
        }
    }
}

impl Serving for HttpServing {
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

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        let index = |serving: &mut Self| {
            let index = std::mem::take(&mut serving.index);
            (serving.asked && !index.is_empty()).then(|| index.to_vec())
        };
        self.server.poll_transmit().or_else(|| if self.asked { index(self) } else { None })
    }

    fn is_over(&self) -> bool {
        self.server.is_over()
    }
}

/// The client.
#[derive(Debug)]
pub(crate) struct HttpAsking {
    client: Client,
    heard: VecDeque<Heard>,
    begun: bool,
}

impl HttpAsking {
    pub(crate) fn new(fetched: &Fetched) -> Self {
        Self::at(HOST, fetched.path)
    }

    /// That fetches what a server has under a path, with escapes.
    pub(crate) fn at(host: &str, path: &str) -> Self {
        let mut client = Client::default();
        let (host, path) = (host.to_owned(), path.to_owned());
        client.fetch(&Fetch { host, path, range: None, is_last: true });
        Self { client, heard: VecDeque::new(), begun: false }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            let heard = match event {
                ClientEvent::Found { .. } => continue,
                ClientEvent::Body(bytes) => {
                    self.begun = true;
                    Heard::Movie(bytes)
                }
                ClientEvent::Complete => Heard::Ended(None),
                ClientEvent::Failed(reason) => Heard::Ended(Some(reason)),
            };
            self.heard.push_back(heard);
        }
    }
}

impl Asking for HttpAsking {
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

    fn poll_heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
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

    fn ends(fetched: &Fetched) -> (HttpServing, HttpAsking) {
        (HttpServing::new(fetched, Timestamp::ZERO), HttpAsking::new(fetched))
    }

    fn movie(asking: &mut HttpAsking) -> (Vec<u8>, Option<Heard>) {
        let mut came = Vec::new();
        loop {
            match asking.poll_heard() {
                Some(Heard::Movie(bytes)) => came.extend(&bytes),
                other => return (came, other),
            }
        }
    }

    #[test]
    fn a_movie_is_asked_for_and_fetched() {
        for (fetched, before) in [(file(), INDEX), (Fetched::transport_stream(), b"")] {
            let (mut serving, mut asking) = ends(&fetched);
            assert_eq!((serving.poll_transmit(), serving.poll_wish(), serving.is_over()), (None, None, false));
            let request = asking.poll_transmit().unwrap();
            let (first, rest) = request.split_at(20);
            serving.handle_bytes(Timestamp::ZERO, first).unwrap();
            assert_eq!((serving.poll_wish(), serving.poll_transmit()), (None, None), "it is not there whole");
            serving.handle_bytes(Timestamp::ZERO, rest).unwrap();
            assert_eq!((serving.poll_wish(), serving.poll_wish()), (Some(Wish::Begin), None));
            let said: Vec<u8> = std::iter::from_fn(|| serving.poll_transmit()).flatten().collect();
            asking.handle_bytes(Timestamp::ZERO, &said[..said.len() - before.len()]);
            assert!(!asking.has_begun(), "the header of the response is nothing of the movie");
            asking.handle_bytes(Timestamp::ZERO, &[before, b"frame one".as_slice()].concat());
            assert!(asking.has_begun() && !serving.is_over());
            serving.handle_all_sent(Timestamp::from_secs(1));
            assert!(serving.is_over() && serving.poll_transmit().is_none());
            asking.handle_close(Timestamp::from_secs(1));
            assert_eq!(movie(&mut asking), ([before, b"frame one"].concat(), Some(Heard::Ended(None))));
        }
    }

    #[test]
    fn a_receiver_that_goes_is_silent_or_makes_no_sense_is_told_apart() {
        let (mut gone, mut asking) = ends(&file());
        gone.handle_bytes(Timestamp::ZERO, &asking.poll_transmit().unwrap()).unwrap();
        gone.handle_close(Timestamp::from_secs(1));
        assert_eq!((gone.poll_wish(), gone.poll_wish()), (Some(Wish::Begin), Some(Wish::End)));
        let (mut silent, _) = ends(&file());
        let patience = silent.next_timeout().unwrap();
        silent.handle_timeout(patience);
        assert!(silent.is_over() && silent.poll_wish().is_none());
        let (mut confused, _) = ends(&file());
        let reason = confused.handle_bytes(Timestamp::ZERO, b"PLAY rtsp://sender/movie RTSP/1.0\r\n\r\n").unwrap_err();
        assert!(reason.starts_with("neither a request nor a response of HTTP"), "{reason}");
        let (mut other, _) = ends(&file());
        other.handle_bytes(Timestamp::ZERO, b"GET /other HTTP/1.1\r\nHost: sender\r\n\r\n").unwrap();
        assert!(other.poll_wish().is_none() && other.poll_transmit().unwrap().starts_with(b"HTTP/1.1 404 "));
        assert!(other.poll_transmit().is_none(), "no index either");
    }

    #[test]
    fn a_receiver_says_why_it_has_no_movie() {
        let failed = |answer: &[u8]| {
            let (_, mut asking) = ends(&file());
            asking.handle_bytes(Timestamp::ZERO, answer);
            asking.handle_close(Timestamp::ZERO);
            let (_, Some(Heard::Ended(Some(reason)))) = movie(&mut asking) else { panic!("it failed") };
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
