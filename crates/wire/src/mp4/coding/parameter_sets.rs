//! H.264 and H.265: NAL units behind their lengths, and records of parameter sets (ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1).

use bytes::Bytes;

use super::nal::{LENGTH_SIZE, parameter_sets, put_lengths, unit_type, with_start_codes};
use super::{Coding, Configuration, ConfigurationBox, HeadersBefore, Row, SampleError, Samples};
use crate::mp4::bits::Bits;
use crate::mp4::boxes::{Contents, put_u16};
use crate::mp4::index::IndexError;

/// Parameter sets stay in samples too (`avc3`, 5.4.2.1.1).
pub(super) static H264: Row = Row {
    coding: Coding::H264,
    is_video: true,
    entries: &[(b"avc3", HeadersBefore::First), (b"avc1", HeadersBefore::Syncs)],
    brand: None,
    configuration: ConfigurationBox::Own(b"avcC", read_avc),
    of_unit: |unit, _| avc(&parameter_sets(Coding::H264, unit)?),
    samples: Samples::Pieces(put_lengths),
    unit: |configuration, sample, wants_headers| with_start_codes(Coding::H264, configuration, sample, wants_headers),
};

/// The same (`hev1`, 8.4.1.1.1).
pub(super) static H265: Row = Row {
    coding: Coding::H265,
    entries: &[(b"hev1", HeadersBefore::First), (b"hvc1", HeadersBefore::Syncs)],
    configuration: ConfigurationBox::Own(b"hvcC", read_hevc),
    of_unit: |unit, _| hevc(&parameter_sets(Coding::H265, unit)?),
    unit: |configuration, sample, wants_headers| with_start_codes(Coding::H265, configuration, sample, wants_headers),
    is_video: true,
    brand: None,
    samples: Samples::Pieces(put_lengths),
};

/// Types of NAL units (ITU-T H.264, table 7-1).
const H264_SEQUENCE: u8 = 7;
const H264_PICTURE: u8 = 8;

/// (ITU-T H.265, table 7-1.)
const H265_SEQUENCE: u8 = 33;
const H265_SETS: [u8; 3] = [32, H265_SEQUENCE, 34];

/// Profiles of H.264 whose parameter sets state the format of chroma (ITU-T H.264, 7.3.2.1.1), which the configuration repeats.
const HIGH_PROFILES: [u8; 4] = [100, 110, 122, 244];

fn of_type<'a>(coding: Coding, sets: &[&'a [u8]], wanted: u8) -> Vec<&'a [u8]> {
    sets.iter().copied().filter(|nal| unit_type(coding, nal) == wanted).collect()
}

fn put_set(out: &mut Vec<u8>, set: &[u8]) -> Result<(), SampleError> {
    put_u16(out, u16::try_from(set.len()).map_err(|_| SampleError::ParameterSets)?);
    out.extend(set);
    Ok(())
}

/// `AVCDecoderConfigurationRecord`.
fn avc(sets: &[&[u8]]) -> Result<Option<Vec<u8>>, SampleError> {
    let sequences = of_type(Coding::H264, sets, H264_SEQUENCE);
    let pictures = of_type(Coding::H264, sets, H264_PICTURE);
    let Some(first) = sequences.first() else { return Ok(None) };
    if pictures.is_empty() {
        return Ok(None);
    }
    let &[_, profile, compatibility, level, ..] = *first else { return Err(SampleError::ParameterSets) };
    let mut record = vec![1, profile, compatibility, level, 0xFC | (LENGTH_SIZE as u8 - 1)];
    record.push(0xE0 | sequences.len().min(31) as u8);
    sequences.iter().take(31).try_for_each(|set| put_set(&mut record, set))?;
    record.push(pictures.len().min(255) as u8);
    pictures.iter().take(255).try_for_each(|set| put_set(&mut record, set))?;
    if HIGH_PROFILES.contains(&profile) {
        let payload = without_emulation(&first[4..]);
        let (chroma, luma_depth, chroma_depth) =
            avc_chroma(&mut Bits::new(&payload)).ok_or(SampleError::ParameterSets)?;
        record.extend([0xFC | chroma, 0xF8 | luma_depth, 0xF8 | chroma_depth, 0]);
    }
    Ok(Some(record))
}

/// `chroma_format_idc` and depths in bits less eight, behind the level of a sequence parameter set (ITU-T H.264, 7.3.2.1.1).
fn avc_chroma(bits: &mut Bits<'_>) -> Option<(u8, u8, u8)> {
    bits.unsigned()?;
    chroma_and_depths(bits, |_| Some(()))
}

fn chroma_and_depths(bits: &mut Bits<'_>, between: impl FnOnce(&mut Bits<'_>) -> Option<()>) -> Option<(u8, u8, u8)> {
    let chroma = bits.unsigned()?;
    if chroma == 3 {
        bits.take(1)?; // separate_colour_plane_flag
    }
    between(bits)?;
    let (luma, of_chroma) = (bits.unsigned()?, bits.unsigned()?);
    (chroma <= 3 && luma <= 7 && of_chroma <= 7).then_some((chroma as u8, luma as u8, of_chroma as u8))
}

