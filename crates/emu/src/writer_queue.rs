//! What one thread hands over to another that writes it, so that the first never waits for a disk.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the consumer looks for what waits.
const INTERVAL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Waiting<T> {
    content: T,
    ended: bool,
}

#[derive(Default)]
struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    ended: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        // The guarded data is whole at every moment: a panic elsewhere cannot leave it torn.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, mut waiting: MutexGuard<'_, Waiting<T>>) {
        waiting.ended = true;
        self.ended.notify_one();
    }
}

/// The end that hands over. When it is dropped the consumer takes what is left and ends.
pub(crate) struct Producer<T> {
    shared: Arc<Shared<T>>,
}

/// The end that takes.
pub(crate) struct Consumer<T> {
    shared: Arc<Shared<T>>,
}

/// Two ends, between which what was not taken yet waits in a `T`, which is empty by default.
pub(crate) fn hand_over<T: Default>() -> (Producer<T>, Consumer<T>) {
    let shared = Arc::new(Shared::default());
    (Producer { shared: Arc::clone(&shared) }, Consumer { shared })
}

impl<T> Producer<T> {
    /// Adds to what waits, unless the consumer is just taking: then a later call will. Returns whether it did. It never
    /// waits.
    pub(crate) fn try_add(&self, add: impl FnOnce(&mut T)) -> bool {
        let waiting = self.shared.waiting.try_lock();
        waiting.map(|mut waiting| add(&mut waiting.content)).is_ok()
    }

    /// Adds to what waits; it waits for a consumer that is just taking, which only moves what is there.
    pub(crate) fn add(&self, add: impl FnOnce(&mut T)) {
        add(&mut self.shared.lock().content);
    }

    /// Adds the last, and lets the consumer end.
    pub(crate) fn finish(&self, add: impl FnOnce(&mut T)) {
        let mut waiting = self.shared.lock();
        add(&mut waiting.content);
        self.shared.end(waiting);
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.shared.end(self.shared.lock());
    }
}

impl<T: Default> Consumer<T> {
    /// Waits a little, or until the end, and takes what waits then. True when it is the last.
    pub(crate) fn take(&self) -> (T, bool) {
        let guard = self.shared.lock();
        let waited = self.shared.ended.wait_timeout_while(guard, INTERVAL, |waiting| !waiting.ended);
        let (mut guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut guard.content), guard.ended)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_is_handed_over_is_taken_once_and_in_order() {
        const COUNT: u32 = 100_000;
        let (producer, consumer) = hand_over::<Vec<u32>>();
        let writer = thread::spawn(move || {
            let mut all = Vec::new();
            loop {
                let (taken, ended) = consumer.take();
                all.extend(taken);
                if ended {
                    return all;
                }
            }
        });
        let mut pending = Vec::new();
        for number in 0..COUNT {
            pending.push(number);
            producer.try_add(|waiting| waiting.append(&mut pending));
        }
        producer.finish(|waiting| waiting.append(&mut pending));
        assert!(writer.join().unwrap().into_iter().eq(0..COUNT));
    }

    #[test]
    fn who_hands_over_never_waits_for_who_takes() {
        let (producer, consumer) = hand_over::<Vec<u32>>();
        let taking = consumer.shared.lock();
        assert!(!producer.try_add(|waiting| waiting.push(1)), "the consumer holds it");
        drop(taking);
        assert!(producer.try_add(|waiting| waiting.push(2)));
        assert_eq!(consumer.take(), (vec![2], false));
    }

    #[test]
    fn the_end_wakes_the_taker_at_once_and_nothing_wakes_it_within_its_interval() {
        let (producer, consumer) = hand_over::<u32>();
        let began = Instant::now();
        assert_eq!(consumer.take(), (0, false));
        assert!(began.elapsed() >= INTERVAL);
        producer.add(|waiting| *waiting = 7);
        drop(producer);
        assert_eq!(consumer.take(), (7, true));
        assert_eq!(consumer.take(), (0, true), "it stays ended");
    }
}
