//! What the machine did beside the benchmark.

use std::fs;
use std::ops::Sub;
use std::time::{Duration, Instant};

/// Beyond this share of a processor, what others did counts as a disturbance.
const OTHERS_AT_MOST: f64 = 0.05;

/// Kernel's ticks a second in /proc (USER_HZ, the same on all of Linux).
const TICKS: f64 = 100.0;

/// Times of a thread, from /proc/thread-self/schedstat.
#[derive(Clone, Copy)]
pub struct ThreadTimes {
    /// On a processor.
    pub ran: Duration,
    /// Ready to run, and not on a processor.
    pub waited: Duration,
}

impl ThreadTimes {
    /// Of the calling thread, up to now.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
        let mut nanos = text.split_whitespace().map(|nanos| Duration::from_nanos(nanos.parse().expect("nanoseconds")));
        Self { ran: nanos.next().expect("time on processors"), waited: nanos.next().expect("time waited") }
    }
}

impl Sub for ThreadTimes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { ran: self.ran - earlier.ran, waited: self.waited - earlier.waited }
    }
}

/// Processor time of all processes, of this process, and what the host of a virtual machine took, in seconds.
#[derive(Clone, Copy)]
struct Times {
    all: f64,
    own: f64,
    stolen: f64,
}

impl Times {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").expect("/proc/stat");
        let line = text.lines().next().expect("the line of all processors");
        let fields: Vec<f64> = line.split_whitespace().skip(1).map(|ticks| ticks.parse().expect("ticks")).collect();
        let seconds = |places: &[usize]| places.iter().map(|&place| fields[place]).sum::<f64>() / TICKS;
        let own = fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
        // After the name, which may hold anything: utime and stime are fields 14 and 15 (proc(5)).
        let own: Vec<&str> = own.rsplit(')').next().expect("fields").split_whitespace().collect();
        let own = [11, 12].map(|place| own[place].parse::<f64>().expect("ticks") / TICKS).iter().sum();
        // user, nice, system, irq, softirq; steal (proc(5)).
        Self { all: seconds(&[0, 1, 2, 5, 6]), own, stolen: seconds(&[7]) }
    }
}

/// What others do from a moment on.
pub struct Disturbance {
    begun: Instant,
    before: Times,
}

impl Disturbance {
    /// From now on.
    pub fn begin() -> Self {
        Self { begun: Instant::now(), before: Times::now() }
    }

    /// What they did until now, in words; `server` waited for its processor meanwhile.
    pub fn told(&self, server: ThreadTimes) -> String {
        let (now, elapsed) = (Times::now(), self.begun.elapsed().as_secs_f64());
        let others = ((now.all - self.before.all) - (now.own - self.before.own)).max(0.0) / elapsed;
        let stolen = (now.stolen - self.before.stolen) / elapsed;
        let waited = server.waited.as_secs_f64() / elapsed;
        let load = fs::read_to_string("/proc/loadavg").expect("/proc/loadavg");
        format!(
            "the machine was {}: other programs used {:.0} % of a processor, the host took {:.1} %, the server waited \
             for its processor for {:.1} % of the time; load {}",
            if [others, stolen, waited].iter().any(|&share| share > OTHERS_AT_MOST) { "DISTURBED" } else { "calm" },
            others * 100.0,
            stolen * 100.0,
            waited * 100.0,
            load.split_whitespace().next().unwrap_or_default(),
        )
    }
}
