use proptest::prelude::*;

use super::*;

fn block() -> impl Strategy<Value = ReportBlock> {
    (any::<[u32; 5]>(), any::<u8>(), -0x80_0000i32..0x80_0000).prop_map(|(words, fraction_lost, lost)| {
        let [ssrc, highest_sequence, jitter, last_report, delay] = words;
        ReportBlock { ssrc, fraction_lost, lost, highest_sequence, jitter, last_report, delay }
    })
}

fn report() -> impl Strategy<Value = Report> {
    let sender = (any::<u64>(), any::<[u32; 3]>()).prop_map(|(ntp, [rtp_timestamp, packets, octets])| SenderInfo {
        ntp: NtpTime(ntp),
        rtp_timestamp,
        packets,
        octets,
    });
    (any::<u32>(), prop::option::of(sender), prop::collection::vec(block(), 0..32))
        .prop_map(|(ssrc, sender, blocks)| Report { ssrc, sender, blocks })
}

proptest! {
    #[test]
    fn reports_come_back_as_they_went_out(
        reports in prop::collection::vec(report(), 1..4),
        names in prop::collection::vec((any::<u32>(), "[a-zé@.]{0,100}"), 0..32),
        leaving in prop::collection::vec(any::<u32>(), 0..32),
    ) {
        let compound = Compound { reports, names, leaving, skipped: 0 };
        let datagram = compound.emit().unwrap();
        prop_assert_eq!(datagram.len() % 4, 0);
        prop_assert_eq!(Compound::parse(&datagram), Ok(compound));
    }

    #[test]
    fn whatever_is_cut_off_is_refused(reports in prop::collection::vec(report(), 1..3), cut in 1usize..20) {
        let compound = Compound { reports, names: vec![(1, "a name".to_owned())], leaving: vec![2], skipped: 0 };
        let datagram = compound.emit().unwrap();
        let cut_off = Compound::parse(&datagram[..datagram.len() - cut]);
        // The whole last packet may be missing: 8 bytes of BYE.
        prop_assert_eq!(cut_off.is_ok(), cut == 8, "{:?}", cut_off);
    }
}

/// A receiver report without blocks, and what follows it.
fn after_report(rest: &[u8]) -> Vec<u8> {
    [&[0x80, 201, 0, 1, 0, 0, 0, 7], rest].concat()
}

#[test]
fn what_is_not_known_is_passed_over() {
    let application = [0x80, 204, 0, 3, 0, 0, 0, 1, b'n', b'a', b'm', b'e', 1, 2, 3, 4];
    let unknown = [0x9F, 207, 0, 0];
    let feedback = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
    let datagram = after_report(&[&application[..], &unknown, &feedback, &[0x81, 203, 0, 1, 0, 0, 0, 9]].concat());
    let compound = Compound::parse(&datagram).unwrap();
    assert_eq!((compound.skipped, compound.leaving), (3, vec![9]));
    assert_eq!(compound.reports, [Report { ssrc: 7, ..Report::default() }]);
}

#[test]
fn a_datagram_begins_with_a_report_and_is_filled_by_its_packets() {
    let refused = |datagram: &[u8]| Compound::parse(datagram).unwrap_err().to_string();
    let of_compound = |reason: &str| format!("not a compound packet of RTCP: {reason}");
    assert_eq!(refused(&[]), of_compound("there is nothing in it"));
    assert_eq!(refused(&[0x81, 203, 0, 1, 0, 0, 0, 9]), of_compound("it does not begin with a report"));
    assert_eq!(refused(&[0xA0, 201, 0, 1, 0, 0, 0, 4]), of_compound("it does not begin with a report"), "padding");
    assert_eq!(refused(&[0x40, 201, 0, 1, 0, 0, 0, 7]), of_compound("another version than 2"));
    assert_eq!(refused(&after_report(&[0x40, 203, 0, 0])), of_compound("another version than 2"));
    assert_eq!(refused(&after_report(&[0x80, 203, 0])), of_compound("the last packet is cut off"));
    assert_eq!(refused(&after_report(&[0x80, 204, 0, 1])), of_compound("the last packet is cut off"));
    assert!(refused(&[0x81, 201, 0, 1, 0, 0, 0, 7]).starts_with("packet of RTCP at byte 0: "), "one block announced");
    assert!(refused(&after_report(&[0x82, 203, 0, 1, 0, 0, 0, 9])).starts_with("packet of RTCP at byte 8: "));
}

#[test]
fn names_stand_among_other_descriptions_and_end_with_their_chunk() {
    // Chunks of a source with a tool before its name, and of one with a name that is no UTF-8; then padding.
    let chunks = b"\0\0\0\x01\x06\x02gw\x01\x03a@b\0\0\0\0\0\0\x02\x01\x01\xFF\0";
    let mut packet = vec![0xA2, 202, 0, 8];
    packet.extend(chunks);
    packet.extend([0, 0, 0, 4]);
    packet[3] = (packet.len() / WORD - 1) as u8;
    let compound = Compound::parse(&after_report(&packet)).unwrap();
    assert_eq!(compound.names, [(1, "a@b".to_owned())]);
    for (at, byte) in [(0, 0xA3), (9, 40), (packet.len() - 1, 200), (packet.len() - 1, 8)] {
        let mut wrong = packet.clone();
        wrong[at] = byte;
        assert!(Compound::parse(&after_report(&wrong)).is_err(), "{at}");
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let report = Report::default();
    let unwritable = |compound: Compound| compound.emit().unwrap_err().to_string();
    assert!(unwritable(Compound::default()).contains("begins with a report"));
    let blocks = vec![ReportBlock::default(); 32];
    unwritable(Compound { reports: vec![Report { blocks, ..report.clone() }], ..Compound::default() });
    let names = vec![(1, "n".repeat(256))];
    unwritable(Compound { reports: vec![report], names, ..Compound::default() });
}

#[test]
fn a_round_trip_needs_a_report_and_is_not_below_zero() {
    let block = |last_report, delay| ReportBlock { last_report, delay, ..ReportBlock::default() };
    let now = NtpTime(0x0000_0009_8000_0000);
    assert_eq!(block(0, 5).round_trip(now), None);
    assert_eq!(block(now.middle(), 1).round_trip(now), Some(Duration::ZERO), "rounded up");
    let (sent, after_wrap) = (NtpTime(0x0000_FFFF_8000_0000), NtpTime(0x0001_0000_8000_0000));
    assert_eq!(block(sent.middle(), 0x8000).round_trip(after_wrap), Some(Duration::from_millis(500)));
}
