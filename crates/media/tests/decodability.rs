//! The decisive check of references: a decoder that gets a stream without some frames, and without all that by our
//! account cannot be decoded without them, decodes every other frame to the very same picture.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use framewire_media::PictureType;
use framewire_media::access_unit::{AccessUnit, AccessUnitReader, Codec, Framing, KeyKind};
use support::ffmpeg;

/// A stream in access units, as FFmpeg cuts it, with what we read of each and what FFmpeg decodes.
struct Subject {
    name: String,
    codec: Codec,
    stream: Vec<u8>,
    packets: Vec<(usize, usize)>,
    units: Vec<AccessUnit>,
    /// Units in the order of output, with the digest of the picture.
    shown: Vec<(usize, String)>,
}

/// A small generator of numbers, so that every run tests the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

/// Type and key flag of a unit against those of the frame that FFmpeg shows from it. In AV1 nothing is called B, and
/// what FFmpeg calls key is a closed one.
fn assert_is_as_probed(codec: Codec, unit: &AccessUnit, frame: &BTreeMap<String, String>, name: &str) {
    let (kind, is_key) = (&frame["pict_type"], frame["key_frame"] == "1");
    match codec {
        Codec::Av1 => {
            assert_eq!(unit.kind == PictureType::I, kind == "I", "{name}: {unit:?}");
            assert_eq!(unit.key == Some(KeyKind::Closed), is_key, "{name}: {unit:?}");
        }
        // S is predicted by global motion, which counts as P.
        _ => assert_eq!(unit.kind.to_string(), kind.replace('S', "P"), "{name}: {unit:?}"),
    }
    if codec == Codec::Mpeg4Part2 {
        assert_eq!(unit.key.is_some(), is_key, "{name}: {unit:?}");
    }
}

impl Subject {
    fn new(path: &Path, codec: Codec) -> Self {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let format = codec.ffmpeg_format();
        let stream = std::fs::read(path).unwrap();
        let fields: &[&str] = &["pkt_pos", "pict_type", "key_frame"];
        let [packets, frames] = ffmpeg::probe(path, format, [("packet", ffmpeg::PLACE), ("frame", fields)]);
        let packets = ffmpeg::places(&packets);
        let mut reader = AccessUnitReader::new(codec, Framing::ByteStream).unwrap();
        let read = |&(offset, size): &(usize, usize)| reader.read(&stream[offset..offset + size]).unwrap();
        let units: Vec<_> = packets.iter().map(read).collect();
        let number_of: BTreeMap<usize, usize> =
            packets.iter().enumerate().map(|(number, (offset, _))| (*offset, number)).collect();
        let digests = ffmpeg::decode(&stream, format, &format!("{name}.full"));
        assert_eq!(frames.len(), digests.len(), "{name}");
        let mut shown = Vec::new();
        for (frame, digest) in frames.iter().zip(digests) {
            let number = number_of[&frame["pkt_pos"].parse().unwrap()];
            assert_is_as_probed(codec, &units[number], frame, &name);
            shown.push((number, digest));
        }
        Self { name, codec, stream, packets, units, shown }
    }

    /// Whether FFmpeg shows nothing for a unit, as for a VOP of MPEG-4 part 2 that is not coded: its header and no more
    /// (`MAX_NVOP_SIZE` of FFmpeg). Encoders that pack B-VOPs write them to fill up the count.
    fn is_not_shown(&self, number: usize) -> bool {
        const LARGEST_EMPTY_VOP: usize = 19;
        self.codec == Codec::Mpeg4Part2 && self.packets[number].1 <= LARGEST_EMPTY_VOP
    }

    /// Numbers in display order by picture order counts.
    fn display_order(&self) -> Vec<usize> {
        let mut sequence = 0;
        let key = |unit: &AccessUnit| {
            sequence += u32::from(matches!(unit.key, Some(KeyKind::Closed)));
            // Units of AV1 are in display order, and some have no order hints.
            let in_turn = (self.codec == Codec::Av1).then_some(unit.number as i64);
            (sequence, unit.display_order.or(in_turn).unwrap())
        };
        let keys: Vec<_> = self.units.iter().map(key).collect();
        let mut order: Vec<_> = (0..self.units.len()).filter(|&number| !self.is_not_shown(number)).collect();
        order.sort_by_key(|&number| keys[number]);
        order
    }

