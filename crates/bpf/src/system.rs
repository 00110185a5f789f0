//! The system call bpf(2), as far as it is used: `union bpf_attr` of the kernel's `include/uapi/linux/bpf.h`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::LoadError;

/// Commands.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const BTF_LOAD: i32 = 18;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;
/// Types and flags.
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_STRUCT_OPS: u32 = 44;
const MAP_READ_ONLY_FOR_PROGRAMS: u32 = 1 << 7;
const MAP_BY_LINK: u32 = 1 << 13;
/// Bytes of `union bpf_attr` that are passed; the kernel takes the rest for zero.
const ATTRIBUTES: usize = 128;

/// `union bpf_attr`, filled field by field.
struct Attributes([u64; ATTRIBUTES / 8]);

impl Attributes {
    fn new() -> Self {
        Self([0; ATTRIBUTES / 8])
    }

    fn number(mut self, offset: usize, value: u32) -> Self {
        let word = &mut self.0[offset / 8];
        *word |= u64::from(value) << (offset % 8 * 8);
        self
    }

    fn descriptor(self, offset: usize, fd: BorrowedFd<'_>) -> Self {
        self.number(offset, fd.as_raw_fd().cast_unsigned())
    }

    fn pointer<T>(mut self, offset: usize, to: *const T) -> Self {
        self.0[offset / 8] = to as u64;
        self
    }

    fn call(&mut self, command: i32, operation: &'static str) -> Result<i32, LoadError> {
        // SAFETY: the attributes are as large as said, and what their pointers point to is borrowed by the caller for
        // the time of the call, with the lengths that stand beside them.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), ATTRIBUTES) };
        if result >= 0 {
            return Ok(result as i32);
        }
        let source = io::Error::last_os_error();
        Err(match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LoadError::NotPermitted,
            Some(libc::ENOSYS) => LoadError::Kernel("BPF (CONFIG_BPF_SYSCALL)".to_owned()),
            _ => LoadError::System { operation, source, log: String::new() },
        })
    }

    fn open(&mut self, command: i32, operation: &'static str) -> Result<OwnedFd, LoadError> {
        let fd = self.call(command, operation)?;
        // SAFETY: these commands return a new descriptor, which nobody else has.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// Loads descriptions of types.
pub(crate) fn load_btf(data: &[u8]) -> Result<OwnedFd, LoadError> {
    Attributes::new().pointer(0, data.as_ptr()).number(16, data.len() as u32).open(BTF_LOAD, "bpf(BPF_BTF_LOAD)")
}

/// A map of one constant, which programs may read and nobody may change.
pub(crate) fn constant(data: &[u8]) -> Result<OwnedFd, LoadError> {
    let map = Attributes::new()
        .number(0, MAP_TYPE_ARRAY)
        .number(4, 4)
        .number(8, data.len() as u32)
        .number(12, 1)
        .number(16, MAP_READ_ONLY_FOR_PROGRAMS)
        .open(MAP_CREATE, "bpf(BPF_MAP_CREATE)")?;
    update(&map, data)?;
    Attributes::new().descriptor(0, borrowed(&map)).call(MAP_FREEZE, "bpf(BPF_MAP_FREEZE)")?;
    Ok(map)
}

/// A map for a value of the kernel's type `value_type`, `size` bytes, which a link puts in force.
pub(crate) fn operations(btf: &OwnedFd, value_type: u32, size: usize) -> Result<OwnedFd, LoadError> {
    Attributes::new()
        .number(0, MAP_TYPE_STRUCT_OPS)
        .number(4, 4)
        .number(8, size as u32)
        .number(12, 1)
        .number(16, MAP_BY_LINK)
        .descriptor(48, borrowed(btf))
        .number(60, value_type)
        .open(MAP_CREATE, "bpf(BPF_MAP_CREATE)")
}

/// Sets a map's only element.
pub(crate) fn update(map: &OwnedFd, value: &[u8]) -> Result<(), LoadError> {
    let key = 0u32;
    Attributes::new()
        .descriptor(0, borrowed(map))
        .pointer(8, &raw const key)
        .pointer(16, value.as_ptr())
        .call(MAP_UPDATE_ELEM, "bpf(BPF_MAP_UPDATE_ELEM)")?;
    Ok(())
}

/// Puts the operations of a map in force, until the descriptor is closed.
pub(crate) fn attach(map: &OwnedFd) -> Result<OwnedFd, LoadError> {
    Attributes::new()
        .descriptor(0, borrowed(map))
        .number(8, ATTACH_STRUCT_OPS)
        .open(LINK_CREATE, "bpf(BPF_LINK_CREATE)")
}

/// Loads a program for the member with number `member` of the kernel's structure `structure`.
pub(crate) fn load_program(code: &[u8], licence: &str, structure: u32, member: u32) -> Result<OwnedFd, LoadError> {
    let attempt = |log: &mut [u8]| {
        let mut attributes = Attributes::new()
            .number(0, PROG_TYPE_STRUCT_OPS)
            .number(4, (code.len() / crate::relocate::INSTRUCTION) as u32)
            .pointer(8, code.as_ptr())
            .pointer(16, licence.as_ptr())
            .number(68, member)
            .number(108, structure);
        if !log.is_empty() {
            attributes = attributes.number(24, 1).number(28, log.len() as u32).pointer(32, log.as_mut_ptr());
        }
        attributes.open(PROG_LOAD, "bpf(BPF_PROG_LOAD)")
    };
    assert!(licence.ends_with('\0'), "invariant: the caller passes the section with its zero");
    attempt(&mut []).map_err(|error| match error {
        // Once more, for the verifier to say why.
        LoadError::System { operation, source, .. } => {
            let mut log = vec![0; 1 << 16];
            let _ = attempt(&mut log);
            LoadError::System { operation, source, log: last_lines(&log) }
        }
        other => other,
    })
}

fn last_lines(log: &[u8]) -> String {
    const LINES: usize = 4;
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() { String::new() } else { format!("; the verifier says: {}", last.join(" | ")) }
}

fn borrowed(fd: &OwnedFd) -> BorrowedFd<'_> {
    use std::os::fd::AsFd;
    fd.as_fd()
}
