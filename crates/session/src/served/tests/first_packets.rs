//! A client to which the packets of a server come in datagrams, of which the first may be lost, or be faster than the answer to PLAY.

use std::collections::VecDeque;

use framewire_media::access_unit::Codec;
use framewire_recording::record::FIRST_OF_SOUND;
use framewire_units::Seed;
use framewire_wire::sdp;

use super::rtsp::{catalogue_of, client_of};
use super::*;
use crate::channels::{MOVIE_CHANNEL, REQUESTS_CHANNEL, SOUND_CHANNEL};
use crate::flow::{DescribedSound, FlowRecording};
use crate::half::Half;
use crate::{ClientRequest, ReceiverLog};

/// When the client asks.
const BEGUN: Timestamp = ms(50);

/// What the network does to them.
struct Network<'a> {
    /// So many packets of each stream are lost at its beginning.
    lost: usize,
    /// Bytes of the connection of the server take so long, those of a datagram nothing.
    answers_take: Duration,
    /// What the server says comes changed so.
    changed: &'a dyn Fn(String) -> String,
}

/// What the client recorded of a film, and when packets of its video came that did.
fn played(network: &Network<'_>) -> (ReceiverLog, Vec<Timestamp>) {
    let catalogue = catalogue_of("rtsp");
    let (mut server, mut pipe) = (client_of(&catalogue, MANNER, None), Pipe::WIDE);
    let described = sdp::read_sound(&catalogue.presentations[0].description).expect("it has sound");
    let request = ClientRequest::Rtsp {
        url: "rtsp://a/a%20film.mpg".to_owned(),
        account: None,
        codec: Codec::MpegVideo,
        payload_type: 32,
        sound: Some(Box::new(DescribedSound::of(&described).expect("it is received"))),
        ports: vec![(5_000, 5_001), (5_002, 5_003)],
    };
    let mut receiver = request.receiver(&FlowRecording::default(), "test", BEGUN, Seed(1)).expect("RTP carries it");
    let (mut answers, mut read, mut arrivals) = (VecDeque::new(), 0, Vec::new());
    let mut heard = [0; 4];
    for now in (50..3_000).map(ms) {
        let mut own = Pipe::WIDE;
        receiver.drive(now, &mut ToServer(&mut own)).expect("the connection stands");
        say(&mut *server, now, &own.written);
        run(&mut *server, &mut pipe, now, now);
        while let Some(opening) = server.poll_opening() {
            let (port, _) = opening.client;
            server.handle_opened(now, Some((port + 2_000, port + 2_001)));
            run(&mut *server, &mut pipe, now, now);
        }
        answers.push_back((now + network.answers_take, pipe.written.split_off(read)));
        read = pipe.written.len();
        for (channel, datagram) in pipe.datagrams.drain(..) {
            let number = &mut heard[usize::from(channel.0)];
            *number += 1;
            if [MOVIE_CHANNEL, SOUND_CHANNEL].contains(&channel) && *number <= network.lost {
                continue;
            }
            arrivals.extend((channel == MOVIE_CHANNEL).then_some(now));
            receiver.handle_arrival(now, channel, Arrival::Datagram(&datagram));
        }
        while let Some((_, answer)) = answers.pop_front_if(|(at, _)| *at <= now) {
            let answer = (network.changed)(String::from_utf8(answer).expect("messages alone"));
            receiver.handle_arrival(now, REQUESTS_CHANNEL, Arrival::Bytes(answer.as_bytes()));
        }
    }
    receiver.handle_end(ms(3_000));
    (receiver.into_log(), arrivals)
}

/// The numbers of what came of video, and of sound.
fn numbers(log: &ReceiverLog) -> [Vec<u64>; 2] {
    let all: Vec<u64> = log.datagrams.iter().map(|datagram| datagram.sequence).collect();
    let (video, sound): (Vec<u64>, Vec<u64>) = all.iter().partition(|&&number| number < FIRST_OF_SOUND);
    [video, sound.iter().map(|number| number - FIRST_OF_SOUND).collect()]
}

fn without_info(answer: String) -> String {
    let lines = answer.split_inclusive("\r\n").filter(|line| !line.starts_with("RTP-Info"));
    lines.collect()
}

/// As of another stream: its first packets would be 30,000 before those that come.
fn of_another(answer: String) -> String {
    let number = |text: &str| {
        let (number, rest) = text.split_once(';').expect("a time stamp is behind it");
        let other = number.parse::<u16>().expect("a sequence number").wrapping_sub(30_000);
        format!(";seq={other};{rest}")
    };
    let mut parts = answer.split(";seq=");
    let before = parts.next().unwrap_or_default().to_owned();
    before + &parts.map(number).collect::<String>()
}

#[test]
fn packets_are_counted_from_the_first_one_that_the_server_says_whatever_is_lost_or_faster() {
    let as_it_is = |answer: String| answer;
    let at_once = Duration::ZERO;
    let [all, all_sound] = numbers(&played(&Network { lost: 0, answers_take: at_once, changed: &as_it_is }).0);
    assert!(all.len() > FRAMES as usize && all.iter().copied().eq(0..all.len() as u64), "{all:?}");
    assert_eq!(all_sound, (0..42).collect::<Vec<u64>>());
    for lost in [0, 1, 3] {
        for answers_take in [at_once, Duration::from_millis(100)] {
            for (changed, is_said) in
                [(&as_it_is as &dyn Fn(_) -> _, true), (&without_info, false), (&of_another, false)]
            {
                let network = Network { lost, answers_take, changed };
                let (log, arrivals) = played(&network);
                let begin = if is_said { lost as u64 } else { 0 };
                let expected = [all.len(), all_sound.len()].map(|count| begin..begin + (count - lost) as u64);
                let what = format!("{lost} lost, {answers_take:?}, said: {is_said}");
                assert_eq!(numbers(&log), expected.map(Iterator::collect::<Vec<u64>>), "{what}");
                let of_video = log.datagrams.iter().filter(|datagram| datagram.sequence < FIRST_OF_SOUND);
                assert!(of_video.map(|datagram| datagram.at).eq(arrivals), "as of when they came: {what}");
                assert_eq!(log.rejected, 0, "{what}: {:?}", log.rejections);
                let damaged = u32::from(lost > 0) + u32::from(lost > 2);
                assert_eq!(log.complete_frames, FRAMES - damaged, "{what}");
            }
        }
    }
}

/// What the receiver writes to its server.
struct ToServer<'a>(&'a mut Pipe);

impl Channels for ToServer<'_> {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, datagram: &[u8], number: Option<u32>) -> Result<DatagramSend, SocketError> {
        self.0.send(channel, datagram, number)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        panic!("it sends reports alone")
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        assert_eq!(channel, REQUESTS_CHANNEL);
        self.0.write(channel, bytes)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, channel: ChannelId) -> Result<(), SocketError> {
        self.0.finish(channel)
    }
}
