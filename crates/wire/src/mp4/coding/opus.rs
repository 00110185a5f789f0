//! Opus (Encapsulation of Opus in ISO Base Media File Format): samples are packets.

use super::{Coding, Configuration, ConfigurationBox, HeadersBefore, Row, SampleError, Samples, Shape};
use crate::mp4::boxes::{Contents, put_u16, put_u32};
use crate::mp4::index::IndexError;

pub(super) static OPUS: Row = Row {
    coding: Coding::Opus,
    is_video: false,
    entries: &[(b"Opus", HeadersBefore::None)],
    brand: None,
    configuration: ConfigurationBox::Own(b"dOps", read),
    of_unit: |_, shape| configuration(shape).map(Some),
    samples: Samples::Without(|_| Ok(0)),
    unit: |_, sample, _| Some(sample.clone()),
};

/// What `dOps` says: with a version of its own, or a table of channels, nothing that is known here.
fn read(mut specific: Contents<'_>) -> Result<Configuration, IndexError> {
    let (version, channels, pre_skip) = (specific.u8()?, specific.u8()?, specific.u16()?);
    let (sample_rate, _output_gain, family) = (specific.u32()?, specific.u16()?, specific.u8()?);
    let is_known = version == 0 && family == 0 && (1..=2).contains(&channels);
    let shape = is_known.then_some(Shape::Sound { channels, sample_rate, pre_skip });
    Ok(Configuration { shape, ..Configuration::default() })
}

/// The content of `dOps` (4.3.2): that of the header of Ogg (RFC 7845, 5.1) without its magic, with the high byte first.
fn configuration(shape: Shape) -> Result<Vec<u8>, SampleError> {
    let Shape::Sound { channels, sample_rate, pre_skip } = shape else { return Err(SampleError::ParameterSets) };
    if !(1..=2).contains(&channels) {
        return Err(SampleError::Channels(channels));
    }
    let mut out = vec![0, channels];
    put_u16(&mut out, pre_skip);
    put_u32(&mut out, sample_rate);
    put_u16(&mut out, 0); // OutputGain.
    out.push(0); // ChannelMappingFamily: one or two channels.
    Ok(out)
}
