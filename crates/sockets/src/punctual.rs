//! How the kernel schedules a thread whose times matter: real-time priority where permitted, a processor of its own.

use std::io;

use nix::errno::Errno;

/// Above ordinary real-time helpers, far below the kernel's own threads (50).
const PRIORITY: libc::c_int = 20;

/// Makes the calling thread as punctual as this machine permits; true when that is real-time priority (SCHED_FIFO:
/// nothing but the kernel keeps it from running), false when a busy machine delays it (SCHED_OTHER).
pub fn make_punctual() -> bool {
    // SAFETY: no pointers are passed. A slack of 1 ns keeps the kernel from batching our timers with others.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: `parameters` lives until the call returns; thread 0 is the calling one.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        return true;
    }
    // SAFETY: no pointers are passed. On Linux the nice value belongs to the thread. Refused without privilege.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    ask_for_short_slices();
    false
}

/// The shortest slice that the scheduler grants.
const SHORTEST_SLICE_NANOS: u64 = 100_000;

/// A thread that asks for short slices is chosen sooner when it wakes (sched_setattr(2) with `sched_runtime` for
/// SCHED_OTHER, since Linux 6.12; older kernels ignore it).
fn ask_for_short_slices() {
    // SAFETY: no pointers are passed.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        nice,
        runtime: SHORTEST_SLICE_NANOS,
        ..SchedulingAttributes::default()
    };
    // SAFETY: `attributes` has the layout and the size that it names, and lives until the call returns.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// `struct sched_attr` of linux/sched/types.h, first version.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The processors that this process may use.
pub fn processors() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain data, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` has the size that is named.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if result != 0 {
        return vec![0];
    }
    // SAFETY: every number asked for lies within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&number| unsafe { libc::CPU_ISSET(number, &set) }).collect()
}

/// Keeps the calling thread on one of the [`processors`].
///
/// # Errors
/// When there is no such processor here.
pub fn pin_to(processor: usize) -> io::Result<()> {
    if processor >= libc::CPU_SETSIZE as usize {
        return Err(Errno::EINVAL.into());
    }
    // SAFETY: cpu_set_t is plain data, for which zeros are valid; `processor` lies within the set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        set
    };
    // SAFETY: `set` has the size that is named.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}
