use proptest::prelude::*;

use super::*;

/// A frame of MPEG-1 layer III, 128 kbit/s at 44.1 kHz, in stereo: 417 bytes, 418 with padding.
fn mp3(padded: bool) -> Vec<u8> {
    let mut frame = vec![0xFF, 0xFB, 0x90 | if padded { 2 } else { 0 }, 0x00];
    frame.resize(417 + usize::from(padded), 0x55);
    frame
}

/// A frame of AAC LC at 48 kHz in stereo.
fn adts(length: u16) -> Vec<u8> {
    let [high, low] = (length << 5).to_be_bytes();
    let mut frame = vec![0xFF, 0xF1, 0x4C, 0x80 | (length >> 11) as u8, high, low | 0x1F, 0xFC];
    frame.resize(length.into(), 0x33);
    frame
}

fn parse(bytes: &[u8]) -> Result<AudioTrack, AudioError> {
    AudioTrack::parse(&Bytes::copy_from_slice(bytes))
}

#[test]
fn layer_3_by_hand() {
    let tag = [&b"ID3\x04\0\0\0\0\0\x05"[..], &[0xFF; 5]].concat();
    let behind = [&b"TAG"[..], &[0; 125]].concat();
    let track = parse(&[tag, mp3(false), mp3(true), mp3(true), behind].concat()).unwrap();
    assert_eq!(track.format(), AudioFormat { codec: AudioCodec::Mp3, sample_rate: 44_100, channels: 2, pre_skip: 0 });
    let packets = track.packets();
    assert_eq!(packets.iter().map(|packet| packet.bytes.len()).collect::<Vec<_>>(), [417, 418, 418]);
    // 1,152 and 2,304 of 44,100 samples.
    assert_eq!(packets[1].time, Duration::from_nanos(26_122_449));
    assert_eq!(packets[2].time, Duration::from_nanos(52_244_898));
    assert_eq!((packets[0].duration, track.size().as_bytes()), (packets[1].time, 1_253));
    assert_eq!(track.until(Duration::from_millis(27)).unwrap().packets(), &packets[..2]);
    assert_eq!(track.until(Duration::ZERO), None);
}

#[test]
fn aac_by_hand() {
    let track = parse(&[adts(300), adts(8)].concat()).unwrap();
    assert_eq!(track.format(), AudioFormat { codec: AudioCodec::Aac, sample_rate: 48_000, channels: 2, pre_skip: 0 });
    assert_eq!(track.packets()[1].time, Duration::from_nanos(21_333_333));
    assert_eq!(track.packets()[1].bytes.len(), 8);
}

/// ISO/IEC 11172-3: 192 kbit/s of layer II at 48 kHz are 576 bytes; 13818-3: 64 kbit/s of layer III at 22.05 kHz are 208.
#[test]
fn other_layers_and_rates() {
    let mut layer_2 = vec![0xFF, 0xFD, 0xA4, 0xC0];
    layer_2.resize(576, 0);
    let track = parse(&layer_2.repeat(2)).unwrap();
    assert_eq!(track.format(), AudioFormat { codec: AudioCodec::Mp2, sample_rate: 48_000, channels: 1, pre_skip: 0 });
    assert_eq!(track.packets()[1].time, Duration::from_millis(24));
    let mut low = vec![0xFF, 0xF3, 0x80, 0x00];
    low.resize(208, 0);
    let track = parse(&low.repeat(2)).unwrap();
    assert_eq!((track.format().sample_rate, track.packets()[1].time), (22_050, Duration::from_nanos(26_122_449)));
}

