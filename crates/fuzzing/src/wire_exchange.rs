//! Any bytes as a session description, and as an exchange of clocks: refused, or the same again; its answer is not longer, and what it announces is
//! refused, or the same again and can be received.

use framewire_session::{Announcement, FlowRecording};
use framewire_wire::exchange::{Exchange, Kind};
use framewire_wire::sdp;

pub(crate) fn run(data: &[u8]) {
    if let Ok(exchange) = Exchange::parse(data) {
        let again = exchange.to_bytes();
        assert!(again.len() <= data.len());
        assert_eq!(Exchange::parse(&again).as_ref(), Ok(&exchange));
        let answer = exchange.answer(1, u64::MAX);
        assert!(answer.to_bytes().len() <= data.len() && answer.kind == Kind::Answer);
        announce(exchange.text);
    }
    let text = String::from_utf8_lossy(data);
    announce(&text);
    if let Ok(described) = sdp::read(&text) {
        assert!(described.parameter_sets().iter().map(Vec::len).sum::<usize>() < data.len());
    }
}

fn announce(text: &str) {
    if let Ok(announcement) = Announcement::parse(text) {
        assert_eq!(Announcement::parse(&announcement.to_string()).as_ref(), Ok(&announcement));
        assert!(announcement.receiver(&FlowRecording::default()).is_ok(), "{text}");
    }
}