    fn check_order(&self) {
        let theirs: Vec<_> = self.shown.iter().map(|(number, _)| *number).collect();
        assert_eq!(self.display_order(), theirs, "{}: display order", self.name);
    }

    /// All that cannot be decoded without the units dropped, and they themselves.
    fn closure(&self, dropped: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut gone = dropped.clone();
        for (number, unit) in self.units.iter().enumerate() {
            if unit.references.iter().any(|other| gone.contains(&(*other as usize))) {
                gone.insert(number);
            }
        }
        gone
    }

    /// The largest step in picture order counts from a reference picture to the next picture, without those gone.
    fn largest_step(&self, gone: &BTreeSet<usize>) -> i64 {
        let (mut last, mut largest) = (0, 0);
        for (_, unit) in self.units.iter().enumerate().filter(|(number, _)| !gone.contains(number)) {
            let order = unit.display_order.unwrap();
            let step = if unit.key == Some(KeyKind::Closed) { 0 } else { (order - last).abs() };
            largest = largest.max(step);
            last = if unit.referenced { order } else { last };
        }
        largest
    }

    /// Whether so much is gone that a decoder takes picture order counts for those of another turn: of H.264 and H.265
    /// only the low bits are sent, and a picture must be within half a turn of the reference picture before it
    /// (8.2.1.1, 8.3.1). References do not show that; an IDR picture mends it. Half a turn is a power of two above
    /// every step of the whole stream, and at least 8.
    fn loses_picture_order(&self, gone: &BTreeSet<usize>) -> bool {
        if !matches!(self.codec, Codec::H264 | Codec::H265) {
            return false;
        }
        let half_a_turn = (self.largest_step(&BTreeSet::new()) + 1).max(8) as u64;
        self.largest_step(gone) as u64 >= half_a_turn.next_power_of_two()
    }

    /// What FFmpeg decodes of the stream without each of these sets of units.
    fn decode_without<'a>(&self, each: impl Iterator<Item = &'a BTreeSet<usize>>) -> Vec<Vec<String>> {
        let without = |gone: &BTreeSet<usize>| -> Vec<u8> {
            let kept = self.packets.iter().enumerate().filter(|(number, _)| !gone.contains(number));
            kept.flat_map(|(_, (offset, size))| &self.stream[*offset..offset + size]).copied().collect()
        };
        let streams: Vec<_> = each.map(without).collect();
        let streams: Vec<&[u8]> = streams.iter().map(Vec::as_slice).collect();
        ffmpeg::decode_all(&streams, self.codec.ffmpeg_format(), &format!("{}.part", self.name)).0
    }

    fn pictures_without(&self, gone: &BTreeSet<usize>) -> Vec<String> {
        let kept = self.shown.iter().filter(|(number, _)| !gone.contains(number));
        kept.map(|(_, digest)| digest.clone()).collect()
    }

    /// Drops random units and all that depends on them.
    fn check_what_stays(&self, trials: usize) {
        let mut numbers = Numbers(seed());
        // By turns any, and one that others refer to but few depend on: there a picture that is kept wrongly shows.
        let light: Vec<_> = (1..self.units.len())
            .filter(|&number| self.units[number].referenced && self.closure(&BTreeSet::from([number])).len() <= 12)
            .collect();
        let closures = (0..).map(|trial| {
            let any = |numbers: &mut Numbers| 1 + numbers.below(self.units.len() - 1);
            let dropped: BTreeSet<_> = match trial % 2 == 1 && !light.is_empty() {
                true => BTreeSet::from([light[numbers.below(light.len())]]),
                false => (0..1 + trial % 5).map(|_| any(&mut numbers)).collect(),
            };
            (self.closure(&dropped), dropped)
        });
        let chosen: Vec<_> = closures.filter(|(gone, _)| !self.loses_picture_order(gone)).take(trials).collect();
        for ((gone, dropped), decoded) in chosen.iter().zip(self.decode_without(chosen.iter().map(|(gone, _)| gone))) {
            let expected = self.pictures_without(gone);
            let differing = expected.iter().zip(&decoded).position(|(expected, decoded)| expected != decoded);
            let at =
                differing.map(|at| self.shown.iter().filter(|(number, _)| !gone.contains(number)).nth(at).unwrap().0);
            assert!(
                expected == decoded,
                "{}: without {dropped:?} and so {gone:?}, {} pictures for {}, unit {at:?} differs first",
                self.name,
                decoded.len(),
                expected.len(),
            );
        }
    }

    /// Drops single units that others refer to by our account, and nothing else: shares of the trials that broke a
    /// picture, and of the closure that was broken.
    fn share_that_breaks(&self, trials: usize) -> (f64, f64) {
        let referenced: Vec<_> = (1..self.units.len()).filter(|&number| self.units[number].referenced).collect();
        let (mut broken_trials, mut broken, mut claimed) = (0, 0, 0);
        let mut numbers = Numbers(3);
        let chosen: Vec<_> =
            (0..trials).map(|_| BTreeSet::from([referenced[numbers.below(referenced.len())]])).collect();
        for (dropped, decoded) in chosen.iter().zip(self.decode_without(chosen.iter())) {
            let dependants = self.closure(dropped).len() - 1;
            let expected = self.pictures_without(dropped);
            let decoded: BTreeSet<_> = decoded.into_iter().collect();
            let lost = expected.iter().filter(|digest| !decoded.contains(*digest)).count();
            broken_trials += usize::from(lost > 0);
            broken += lost.min(dependants);
            claimed += dependants;
        }
        (broken_trials as f64 / trials as f64, broken as f64 / claimed.max(1) as f64)
    }
}

