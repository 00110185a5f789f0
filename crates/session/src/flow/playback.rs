//! The movie for one of many receivers, which asks by a session of its own.

use framewire_transport::queue::FrameQueue;
use framewire_transport::{DatagramSender, Overflow, RtpPackets, StreamSender};
use framewire_units::{Duration, Timestamp};
use framewire_wire::rtp_payload::{self, CLOCK_RATE};
use framewire_wire::rtsp::{NptRange, Playing, Presentation, StreamStart};

use super::StreamSetup;
use super::packets::MoviePackets;
use super::sound::SoundStream;
use crate::channels::{ChannelSetup, MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::half::ChannelId;
use crate::rtcp::{RtcpEnd, UDP_HEADERS};
use crate::sender::{Playback, SenderLog, SenderSession, SendingHalf};

/// The channels of the streams of a movie in RTP, in the order of its description.
const STREAMS: [ChannelId; 2] = [MOVIE_CHANNEL, SOUND_CHANNEL];

/// How the streams of a movie in RTP go to a receiver, which may leave some of them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// On these channels of the connection on which it asks.
    Interleaved([Option<u8>; 2]),
    /// In datagrams, those that are wanted.
    Datagrams([bool; 2]),
}

impl StreamSetup {
    /// The sender's side, from the beginning or from a byte of a file on; and how many bytes of what is sent stand before that.
    pub(crate) fn played_from(&self, byte: u64, playback: &Playback) -> (SenderSession, u64) {
        let sender = |half| self.movie.sender(half, &self.common).playing_as(playback);
        let half = || StreamSender::new(self.movie.queue(), self.connection.unsent_limit);
        match &self.packets {
            Some(MoviePackets::File(file)) => {
                let place = file.from(byte);
                let mut half = half().in_format(place.samples);
                place.index.into_iter().for_each(|index| half.handle_message(index));
                (sender(SendingHalf::Stream(half)).of_file(place.before), place.skipped)
            }
            Some(MoviePackets::Fragments(file)) => {
                let mut half = half().in_format(file.fragments.clone());
                half.handle_message(file.index.clone());
                (sender(SendingHalf::Stream(half)), 0)
            }
            _ => (sender(self.half()), 0),
        }
    }

    /// The movie as it is asked for by RTSP at this path; `None` where it is not.
    pub(crate) fn presentation(&self, path: &str) -> Option<Presentation> {
        let length = Some(self.movie.plan.length());
        self.rtsp.as_ref().map(|rtsp| Presentation { length, ..rtsp.presentation(path) })
    }

    /// How long it is.
    pub(crate) fn length(&self) -> Duration {
        self.movie.plan.length()
    }

    /// The sender's end of the reports about each stream of RTSP, which joins now; the streams begin with these numbers and time stamps.
    pub(crate) fn report_ends(&self, now: Timestamp, first: [(u16, u32); 2], carried: Carried) -> Vec<Option<RtcpEnd>> {
        let lower_headers = if let Carried::Datagrams(_) = carried { Some(UDP_HEADERS) } else { None };
        self.rtsp.as_ref().map(|rtsp| rtsp.report_ends(now, first, lower_headers)).unwrap_or_default()
    }

    /// The two channels of a stream in datagrams: of its packets, and of the reports about them.
    pub(crate) fn stream_channels(&self, stream: usize) -> [ChannelSetup; 2] {
        let media = ChannelSetup::of_packets(STREAMS[stream.min(1)], self.common.send_buffer(), false);
        let reports = ChannelSetup::of_reports(&media);
        [media, reports]
    }

    /// The sender's side in RTSP, with the streams that are wanted.
    ///
    /// # Panics
    /// Where it is none of RTSP.
    pub(crate) fn streamed(&self, playback: &Playback, carried: Carried) -> SenderSession {
        let (packetizer, sound) = self.of_rtp();
        let [of_video, of_sound] = playback.first;
        let packetizer = packetizer.clone().with_initial_sequence(of_video.0).with_initial_timestamp(of_video.1);
        let packets_of_sound = |sound: &SoundStream| sound.packets_from(of_sound);
        let log = SenderLog::new(&self.common.recording);
        let (half, of_sound, wanted) = match carried {
            Carried::Interleaved([video, of_sound]) => {
                let half = StreamSender::new(self.movie.queue(), self.connection.unsent_limit);
                let packets = RtpPackets::interleaved(packetizer, video.unwrap_or_default());
                let sound = sound.filter(|_| of_sound.is_some()).map(packets_of_sound);
                let packets = packets.with_interleaved_sound(sound, of_sound.unwrap_or_default());
                (SendingHalf::Stream(half.in_format(packets)), None, [video, of_sound].map(|channel| channel.is_some()))
            }
            Carried::Datagrams(wanted) => {
                let half = DatagramSender::new(self.movie.queue(), packetizer, Overflow::Wait);
                let sound = sound.filter(|_| wanted[1]);
                let of_sound = sound
                    .map(|sound| DatagramSender::new(FrameQueue::direct(), packets_of_sound(sound), Overflow::Wait));
                (SendingHalf::Datagram(half), of_sound, wanted)
            }
        };
        let plan = if wanted[1] { self.movie.plan.clone() } else { self.movie.plan.without_sound() };
        let session = SenderSession::new(plan, self.movie.pacing, half, log).with_sound(of_sound).playing_as(playback);
        if wanted[0] { session } else { session.of_sound_alone() }
    }

    /// A queue of frames in which none was.
    pub(crate) fn queue(&self) -> FrameQueue {
        self.movie.queue()
    }

    /// From where on a session sends, as its receiver is told.
    ///
    /// # Panics
    /// Where it is none of RTSP.
    pub(crate) fn playing(&self, session: &SenderSession, until: Option<Duration>) -> Playing {
        let (_, sound) = self.of_rtp();
        let at = session.position().unwrap_or_else(|| self.length());
        let clock_rates = [CLOCK_RATE, sound.map_or(CLOCK_RATE, SoundStream::clock_rate)];
        let ssrcs = self.presentation("/").map(|own| own.streams).unwrap_or_default();
        let next = session.next_packets(at, clock_rates);
        let streams = ssrcs.iter().zip(next).map(|(start, next)| match next {
            Some((sequence, timestamp)) => StreamStart { ssrc: start.ssrc, sequence, timestamp },
            None => *start,
        });
        Playing { range: NptRange::from(at, until), streams: streams.collect() }
    }

    fn of_rtp(&self) -> (&rtp_payload::Packetizer, Option<&SoundStream>) {
        match &self.packets {
            Some(MoviePackets::Rtp { packetizer, sound, .. }) => (packetizer, sound.as_ref()),
            _ => panic!("invariant: it is asked of flows in RTSP"),
        }
    }
}
