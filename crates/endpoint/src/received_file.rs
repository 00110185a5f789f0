//! The file that what a server sends goes into.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is there from the beginning, so that no one streams for an hour and then cannot write; what it held
/// before goes only when something comes, and a file that was made for nothing is removed.
///
/// Dropping it writes what it still holds, but only [`flush`](Write::flush) reports when that fails.
#[derive(Debug)]
pub struct ReceivedFile {
    file: BufWriter<File>,
    path: PathBuf,
    /// It was not there before.
    is_new: bool,
    is_empty: bool,
}

impl ReceivedFile {
    /// Opens the file for writing; where one is already, only with `replace`. What is no file of a disk (`/dev/null`, a
    /// pipe) is written to as it is.
    ///
    /// # Errors
    /// When there is a file already that is to stay ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), or the system
    /// refuses to open or make one.
    pub fn open(path: &Path, replace: bool) -> io::Result<Self> {
        let open = |options: &mut OpenOptions| options.write(true).open(path);
        let (file, is_new) = match open(OpenOptions::new().create_new(true)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !replace && fs::metadata(path)?.is_file() {
                    return Err(error);
                }
                (open(&mut OpenOptions::new())?, false)
            }
            opened => (opened?, true),
        };
        Ok(Self { file: BufWriter::new(file), path: path.to_owned(), is_new, is_empty: true })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nothing came yet.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}

impl Write for ReceivedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_empty && !bytes.is_empty() {
            let file = self.file.get_ref();
            if !self.is_new && file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            self.is_empty = false;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for ReceivedFile {
    fn drop(&mut self) {
        if self.is_new && self.is_empty {
            // A file of nothing that cannot be removed does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[path = "received_file_tests.rs"]
mod tests;
