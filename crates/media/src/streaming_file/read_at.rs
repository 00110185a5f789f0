//! Reading at a place, without a position that threads would have to share.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

/// Bytes that can be read anywhere.
pub trait ReadAt: Send + Sync {
    /// How many there are.
    ///
    /// # Errors
    /// When that cannot be told.
    fn length(&self) -> io::Result<u64>;

    /// Fills the buffer from a place on.
    ///
    /// # Errors
    /// When the bytes end before, or cannot be read.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// So many bytes from a place on; where they are in memory, without a copy.
    ///
    /// # Errors
    /// As [`read_exact_at`](Self::read_exact_at).
    fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut bytes = BytesMut::zeroed(length);
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.freeze())
    }

    /// What changes when it is written to; `None` where nothing does.
    ///
    /// # Errors
    /// When that cannot be told.
    fn version(&self) -> io::Result<Option<Version>> {
        Ok(None)
    }
}

/// What shows whether an open file was written to: its length, and when it was last modified (stat(2)). A file of
/// another name in its place does not matter to a process that has it open, and neither does its removal, which would
/// change its `ctime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Bytes.
    pub length: u64,
    /// Of the last modification: since the Unix epoch, where that was before it.
    pub modified: Option<Duration>,
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn version(&self) -> io::Result<Option<Version>> {
        let metadata = self.metadata()?;
        let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).ok();
        Ok(Some(Version { length: metadata.len(), modified }))
    }

    #[cfg(unix)]
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }
}

impl<S: ReadAt + ?Sized> ReadAt for Arc<S> {
    fn length(&self) -> io::Result<u64> {
        (**self).length()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_exact_at(buffer, offset)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        (**self).bytes_at(offset, length)
    }

    fn version(&self) -> io::Result<Option<Version>> {
        (**self).version()
    }
}

impl ReadAt for Bytes {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (&self[..]).read_exact_at(buffer, offset)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).ok().filter(|&start| start <= self.len());
        let whole = start.filter(|&start| length <= self.len() - start);
        whole.map(|start| self.slice(start..start + length)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl ReadAt for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).ok().filter(|&start| start <= self.len());
        match start.and_then(|start| self[start..].get(..buffer.len())) {
            Some(bytes) => buffer.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}
