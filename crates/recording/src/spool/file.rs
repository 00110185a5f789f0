//! The file behind a list: appended to and read in blocks, and without a name from the moment it is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::run::WriteError;

/// Where a block is, and how many records it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    start: u64,
    bytes: usize,
    pub records: usize,
}

/// A file without a name.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    directory: PathBuf,
    file: Mutex<File>,
}

/// Writes a block at the end of the file, which is made in `directory` if there is none yet.
pub(crate) fn append(
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
    pub(crate) fn read(&self, block: &Block) -> Result<Vec<u8>, WriteError> {
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

    /// The directory that the system says it is in, with the name that it has or had.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn place(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("this process may read its descriptors")
    }

    fn with<R>(&self, work: impl FnOnce(&mut File) -> io::Result<R>) -> io::Result<R> {
        // Each use seeks first, so that it does not matter how an earlier one ended.
        work(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A file that never had a name, so that nothing stays whenever the process ends. Where there are none, one that loses its
/// name at once.
fn create(directory: &Path) -> io::Result<File> {
    match unnamed(directory) {
        Err(error) if knows_no_unnamed_files(&error) => named_for_a_moment(directory),
        outcome => outcome,
    }
}

/// open(2): O_TMPFILE, which includes O_DIRECTORY, and O_EXCL, so that it can never be given a name. Numbers of
/// include/uapi/asm-generic/fcntl.h and arch/arm64/include/uapi/asm/fcntl.h; other processors have others.
#[cfg(unix)]
fn unnamed(directory: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = match (cfg!(target_os = "linux"), std::env::consts::ARCH) {
        (true, "x86_64") => 0o20_000_000 | 0o200_000 | 0o200,
        (true, "aarch64") => 0o20_000_000 | 0o40_000 | 0o200,
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(directory)
}

#[cfg(not(unix))]
fn unnamed(_directory: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Of a file system (EOPNOTSUPP) or of a kernel before 3.11 (EISDIR), as open(2) says.
fn knows_no_unnamed_files(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::IsADirectory)
}

/// Names of this process's files, which they have for a moment.
static NUMBER: AtomicU64 = AtomicU64::new(0);

pub(super) fn named_for_a_moment(directory: &Path) -> io::Result<File> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".framewire-{}-{number}.tmp", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn failure(directory: &Path, error: &io::Error) -> WriteError {
    WriteError::new(directory.join("(what the run records)"), error)
}
