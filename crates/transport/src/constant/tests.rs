//! A stream of constant rate to toy sockets: when what leaves, and what is said of it.

use framewire_units::Bitrate;
use framewire_wire::mpeg_ts::{Packet, Program, StreamType};

use super::*;
use crate::testing::{ToyDatagrams, ToyStream, movie};

/// Either socket: the halves of sessions have both behind one.
#[derive(Debug, Default)]
struct Toy {
    stream: ToyStream,
    datagrams: ToyDatagrams,
}

impl DatagramSocket for Toy {
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError> {
        self.datagrams.send(datagram)
    }

    fn free_room(&mut self) -> Result<DataSize, SocketError> {
        self.datagrams.free_room()
    }
}

impl StreamSocket for Toy {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        self.stream.write(bytes)
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        self.stream.unsent()
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        self.stream.finish()
    }
}

const RATE: Bitrate = Bitrate::from_mbps(4);

fn sender(carrier: Carrier) -> ConstantSender {
    let program = Program::of_video(StreamType::Mpeg2Video);
    let stream = match carrier {
        Carrier::Datagrams(_) => ConstantPacketizer::new(program, RATE, DataSize::from_bytes(1_500), None),
        Carrier::Stream => ConstantPacketizer::continuous(program, RATE),
    };
    ConstantSender::new(stream.unwrap(), carrier)
}

fn ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Sends frames of 40 ms each on time, and gives the socket room as it goes; everything that was said.
fn sent(carrier: Carrier, frames: &str, socket: &mut Toy, room: impl Fn(u64) -> usize) -> Vec<SenderEvent> {
    let mut half = sender(carrier);
    let frames = movie(frames, 6_000);
    let (count, mut next, mut events) = (frames.len(), frames.into_iter().zip(0..).peekable(), Vec::new());
    for now in 0..20_000 {
        socket.stream.room = room(now);
        while half.wants_frame()
            && let Some((frame, _)) = next.next_if(|(_, number)| number * 40 <= now)
        {
            half.handle_frame(ms(now), frame);
        }
        if next.peek().is_none() {
            half.handle_end(ms(now));
        }
        let progress = half.poll_write(ms(now), socket).unwrap();
        events.extend(std::iter::from_fn(|| half.poll_event()));
        if half.is_finished() {
            assert_eq!(progress, WriteProgress::Idle);
            let queued = events.iter().filter(|event| matches!(event, SenderEvent::Queued { .. })).count();
            assert_eq!(queued, count);
            return events;
        }
        match progress {
            WriteProgress::Early => assert!(half.next_timeout() > Some(ms(now))),
            WriteProgress::Blocked => assert_eq!(socket.stream.room, 0),
            WriteProgress::Idle => {
                assert_eq!(half.next_timeout(), None, "there is always something of a stream that has begun")
            }
        }
    }
    panic!("it does not end");
}

fn null_packets(bytes: &[u8]) -> u64 {
    let packets = bytes.as_chunks::<188>().0.iter().map(|packet| Packet::parse(packet).unwrap());
    packets.filter(|packet| packet.pid == 0x1FFF).count() as u64
}

fn stuffing(events: &[SenderEvent]) -> u64 {
    let bytes =
        |event: &SenderEvent| if let SenderEvent::Stuffing { bytes, .. } = event { bytes.as_bytes() } else { 0 };
    events.iter().map(bytes).sum()
}

fn packets(events: &[SenderEvent]) -> u64 {
    let bytes = |event: &SenderEvent| if let SenderEvent::Stuffing { of, .. } = event { of.as_bytes() } else { 0 };
    events.iter().map(bytes).sum()
}

