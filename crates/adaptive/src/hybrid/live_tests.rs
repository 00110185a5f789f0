//! Whole sessions of a stream that is made while it is sent, in virtual time: what of it is left out, and why.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::client::{Client, ClientEvent, ClientSettings};
use crate::datagram::Channel;
use crate::host::Host;
use crate::rate_control::{RateControl, RateControlSettings};
use crate::source::{Availability, ENDLESS, PacketSource, Plan, SourceError, SourcePacket};
use crate::testing::{FRAME_TIME, server_settings, title};

const GROUP: u32 = 12;
const PAYLOAD: usize = 1_000;
const LENGTH_MS: u64 = 30_000;
/// One way, in milliseconds.
const DELAY: u64 = 10;

/// Two levels of 200 and 400 kbit/s in groups of 12 frames that are declared to be 40 ms apart. A group is there when
/// it is whole.
struct Growing(Mutex<u32>);

impl Growing {
    fn there(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}

impl PacketSource for Growing {
    fn levels(&self) -> usize {
        2
    }

    fn frames(&self) -> u32 {
        ENDLESS
    }

    fn beginning(&self) -> u32 {
        self.there().saturating_sub(GROUP)
    }

    fn availability(&self, frame: u32) -> Availability {
        if frame < self.there() { Availability::Ready } else { Availability::NotYet }
    }

    fn time_of(&self, frame: u32) -> Duration {
        FRAME_TIME * frame
    }

    fn duration(&self) -> Duration {
        FRAME_TIME.saturating_mul(ENDLESS)
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        frame.is_multiple_of(GROUP)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        Ok(SourcePacket {
            bytes: vec![0; PAYLOAD].into(),
            last: index == level as u32,
            key: self.is_switch_point(frame),
        })
    }
}

/// A tenth faster than it plays.
impl Plan for Growing {
    fn levels(&self) -> usize {
        2
    }

    fn rate_at(&self, level: usize, _at: Duration) -> Bitrate {
        Bitrate::from_bps((PAYLOAD * 8 * 25 * (level + 1)) as u64 * 11 / 10)
    }
}

/// What came of a stream of half a minute.
#[derive(Debug)]
struct Seen {
    /// Key frames and others that were made two seconds before the end, and how many of them came.
    made: [usize; 2],
    came: [usize; 2],
    /// Longest time from the making of a group to the arrival of its key frame, in milliseconds.
    longest_wait: u64,
    /// Of the last hundred frames that came, those of the top level.
    at_top: usize,
}

/// Datagrams on their way, with the time at which they come.
type Wire = VecDeque<(u64, Channel, Vec<u8>)>;

fn arrive(wire: &mut Wire, millis: u64) -> Vec<(Channel, Vec<u8>)> {
    let due = wire.iter().take_while(|(at, ..)| *at <= millis).count();
    wire.drain(..due).map(|(_, channel, bytes)| (channel, bytes)).collect()
}

/// Frame `n` is made `made(n)` milliseconds after the start; the path carries everything, or so many bits in a
/// millisecond.
fn watch(made: impl Fn(u32) -> u64, rate: Option<u64>) -> Seen {
    let source = Arc::new(Growing(Mutex::new(GROUP)));
    let make = RateControl::Hybrid.maker(RateControlSettings::new(DataSize::from_bytes(PAYLOAD as u64)));
    let mut host = Host::new(source.clone(), source.clone(), make, server_settings(), 1).unwrap();
    let mut client = Client::new(ClientSettings::hybrid(title(), 1));
    let on = |channel: Channel| SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 5_000 + channel as u16));
    let (mut there, mut back, mut is_free_at) = (Wire::new(), Wire::new(), 0.0f64);
    let mut frames: Vec<(u32, u64, usize)> = vec![];
    for millis in 0..LENGTH_MS {
        let now = Timestamp::from_millis(1_000 + millis);
        if made(source.there() + GROUP - 1) <= millis {
            *source.0.lock().unwrap() += GROUP;
            host.handle_more(now);
        }
        for (channel, bytes) in arrive(&mut back, millis) {
            host.handle_datagram(now, channel, on(channel), &bytes);
        }
        for (channel, bytes) in arrive(&mut there, millis) {
            client.handle_datagram(now, channel, &bytes);
        }
        while let Some(sent) = client.poll_transmit(now) {
            back.push_back((millis + DELAY, sent.channel, sent.bytes));
        }
        while let Some(sent) = host.poll_transmit(now) {
            let takes = rate.map_or(0.0, |rate| 8.0 * sent.bytes.len() as f64 / rate as f64);
            is_free_at = is_free_at.max(millis as f64) + takes;
            there.push_back((is_free_at as u64 + DELAY, sent.channel, sent.bytes));
        }
        while let Some(event) = client.poll_event() {
            if let ClientEvent::FrameComplete(frame) = event {
                frames.push((frame.frame, millis, frame.level));
            }
        }
    }
    let last = (0..source.there()).take_while(|&frame| made(frame) + 2_000 < LENGTH_MS).count() as u32;
    let both = |count: &dyn Fn(bool) -> usize| [count(true), count(false)];
    let is_key = |frame: u32| frame.is_multiple_of(GROUP);
    let of_keys = frames.iter().filter(|&&(frame, ..)| is_key(frame) && frame >= GROUP);
    Seen {
        made: both(&|key| (0..last).filter(|&frame| is_key(frame) == key).count()),
        came: both(&|key| frames.iter().filter(|&&(frame, ..)| frame < last && is_key(frame) == key).count()),
        longest_wait: of_keys.map(|&(frame, at, _)| at.saturating_sub(made(frame + GROUP - 1))).max().unwrap(),
        at_top: frames.iter().rev().take(100).filter(|&&(.., level)| level == 1).count(),
    }
}

