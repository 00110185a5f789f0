//! The file behind a list: appended to and read in blocks, and without a name from the moment it is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::run::WriteError;

/// Where a block is, and how many records it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    start: u64,
    bytes: usize,
    pub records: usize,
}

/// A file without a name.
#[derive(Debug)]
pub(super) struct ScratchFile {
    directory: PathBuf,
    file: Mutex<File>,
}

/// Writes a block at the end of the file, which is made in `directory` if there is none yet.
pub(super) fn append(
    file: &mut Option<Arc<ScratchFile>>,
    directory: Option<&Path>,
    bytes: &[u8],
    records: usize,
) -> Result<Block, WriteError> {
    let file = match file {
        Some(file) => file,
        None => {
            let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
            let opened = create(&directory).map_err(|error| failure(&directory, &error))?;
            file.insert(Arc::new(ScratchFile::of(opened, directory)))
        }
    };
    let start = file.append(bytes).map_err(|error| failure(&file.directory, &error))?;
    Ok(Block { start, bytes: bytes.len(), records })
}

#[cfg(test)]
impl Block {
    pub(super) fn moved(self, start: u64) -> Self {
        Self { start, ..self }
    }
}

impl ScratchFile {
    /// An open file of `directory`.
    pub(super) fn of(file: File, directory: PathBuf) -> Self {
        Self { directory, file: Mutex::new(file) }
    }

    /// What was written.
    pub(super) fn read(&self, block: &Block) -> Result<Vec<u8>, WriteError> {
        let mut bytes = vec![0; block.bytes];
        let outcome = self.with(|file| {
            file.seek(SeekFrom::Start(block.start))?;
            file.read_exact(&mut bytes)
        });
        outcome.map_err(|error| {
            let reason = format!("what was written cannot be read again: {error}");
            WriteError { reason, ..failure(&self.directory, &error) }
        })?;
        Ok(bytes)
    }

    /// Copies of a list share its file, and each adds at its end.
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.with(|file| {
            let start = file.seek(SeekFrom::End(0))?;
            file.write_all(bytes)?;
            Ok(start)
        })
    }

    fn with<R>(&self, work: impl FnOnce(&mut File) -> io::Result<R>) -> io::Result<R> {
        // Each use seeks first, so that it does not matter how an earlier one ended.
        work(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Names of this process's files, which they have for a moment.
static NUMBER: AtomicU64 = AtomicU64::new(0);

fn create(directory: &Path) -> io::Result<File> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".framewire-{}-{number}.tmp", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn failure(directory: &Path, error: &io::Error) -> WriteError {
    WriteError::new(directory.join("(what the run records)"), error)
}
