//! Files that a user names: regular ones only, and no larger than what they can mean.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What is in a file of a disk, which ends: `/dev/zero` does not, and a pipe may have no writer.
///
/// # Errors
/// In words that go on behind the file's name, when it cannot be read, is no regular file or has more than `most` bytes.
pub fn read_regular_file(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| error.to_string();
    let path = path.as_ref();
    // It is looked at before it is opened: to open a pipe without a writer is to wait already.
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err("is a directory, a device or a pipe; a regular file is needed".to_owned());
    }
    let mut bytes = vec![];
    let file = File::open(path).map_err(said)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > most {
        return Err(format!("has more than {}, which is the most that is read", binary(most)));
    }
    Ok(bytes)
}

fn binary(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_a_disk_or_too_large_is_refused_in_words() {
        let path = std::env::temp_dir().join(format!("framewire-regular-{}", std::process::id()));
        std::fs::write(&path, vec![7; 1 << 12]).unwrap();
        assert_eq!(read_regular_file(&path, 1 << 12).unwrap().len(), 1 << 12);
        let refused = |path: &Path, most| read_regular_file(path, most).unwrap_err();
        assert!(refused(&path, 1 << 11).contains("has more than 2 KiB"));
        // A file of gigabytes, of which nothing is on the disk.
        File::create(&path).unwrap().set_len(8 << 30).unwrap();
        assert!(refused(&path, 1 << 20).contains("has more than 1 MiB"));
        std::fs::remove_file(&path).unwrap();
        assert!(refused(&std::env::temp_dir(), 9).contains("a regular file is needed"));
        #[cfg(unix)]
        assert!(refused(Path::new("/dev/zero"), 9).contains("a regular file is needed"));
        assert!(!refused(&path, 9).is_empty(), "it is gone");
    }
}
