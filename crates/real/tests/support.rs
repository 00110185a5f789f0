//! A movie in a file, and both ends of a stream at once.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use framewire_media::Movie;
use framewire_real::{Event, RealError, ReceiveOptions, Received, SendOptions, Sent, receive, send};
use framewire_scenario::Scenario;
use framewire_units::{DataSize, Seed};
use framewire_world::Content;

/// A fresh directory that is removed with its content.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("framewire-real-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// MPEG-2 at 25 frames a second (ISO/IEC 13818-2, 6.2): groups of an I and four P pictures, in a file.
pub fn movie_file(directory: &Path, frames: usize, slice: usize) -> PathBuf {
    let mut bytes = Vec::new();
    for number in 0..frames {
        let in_group = number % 5;
        if in_group == 0 {
            bytes.extend([0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x23, 0xFF, 0xFF, 0xE0, 0x00]);
            bytes.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
            bytes.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40]);
        }
        let (code, vectors): (u16, &[u8]) = if in_group == 0 { (1, &[0xFF, 0xF8]) } else { (2, &[0xFF, 0xFB, 0x80]) };
        bytes.extend([0, 0, 1, 0x00]);
        bytes.extend((((in_group as u16) << 6) | (code << 3) | 0x7).to_be_bytes());
        bytes.extend(vectors);
        bytes.extend([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF3, 0xC1, 0x80]);
        for row in 1..=36 {
            bytes.extend([0, 0, 1, row]);
            bytes.resize(bytes.len() + slice + number % 7, 0x55);
        }
    }
    let file = directory.join("movie.m2v");
    fs::write(&file, bytes).unwrap();
    file
}

/// What is sent.
pub fn content(file: &Path) -> Content {
    let movie = Movie::open(fs::File::open(file).unwrap()).expect("a movie");
    Content::of_movie(file, movie)
}

/// A scenario of one flow.
pub fn scenario(transport: &str) -> Scenario {
    Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("well formed")
}

/// What a receiver is told of a stream by this transport.
pub fn receiving(transport: &str, directory: PathBuf) -> ReceiveOptions {
    ReceiveOptions {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        transport: transport.parse().expect("a transport"),
        codec: None,
        description: None,
        passes_damaged: false,
        reports: true,
        patience: Duration::from_secs(20),
        silence: Duration::from_secs(5),
        most: DataSize::from_bytes(1 << 30),
        directory,
    }
}

/// What a sender is told.
pub fn sending(peer: SocketAddr, directory: PathBuf) -> SendOptions {
    let session = 0x1234_5678_9ABC_DEF0;
    let (patience, delay) = (Duration::from_secs(10), Duration::ZERO);
    SendOptions { peer, patience, delay, directory, seed: Seed(0xCAFE), session, description: None }
}

/// Both ends in threads of their own: the sender begins when the receiver listens; `stop` ends either.
pub fn both(
    transport: &str,
    file: &Path,
    directories: [PathBuf; 2],
    stop: [&AtomicBool; 2],
) -> (Result<Sent, RealError>, Result<Received, RealError>) {
    both_within(transport, file, directories, stop, 1 << 30)
}

/// The same where the receiver takes so many bytes at most.
pub fn both_within(
    transport: &str,
    file: &Path,
    directories: [PathBuf; 2],
    stop: [&AtomicBool; 2],
    most: u64,
) -> (Result<Sent, RealError>, Result<Received, RealError>) {
    let [at_sender, at_receiver] = directories;
    let (tell, listens) = channel();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            // The port above the one that the system gives may be taken.
            (0..10).fold(None, |done, _| match done {
                Some(Err(RealError::Failed(reason))) if !reason.contains("in use") => {
                    Some(Err(RealError::Failed(reason)))
                }
                None | Some(Err(RealError::Failed(_))) => Some(receive(
                    &ReceiveOptions { most: DataSize::from_bytes(most), ..receiving(transport, at_receiver.clone()) },
                    &|| stop[1].load(Ordering::Relaxed),
                    &mut |event: &Event| {
                        if let Event::Listening(address) = event {
                            tell.send(*address).unwrap();
                        }
                    },
                )),
                done => done,
            })
        });
        let peer = listens.recv_timeout(Duration::from_secs(20)).expect("it listens");
        let is_stopped = || stop[0].load(Ordering::Relaxed);
        let sent = send(&scenario(transport), &content(file), &sending(peer, at_sender), &is_stopped, &mut |_| {});
        (sent, receiver.join().unwrap().unwrap())
    })
}
