use framewire_media::audio::AudioFormat;
use framewire_units::{Bitrate, Duration};
use framewire_wire::vtp::{AudioDescription, Cookie, Description};

use super::settings::ServerSettings;
use crate::source::{PacketSource, Plan, SourceAudio};

/// Places of the stream at which the plan is looked at for the description.
const RATE_PROBES: u32 = 64;

/// A movie as it is described to every client: session and cookie are filled in for each.
pub(super) fn describe(source: &dyn PacketSource, plan: &dyn Plan, settings: &ServerSettings) -> Description {
    Description {
        session: 0,
        cookie: Cookie([0; 16]),
        frames: source.frames(),
        duration: source.duration(),
        buffer: settings.buffer,
        payload: settings.payload,
        ack_every: settings.ack_every,
        rates: (0..source.levels()).map(|level| mean_rate(plan, level, source.duration())).collect(),
        audio: source.audio().map(described),
    }
}

fn described(audio: SourceAudio) -> AudioDescription {
    let AudioFormat { codec, sample_rate, channels, .. } = audio.format;
    AudioDescription {
        codec: codec.code().expect("invariant: a ladder has no audio without a number"),
        channels,
        sample_rate,
        packets: audio.packets,
        rate: audio.rate,
    }
}

fn mean_rate(plan: &dyn Plan, level: usize, duration: Duration) -> Bitrate {
    let rate = |place: u32| u128::from(plan.rate_at(level, duration / RATE_PROBES * place).as_bps());
    let sum: u128 = (0..RATE_PROBES).map(rate).sum();
    Bitrate::from_bps(u64::try_from(sum / u128::from(RATE_PROBES)).unwrap_or(u64::MAX))
}
