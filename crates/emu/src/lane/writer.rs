//! The thread that takes a lane's log to the disk, so that the pump never waits for one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use framewire_probe::spool::Spool;

use super::log::{PacketLog, PacketLogs};
use super::window::BLOCK;
use crate::error::{Doing, EmuError};

/// How often the writer looks for logs.
const INTERVAL: Duration = Duration::from_millis(50);

/// What waits for the disk: as much as comes while the disk stands still, which spoils nothing but the memory.
#[derive(Default)]
struct Waiting {
    blocks: Vec<Vec<PacketLog>>,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    ended: Condvar,
    failed: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The guarded data is whole at every moment: a panic elsewhere cannot leave it torn.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pump's end.
pub(crate) struct LogBuffer {
    shared: Arc<Shared>,
}

/// The writer's end.
pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    thread: JoinHandle<Spool<PacketLog>>,
}

/// Starts the writer of a lane's log, whose file is in `directory`; `None`: in that of the system's temporary files.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn start(directory: Option<Arc<Path>>) -> Result<(LogBuffer, LogWriter), EmuError> {
    let shared = Arc::new(Shared::default());
    let (buffer, writers) = (LogBuffer { shared: Arc::clone(&shared) }, Arc::clone(&shared));
    let spool = Spool::in_directory(directory).holding(BLOCK);
    let thread = thread::Builder::new().name("fw-log".to_owned()).spawn(move || write_all(&writers, spool));
    Ok((buffer, LogWriter { shared, thread: thread.doing("start the writer of a lane's log")? }))
}

impl LogBuffer {
    /// Hands over a block once there is one, unless the writer is just taking some: then the next call will.
    pub(crate) fn hand_over(&self, known: &mut Vec<PacketLog>) {
        if known.len() >= BLOCK
            && let Ok(mut waiting) = self.shared.waiting.try_lock()
        {
            waiting.blocks.push(std::mem::replace(known, Vec::with_capacity(BLOCK)));
        }
    }

    /// Hands over what is left.
    pub(crate) fn finish(&self, rest: Vec<PacketLog>) {
        let mut waiting = self.shared.lock();
        waiting.blocks.push(rest);
        waiting.ended = true;
        self.shared.ended.notify_one();
    }
}

impl Drop for LogBuffer {
    /// Lets the writer end, also of a world that is abandoned.
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.ended.notify_one();
    }
}

impl LogWriter {
    /// True when the disk refused a part of the log.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Waits until all is written, and gives it.
    ///
    /// # Errors
    /// When the disk did not take it all, or the thread ended by a panic.
    pub(crate) fn join(self) -> Result<PacketLogs, EmuError> {
        let spool = self.thread.join().map_err(|_| EmuError::Thread("the writer of a lane's log"))?;
        match spool.failure() {
            Some(failure) => Err(EmuError::Log(failure)),
            None => Ok(spool.into()),
        }
    }
}

fn write_all(shared: &Shared, mut spool: Spool<PacketLog>) -> Spool<PacketLog> {
    loop {
        let (blocks, ended) = take(shared);
        for block in blocks {
            spool.extend(block);
        }
        if spool.failure().is_some() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        if ended {
            return spool;
        }
    }
}

/// The blocks that wait, and whether they are the last.
fn take(shared: &Shared) -> (Vec<Vec<PacketLog>>, bool) {
    let guard = shared.lock();
    let (mut guard, _) = shared
        .ended
        .wait_timeout_while(guard, INTERVAL, |waiting| !waiting.ended)
        .unwrap_or_else(PoisonError::into_inner);
    (std::mem::take(&mut guard.blocks), guard.ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::log::tests::packet;

    /// Hands over so many logs as the pump does.
    fn hand_over(buffer: &LogBuffer, count: u64) {
        let mut known = Vec::new();
        for number in 0..count {
            known.push(packet(number));
            buffer.hand_over(&mut known);
        }
        buffer.finish(known);
    }

    #[test]
    fn what_is_handed_over_comes_back_in_order_and_counted_from_an_origin() {
        const COUNT: u64 = 3 * BLOCK as u64 + 5;
        let (buffer, writer) = start(None).unwrap();
        hand_over(&buffer, COUNT);
        let logs = writer.join().unwrap();
        assert_eq!(logs.len() as u64, COUNT);
        assert!(logs.iter().map(|log| log.into_owned()).eq((0..COUNT).map(packet)));
        let origin = Duration::from_micros(2);
        let moved = logs.counted_from(origin);
        assert!(
            moved.iter().map(|log| log.into_owned()).eq((0..COUNT).map(|number| packet(number).counted_from(origin)))
        );
    }

    #[test]
    fn a_disk_that_refuses_ends_in_an_error_that_names_it() {
        let (buffer, writer) = start(Some(Path::new("/nonexistent/run").into())).unwrap();
        hand_over(&buffer, 2 * BLOCK as u64);
        while !writer.has_failed() {
            thread::sleep(Duration::from_millis(5));
        }
        let Err(error) = writer.join() else { panic!("nothing was refused") };
        assert!(error.to_string().starts_with("/nonexistent/run"), "{error}");
    }

    #[test]
    fn the_writer_of_an_abandoned_world_ends() {
        let (buffer, writer) = start(None).unwrap();
        drop(buffer);
        assert!(writer.join().unwrap().is_empty());
    }
}
