//! Other programs on this machine, and datagrams to and from them over loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take for anything before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a stream is sent to a program that may lose datagrams.
const ATTEMPTS: usize = 4;

/// How long it may take for what came.
pub const ENOUGH: Duration = Duration::from_secs(15);

/// True when every program is there; otherwise says that the test skips.
pub fn are_there(programs: &[&str]) -> bool {
    let is_missing = |program: &&&str| {
        let version = if **program == "ffmpeg" { "-version" } else { "--version" };
        Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    };
    match programs.iter().find(is_missing) {
        Some(missing) => println!("skipped: {missing} is not installed"),
        None => return true,
    }
    false
}

/// A directory for the files of one test, removed in the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framewire-wire-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that runs beside the test and is killed with it.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap())
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Asks the program to end as a user would with Ctrl-C, and waits until it has.
    pub fn interrupt(&mut self) {
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap();
        wait_until("the program ends", || self.has_ended());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `condition` holds.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_within(PATIENCE, condition), "waited too long until {what}");
}

/// Sends a stream to a program until all of it came, in one of a few attempts: nothing makes up for a datagram that a busy
/// machine loses. `exchange` starts the program, which writes what came into the file, sends, and asks whether all came
/// (within [`ENOUGH`]). What the file had before is no answer.
pub fn until_nothing_is_lost(file: &Path, mut exchange: impl FnMut() -> bool) {
    let came = (0..ATTEMPTS).any(|_| {
        let _ = std::fs::remove_file(file);
        exchange()
    });
    assert!(came, "in none of {ATTEMPTS} attempts all of the stream came");
}

/// Waits until `condition` holds, and so long at most; whether it does.
pub fn holds_within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() >= time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Waits until a program has bound the UDP port.
pub fn wait_until_bound(port: u16) {
    let entry = format!(":{port:04X} ");
    wait_until("the port is bound", || std::fs::read_to_string("/proc/net/udp").unwrap().contains(&entry));
}

/// An even port that is free together with the next one, as RTP and RTCP want it (RFC 3550, section 11).
pub fn free_port_pair() -> u16 {
    let bind = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port));
    let even = |socket: UdpSocket| Some(socket.local_addr().ok()?.port() & !1).filter(|&port| port > 0);
    let is_free = |&port: &u16| bind(port).is_ok() && bind(port + 1).is_ok();
    std::iter::repeat_with(|| bind(0).ok().and_then(even)).take(100).flatten().find(is_free).expect("two free ports")
}

/// Sends the datagrams to the port, slowly enough for any receiver.
pub fn send_paced<'a>(port: u16, datagrams: impl IntoIterator<Item = &'a [u8]>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for (count, datagram) in datagrams.into_iter().enumerate() {
        socket.send_to(datagram, (Ipv4Addr::LOCALHOST, port)).unwrap();
        if count % 8 == 7 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Everything that arrives at the socket until the program has ended.
pub fn receive_until_end(socket: &UdpSocket, program: &mut Running) -> Vec<Vec<u8>> {
    let start = Instant::now();
    let mut datagrams = Vec::new();
    let mut buffer = vec![0; 65_536];
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    loop {
        let ended = program.has_ended();
        match socket.recv(&mut buffer) {
            Ok(length) => datagrams.push(buffer[..length].to_vec()),
            Err(_) if ended => return datagrams,
            Err(_) => assert!(start.elapsed() < PATIENCE, "the program does not end"),
        }
    }
}

/// Size of a file, zero while it is not there.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
