//! Where the streams of RTP of a flow begin.

use framewire_units::{RandomStream, Seed};
use framewire_wire::rtp_payload::StreamOrigin;
use framewire_wire::rtsp::StreamStart;

/// The bit by which the synchronisation source of sound is another one than that of the picture beside it.
const SOUND: u32 = 1 << 16;

/// What the streams of RTP of a flow draw is a function of this: synchronisation sources, first sequence numbers and first time stamps,
/// which are to be random (RFC 3550, sections 5.1 and 8), and when RTCP reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpSeed {
    /// Of the session: in a run of a scenario, what its seed draws for this flow.
    pub seed: Seed,
    /// The number of the flow.
    pub flow: u32,
}

impl RtpSeed {
    /// The stream of the picture.
    pub fn video(self) -> StreamStart {
        self.start(0)
    }

    /// That of the sound.
    pub fn sound(self) -> StreamStart {
        StreamStart { ssrc: source_of_sound(self.video().ssrc), ..self.start(1) }
    }

    /// By which the reports about the sound draw other numbers than those about the picture.
    pub(crate) fn reports_of_sound(self) -> u32 {
        self.flow ^ SOUND
    }

    fn start(self, track: u64) -> StreamStart {
        let mut random = self.seed.stream("rtp stream", &[self.flow.into(), track]);
        let ssrc = random.next_u64() as u32;
        let (sequence, timestamp) = first_numbers(&mut random);
        StreamStart { ssrc, sequence, timestamp }
    }
}

/// A first sequence number and a first time stamp. That is never 0, which FFmpeg 5.1 takes for none that was told (RFC 2326, section
/// 12.33).
pub(crate) fn first_numbers(random: &mut RandomStream) -> (u16, u32) {
    (random.next_u64() as u16, 1 + random.next_inclusive(u32::MAX - 1))
}

/// The synchronisation source of the sound beside a picture of this one.
pub(crate) fn source_of_sound(of_picture: u32) -> u32 {
    of_picture ^ SOUND
}

/// What a receiver knows of a stream that begins so.
pub(crate) fn origin(start: StreamStart) -> StreamOrigin {
    StreamOrigin { ssrc: start.ssrc, initial_sequence: start.sequence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_a_function_of_seed_flow_and_track() {
        let seed = |seed, flow| RtpSeed { seed: Seed(seed), flow };
        let one = seed(1, 1);
        assert_eq!((one.video(), one.sound()), (seed(1, 1).video(), seed(1, 1).sound()));
        for other in [seed(2, 1).video(), seed(1, 2).video(), one.sound()] {
            assert_ne!(other.ssrc, one.video().ssrc);
            assert_ne!(other.sequence, one.video().sequence);
            assert_ne!(other.timestamp, one.video().timestamp);
        }
    }

    #[test]
    fn all_numbers_are_drawn_alike() {
        // Chi-square over 16 bins, 15 degrees of freedom: 99.9 % of fair draws stay between 3.5 and 37.7.
        let mut bins = [[0u32; 16]; 3];
        for flow in 0..16_000 {
            let StreamStart { ssrc, sequence, timestamp } = RtpSeed { seed: Seed(9), flow }.sound();
            bins[0][ssrc as usize >> 28] += 1;
            bins[1][usize::from(sequence) >> 12] += 1;
            bins[2][timestamp as usize >> 28] += 1;
            assert_ne!(timestamp, 0);
        }
        for bins in bins {
            let chi_square: f64 = bins.iter().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
            assert!(chi_square < 37.7 && chi_square > 3.5, "{chi_square} {bins:?}");
        }
    }
}