/// `HEVCDecoderConfigurationRecord`.
fn hevc(sets: &[&[u8]]) -> Result<Option<Vec<u8>>, SampleError> {
    let arrays = H265_SETS.map(|wanted| (wanted, of_type(Coding::H265, sets, wanted)));
    if arrays.iter().any(|(_, array)| array.is_empty()) {
        return Ok(None);
    }
    let first = arrays[1].1[0];
    let payload = without_emulation(first.get(2..).unwrap_or_default());
    let (layers, (chroma, luma_depth, chroma_depth)) = hevc_sequence(&payload).ok_or(SampleError::ParameterSets)?;
    let mut record = vec![1];
    record.extend(payload.get(1..13).ok_or(SampleError::ParameterSets)?); // profile_tier_level as it is, up to the level.
    record.extend([0xF0, 0]); // min_spatial_segmentation_idc: not known.
    record.extend([0xFC, 0xFC | chroma, 0xF8 | luma_depth, 0xF8 | chroma_depth]);
    record.extend([0, 0]); // avgFrameRate: not stated.
    record.push(layers << 2 | (LENGTH_SIZE as u8 - 1));
    record.push(arrays.len() as u8);
    for (wanted, array) in arrays {
        record.push(wanted); // There may be others in samples: array_completeness is 0.
        put_u16(&mut record, array.len() as u16);
        array.iter().try_for_each(|set| put_set(&mut record, set))?;
    }
    Ok(Some(record))
}

/// `sps_max_sub_layers_minus1` + 1 and `sps_temporal_id_nesting_flag`, as the record has them beside each other, and the format of
/// chroma (ITU-T H.265, 7.3.2.2.1 and 7.3.3).
fn hevc_sequence(payload: &[u8]) -> Option<(u8, (u8, u8, u8))> {
    let mut bits = Bits::new(payload);
    bits.take(4)?;
    let (sub_layers, nesting) = (bits.take(3)?, bits.take(1)?);
    bits.skip(96)?;
    let mut present = 0;
    for layer in 0..8 {
        if sub_layers > 0 && layer < 8 {
            let flags = bits.take(2)?;
            if layer < sub_layers {
                present += 88 * (flags >> 1) + 8 * (flags & 1);
            }
        }
    }
    bits.skip(present as usize)?;
    bits.unsigned()?;
    let sizes = |bits: &mut Bits<'_>| {
        bits.unsigned()?;
        bits.unsigned()?;
        if bits.take(1)? == 1 {
            for _ in 0..4 {
                bits.unsigned()?;
            }
        }
        Some(())
    };
    let chroma = chroma_and_depths(&mut bits, sizes)?;
    Some(((((sub_layers + 1) << 1) | nesting) as u8, chroma))
}

/// The length of lengths and the parameter sets of an `avcC`.
fn read_avc(mut record: Contents<'_>) -> Result<Configuration, IndexError> {
    record.bytes(4)?;
    let length_size = usize::from(record.u8()? & 3) + 1;
    let mut sets = Vec::new();
    for mask in [0x1F, 0xFF] {
        for _ in 0..record.u8()? & mask {
            read_set(&mut record, &mut sets)?;
        }
    }
    Ok(Configuration { length_size, headers: sets, ..Configuration::default() })
}

/// The same of an `hvcC`.
fn read_hevc(mut record: Contents<'_>) -> Result<Configuration, IndexError> {
    record.bytes(21)?;
    let length_size = usize::from(record.u8()? & 3) + 1;
    let mut sets = Vec::new();
    for _ in 0..record.u8()? {
        let is_set = H265_SETS.contains(&(record.u8()? & 0x3F));
        for _ in 0..record.u16()? {
            let before = sets.len();
            read_set(&mut record, &mut sets)?;
            if !is_set {
                sets.truncate(before);
            }
        }
    }
    Ok(Configuration { length_size, headers: sets, ..Configuration::default() })
}

fn read_set(record: &mut Contents<'_>, sets: &mut Vec<Bytes>) -> Result<(), IndexError> {
    let length = record.u16()?.into();
    let set = record.bytes(length)?;
    if !set.is_empty() {
        sets.push(Bytes::copy_from_slice(set));
    }
    Ok(())
}

/// The payload of a NAL unit without `emulation_prevention_three_byte` (ITU-T H.264, 7.3.1; ITU-T H.265, 7.3.1.1).
fn without_emulation(nal: &[u8]) -> Vec<u8> {
    let (mut payload, mut zeros) = (Vec::with_capacity(nal.len()), 0);
    for &byte in nal {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        payload.push(byte);
    }
    payload
}
