//! A list of records that goes to disk as it grows: what a run records, however long it is.

mod fields;
pub(crate) mod file;
mod recent;
mod sort;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use fields::{Input, Output, Spooled};
use file::{Block, ScratchFile};
use recent::Recent;
pub(crate) use sort::{Found, Lookup, Sorter};

use crate::run::WriteError;

/// Records that stay in memory before the first of them are written: runs of minutes never touch the disk.
const IN_MEMORY: usize = 65_536;

/// Records of a block: they are written, and read, together.
const BLOCK: usize = 4_096;

/// A list of records in order. It holds up to 65,536 of them in memory; of a longer list all but the newest few thousand
/// are in a file without a name, which is gone when the list is, or when the process ends in whatever way.
///
/// [`push`](Self::push) never fails, so that what records needs no errors of disks. When the disk has no room, what comes
/// afterwards is not kept, and [`failure`](Self::failure) says so. It is to be asked when all has been recorded, and again
/// when all has been read: reading ends where the disk does not give back what was written.
#[derive(Clone, Debug)]
pub struct Spool<T> {
    directory: Option<Arc<Path>>,
    in_memory: usize,
    file: Option<Arc<ScratchFile>>,
    blocks: Vec<Block>,
    names: Vec<&'static str>,
    recent: Recent<T>,
    length: u64,
    failure: Arc<OnceLock<WriteError>>,
}

/// How much of a list is known already to its follower.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark(usize);

impl<T> Default for Spool<T> {
    fn default() -> Self {
        Self {
            directory: None,
            in_memory: IN_MEMORY,
            file: None,
            blocks: Vec::new(),
            names: Vec::new(),
            recent: Recent::default(),
            length: 0,
            failure: Arc::default(),
        }
    }
}

impl<T: Spooled> Spool<T> {
    /// An empty list whose file, should it need one, is in `directory`; `None`: in the system's directory of temporary
    /// files, which on some systems is memory.
    pub fn in_directory(directory: Option<Arc<Path>>) -> Self {
        Self { directory, ..Self::default() }
    }

    /// The same list with at most so many records in memory before the first are written, instead of 65,536.
    pub fn holding(self, in_memory: usize) -> Self {
        Self { in_memory, ..self }
    }

    /// An empty list whose file is where this list's is, and whose failure is this list's too: of what is made of it.
    pub(crate) fn beside<U: Spooled>(&self) -> Spool<U> {
        Spool { failure: Arc::clone(&self.failure), ..Spool::in_directory(self.directory.clone()) }
    }

    /// Other records, in a list beside this one.
    pub fn with<U: Spooled>(&self, records: impl IntoIterator<Item = U>) -> Spool<U> {
        let mut list = self.beside();
        list.extend(records);
        list
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a record at the end.
    pub fn push(&mut self, record: T) {
        self.length += 1;
        self.recent.push(record);
        let room = if self.blocks.is_empty() { self.in_memory } else { BLOCK };
        if self.recent.len() >= room {
            self.spill();
        }
    }

    /// The records in order.
    pub fn iter(&self) -> Records<'_, T> {
        Records { spool: self, block: 0, decoded: Vec::new().into_iter(), recent: self.recent.iter() }
    }

    /// What went to the disk since the mark, which moves on, as a list of its own. It is read from the same file, also by
    /// another thread while this list grows.
    pub fn written_since(&self, mark: &mut Mark) -> Self {
        let blocks = self.blocks[mark.0..].to_vec();
        mark.0 = self.blocks.len();
        self.part(blocks, Recent::default())
    }

    /// Everything since the mark, also what is in memory.
    pub fn rest_since(&self, mark: Mark) -> Self
    where
        T: Clone,
    {
        self.part(self.blocks[mark.0..].to_vec(), self.recent.clone())
    }

    fn part(&self, blocks: Vec<Block>, recent: Recent<T>) -> Self {
        let written: usize = blocks.iter().map(|block| block.records).sum();
        Self {
            directory: self.directory.clone(),
            in_memory: self.in_memory,
            file: self.file.clone(),
            names: self.names.clone(),
            length: (written + recent.len()) as u64,
            failure: Arc::clone(&self.failure),
            blocks,
            recent,
        }
    }