/// How many sets of frames are dropped from each stream; `FRAMEWIRE_DROP_TRIALS` for more, with another seed.
fn trials() -> usize {
    std::env::var("FRAMEWIRE_DROP_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn seed() -> u64 {
    trials() as u64
}

fn check_encoded(codec: Codec, encoder: &str, name: &str, options: &str) {
    let suffix = codec.ffmpeg_format();
    let options = format!("-c:v {encoder} -pix_fmt yuv420p {options} -f {suffix}");
    check_made(codec, name, &ffmpeg::encode(&format!("{name}.{suffix}"), support::MOVING, &options));
}

fn check_made(codec: Codec, name: &str, path: &Path) {
    let subject = Subject::new(path, codec);
    subject.check_order();
    for unit in &subject.units {
        assert!(!unit.missing_reference, "{name}: {unit:?}");
        let refers_to_unreferenced = unit.references.iter().any(|other| !subject.units[*other as usize].referenced);
        assert!(!refers_to_unreferenced, "{name}: {unit:?}");
    }
    subject.check_what_stays(trials());
    let (trials, closure) = subject.share_that_breaks(6);
    eprintln!("{name}: {:.0} % of drops break a picture, {:.0} % of the closure", trials * 100.0, closure * 100.0);
    assert!(trials > 0.6 && closure > 0.6, "{name}: more references are claimed than there are");
}

#[test]
fn h264() {
    if !ffmpeg::has_encoder("libx264") {
        return;
    }
    let cases = [
        ("plain", "-g 25 -bf 2 -x264-params ref=1:b-pyramid=none:threads=1"),
        ("pyramid", "-g 25 -bf 3 -x264-params ref=3:b-pyramid=normal:b-adapt=0:threads=1"),
        ("strict", "-g 30 -bf 3 -x264-params ref=4:b-pyramid=strict:b-adapt=0:threads=1"),
        ("pyramid1", "-g 30 -bf 5 -x264-params ref=1:b-pyramid=normal:b-adapt=0:threads=1"),
        ("strict1", "-g 30 -bf 5 -x264-params ref=1:b-pyramid=strict:b-adapt=0:threads=1"),
        ("open", "-g 20 -bf 3 -x264-params ref=4:b-pyramid=normal:open-gop=1:b-adapt=0:threads=1"),
        ("cavlc", "-g 25 -bf 2 -x264-params ref=4:cabac=0:slices=4:weightp=2:threads=1"),
        ("refresh", "-g 25 -x264-params intra-refresh=1:bframes=0:ref=1:threads=1"),
        ("interlaced", "-g 25 -bf 2 -x264-params tff=1:ref=3:threads=1"),
        ("weighted", "-g 25 -bf 3 -x264-params weightb=1:weightp=2:ref=4:direct=temporal:threads=1"),
        ("baseline", "-g 25 -profile:v baseline -x264-params ref=4:threads=1"),
    ];
    for (name, options) in cases {
        check_encoded(Codec::H264, "libx264", name, options);
    }
}

#[test]
fn h265() {
    if !ffmpeg::has_encoder("libx265") {
        return;
    }
    let cases = [
        ("plain", "bframes=2:b-pyramid=0:ref=1:keyint=25:open-gop=0"),
        ("pyramid", "bframes=4:b-pyramid=1:ref=4:keyint=25:b-adapt=0:open-gop=0"),
        ("open", "bframes=4:b-pyramid=1:ref=3:keyint=20:min-keyint=20:b-adapt=0:open-gop=1"),
        ("layers", "bframes=3:b-pyramid=1:temporal-layers=1:keyint=25:b-adapt=0:ref=3"),
        ("headers", "bframes=3:keyint=25:ref=3:repeat-headers=1:aud=1"),
        // x265 makes slices with wavefronts only: without them no decoder makes its pictures of the stream.
        ("slices", "bframes=3:keyint=25:ref=3:ctu=16:slices=4:wpp=1:pools=1"),
    ];
    for (name, options) in cases {
        let options = format!("-x265-params log-level=none:pools=none:frame-threads=1:{options}");
        check_encoded(Codec::H265, "libx265", name, &options);
    }
}

#[test]
fn mpeg4() {
    let cases = [
        ("mpeg4", "plain", "-g 25 -bf 2"),
        ("mpeg4", "no-b", "-g 25 -bf 0"),
        ("mpeg4", "closed", "-g 12 -bf 2 -flags +cgop -sc_threshold 1000000000"),
        ("mpeg4", "quarter", "-g 25 -bf 3 -flags +qpel+mv4 -trellis 1"),
        ("mpeg4", "interlaced", "-g 25 -bf 2 -flags +ildct+ilme"),
        ("libxvid", "xvid", "-g 25 -bf 2"),
        ("libxvid", "xvid-gmc", "-g 25 -bf 0 -gmc 1"),
    ];
    for (encoder, name, options) in cases {
        if ffmpeg::has_encoder(encoder) {
            check_encoded(Codec::Mpeg4Part2, encoder, name, options);
        }
    }
}

#[test]
fn av1() {
    for (name, path) in support::av1::encoded() {
        check_made(Codec::Av1, name, path);
    }
}

/// Streams of other encoders, conformance streams among them.
#[test]
fn recorded_streams() {
    let Some(folder) = support::generated_streams().filter(|_| ffmpeg::is_there()) else { return };
    let root = folder.parent().unwrap();
    let names = [
        "generated/h264_640x360p24_intra_refresh_4slices.h264",
        "generated/h264_640x360p24_open_gop_recovery_point.h264",
        "openh264/BA1_FT_C.264",
        "openh264/BANM_MW_D.264",
        "openh264/BASQP1_Sony_C.jsv",
        "openh264/BA_MW_D.264",
        "openh264/CI1_FT_B.264",
        "openh264/CVFC1_Sony_C.jsv",
        "openh264/MIDR_MW_D.264",
        "openh264/MPS_MW_A.264",
        "openh264/MR1_BT_A.h264",
        "openh264/MR2_MW_A.264",
        "openh264/NRF_MW_E.264",
        "generated/hevc_640x360p24_closed_gop_idr.h265",
        "generated/hevc_640x360p24_open_gop_cra_rasl.h265",
    ];
    for name in names {
        let codec = if name.ends_with("265") { Codec::H265 } else { Codec::H264 };
        let subject = Subject::new(&root.join(name), codec);
        subject.check_order();
        subject.check_what_stays(trials());
        let (trials, closure) = subject.share_that_breaks(4);
        eprintln!("{name}: {:.0} % of drops break a picture, {:.0} % of the closure", trials * 100.0, closure * 100.0);
    }
}
