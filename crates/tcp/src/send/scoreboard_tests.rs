use super::super::rate_sample::Delivery;
use super::*;

fn board(packets: u64) -> Scoreboard {
    let mut board = Scoreboard::new();
    let mut delivery = Delivery::new();
    for number in 0..packets {
        let sent = Timestamp::from_millis(number);
        let stamp = delivery.stamp(sent, number == 0, number as u32 + 1);
        board.push(Record::new(number * 100, (number + 1) * 100, sent, number, stamp));
    }
    board
}

fn stamp() -> DeliveryStamp {
    Delivery::new().stamp(Timestamp::ZERO, true, 1)
}

#[test]
fn the_tags_count_as_the_kernel_counts_them() {
    let mut board = board(10);
    assert_eq!(board.in_flight(), 10);
    board.mark_sacked(5);
    assert_eq!((board.sacked(), board.in_flight()), (1, 9));
    assert!(board.mark_lost(2));
    assert!(!board.mark_lost(2), "once");
    assert!(!board.mark_lost(5), "what has arrived is not lost");
    assert_eq!((board.lost(), board.in_flight()), (1, 8));
    assert_eq!(board.next_to_resend(), Some(2));
    board.mark_resent(2, Timestamp::from_millis(20), 20, stamp(), true);
    assert_eq!((board.resent(), board.in_flight(), board.next_to_resend()), (1, 9, None));
    board.check();
    // The retransmission is lost, too.
    assert!(board.mark_lost(2));
    assert_eq!((board.lost(), board.resent(), board.in_flight()), (1, 0, 8));
    board.mark_resent(2, Timestamp::from_millis(30), 30, stamp(), true);
    board.mark_sacked(2);
    assert_eq!((board.lost(), board.resent(), board.sacked(), board.in_flight()), (0, 0, 2, 8));
    board.check();
    while board.pop_acknowledged(1000).is_some() {
        board.check();
    }
    assert_eq!((board.in_flight(), board.sacked(), board.outstanding()), (0, 0, 0));
}

#[test]
fn sacked_runs_are_skipped() {
    let mut board = board(1000);
    for number in (10..990).rev() {
        board.mark_sacked(number);
    }
    assert_eq!(board.next_unsacked(10), 990);
    assert_eq!(board.next_unsacked(500), 990);
    assert_eq!(board.next_unsacked(9), 9);
    board.mark_sacked(990);
    assert_eq!(board.next_unsacked(10), 991);
    board.clear_sacked();
    assert_eq!(board.next_unsacked(10), 10);
    board.check();
}

#[test]
fn a_resent_packet_is_the_newest() {
    let mut board = board(4);
    board.mark_lost(0);
    assert_eq!(board.oldest(), Some(1));
    board.mark_resent(0, Timestamp::from_millis(9), 9, stamp(), true);
    let order: Vec<_> = std::iter::successors(board.oldest(), |&number| board.newer(number)).collect();
    assert_eq!(order, [1, 2, 3, 0]);
}

#[test]
fn judgements_are_taken_back_in_the_order_of_sending() {
    let mut board = board(5);
    (0..4).for_each(|number| assert!(board.mark_lost(number)));
    board.mark_resent(1, Timestamp::from_millis(9), 9, stamp(), true);
    board.clear_lost();
    assert_eq!((board.lost(), board.in_flight()), (0, 6), "the resent packet is in flight twice");
    let order: Vec<_> = std::iter::successors(board.oldest(), |&number| board.newer(number)).collect();
    assert_eq!(order, [0, 2, 3, 4, 1]);
    board.check();
}

impl Scoreboard {
    /// Counts everything anew and compares.
    pub(crate) fn check(&self) {
        let count = |is: fn(&Record) -> bool| self.records.iter().filter(|r| is(r)).count() as u32;
        assert_eq!(self.sacked, count(|r| r.sacked));
        assert_eq!(self.lost, count(|r| r.lost));
        assert_eq!(self.resent, count(|r| r.resent));
        let waiting = (self.first..).zip(&self.records).filter(|(_, r)| r.lost && !r.resent).map(|(n, _)| n);
        assert!(self.to_resend.iter().copied().eq(waiting), "the packets to resend are those lost and not resent");
        assert!(self.records.iter().all(|r| !(r.sacked && r.lost)), "a sacked packet is not lost");
        let mut linked = Vec::new();
        let mut next = self.oldest();
        while let Some(number) = next {
            linked.push(number);
            next = self.newer(number);
        }
        assert!(linked.windows(2).all(|pair| self.record(pair[0]).sent <= self.record(pair[1]).sent));
        linked.sort_unstable();
        let awaited =
            (self.first..).zip(&self.records).filter(|(_, r)| !r.sacked && (!r.lost || r.resent)).map(|(n, _)| n);
        assert!(linked.into_iter().eq(awaited), "the list holds what may still arrive");
    }
}
