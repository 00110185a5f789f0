//! HTTP/1.1 (RFC 9112, RFC 9110) as far as who serves media files and who plays them need it: GET and HEAD, single ranges of
//! bytes, connections that stay open, and bodies whose length is told, in chunks, or until the connection is closed.
//!
//! [`Reader`] takes a connection apart into [requests](Request) or [responses](Response) and what follows them. [`Server`] is one
//! connection of a client to a set of [resources](Resource), [`Client`] one that fetches a resource after the other; both only
//! say what is to be sent, and when. The bytes of a resource are written by who has them, when the server says so.

mod client;
mod date;
mod message;
mod range;
mod reader;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, ClientEvent, Fetch};
pub use message::{HttpVersion, Request, Response};
pub use range::{ContentRange, RequestedRange};
pub use reader::{HttpError, Item, Reader};
pub use server::{IDLE_TIMEOUT, Resource, Serve, Server, ServerEvent};

pub use crate::message::{Answered, Asked, Headers, MOST_FIELDS, MOST_HEADER_BYTES, Status};
