//! How much of a disk a stream may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use framewire_units::DataSize;

/// Bytes that the files of one stream may still take, shared by all of them: a server decides how much it sends, and a live
/// stream has no end.
#[derive(Clone, Debug)]
pub struct Allowance(Arc<Left>);

#[derive(Debug)]
struct Left {
    bytes: AtomicU64,
    is_used_up: AtomicBool,
}

impl Allowance {
    /// So many bytes in all.
    pub fn of(size: DataSize) -> Self {
        Self(Arc::new(Left { bytes: AtomicU64::new(size.as_bytes()), is_used_up: false.into() }))
    }

    /// As many as there are: where nothing is kept.
    pub fn unlimited() -> Self {
        Self::of(DataSize::from_bytes(u64::MAX))
    }

    /// Takes so many bytes; false, and nothing is taken, where fewer are left. From then on it is used up.
    pub fn take(&self, bytes: usize) -> bool {
        let less = |left: u64| left.checked_sub(bytes as u64).filter(|_| !self.is_used_up());
        let taken = self.0.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !taken {
            self.0.is_used_up.store(true, Ordering::Relaxed);
        }
        taken
    }

    /// Whether something did not fit any more.
    pub(crate) fn is_used_up(&self) -> bool {
        self.0.is_used_up.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_taken_and_nothing_behind_what_did_not() {
        let allowance = Allowance::of(DataSize::from_bytes(10));
        let shared = allowance.clone();
        assert!(allowance.take(4) && shared.take(6) && allowance.take(0) && !allowance.is_used_up());
        assert!(!allowance.take(1) && shared.is_used_up() && !shared.take(0));
        let other = Allowance::of(DataSize::from_bytes(10));
        assert!(!other.take(11) && !other.take(1), "a stream has no holes");
        assert!(Allowance::unlimited().take(usize::MAX));
    }
}