#[test]
fn a_stream_has_its_rate_whatever_the_frames_are() {
    let mut socket = Toy::default();
    let events = sent(Carrier::Stream, "IPPPPPPPPPPPPPPPPPPPPPPPP", &mut socket, |_| usize::MAX);
    // The last frame begins at 960 ms, and takes 13 ms at this rate.
    let millis = socket.stream.taken.len() as f64 * 8.0 / 4e3;
    assert!((970.0..985.0).contains(&millis), "{millis} ms of a stream of 4 Mbit/s");
    assert_eq!(stuffing(&events), null_packets(&socket.stream.taken) * 188);
    assert_eq!(packets(&events), socket.stream.taken.len() as u64);
    let share = stuffing(&events) as f64 / socket.stream.taken.len() as f64;
    assert!((0.60..0.70).contains(&share), "{share}: the frames are 1.2 Mbit/s, headers and tables 5 % more");
    assert_eq!(socket.stream.finished, 1);
    let mut at = 0;
    for event in &events {
        match event {
            SenderEvent::FirstByte { frame, at: begun } => assert!(
                (0..4).contains(&(begun.nanos_since(ms(u64::from(*frame) * 40)) / 1_000_000)),
                "frame {frame}: {begun}"
            ),
            SenderEvent::LastByte { frame, at: ended, end } => {
                assert!(
                    (10..20).contains(&(ended.nanos_since(ms(u64::from(*frame) * 40)) / 1_000_000)),
                    "frame {frame}: {ended}"
                );
                let end = end.unwrap();
                assert!(end > at && end % 188 == 0);
                at = end;
            }
            _ => {}
        }
    }
    let behind = socket.stream.taken.len() - at as usize;
    assert!(behind < 7 * 188, "it ends with the packets that leave with the last one of a frame: {behind}");
}

#[test]
fn a_connection_that_stands_makes_the_stream_late_and_no_other() {
    let taken = |room: fn(u64) -> usize| {
        let mut socket = Toy::default();
        let events = sent(Carrier::Stream, "IPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP", &mut socket, room);
        let last = events
            .iter()
            .filter_map(|event| if let SenderEvent::LastByte { at, .. } = event { Some(*at) } else { None });
        let (last, mut number) = (last.max().unwrap(), 0);
        for event in &events {
            if let SenderEvent::LastByte { frame, .. } = event {
                assert_eq!(*frame, number);
                number += 1;
            }
        }
        assert_eq!(number, 52);
        (socket.stream.taken, last)
    };
    let (whole, in_time) = taken(|_| usize::MAX);
    // A second without room, and then 1,000 bytes every millisecond: twice the rate.
    let (late, at) = taken(|now| if (200..1_200).contains(&now) { 0 } else { 1_000 });
    assert!(whole == late, "the same packets with the same clock");
    assert!((ms(2_040)..ms(2_070)).contains(&in_time), "{in_time}");
    // From 200 ms on, what takes 1,853 ms at the rate takes half of it.
    assert!((ms(2_115)..ms(2_145)).contains(&at), "{at}");
}

#[test]
fn a_datagram_that_finds_no_room_dooms_its_frame_alone() {
    for (overflow, rule) in [(Overflow::Drop, "udp: send buffer full"), (Overflow::Wait, "udp: device queue full")] {
        let outcome = if overflow == Overflow::Drop { DatagramSend::WouldBlock } else { DatagramSend::Dropped };
        // The second and the third datagram are of the first frame, and the twentieth is one of stuffing.
        let mut outcomes = vec![DatagramSend::Sent; 30];
        for lost in [1, 2, 12] {
            outcomes[29 - lost] = outcome;
        }
        let mut socket = Toy { datagrams: ToyDatagrams { outcomes, ..ToyDatagrams::default() }, ..Toy::default() };
        let events = sent(Carrier::Datagrams(overflow), "IPPPP", &mut socket, |_| 0);
        let of = |wanted: fn(&SenderEvent) -> Option<u32>| events.iter().filter_map(wanted).collect::<Vec<u32>>();
        let discarded = of(|event| if let SenderEvent::Discarded { frame, .. } = event { Some(*frame) } else { None });
        let ended = of(|event| if let SenderEvent::LastByte { frame, .. } = event { Some(*frame) } else { None });
        assert_eq!((discarded, ended), (vec![0], vec![1, 2, 3, 4]), "{overflow:?}");
        assert!(events.iter().any(|event| matches!(event, SenderEvent::Discarded { rule: told, .. } if *told == rule)));
        let lost: Vec<Option<u32>> = events
            .iter()
            .filter_map(|event| match event {
                SenderEvent::Datagram { frame, sent: false, .. } => Some(*frame),
                _ => None,
            })
            .collect();
        assert_eq!(lost, [Some(0), Some(0), None], "{overflow:?}");
        let bytes: Vec<u8> = socket.datagrams.sent.concat();
        assert_eq!(stuffing(&events), null_packets(&bytes) * 188, "of those that were sent");
        let own: u32 = events
            .iter()
            .map(|event| match event {
                SenderEvent::Datagram { frame: Some(1), size, headers, .. } => size - u32::from(*headers),
                _ => 0,
            })
            .sum();
        assert_eq!(own as usize, movie("IPPPP", 6_000)[1].bytes.len());
    }
}

