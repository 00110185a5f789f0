//! What an application that is run by root, and without root's capabilities, cannot read: the homes of others, above all.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use framewire_scenario::Capabilities;

use super::user::Rights;

/// Reading a file, or looking for a name in a directory, as the permission bits of its others have it (inode(7)).
const READ: u32 = 0o4;
/// See [`READ`].
const SEARCH: u32 = 0o1;

/// In words, a file among the arguments, or a directory above it, that an application with these rights cannot read, and
/// what would let it; `None` where there is none.
pub fn closed_to(rights: Rights, arguments: &[String]) -> Option<String> {
    if !rights.user.is_root() || rights.capabilities == Capabilities::All {
        return None;
    }
    let (place, found) = arguments.iter().filter_map(|argument| path_in(argument)).find_map(|path| closed_on(&path))?;
    Some(format!(
        "it was run by root without root's capabilities, and {} is closed to it (mode {:04o}, of user {}): \
         capabilities = \"all\" beside its command or pipeline leaves them to it",
        place.display(),
        found.mode() & 0o7777,
        found.uid(),
    ))
}

/// The file that an argument names, by itself or behind `location=` or the like.
fn path_in(argument: &str) -> Option<PathBuf> {
    let behind = argument.split_once(['=', ':']).map(|(_, behind)| behind);
    let existing = |name: &str| if name.contains('/') { std::fs::canonicalize(name).ok() } else { None };
    existing(argument).or_else(|| existing(behind?))
}

/// The first place on the way to a file that is closed to a user 0 without capabilities.
fn closed_on(path: &Path) -> Option<(PathBuf, Metadata)> {
    let mut places: Vec<&Path> = path.ancestors().collect();
    places.reverse();
    places.into_iter().find_map(|place| {
        let found = std::fs::metadata(place).ok()?;
        let needed = if found.is_dir() { SEARCH } else { READ };
        let class = match () {
            () if found.uid() == 0 => 6,
            () if found.gid() == 0 => 3,
            () => 0,
        };
        (found.mode() >> class & needed == 0).then(|| (place.to_owned(), found))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::super::user::User;
    use super::*;

    #[test]
    fn a_closed_home_is_named_with_what_opens_it() {
        if !nix::unistd::geteuid().is_root() {
            return eprintln!("skipped: only root can give a file away");
        }
        let home = std::env::temp_dir().join(format!("framewire-home-{}", std::process::id()));
        let film = home.join("film.mp4");
        fs::create_dir(&home).unwrap();
        fs::write(&film, "").unwrap();
        let closed = |argument: &str, capabilities| {
            let rights = Rights { user: User::current(), capabilities };
            closed_to(rights, &["ffmpeg".to_owned(), "-i".to_owned(), argument.to_owned()])
        };
        let name = film.to_str().unwrap();
        assert_eq!(closed(name, Capabilities::None), None, "root's own");
        chown(&home, Some(1_000), Some(1_000)).unwrap();
        fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
        for argument in [name.to_owned(), format!("location={name}"), format!("file:{name}")] {
            let words = closed(&argument, Capabilities::None).unwrap();
            let place = format!("{} is closed to it (mode 0700, of user 1000)", home.display());
            assert!(words.contains(&place) && words.contains("capabilities = \"all\""), "{words}");
            assert_eq!(closed(&argument, Capabilities::All), None);
        }
        assert_eq!(closed("udp://10.0.0.1:5004", Capabilities::None), None);
        fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(closed(name, Capabilities::None), None, "open to all");
        chown(&film, Some(1_000), Some(1_000)).unwrap();
        fs::set_permissions(&film, Permissions::from_mode(0o600)).unwrap();
        assert!(closed(name, Capabilities::None).unwrap().contains("film.mp4 is closed to it (mode 0600"));
        fs::remove_dir_all(home).unwrap();
    }
}
