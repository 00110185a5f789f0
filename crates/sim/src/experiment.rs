//! A TCP connection without a movie.
