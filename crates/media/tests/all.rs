//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod access_units;
mod access_units_av1;
mod access_units_hostile;
mod access_units_mpeg;
mod access_units_mpeg4;
mod av1_movies;
mod avi;
mod cut_short;
mod decodability;
mod ffprobe;
mod held_references;
mod ladder;
mod mpeg4_movies;
mod nal_movies;
mod open;
mod opus;
mod properties;
mod streams;
mod support;
