//! TCP congestion controls that a kernel lacks, as BPF programs (struct_ops), and how they get into it.
//!
//! [`load`] puts one into the running kernel, under a name of its own, for as long as what it returns is held: by one
//! descriptor of this process, so that it is gone when the process ends, however it ends. Sockets choose it by that name
//! (`TCP_CONGESTION`), in every network namespace and without privileges; a connection that has it keeps it to its end.
//!
//! The programs are in `programs/`, as C, and built in `objects/`; `programs/build` makes the one from the other. What an
//! object says of the kernel's structures is put right for the running kernel by its own description of them
//! (`/sys/kernel/btf/vmlinux`), as libbpf does ("compile once, run everywhere"). It is done here, because libbpf needs
//! the headers of libelf and zlib where the emulator is compiled, or itself where it runs; what these programs need of it
//! is little.
//!
//! ```no_run
//! let illinois = framewire_bpf::load("illinois")?;
//! println!("sockets choose it as {}", illinois.name());
//! # Ok::<(), framewire_bpf::LoadError>(())
//! ```
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it asks the kernel for things, which is a world's part"
)]

mod btf;
mod bytes;
mod elf;
mod error;
mod load;
mod object;
mod programs;
mod relocate;
mod system;

pub use error::LoadError;
pub use load::{Loaded, load};
pub use programs::names;
