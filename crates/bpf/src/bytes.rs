//! Numbers in a file of little-endian 64-bit BPF.

/// The number at `offset`; `None` behind the end.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// The number at `offset`; `None` behind the end.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// The number at `offset`; `None` behind the end.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// The text at `offset` up to its zero; `None` where there is none.
pub(crate) fn text_at(bytes: &[u8], offset: usize) -> Option<&str> {
    let rest = bytes.get(offset..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}
