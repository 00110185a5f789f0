//! Reading at a place, without a position that threads would have to share.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

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
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
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
}

impl ReadAt for Bytes {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (&self[..]).read_exact_at(buffer, offset)
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
