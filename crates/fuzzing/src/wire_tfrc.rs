//! Any bytes as packets of TFRC: refused, or the same bytes again.

use framewire_wire::tfrc::{DataHeader, Feedback, rtp};

pub(crate) fn run(data: &[u8]) {
    if let Ok(header) = DataHeader::parse(data) {
        assert_eq!(header.emit(), data);
    }
    if let Ok(feedback) = Feedback::parse(data) {
        assert!((0.0..=1.0).contains(&feedback.loss_event_rate));
        assert_eq!(feedback.emit(), data);
    }
    if let Ok((header, fields, payload)) = rtp::parse(data) {
        // Padding and contributing sources are not written again; all else is.
        let again = rtp::emit(&header, &fields, payload);
        assert_eq!(rtp::parse(&again).unwrap(), (header, fields, payload));
    }
}
