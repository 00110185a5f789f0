//! A stream that is made while it is sent, in virtual time: a host and its clients over a network without delay.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::{Availability, ENDLESS, PacketSource, Plan, SourceError, SourcePacket};
use framewire_units::{Bitrate, Duration, Timestamp};
use framewire_wire::vtp::{Reason, Secret, Title};

const FRAME: Duration = Duration::from_millis(40);
const GROUP: u32 = 10;
const PAYLOAD: usize = 500;

/// Frames of one packet, 25 a second, in groups of ten.
struct Growing {
    /// The first frame that is kept, the first that is not there yet, and whether more will come.
    kept: Mutex<(u32, u32, bool)>,
    /// Groups that are kept.
    window: u32,
    rate: Bitrate,
}

impl Growing {
    fn new(window: u32, rate: Bitrate) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::new((0, 0, true)), window, rate })
    }

    fn grow(&self) {
        let mut kept = self.kept.lock().unwrap();
        kept.1 += GROUP;
        kept.0 = kept.1.saturating_sub(self.window * GROUP);
    }

    fn end(&self) {
        self.kept.lock().unwrap().2 = false;
    }
}

impl PacketSource for Growing {
    fn levels(&self) -> usize {
        1
    }

    fn frames(&self) -> u32 {
        ENDLESS
    }

    fn beginning(&self) -> u32 {
        self.kept.lock().unwrap().1.saturating_sub(GROUP)
    }

    fn availability(&self, frame: u32) -> Availability {
        let (first, end, goes_on) = *self.kept.lock().unwrap();
        match frame {
            _ if frame < first => Availability::Gone { next: first },
            _ if frame < end => Availability::Ready,
            _ if goes_on => Availability::NotYet,
            _ => Availability::End,
        }
    }

    fn time_of(&self, frame: u32) -> Duration {
        FRAME * frame
    }

    fn duration(&self) -> Duration {
        FRAME * ENDLESS
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        frame.is_multiple_of(GROUP)
    }

    fn packet(&self, frame: u32, _level: usize, _index: u32) -> Result<SourcePacket, SourceError> {
        assert_eq!(self.availability(frame), Availability::Ready);
        let bytes = Bytes::from(vec![frame as u8; PAYLOAD]);
        Ok(SourcePacket { bytes, last: true, key: self.is_switch_point(frame) })
    }
}

impl Plan for Growing {
    fn levels(&self) -> usize {
        1
    }

    fn rate_at(&self, _level: usize, _at: Duration) -> Bitrate {
        self.rate
    }
}

/// What a client got: frames of the source by their bytes, and its events.
struct Viewer {
    client: Client,
    number: u8,
    frames: Vec<(u32, Duration, u8)>,
    lost: Vec<(u32, u32)>,
    ended: Option<Reason>,
}

impl Viewer {
    fn on(&self, channel: Channel) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, self.number), 5_000 + channel as u16))
    }

    fn act(&mut self, now: Timestamp, host: &mut Host) {
        while let Some(sent) = self.client.poll_transmit(now) {
            host.handle_datagram(now, sent.channel, self.on(sent.channel), &sent.bytes);
        }
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::FrameComplete(frame) => self.frames.push((frame.frame, frame.media_time, frame.bytes[0])),
                ClientEvent::FramesLost { first, count } => self.lost.push((first, count)),
                ClientEvent::Ended(reason) => self.ended = Some(reason),
                _ => {}
            }
        }
    }
}

/// A group comes each 400 ms, `groups` in all; client n comes at the n-th of these times in milliseconds.
fn watch(source: &Arc<Growing>, groups: u64, comes_at: &[u64]) -> Vec<Viewer> {
    let title = Title::new("live").unwrap();
    let settings = ServerSettings::paper(title.clone(), Secret::new([3; 32]));
    let mut host =
        Host::new(source.clone(), source.clone(), Box::new(|| Box::new(FixedRate::new())), settings, 9).unwrap();
    let mut viewers: Vec<Viewer> = (1..=comes_at.len() as u8)
        .map(|number| {
            let client = Client::new(ClientSettings::paper(title.clone(), number.into()));
            Viewer { client, number, frames: vec![], lost: vec![], ended: None }
        })
        .collect();
    for millis in 0..60_000 {
        let now = Timestamp::from_millis(1_000 + millis);
        if millis % 400 == 0 && millis / 400 <= groups {
            if millis / 400 < groups {
                source.grow()
            } else {
                source.end()
            }
            host.handle_more(now);
        }
        let here = comes_at.iter().filter(|&&at| at <= millis).count();
        for viewer in &mut viewers[..here] {
            viewer.act(now, &mut host);
        }
        let mut sent_now = 0;
        while let Some(sent) = host.poll_transmit(now) {
            let viewer = viewers.iter_mut().find(|viewer| viewer.on(sent.channel) == sent.to).unwrap();
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
            viewer.act(now, &mut host);
            sent_now += 1;
        }
        assert!(sent_now < 100, "a source that waits for frames is polled for ever");
        if viewers.iter().all(|viewer| viewer.ended.is_some()) {
            return viewers;
        }
    }
    panic!("it did not end");
}

/// 110 kbit/s: a tenth more than is made.
const ENOUGH: Bitrate = Bitrate::from_kbps(110);

#[test]
fn everybody_gets_what_comes_from_the_newest_group_on_and_counts_from_there() {
    let source = Growing::new(3, ENOUGH);
    let viewers = watch(&source, 10, &[50, 1_700]);
    // The first comes while group 0 is the newest, the second at 1.7 s, when group 4 is.
    for (viewer, first) in viewers.iter().zip([0, 40]) {
        let expected: Vec<_> =
            (first..100).map(|frame| (frame - first, FRAME * (frame - first), frame as u8)).collect();
        assert_eq!(viewer.frames, expected);
        assert_eq!((viewer.lost.as_slice(), viewer.ended), (&[][..], Some(Reason::EndOfMovie)));
    }
}

#[test]
fn who_comes_before_the_first_frame_waits_for_it() {
    let source = Growing::new(3, ENOUGH);
    source.kept.lock().unwrap().1 = 0;
    let viewers = watch(&source, 5, &[0]);
    assert_eq!(viewers[0].frames.len(), 50);
}

/// At half of the rate that it is made at, the stream falls behind, and what is no longer kept is left out: by whole
/// groups up to the place where it goes on, and reported.
#[test]
fn who_falls_behind_goes_on_with_what_there_is() {
    let source = Growing::new(2, Bitrate::from_kbps(50));
    let viewers = watch(&source, 20, &[50]);
    let viewer = &viewers[0];
    let lost: u32 = viewer.lost.iter().map(|(_, count)| count).sum();
    assert_eq!(viewer.frames.len() as u32 + lost, 200);
    assert!((70..=110).contains(&lost), "{lost} frames of 200");
    let lost: Vec<u32> = viewer.lost.iter().flat_map(|&(first, count)| first..first + count).collect();
    let ends = lost.windows(2).filter(|pair| pair[0] + 1 != pair[1]).map(|pair| pair[0] + 1);
    assert!(ends.clone().count() > 5 && ends.clone().all(|end| end.is_multiple_of(GROUP)), "at key frames: {lost:?}");
    assert!(viewer.frames.iter().all(|&(frame, time, byte)| byte == frame as u8 && time == FRAME * frame));
    assert_eq!(viewer.ended, Some(Reason::EndOfMovie));
}
