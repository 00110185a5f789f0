//! A session of the simplest kind: the receiver says a word, the sender answers with one, and then comes the movie.

use super::*;

/// What the receiver says, and what the sender answers.
const WORDS: [&[u8]; 2] = [b"please\n", b"here\n"];

/// The sender's end. It waits for the word until a time, and takes no other.
#[derive(Debug)]
pub(crate) struct Polite {
    heard: Vec<u8>,
    patience: Option<Timestamp>,
    wishes: VecDeque<Wish>,
    transmit: VecDeque<Vec<u8>>,
    over: bool,
}

impl Polite {
    pub(crate) fn until(patience: Timestamp) -> Self {
        let (heard, wishes, transmit) = Default::default();
        Self { heard, patience: Some(patience), wishes, transmit, over: false }
    }
}

impl Serving for Polite {
    fn handle_bytes(&mut self, _: Timestamp, bytes: &[u8]) -> Result<(), String> {
        self.heard.extend_from_slice(bytes);
        if !WORDS[0].starts_with(&self.heard) {
            return Err("the receiver is not polite".to_owned());
        }
        if self.heard == WORDS[0] {
            self.patience = None;
            self.transmit.push_back(WORDS[1].to_vec());
            self.wishes.push_back(Wish::Begin);
        }
        Ok(())
    }

    fn handle_close(&mut self, _: Timestamp) {
        self.wishes.push_back(Wish::End);
        self.over = true;
    }

    fn handle_timeout(&mut self, _: Timestamp) {
        self.patience = None;
        self.over = true;
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.patience
    }

    fn handle_all_sent(&mut self, _: Timestamp) {
        self.over = true;
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

/// The receiver's end.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    said: bool,
    answer: Vec<u8>,
    heard: VecDeque<Heard>,
    begun: bool,
}

impl Asking for Asks {
    fn handle_bytes(&mut self, _: Timestamp, bytes: &[u8]) {
        let (answer, movie) = bytes.split_at(bytes.len().min(WORDS[1].len() - self.answer.len()));
        self.answer.extend_from_slice(answer);
        if !movie.is_empty() {
            self.begun = true;
            self.heard.push_back(Heard::Movie(Bytes::copy_from_slice(movie)));
        }
    }

    fn handle_close(&mut self, _: Timestamp) {
        let early = (!self.begun).then(|| "the sender gave no answer".to_owned());
        self.heard.push_back(Heard::Ended(early));
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        (!std::mem::replace(&mut self.said, true)).then(|| WORDS[0].to_vec())
    }

    fn has_begun(&self) -> bool {
        self.begun
    }
}