    /// The records in order, for good: those in memory are not copied.
    pub(crate) fn into_records(mut self) -> impl Iterator<Item = T> {
        let recent = std::mem::take(&mut self.recent);
        let blocks = (0..self.blocks.len()).map_while(move |block| self.read(&self.blocks[block]));
        blocks.flatten().chain(recent)
    }

    /// The same list with every record changed; those in memory stay where they are.
    pub(crate) fn map_in_place(mut self, mut change: impl FnMut(&mut T)) -> Self {
        if self.blocks.is_empty() {
            self.recent.iter_mut().for_each(change);
            return self;
        }
        let mut changed = self.beside().holding(self.in_memory);
        changed.extend(self.into_records().map(|mut record| {
            change(&mut record);
            record
        }));
        changed
    }

    /// What the disk refused; `None` when everything is there, and was there when it was read.
    pub fn failure(&self) -> Option<WriteError> {
        self.failure.get().cloned()
    }

    /// Writes what is in memory, block by block.
    fn spill(&mut self) {
        for records in self.recent.pieces() {
            if self.failure.get().is_some() {
                break;
            }
            let mut output = Output::new(&mut self.names);
            records.iter().for_each(|record| record.write(&mut output));
            let bytes = output.into_bytes();
            match file::append(&mut self.file, self.directory.as_deref(), &bytes, records.len()) {
                Ok(block) => self.blocks.push(block),
                Err(error) => drop(self.failure.set(error)),
            }
        }
        self.recent.clear();
    }

    fn read(&self, block: &Block) -> Option<Vec<T>> {
        let file = self.file.as_ref().expect("invariant: a block is in a file");
        match file.read(block) {
            Ok(bytes) => {
                let mut input = Input::new(&bytes, &self.names);
                Some((0..block.records).map(|_| T::read(&mut input)).collect())
            }
            Err(error) => {
                let _ = self.failure.set(error);
                None
            }
        }
    }
}

impl<T: Spooled + Clone> Spool<T> {
    /// All records, in memory.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().map(Cow::into_owned).collect()
    }
}

#[cfg(test)]
impl<T: Spooled> Spool<T> {
    /// The records, which can be changed: of a list that is in memory.
    pub(crate) fn in_memory(&mut self) -> &mut Vec<T> {
        assert!(self.blocks.is_empty(), "a list on the disk");
        self.recent.as_vec()
    }

    /// Takes records out of a list that is in memory.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.in_memory().retain(keep);
        self.recent.count();
        self.length = self.recent.len() as u64;
    }
}

#[cfg(test)]
impl<T> std::ops::Index<usize> for Spool<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        assert!(self.blocks.is_empty(), "a list on the disk");
        self.recent.iter().nth(index).expect("no such record")
    }
}

impl<T: Spooled + Clone + PartialEq> PartialEq for Spool<T> {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.iter().eq(other)
    }
}

impl<T: Spooled + Clone + Eq> Eq for Spool<T> {}

impl<T: Spooled> From<Vec<T>> for Spool<T> {
    fn from(records: Vec<T>) -> Self {
        records.into_iter().collect()
    }
}

impl<T: Spooled> FromIterator<T> for Spool<T> {
    fn from_iter<I: IntoIterator<Item = T>>(records: I) -> Self {
        let mut spool = Self::default();
        spool.extend(records);
        spool
    }
}

impl<T: Spooled> Extend<T> for Spool<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, records: I) {
        records.into_iter().for_each(|record| self.push(record));
    }
}

impl<'a, T: Spooled + Clone> IntoIterator for &'a Spool<T> {
    type Item = Cow<'a, T>;
    type IntoIter = Records<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The records of a [`Spool`] in order: borrowed where they are in memory.
#[derive(Debug)]
pub struct Records<'a, T> {
    spool: &'a Spool<T>,
    block: usize,
    decoded: std::vec::IntoIter<T>,
    recent: recent::Iter<'a, T>,
}

impl<'a, T: Spooled + Clone> Iterator for Records<'a, T> {
    type Item = Cow<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.decoded.next() {
                return Some(Cow::Owned(record));
            }
            let Some(block) = self.spool.blocks.get(self.block) else {
                return self.recent.next().map(Cow::Borrowed);
            };
            self.block += 1;
            self.decoded = self.spool.read(block)?.into_iter();
        }
    }

    /// As many as there are, or fewer where the disk does not give them back.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.spool.len()))
    }
}
