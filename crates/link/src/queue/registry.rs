//! Which disciplines there are: one line of registration each.

use framewire_units::Seed;

use super::codel::Codel;
use super::discipline::{QueueDiscipline, QueueSetup};
use super::drop_tail::DropTail;

/// Registers the disciplines: variant, the name that users write, and how a queue is made from its setup and seed.
macro_rules! disciplines {
    ($(#[doc = $doc:literal] $variant:ident, $name:literal, $build:expr;)+) => {
        framewire_units::keywords! {
            /// What becomes of what waits in a queue.
            Discipline { $(#[doc = $doc] $variant = $name,)+ }
        }

        impl Discipline {
            /// An empty queue. Most disciplines draw nothing; what others do comes from `seed`, which is this queue's own.
            pub(crate) fn build(self, setup: &QueueSetup, seed: Seed) -> Box<dyn QueueDiscipline> {
                match self {
                    $(Self::$variant => {
                        let build: fn(&QueueSetup, Seed) -> Box<dyn QueueDiscipline> = $build;
                        build(setup, seed)
                    })+
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out; refuses what arrives at a full queue.
    DropTail, "drop-tail", |setup, _| Box::new(DropTail::new(setup));
    /// Controlled delay (RFC 8289): drops the oldest packets while all have waited too long.
    Codel, "codel", |setup, _| Box::new(Codel::new(setup));
}

impl Default for Discipline {
    /// Drop-tail, as in every plain router.
    fn default() -> Self {
        Self::DropTail
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use framewire_units::DataSize;

    use super::super::QueueLimit;
    use super::*;

    #[test]
    fn no_name_is_registered_twice_and_each_makes_an_empty_queue() {
        let names: BTreeSet<_> = Discipline::ALL.iter().map(|discipline| discipline.as_str()).collect();
        assert_eq!(names.len(), Discipline::ALL.len());
        let setup = QueueSetup { limit: QueueLimit::Packets(1), mtu: DataSize::from_bytes(1500) };
        assert!(Discipline::ALL.iter().all(|discipline| discipline.build(&setup, Seed(1)).backlog().packets == 0));
    }
}
