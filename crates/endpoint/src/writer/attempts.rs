//! How often a connection is tried again.

/// Counts attempts to connect again since a frame was last written whole: a receiver that accepts and hangs up is one
/// that does not answer.
#[derive(Debug)]
pub(super) struct Attempts {
    allowed: u32,
    made: u32,
}

impl Attempts {
    /// A count of 0.
    pub(super) fn new(allowed: u32) -> Self {
        Self { allowed, made: 0 }
    }

    /// The connection was good: counting begins again.
    pub(super) fn reset(&mut self) {
        self.made = 0;
    }

    /// Counts another attempt; false when there may be none.
    pub(super) fn another(&mut self) -> bool {
        let allowed = self.made < self.allowed;
        self.made += u32::from(allowed);
        allowed
    }

    /// What is wrong, and how often it was tried.
    pub(super) fn verdict(&self, reason: &str) -> String {
        match self.allowed {
            0 => reason.to_owned(),
            allowed => format!("{reason} (reconnection {} of {allowed})", self.made),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_counts_from_the_last_good_connection() {
        let mut attempts = Attempts::new(2);
        assert!(attempts.another() && attempts.another());
        assert!(!attempts.another());
        attempts.reset();
        assert!(attempts.another());
        assert!(!Attempts::new(0).another());
    }
}
