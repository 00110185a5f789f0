//! Movies: elementary-stream scanners and the frame index.
//!
//! [`Movie::parse`] takes the bytes of an elementary stream (MPEG video, MPEG-4 part 2, H.264, H.265, AV1) and finds every
//! access unit in it ([`FrameIndex`]); [`Movie::frame_bytes`] hands out one of them without copying. [`Scanner`] is the
//! incremental half: chunks of any size in, access units out as soon as their end is known, in constant memory. Where
//! nothing but single access units is at hand, [`access_unit::AccessUnitReader`] returns what each refers to.
//! Clauses and tables named here are those of ISO/IEC 13818-2 (ITU-T H.262), and in `h264` and `h265` those of ITU-T
//! H.264 and H.265.
#![warn(unreachable_pub)]

pub mod access_unit;
pub mod audio;
mod av1;
pub mod avi;
mod bits;
mod codec;
mod codec_registry;
mod error;
mod frame_references;
mod h264;
mod h265;
mod headers;
pub mod held_references;
mod identify;
mod index;
pub mod ladder;
mod luma;
mod mjpeg;
mod movie;
mod mpeg4;
mod nal;
mod nal_detection;
mod nal_parameters;
mod nal_scanner;
mod order;
mod picture;
pub mod picture_order;
mod probe;
mod profile;
mod recovery;
mod references;
mod regular_file;
mod scanner;
mod source;
mod start_code;
mod stream_headers;
pub mod streaming_file;
pub mod timing;
mod unit_index;

pub use error::{OpenError, ScanError};
pub use frame_references::References;
pub use headers::sequence_of;
pub use identify::{OtherFormat, identify};
pub use index::{Frame, FrameIndex};
pub use luma::{FreezeSums, squared_difference};
pub use movie::{CutShort, Movie, MovieChanged, codec_of, stated_frame_rate};
pub use order::DisplayOrder;
pub use picture::{FrameRate, GopHeader, PictureStructure, PictureType, SequenceHeader, TimeCode};
pub use probe::{Probed, probe};
pub use recovery::Recovery;
pub use regular_file::read_regular_file;
pub use scanner::{CodedFrame, Damage, ScanSummary, Scanner};
pub use stream_headers::{Insertion, StreamHeaders};