/// As it is declared.
fn steadily(frame: u32) -> u64 {
    40 * u64::from(frame.saturating_sub(GROUP - 1))
}

/// Each of these left all but the key frames out, some at once and some after a while, and for ever.
#[test]
fn over_an_open_path_no_frame_is_left_out_whatever_the_source_does() {
    let stands_still = |frame| steadily(frame) + if frame > 150 { 1_000 } else { 0 };
    let stands_still_often = |frame| steadily(frame) + u64::from(frame / 100) * 1_000;
    let slow = |frame| steadily(frame) * 105 / 100;
    let fast = |frame| steadily(frame) * 95 / 100;
    let drops_one_of_ten = |frame| steadily(frame) * 10 / 9;
    let comes_late_and_then_at_once = |frame| steadily(frame).max(if frame > 150 { 8_000 } else { 0 });
    let sources: [(&str, &dyn Fn(u32) -> u64); 7] = [
        ("steady", &steadily),
        ("a stall", &stands_still),
        ("stalls", &stands_still_often),
        ("slow", &slow),
        ("fast", &fast),
        ("drops", &drops_one_of_ten),
        ("a burst", &comes_late_and_then_at_once),
    ];
    for (name, made) in sources {
        let seen = watch(made, None);
        assert_eq!(seen.came, seen.made, "{name}: {seen:?}");
        assert!(seen.made[0] > 35 && seen.at_top == 100, "{name}: {seen:?}");
    }
}

/// 170 kbit/s, and the lowest level needs 218 with its headers.
#[test]
fn over_a_path_that_is_too_slow_frames_are_left_out_and_key_frames_never() {
    let stands_still = |frame| steadily(frame) + if frame > 150 { 1_000 } else { 0 };
    let slow = |frame| steadily(frame) * 105 / 100;
    let fast = |frame| steadily(frame) * 95 / 100;
    let sources: [(&str, &dyn Fn(u32) -> u64); 4] =
        [("steady", &steadily), ("a stall", &stands_still), ("slow", &slow), ("fast", &fast)];
    for (name, made) in sources {
        let seen = watch(made, Some(170));
        assert_eq!(seen.came[0], seen.made[0], "{name}: {seen:?}");
        let part = seen.came[1] as f64 / seen.made[1] as f64;
        assert!((0.6..0.85).contains(&part), "{name}: {part} of {seen:?}");
        assert!(seen.longest_wait < 1_000, "{name}: {seen:?}");
    }
}