#[test]
fn what_is_no_audio_is_told_with_its_place() {
    let message = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    assert!(message(b"").starts_with("no audio"));
    assert!(
        message(&[mp3(false), vec![0; 9]].concat()).starts_with("no frame of audio at byte 417: its sync word is 0")
    );
    let cut = &mp3(false).repeat(2)[..800];
    assert_eq!(message(cut), "the audio is cut off: the frame at byte 417 needs 417 bytes, 383 are left");
    let changed = message(&[mp3(false), adts(300)].concat());
    assert!(changed.starts_with("the audio changes at byte 417: AAC, 48000 Hz"), "{changed}");
    let format = parse(&mp3(false)).unwrap().format();
    let packet = parse(&mp3(false)).unwrap().packets()[0].clone();
    let twice = AudioTrack::new(format, vec![packet.clone(), packet.clone()]).unwrap_err().to_string();
    assert!(twice.starts_with("the audio's time of a packet in nanoseconds is 0: 1 to"), "{twice}");
    assert!(AudioTrack::new(AudioFormat { channels: 9, ..format }, vec![packet]).is_err());
}

/// A packet of 20 ms in stereo (RFC 6716, section 3.1).
fn opus(length: usize) -> Vec<u8> {
    let mut packet = vec![31 << 3 | 4];
    packet.resize(length, 0x77);
    packet
}

const OPUS: AudioFormat = AudioFormat { codec: AudioCodec::Opus, sample_rate: 48_000, channels: 2, pre_skip: 312 };

fn ogg(packets: &[Vec<u8>]) -> Vec<u8> {
    let (mut file, mut bytes) = OpusFile::new(OPUS);
    packets.iter().for_each(|packet| bytes.extend(file.packet(packet)));
    [bytes, file.end()].concat()
}

#[test]
fn opus_comes_back_as_it_was_written() {
    // Lengths at and around those of whole segments.
    let packets: Vec<_> = [1, 254, 255, 256, 510, 8_191].map(opus).into();
    let track = parse(&ogg(&packets)).unwrap();
    assert_eq!(track.format(), OPUS);
    assert!(track.packets().iter().map(|packet| &packet.bytes[..]).eq(packets.iter().map(|packet| &packet[..])));
    let times: Vec<_> = track.packets().iter().map(|packet| (packet.time, packet.duration)).collect();
    assert_eq!(times[5], (Duration::from_millis(100), Duration::from_millis(20)));
    // A packet of more than a page is more than a packet of a track may have.
    let told = parse(&ogg(&[opus(70_000)])).unwrap_err().to_string();
    assert!(told.contains("size of a packet in bytes is 70000"), "{told}");
}

#[test]
fn what_is_damaged_or_of_another_kind_is_told_with_its_place() {
    let whole = ogg(&[opus(100), opus(50)]);
    let told = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    // The head has 28 + 19 bytes, the tags 28 + 25, the packets 28 + 100 and 28 + 50, the end 27.
    let [tags, first, second, end] = [47, 100, 228, 306];
    assert_eq!(whole.len(), end + 27);
    let mut changed = whole.clone();
    changed[first + 60] ^= 1;
    assert_eq!(told(&changed), "no Opus in Ogg, at byte 100: the check of a page is wrong");
    assert!(
        told(&[&whole[..first], &whole[second..]].concat()).ends_with("byte 100: pages before this one are missing")
    );
    assert!(told(&whole[..second + 40]).ends_with("at byte 228: a page is cut off"));
    assert!(told(&[&whole[..], &whole[..tags]].concat()).ends_with("333: something stands behind its last page"));
    assert!(told(&whole[tags..]).ends_with("at byte 0: the stream does not begin with its first page"));
    assert!(told(&[&whole[..second], b"OggT".as_slice(), &[0; 30]].concat()).contains("no page of version 0"));
    assert!(told(&whole[..first]).starts_with("no audio"));
    assert!(told(&ogg(&[vec![3]])).contains("at least a byte"), "a packet without its number of frames");
    // Without its last page it is what a receiver was left with that was stopped.
    assert_eq!(parse(&whole[..end]).unwrap().packets().len(), 2);
}

proptest! {
    #[test]
    fn packets_are_the_stream_whatever_it_is(mut bytes in prop::collection::vec(any::<u8>(), 0..300), frames in 0usize..4) {
        if let Ok(track) = parse(&bytes) {
            prop_assert!(track.size().as_bytes() <= bytes.len() as u64);
        }
        bytes.splice(0..0, adts(40).repeat(frames));
        if let Ok(track) = parse(&bytes) {
            prop_assert!(track.packets().len() >= frames);
        }
    }
}
