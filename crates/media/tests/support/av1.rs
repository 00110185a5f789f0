//! AV1 streams encoded now, cut in several ways, and what FFmpeg reads in their headers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::ffmpeg;

/// Names, encoders and options: pyramids, hidden and shown again frames, switch frames, intra-only frames, frame
/// numbers, repeated order hints and none.
const CASES: [(&str, &str, &str); 7] = [
    ("look-ahead", "libaom-av1", "-g 30 -cpu-used 8 -b:v 300k -lag-in-frames 19"),
    ("real-time", "libaom-av1", "-g 25 -usage realtime -cpu-used 8 -b:v 300k -lag-in-frames 0"),
    ("resilient", "libaom-av1", "-g 25 -cpu-used 8 -b:v 300k -error-resilience default -lag-in-frames 19"),
    ("no-hints", "libaom-av1", "-g 25 -cpu-used 8 -b:v 300k -aom-params enable-order-hint=0"),
    ("pyramid", "libsvtav1", "-g 32 -preset 10 -svtav1-params hierarchical-levels=3:lp=1"),
    ("intra-only", "libsvtav1", "-g 24 -preset 10 -svtav1-params irefresh-type=1:lp=1"),
    ("switch", "libsvtav1", "-g 48 -preset 10 -svtav1-params pred-struct=1:sframe-dist=8:lp=1"),
];

/// The cases for which there is an encoder, with their files, which all tests share.
pub fn encoded() -> &'static [(&'static str, PathBuf)] {
    static ENCODED: LazyLock<Vec<(&str, PathBuf)>> = LazyLock::new(encode_all);
    &ENCODED
}

fn encode_all() -> Vec<(&'static str, PathBuf)> {
    let encode = |(name, encoder, options): (&'static str, &str, &str)| {
        let options = format!("-c:v {encoder} -pix_fmt yuv420p {options} -f obu");
        (name, ffmpeg::encode(&format!("shared-{name}.obu"), super::MOVING, &options))
    };
    CASES.into_iter().filter(|(_, encoder, _)| ffmpeg::has_encoder(encoder)).map(encode).collect()
}

/// One open bitstream unit: its type, its header bytes without the size, and its payload.
struct Obu<'a> {
    obu_type: u8,
    header: u8,
    payload: &'a [u8],
}

fn obus(mut bytes: &[u8]) -> Vec<Obu<'_>> {
    let mut obus = Vec::new();
    while let Some((&header, rest)) = bytes.split_first() {
        assert_eq!(header & 0b110, 0b010, "FFmpeg writes sizes, and no layers here");
        let (mut size, mut length) = (0, 0);
        loop {
            size |= usize::from(rest[length] & 0x7f) << (7 * length);
            length += 1;
            if rest[length - 1] & 0x80 == 0 {
                break;
            }
        }
        obus.push(Obu { obu_type: header >> 3, header, payload: &rest[length..length + size] });
        bytes = &rest[length + size..];
    }
    obus
}

fn written(obu: &Obu, layer: Option<usize>) -> Vec<u8> {
    let extension = layer.map(|layer| (layer as u8) << 5);
    let mut bytes = vec![obu.header | u8::from(extension.is_some()) << 2];
    bytes.extend(extension);
    let mut size = obu.payload.len();
    while size >= 0x80 {
        bytes.push(size as u8 | 0x80);
        size >>= 7;
    }
    bytes.push(size as u8);
    [&bytes, obu.payload].concat()
}

const TEMPORAL_DELIMITER: u8 = 2;

/// Temporal units.
pub fn units(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut units: Vec<Vec<u8>> = Vec::new();
    for obu in obus(stream) {
        if obu.obu_type == TEMPORAL_DELIMITER {
            units.push(Vec::new());
        }
        units.last_mut().unwrap().extend(written(&obu, None));
    }
    units
}

