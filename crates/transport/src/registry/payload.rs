//! What RTP carries: a line for each payload format.

use framewire_media::access_unit::Codec;
use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_wire::mp4::Coding;
use framewire_wire::mpeg_ts::StreamType;
use framewire_wire::rtp_payload::{PayloadFormat, aac, av1, h264, h265, mpeg_audio, mpeg_video, mpeg4_video, opus};

static CARRIED: [(Codec, &PayloadFormat); 5] = [
    (Codec::MpegVideo, &mpeg_video::FORMAT),
    (Codec::Mpeg4Part2, &mpeg4_video::FORMAT),
    (Codec::H264, &h264::FORMAT),
    (Codec::H265, &h265::FORMAT),
    (Codec::Av1, &av1::FORMAT),
];

/// The lowest sample rate of MPEG-1 audio, in Hz (ISO/IEC 11172-3, 2.4.2.3).
const LEAST_OF_MPEG_1: u32 = 32_000;

/// How RTP carries frames of a codec; `None` where it does not here.
pub fn payload_format(codec: Codec) -> Option<&'static PayloadFormat> {
    CARRIED.iter().find(|(carried, _)| *carried == codec).map(|(_, format)| *format)
}

/// What a stream of a codec is in a transport stream; `None` where it is not carried here. `mpeg2` distinguishes MPEG-2
/// video from MPEG-1.
pub fn stream_type(codec: Codec, mpeg2: bool) -> Option<StreamType> {
    match codec {
        Codec::MpegVideo if mpeg2 => Some(StreamType::Mpeg2Video),
        Codec::MpegVideo => Some(StreamType::Mpeg1Video),
        Codec::Mpeg4Part2 => Some(StreamType::Mpeg4Part2),
        Codec::H264 => Some(StreamType::H264),
        Codec::H265 => Some(StreamType::H265),
        Codec::Av1 | Codec::MotionJpeg => None,
    }
}

/// What a stream of a codec is in an MP4 file; `None` where it is not carried here.
pub fn file_coding(codec: Codec, mpeg2: bool) -> Option<Coding> {
    match codec {
        Codec::MpegVideo if mpeg2 => Some(Coding::Mpeg2Video),
        Codec::MpegVideo => Some(Coding::Mpeg1Video),
        Codec::Mpeg4Part2 => Some(Coding::Mpeg4Part2),
        Codec::H264 => Some(Coding::H264),
        Codec::H265 => Some(Coding::H265),
        Codec::Av1 => Some(Coding::Av1),
        Codec::MotionJpeg => None,
    }
}

/// How RTP carries sound.
pub fn sound_format(codec: AudioCodec) -> &'static PayloadFormat {
    match codec {
        AudioCodec::Aac => &aac::FORMAT,
        AudioCodec::Opus => &opus::FORMAT,
        AudioCodec::Mp2 | AudioCodec::Mp3 => &mpeg_audio::FORMAT,
    }
}

/// What sound is in a transport stream; `None` where it is not carried here. MPEG-1 audio has sample rates of 32 kHz and more (ISO/IEC 11172-3, 2.4.2.3), MPEG-2 audio
/// the lower ones (ISO/IEC 13818-3, 2.4.2.3).
pub fn sound_type(format: AudioFormat) -> Option<StreamType> {
    match format.codec {
        AudioCodec::Aac => Some(StreamType::AacAdts),
        AudioCodec::Mp2 | AudioCodec::Mp3 if format.sample_rate >= LEAST_OF_MPEG_1 => Some(StreamType::Mpeg1Audio),
        AudioCodec::Mp2 | AudioCodec::Mp3 => Some(StreamType::Mpeg2Audio),
        AudioCodec::Opus => None,
    }
}

/// What sound is in an MP4 file.
pub fn sound_coding(format: AudioFormat) -> Coding {
    match format.codec {
        AudioCodec::Aac => Coding::Aac,
        AudioCodec::Mp2 | AudioCodec::Mp3 if format.sample_rate >= LEAST_OF_MPEG_1 => Coding::Mpeg1Audio,
        AudioCodec::Mp2 | AudioCodec::Mp3 => Coding::Mpeg2Audio,
        AudioCodec::Opus => Coding::Opus,
    }
}

/// All codecs that a container carries, in words.
pub(super) fn carried_by(container: impl Fn(Codec) -> bool) -> String {
    let carried = Codec::ALL.iter().filter(|codec| container(**codec));
    let names: Vec<String> = carried.map(Codec::to_string).collect();
    let (last, others) = names.split_last().expect("invariant: there are some");
    format!("{} and {last}", others.join(", "))
}

/// All that it carries, in words, with the documents.
pub(super) fn carried() -> String {
    let names: Vec<String> = CARRIED.iter().map(|(codec, format)| format!("{codec} ({})", format.document)).collect();
    let (last, others) = names.split_last().expect("invariant: there are formats");
    format!("{} and {last}", others.join(", "))
}
