//! Files for what comes from a server.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is there from the beginning, so that nobody streams for an hour and then cannot write; what it held before
/// goes only when something comes, and a file that was made for nothing is removed.
pub(crate) struct Received {
    file: BufWriter<File>,
    path: PathBuf,
    /// This session made it.
    is_new: bool,
    is_empty: bool,
}

impl Received {
    /// Opens the file for writing; where one is already, only with `replace`. What is no file of a disk (`/dev/null`, a
    /// pipe) is written to as it is.
    pub(crate) fn open(path: &Path, replace: bool) -> io::Result<Self> {
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

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }
}

impl Write for Received {
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

impl Drop for Received {
    fn drop(&mut self) {
        if self.is_new && self.is_empty {
            // A file of nothing that cannot be removed does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}
