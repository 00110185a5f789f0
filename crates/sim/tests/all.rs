//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

#[path = "../examples/tcp_grid/cells.rs"]
mod cells;
mod common;
mod constant_rate;
mod datagrams;
mod ecn;
mod http;
mod hybrid;
mod hybrid_paths;
mod kernel_dataset;
mod repeats;
mod rivals;
mod rtcp;
mod rtp_start;
mod rtsp;
mod sharing;
mod sound;
mod spread;
mod streams;
mod tfrc;
mod transport_streams;