/// Frames of a temporal unit, each with what stands before it.
pub fn frames(unit: &[u8]) -> Vec<Vec<u8>> {
    const FRAME_HEADER: u8 = 3;
    const FRAME: u8 = 6;
    let mut frames: Vec<Vec<u8>> = vec![Vec::new()];
    for obu in obus(unit) {
        frames.last_mut().unwrap().extend(written(&obu, None));
        if matches!(obu.obu_type, FRAME_HEADER | FRAME) {
            frames.push(Vec::new());
        }
    }
    frames.retain(|frame| !frame.is_empty());
    frames
}

/// A temporal unit as files store it (AV1 in ISOBMFF, 2.4).
pub fn without_delimiter_and_last_size(unit: &[u8]) -> Vec<u8> {
    let obus = obus(unit);
    let (last, before) = obus.split_last().unwrap();
    let kept = before.iter().filter(|obu| obu.obu_type != TEMPORAL_DELIMITER);
    let mut bytes: Vec<u8> = kept.flat_map(|obu| written(obu, None)).collect();
    bytes.push(last.header & !0b10);
    bytes.extend(last.payload);
    bytes
}

/// A temporal unit in a temporal layer.
pub fn in_layer(unit: &[u8], layer: usize) -> Vec<u8> {
    let is_in_layers = |obu: &Obu| !matches!(obu.obu_type, 1 | TEMPORAL_DELIMITER);
    obus(unit).iter().flat_map(|obu| written(obu, is_in_layers(obu).then_some(layer))).collect()
}

/// What follows for a temporal unit from the headers as FFmpeg reads them.
#[derive(Default)]
pub struct Traced {
    pub references: Vec<u64>,
    pub refreshes: bool,
}

/// The fields of one frame, as FFmpeg names them.
#[derive(Default)]
struct Fields {
    show_existing: Option<usize>,
    frame_type: u64,
    shown: bool,
    refreshed: u64,
    slots: Vec<usize>,
}

/// Follows the slots through the headers that FFmpeg's `trace_headers` prints.
pub fn traced(path: &Path) -> Vec<Traced> {
    let output = Command::new("ffmpeg")
        .args("-nostdin -hide_banner -nostats -threads 1 -f obu -i".split(' '))
        .arg(path)
        .args("-c copy -bsf:v trace_headers -f null -".split(' '))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, packets) = log.split_once("] Packet: ").expect("FFmpeg traces packets");
    let mut slots = [(0, 0); 8];
    (0..).zip(packets.split("] Packet: ")).map(|(number, packet)| follow(number, packet, &mut slots)).collect()
}

/// `slots` hold unit and frame type.
fn follow(number: u64, packet: &str, slots: &mut [(u64, u64); 8]) -> Traced {
    let mut unit = Traced::default();
    for text in packet.split("] Frame Header").skip(1) {
        let frame = fields(text);
        let (refreshed, stored) = match frame.show_existing {
            Some(slot) => {
                unit.references.push(slots[slot].0);
                (if slots[slot].1 == 0 { 0xff } else { 0 }, (number, 0))
            }
            None if frame.frame_type == 3 || (frame.frame_type == 0 && frame.shown) => {
                (0xff, (number, frame.frame_type))
            }
            None => (frame.refreshed, (number, frame.frame_type)),
        };
        unit.references.extend(frame.slots.iter().map(|&slot| slots[slot].0));
        unit.refreshes |= refreshed != 0;
        (0..8).filter(|slot| refreshed >> slot & 1 == 1).for_each(|slot| slots[slot] = stored);
    }
    unit.references.retain(|&other| other != number);
    unit.references.sort_unstable();
    unit.references.dedup();
    unit
}

fn fields(text: &str) -> Fields {
    let mut fields = Fields::default();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [.., name, _, "=", value] = words[..] else { continue };
        let Ok(value) = value.parse::<u64>() else { continue };
        match name {
            "frame_to_show_map_idx" => fields.show_existing = Some(value as usize),
            "frame_type" => fields.frame_type = value,
            "show_frame" => fields.shown = value == 1,
            "refresh_frame_flags" => fields.refreshed = value,
            _ if name.starts_with("ref_frame_idx[") => fields.slots.push(value as usize),
            _ => {}
        }
    }
    fields
}
