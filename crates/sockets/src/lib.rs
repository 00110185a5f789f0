//! The kernel's sockets behind the two socket traits.