#[test]
fn a_full_socket_is_waited_for_and_what_is_stopped_is_told_once() {
    let mut half = sender(Carrier::Datagrams(Overflow::Wait));
    let frames = movie("IPP", 6_000);
    let mut socket = Toy::default();
    socket.datagrams.outcomes = vec![DatagramSend::WouldBlock];
    for frame in frames {
        assert!(half.wants_frame());
        half.handle_frame(ms(0), frame);
    }
    assert_eq!(half.poll_write(ms(0), &mut socket).unwrap(), WriteProgress::Blocked);
    assert!(socket.datagrams.sent.is_empty());
    assert_eq!(half.poll_write(ms(1), &mut socket).unwrap(), WriteProgress::Early);
    assert_eq!(socket.datagrams.sent.len(), 1);
    half.handle_abort(ms(2));
    let discarded: Vec<u32> = std::iter::from_fn(|| half.poll_event())
        .filter_map(|event| if let SenderEvent::Discarded { frame, .. } = event { Some(frame) } else { None })
        .collect();
    assert_eq!(discarded, [0, 1, 2]);
    assert!(half.is_finished() && !half.wants_frame());
}

/// Over a connection that is slower than the stream there would always be a group of null packets that waits for room.
#[test]
fn behind_the_last_frame_is_no_stuffing_but_what_there_is_to_say() {
    for complete in [false, true] {
        let mut half = sender(Carrier::Stream);
        let mut socket = Toy::default();
        socket.stream.room = 4_000;
        half.handle_frame(ms(0), movie("I", 6_000).remove(0));
        if complete {
            half.handle_complete();
        }
        assert_eq!(half.poll_write(ms(1_000), &mut socket).unwrap(), WriteProgress::Blocked);
        assert!(half.next_timeout().is_some(), "some of the frame waits");
        socket.stream.room = 100_000;
        let progress = half.poll_write(ms(1_000), &mut socket).unwrap();
        if !complete {
            // 500 kB are due by now.
            assert_eq!((progress, socket.stream.taken.len()), (WriteProgress::Blocked, 104_000));
            continue;
        }
        assert_eq!((progress, half.next_timeout()), (WriteProgress::Idle, None));
        let len = socket.stream.taken.len();
        assert!((6_000..8_000).contains(&len), "{len} bytes: those of the frame, and the rest of a group");
        assert!(!half.is_finished() && socket.stream.finished == 0, "the end was not signalled");
        half.handle_message(vec![1; 3_000]);
        assert_eq!(half.poll_write(ms(1_000), &mut socket).unwrap(), WriteProgress::Idle);
        half.handle_end(ms(1_000));
        assert_eq!(half.poll_write(ms(1_000), &mut socket).unwrap(), WriteProgress::Idle);
        assert!(half.is_finished() && socket.stream.finished == 1);
        assert_eq!(socket.stream.taken[len..], [1; 3_000]);
    }
}
