//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod av1_interop;
mod dissector;
mod http_peers;
mod interop;
mod leaps;
mod mp4_files;
mod mpeg4_interop;
mod nal_dissector;
mod nal_interop;
mod nal_properties;
mod outages;
mod properties;
mod rtcp_peers;
mod rtsp_peers;
mod sound_interop;
mod streams;
mod support;
mod t_std;
mod thesis_rule;
mod transport_streams;
mod transport_streams_sound;
