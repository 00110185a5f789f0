//! Whole sessions of a live stream in virtual time, over a path without loss.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::client::{Client, ClientEvent, ClientSettings};
use crate::datagram::Channel;
use crate::host::Host;
use crate::rate_control::{RateControl, RateControlSettings};
use crate::server::ServerSettings;
use bytes::Bytes;
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{Secret, Title};

use super::window::{Limits, LiveSource, Row, Taken};

const FRAME: Duration = Duration::from_millis(40);
const GROUP: u32 = 25;

/// About 250, 550 and 1,000 kbit/s at 25 frames per second, with a key frame four times as large as the others.
fn row(number: u32) -> Row {
    let key = number.is_multiple_of(GROUP);
    let level = |bytes: usize| Bytes::from(vec![0; if key { 4 * bytes } else { bytes }]);
    Row { time: Some(FRAME * number), key, levels: [1_100, 2_450, 4_450].map(level).into() }
}

/// The level of each frame that came, in order, over `seconds` of a stream; the one-way delay is 10 ms.
fn levels(control: RateControl, seconds: u32) -> Vec<usize> {
    let source = Arc::new(LiveSource::new(1_000, Limits { time: Duration::from_secs(8), bytes: 64_000_000 }));
    source.set_interval(FRAME);
    (0..=GROUP).for_each(|number| _ = source.push(row(number)));
    let title = Title::new("live").unwrap();
    let settings = ServerSettings::paper(title.clone(), Secret::new([3; 32]));
    let make = control.maker(RateControlSettings::new(DataSize::from_bytes(1_000)));
    let mut host = Host::new(source.clone(), source.clone(), make, settings, 1).unwrap();
    let mut client = Client::new(ClientSettings { reports: control.reports(), ..ClientSettings::paper(title, 1) });
    let on = |channel: Channel| SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 5_000 + channel as u16));
    let (mut there, mut back, mut levels) = (vec![], vec![], vec![]);
    for millis in 0..1_000 * u64::from(seconds) {
        let now = Timestamp::from_millis(1_000 + millis);
        let number = GROUP + 1 + millis as u32 / 40;
        if millis % 40 == 0 && source.push(row(number)) == Taken::GroupComplete {
            host.handle_more(now);
        }
        let arrive = |wire: &mut Vec<(u64, Channel, Vec<u8>)>| -> Vec<_> {
            wire.extract_if(.., |(at, ..)| *at + 10 <= millis).collect()
        };
        for (_, channel, bytes) in arrive(&mut back) {
            host.handle_datagram(now, channel, on(channel), &bytes);
        }
        for (_, channel, bytes) in arrive(&mut there) {
            client.handle_datagram(now, channel, &bytes);
        }
        back.extend(std::iter::from_fn(|| client.poll_transmit(now)).map(|sent| (millis, sent.channel, sent.bytes)));
        there.extend(std::iter::from_fn(|| host.poll_transmit(now)).map(|sent| (millis, sent.channel, sent.bytes)));
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::FrameComplete(frame) => {
                    assert_eq!(frame.frame as usize, levels.len(), "{control:?}: no frame is lost");
                    assert_eq!(frame.media_time, FRAME * frame.frame);
                    levels.push(frame.level);
                }
                ClientEvent::FramesLost { .. } | ClientEvent::Ended(_) => panic!("{control:?}: {event:?}"),
                _ => {}
            }
        }
    }
    levels
}

/// On a path that carries everything, every control climbs to the top of a live stream and stays there: waiting for the
/// next group is no sign of a slow network.
#[test]
fn every_control_climbs_to_the_top_and_stays() {
    let all = [
        RateControl::Vtp,
        RateControl::Hybrid,
        RateControl::Tfrc,
        RateControl::Rap,
        RateControl::Sqrt,
        RateControl::Aimd,
        RateControl::Fixed,
    ];
    for control in all {
        let levels = levels(control, 120);
        // A group waits until it is whole, and another one for as long while it is sent.
        assert!((2_900..=3_000).contains(&levels.len()), "{control:?}: {} frames of 3,000", levels.len());
        let top = levels.iter().position(|&level| level == 2).map(|frame| frame / 25);
        let falls = levels.windows(2).filter(|pair| pair[1] < pair[0]).count();
        println!("{control:?}: top level after {top:?} s, {falls} falls");
        assert!(top.is_some_and(|top| top <= 60), "{control:?}: the top level after {top:?} s");
        assert!(levels[levels.len() - 500..].iter().all(|&level| level == 2), "{control:?}: it stays");
    }
}
