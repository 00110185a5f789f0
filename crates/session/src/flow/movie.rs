//! What the lab's own senders of the movie have in common, over datagrams and over a stream.

use bytes::Bytes;
use framewire_scenario::{Pacing, Rtcp};
use framewire_transport::TransportKind;
use framewire_transport::queue::{FrameQueue, QueueKind};
use framewire_transport::registry::Parts;
use framewire_units::Bitrate;
use framewire_wire::rtp_payload::CLOCK_RATE;

use super::CommonSetup;
use super::rtp_seed::RtpSeed;
use super::sound::SoundStream;
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::plan::SendingPlan;
use crate::rtcp::RtcpSetup;
use crate::sender::{SenderLog, SenderSession, SendingHalf};

/// The movie, its frame queue and its pace.
#[derive(Clone, Debug)]
pub(super) struct MovieSetup {
    pub(super) plan: SendingPlan,
    kind: TransportKind,
    queue: QueueKind,
    pub(super) pacing: Pacing,
    /// Of what its streams of RTP draw.
    pub(super) rtp: RtpSeed,
    /// The constant rate of its transport stream; `None`: it varies, or there is none.
    ts_rate: Option<Bitrate>,
}

impl MovieSetup {
    pub(super) fn new(
        plan: SendingPlan,
        kind: TransportKind,
        queue: QueueKind,
        pacing: Option<Pacing>,
        rtp: RtpSeed,
    ) -> Self {
        let pacing = pacing.unwrap_or(Pacing::Sender);
        Self { plan, kind, queue, pacing, rtp, ts_rate: None }
    }

    /// The same whose transport stream has this constant rate.
    pub(super) fn at_rate(self, ts_rate: Option<Bitrate>) -> Self {
        Self { ts_rate, ..self }
    }

    /// The constant rate of its transport stream, where it has one.
    pub(super) fn ts_rate(&self) -> Option<Bitrate> {
        self.ts_rate
    }

    pub(super) fn queue(&self) -> FrameQueue<Bytes> {
        FrameQueue::new(self.queue)
    }

    /// What its transport is made of.
    pub(super) fn parts(&self) -> Parts {
        self.kind.profile().parts
    }

    /// Whether the transport carries the movie's codec, and sound where there is any; the error says what would.
    pub(super) fn check_codec(&self) -> Result<(), String> {
        if let Some(sound) = self.plan.sound() {
            self.kind.check_sound(sound.format())?;
        }
        self.kind.check_codec(self.plan.codec())
    }

    /// The reports about the packets of video, and about those that sound has for itself; none where none are
    /// wanted. Below them are so many bytes of headers.
    pub(super) fn reports(
        &self,
        common: &CommonSetup,
        sound: Option<&SoundStream>,
        wanted: Option<Rtcp>,
        lower_headers: usize,
    ) -> Vec<RtcpSetup> {
        let Some(wanted) = wanted.filter(|&rtcp| rtcp != Rtcp::Off) else { return Vec::new() };
        let setup = |start, place, rate, media, clock_rate| RtcpSetup {
            flow: common.name().to_owned(),
            start,
            place,
            bandwidth: RtcpSetup::bandwidth(rate, wanted == Rtcp::Full),
            seed: self.rtp.seed,
            media,
            clock_rate,
            lower_headers,
            at_once: false,
        };
        let of_sound = sound.zip(self.plan.sound());
        let of_sound = of_sound.map(|(stream, own)| {
            let place = self.rtp.reports_of_sound();
            setup(self.rtp.sound(), place, own.mean_rate(), SOUND_CHANNEL, stream.clock_rate())
        });
        let of_video = setup(self.rtp.video(), self.rtp.flow, self.plan.mean_rate(), MOVIE_CHANNEL, CLOCK_RATE);
        [of_video].into_iter().chain(of_sound).collect()
    }

    pub(super) fn sender(&self, half: SendingHalf, common: &CommonSetup) -> SenderSession {
        SenderSession::new(self.plan.clone(), self.pacing, half, SenderLog::new(&common.recording))
    }
}
