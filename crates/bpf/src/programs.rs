//! The programs that there are: a file and a line each.

/// A program: the name of its algorithm and its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) object: &'static [u8],
}

macro_rules! programs {
    ($($name:literal)+) => {
        &[$(Program { name: $name, object: include_bytes!(concat!("../objects/", $name, ".bpf.o")) },)+]
    };
}

pub(crate) const ALL: &[Program] =
    programs!["dctcp" "highspeed" "htcp" "illinois" "newreno" "scalable" "vegas" "veno" "westwood"];

/// The algorithms that there are programs of, by the kernel's names for them.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|program| program.name)
}
