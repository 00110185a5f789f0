//! Packet formats as pure parse and emit: RTP and RFC 2250.
