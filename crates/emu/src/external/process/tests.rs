//! Applications that do not want to end, do end, and soon.

use std::fs;
use std::path::PathBuf;

use framewire_scenario::Capabilities;

use super::*;
use crate::external::user::User;

fn rights(capabilities: Capabilities) -> Rights {
    Rights { user: User::current(), capabilities }
}

/// A word in the command lines of what a test starts.
fn mark(name: &str) -> String {
    format!("framewire-{}-{name}", std::process::id())
}

fn log_of(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("{}.log", mark(name)))
}

/// Processes with `mark` in their command lines.
fn marked(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(mark.len()).any(|window| window == mark.as_bytes())).count()
}

/// Starts a script and waits until it has printed "ready": a word that is written in another way in the script, which
/// its log begins with.
fn start(name: &str, script: &str) -> Process {
    let arguments = ["bash", "-c", script, &mark(name)].map(str::to_owned);
    let pipes = Pipes { input: false, output: false };
    let mut process = Process::start(&arguments, pipes, rights(Capabilities::None), &log_of(name)).unwrap();
    let began = Instant::now();
    while !process.log.last_words().contains("ready") {
        assert!(!process.tend() && began.elapsed() < Duration::from_secs(30), "it ended before it was ready");
        std::thread::sleep(Duration::from_millis(5));
    }
    process
}

/// How long an application takes that is to end at once, and how it ended.
fn end(mut process: Process) -> (Duration, Ending) {
    let began = Instant::now();
    process.end_at_once();
    while !process.tend() {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    (began.elapsed(), process.into_ending())
}

/// Every script of a test runs at the same time as the others' (each test has a thread of its own).
fn ends_at_once(name: &str, script: &str, from: f64) {
    let process = start(name, script);
    assert!(marked(&mark(name)) > 0);
    let (took, ending) = end(process);
    // The upper bound is what a busy machine adds to 0.6 s; the command has 5 s for sender and receiver.
    assert!(took.as_secs_f64() >= from && took < Duration::from_millis(1_300), "{took:?}: {}", ending.how);
    assert!(ending.asked);
    assert_eq!(marked(&mark(name)), 0, "something of it is left");
    fs::remove_file(log_of(name)).unwrap();
}

#[test]
fn one_that_listens_to_reason_ends_without_force() {
    // It begins as what a shell runs in its background.
    // SAFETY: neither ignoring a signal nor its default runs code of ours.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let process = start("willing", "trap 'exit 0' INT; echo r''eady; while :; do sleep 0.01; done");
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let (took, ending) = end(process);
    assert!(took < Duration::from_millis(600), "{took:?}");
    assert!(ending.well, "{}", ending.how);
    fs::remove_file(log_of("willing")).unwrap();
}

#[test]
fn one_that_ignores_every_request_is_killed() {
    ends_at_once("deaf", "trap '' INT TERM HUP; echo r''eady; while :; do sleep 0.1; done", 0.6);
}

#[test]
fn one_that_stops_itself_is_killed() {
    // A stopped process takes no other signal than SIGKILL (signal(7)).
    ends_at_once("stopped", "echo r''eady; kill -STOP $$; sleep 1000", 0.6);
}

#[test]
fn one_that_floods_its_messages_is_killed_and_they_stay_bounded() {
    let name = "flood";
    let process =
        start(name, "trap '' INT TERM; echo r''eady; (exec -a \"$0\" yes r''eady) & wait; exec -a \"$0\" yes r''eady");
    let (took, ending) = end(process);
    assert!(took.as_secs_f64() >= 0.6 && took < Duration::from_millis(1_300), "{took:?}: {}", ending.how);
    let size = fs::metadata(log_of(name)).unwrap().len();
    assert!((100_000..1_300_000).contains(&size), "{size}");
    assert_eq!(marked(&mark(name)), 0);
    fs::remove_file(log_of(name)).unwrap();
}

#[test]
fn one_that_says_too_much_is_not_worth_waiting_for() {
    let name = "busy";
    let mut process = start(name, "echo r''eady; exec -a \"$0\" yes r''eady");
    let began = Instant::now();
    let mut looks = 0;
    while began.elapsed() < Duration::from_millis(300) {
        let _ = process.tend();
        assert!(process.log.last_words().len() < 2_000);
        looks += 1;
        // As the threads of a flow wait: for its messages, or for a tick.
        let _ = crate::external::polling::wait_for_any(process.words(), None, Duration::from_millis(20));
    }
    // 300 ms are 15 ticks; a thread that polls a pipe that is always full looks thousands of times.
    assert!((2..60).contains(&looks), "{looks}");
    end(process);
    fs::remove_file(log_of(name)).unwrap();
}

#[test]
fn one_that_closes_everything_and_forks_twice_leaves_nothing() {
    let script = "exec 3>&1; trap '' INT TERM; (setsid bash -c 'trap \"\" INT TERM; sleep 1000' \"$0\" & disown) \
                  >/dev/null 2>&1; echo r''eady; exec >&- 2>&-; while :; do sleep 0.1; done";
    ends_at_once("forks", script, 0.6);
}

#[test]
fn one_whose_starter_died_first_does_not_start() {
    // A child that only waits stands for the emulator: it ends before the application asks for a signal at its end.
    let mut starter = Command::new("true").spawn().unwrap();
    let emulator = Emulator::of(starter.id() as i32).unwrap();
    starter.wait().unwrap();
    let mut command = Command::new("true");
    // SAFETY: as in `Process::start`.
    unsafe {
        command.pre_exec(move || become_child_of_init(&emulator));
    }
    assert_eq!(command.status().unwrap_err().raw_os_error(), Some(Errno::ESRCH as i32));
    let emulator = Emulator::current().unwrap();
    let mut command = Command::new("true");
    // SAFETY: as above.
    unsafe {
        command.pre_exec(move || become_child_of_init(&emulator));
    }
    assert!(command.status().unwrap().success(), "one whose starter lives does");
}

/// The capabilities that an application has: permitted, and those that a program it runs could get.
fn capabilities_of(name: &str, capabilities: Capabilities) -> Vec<u64> {
    let arguments = ["grep", "-E", "Cap(Prm|Bnd|Inh|Amb)", "/proc/self/status"].map(str::to_owned);
    let pipes = Pipes { input: false, output: false };
    let mut process = Process::start(&arguments, pipes, rights(capabilities), &log_of(name)).unwrap();
    while !process.tend() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(process.into_ending().well);
    let text = fs::read_to_string(log_of(name)).unwrap();
    fs::remove_file(log_of(name)).unwrap();
    text.lines().filter_map(|line| u64::from_str_radix(line.split_once("\t")?.1, 16).ok()).collect()
}

#[test]
fn an_application_of_roots_has_no_capabilities_unless_it_is_to() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root has capabilities to lose");
        return;
    }
    // A thread starts one application: the first is the last of its PID namespace.
    let of = |name, capabilities| std::thread::spawn(move || capabilities_of(name, capabilities)).join().unwrap();
    assert_eq!(of("bare", Capabilities::None), [0; 4]);
    let all = of("all", Capabilities::All);
    assert!(all.len() == 4 && all.iter().any(|&held| held != 0), "{all:?}");
}
