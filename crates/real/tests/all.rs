//! Both ends on this machine's loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "both ends run in real time, on threads of their own"
)]

mod loopback;
mod support;
