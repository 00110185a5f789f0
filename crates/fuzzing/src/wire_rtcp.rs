//! Any bytes as RTCP: refused, or the same again; and given to a participant, whose memory and answers stay bounded.

use framewire_units::{Bitrate, Duration, Seed, Timestamp};
use framewire_wire::rtcp::{Compound, MOST_MEMBERS, Participant, RtcpBandwidth, Settings};
use framewire_wire::rtp::RtpHeader;

pub(crate) fn run(data: &[u8]) {
    if let Ok(compound) = Compound::parse(data)
        && let Ok(again) = compound.emit()
    {
        // What a datagram is read as has at least one report, and what is passed over is not written.
        assert_eq!(Compound::parse(&again), Ok(Compound { skipped: 0, ..compound }));
    }
    converse(data);
}

/// Pieces of the bytes, each behind a byte of what it is, as what a participant sends and receives.
fn converse(data: &[u8]) {
    let bandwidth = RtcpBandwidth::of_session(Bitrate::from_kbps(64));
    let settings = Settings { ssrc: 1, name: "fuzzed".to_owned(), bandwidth, ..Settings::default() };
    let mut participant = Participant::new(settings, Timestamp::ZERO, Seed(1).stream("rtcp", &[1])).expect("the name is short");
    let mut now = Timestamp::ZERO;
    for piece in data.split(|&byte| byte == 0xF7) {
        let Some((&kind, rest)) = piece.split_first() else { continue };
        now += Duration::from_millis(u64::from(kind) * 10);
        match (kind & 3, RtpHeader::parse(rest)) {
            (0, Ok((header, payload))) => participant.handle_rtp_sent(now, header.timestamp, payload.len()),
            (1, Ok((header, _))) => participant.handle_rtp(now, &header),
            (2, _) if kind > 250 => participant.leave(now),
            _ => drop(participant.handle_rtcp(now, rest)),
        }
        while let Some(packet) = participant.poll_transmit(now) {
            let compound = Compound::parse(&packet).expect("what is sent is well formed");
            assert!(compound.reports[0].ssrc == 1 && compound.names == [(1, "fuzzed".to_owned())]);
        }
        while participant.poll_event().is_some() {}
        let census = participant.census();
        assert!(census.members <= MOST_MEMBERS + 1 && census.senders <= census.members);
    }
    if participant.has_left() {
        assert_eq!(participant.poll_transmit(Timestamp::MAX), None);
    }
}
