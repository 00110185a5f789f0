//! The thread that takes a lane's log to the disk, so that the pump never waits for one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use framewire_recording::spool::{Mark, Spool};

use super::log::{Followed, PacketLog, PacketLogs};
use super::tally::Tally;
use super::window::BLOCK;
use crate::error::{EmuError, OperationContext};
use crate::writer_queue::{Consumer, Producer, hand_over};

/// What waits for the disk: as much as comes while the disk stands still, which spoils nothing but the memory.
type Waiting = Vec<Vec<PacketLog>>;

/// The pump's end.
pub(crate) struct LogBuffer {
    producer: Producer<Waiting>,
}

/// The writer's end.
pub(crate) struct LogWriter {
    failed: Arc<AtomicBool>,
    thread: JoinHandle<(Spool<PacketLog>, Tally)>,
}

/// Starts the writer of a lane's log, whose file is in `directory`; `None`: in that of the system's temporary files.
/// What it has written is reported to the follower of the log.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn start(
    directory: Option<Arc<Path>>,
    followed: Option<Followed>,
) -> Result<(LogBuffer, LogWriter), EmuError> {
    let (producer, consumer) = hand_over();
    let failed = Arc::new(AtomicBool::new(false));
    let of_thread = Arc::clone(&failed);
    let tally = Tally::default();
    let spool = Spool::in_directory(directory).holding(BLOCK);
    let thread = thread::Builder::new()
        .name("fw-log".to_owned())
        .spawn(move || write_all(&consumer, &of_thread, (spool, tally), followed));
    Ok((LogBuffer { producer }, LogWriter { failed, thread: thread.doing("start the writer of a lane's log")? }))
}

impl LogBuffer {
    /// Hands over a block once there is one, unless the writer is just taking some: then the next call will.
    pub(crate) fn hand_over(&self, known: &mut Vec<PacketLog>) {
        if known.len() >= BLOCK {
            self.producer.try_add(|waiting| waiting.push(std::mem::replace(known, Vec::with_capacity(BLOCK))));
        }
    }

    /// Hands over what is left.
    pub(crate) fn finish(&self, rest: Vec<PacketLog>) {
        self.producer.finish(|waiting| waiting.push(rest));
    }
}

impl LogWriter {
    /// True when the disk refused a part of the log.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until all is written, and gives it with what was counted of it.
    ///
    /// # Errors
    /// When the disk did not take it all, or the thread ended by a panic.
    pub(crate) fn join(self) -> Result<(PacketLogs, Tally), EmuError> {
        let (spool, tally) = self.thread.join().map_err(|_| EmuError::Thread("the writer of a lane's log"))?;
        match spool.failure() {
            Some(failure) => Err(EmuError::Log(failure)),
            None => Ok((spool.into(), tally)),
        }
    }
}

/// Writes and counts, in one pass while the lane runs, so that nothing of this is left to do when it ends.
fn write_all(
    consumer: &Consumer<Waiting>,
    failed: &AtomicBool,
    (mut spool, mut tally): (Spool<PacketLog>, Tally),
    followed: Option<Followed>,
) -> (Spool<PacketLog>, Tally) {
    let mut mark = Mark::default();
    loop {
        let (blocks, ended) = consumer.take();
        for packet in blocks.into_iter().flatten() {
            tally.add(&packet);
            spool.push(packet);
        }
        if spool.failure().is_some() {
            failed.store(true, Ordering::Relaxed);
        }
        if let Some(followed) = &followed {
            let news = if ended { spool.rest_since(mark) } else { spool.written_since(&mut mark) };
            if !news.is_empty() {
                followed.tell(news.into());
            }
        }
        if ended {
            return (spool, tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lane::log::follow_log;
    use crate::lane::log::tests::packet;
    use crate::lane::record::tests::nothing_counted;

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
        let (followed, mut follower) = follow_log();
        let (buffer, writer) = start(None, Some(followed)).unwrap();
        hand_over(&buffer, COUNT);
        let (logs, tally) = writer.join().unwrap();
        let parts: Vec<PacketLogs> = std::iter::from_fn(|| follower.next_packets()).flatten().collect();
        assert!(parts.iter().flatten().map(|log| log.into_owned()).eq((0..COUNT).map(packet)), "as who follows saw it");
        let mut evidence = nothing_counted();
        tally.count_into(&mut evidence);
        assert_eq!(evidence.forward_seen, COUNT);
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
        let (buffer, writer) = start(Some(Path::new("/nonexistent/run").into()), None).unwrap();
        hand_over(&buffer, 2 * BLOCK as u64);
        while !writer.has_failed() {
            thread::sleep(Duration::from_millis(5));
        }
        let Err(error) = writer.join() else { panic!("nothing was refused") };
        assert!(error.to_string().starts_with("/nonexistent/run"), "{error}");
    }

    #[test]
    fn the_writer_of_an_abandoned_world_ends() {
        let (buffer, writer) = start(None, None).unwrap();
        drop(buffer);
        assert!(writer.join().unwrap().0.is_empty());
    }
}
