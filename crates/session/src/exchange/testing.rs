//! A session of the simplest kind: the receiver says a word, the sender answers with one, and then comes the movie.

use super::*;

/// What the receiver says, and what the sender answers.
const WORDS: [&[u8]; 2] = [b"please\n", b"here\n"];

/// The sender's end. It waits for the word until a time, and takes no other.
#[derive(Debug)]
pub(crate) struct ScriptedServer {
    received: Vec<u8>,
    patience: Option<Timestamp>,
    commands: VecDeque<PlaybackCommand>,
    transmit: VecDeque<Vec<u8>>,
    over: bool,
}

impl ScriptedServer {
    pub(crate) fn until(patience: Timestamp) -> Self {
        let (received, commands, transmit) = Default::default();
        Self { received, patience: Some(patience), commands, transmit, over: false }
    }
}

impl ServerExchange for ScriptedServer {
    fn handle_bytes(&mut self, _: Timestamp, bytes: &[u8]) -> Result<(), String> {
        self.received.extend_from_slice(bytes);
        if !WORDS[0].starts_with(&self.received) {
            return Err("the receiver is not polite".to_owned());
        }
        if self.received == WORDS[0] {
            self.patience = None;
            self.transmit.push_back(WORDS[1].to_vec());
            self.commands.push_back(PlaybackCommand::Begin);
        }
        Ok(())
    }

    fn handle_close(&mut self, _: Timestamp) {
        self.commands.push_back(PlaybackCommand::End);
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

    fn poll_command(&mut self) -> Option<PlaybackCommand> {
        self.commands.pop_front()
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
pub(crate) struct ScriptedClient {
    said: bool,
    answer: Vec<u8>,
    events: VecDeque<ExchangeEvent>,
    begun: bool,
}

impl ClientExchange for ScriptedClient {
    fn handle_bytes(&mut self, _: Timestamp, bytes: &[u8]) {
        let (answer, movie) = bytes.split_at(bytes.len().min(WORDS[1].len() - self.answer.len()));
        self.answer.extend_from_slice(answer);
        if !movie.is_empty() {
            self.begun = true;
            self.events.push_back(ExchangeEvent::Movie(Bytes::copy_from_slice(movie)));
        }
    }

    fn handle_close(&mut self, _: Timestamp) {
        let early = (!self.begun).then(|| "the sender gave no answer".to_owned());
        self.events.push_back(ExchangeEvent::Ended(early));
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.events.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        (!std::mem::replace(&mut self.said, true)).then(|| WORDS[0].to_vec())
    }

    fn has_begun(&self) -> bool {
        self.begun
    }
}
