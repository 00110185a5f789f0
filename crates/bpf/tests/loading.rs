//! Programs in the running kernel. What this process may not load, or this kernel cannot take, is said and left out.

use std::io::{Error, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use framewire_bpf::{LoadError, Loaded, load, names};

/// The algorithm in the kernel, if that is possible here.
fn loaded(algorithm: &str) -> Option<Loaded> {
    match load(algorithm) {
        Ok(loaded) => Some(loaded),
        Err(error @ (LoadError::NotPermitted | LoadError::Kernel(_))) => {
            println!("left out: {algorithm}: {error}");
            None
        }
        Err(error) => panic!("{algorithm}: {error}"),
    }
}

fn choose(socket: &TcpStream, name: &str) -> Result<(), Error> {
    let (bytes, length) = (name.as_ptr().cast(), name.len() as libc::socklen_t);
    // SAFETY: the name is as long as said, and only read.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, bytes, length) };
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

fn chosen(socket: &TcpStream) -> String {
    let mut bytes = [0u8; 16];
    let mut length = bytes.len() as libc::socklen_t;
    let pointer = bytes.as_mut_ptr().cast();
    // SAFETY: the buffer is as long as said.
    unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, pointer, &raw mut length) };
    let name = &bytes[..length as usize];
    String::from_utf8_lossy(name).trim_end_matches('\0').to_owned()
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn every_program_passes_the_verifier_carries_bytes_and_is_gone_with_its_holder() {
    const BYTES: usize = 4 << 20;
    let _turn = TURN.lock();
    for algorithm in names() {
        let Some(held) = loaded(algorithm) else { continue };
        assert!(held.name().starts_with(algorithm) && held.name().len() < 16, "{}", held.name());
        assert_eq!(held.algorithm(), algorithm);
        let (mut client, mut server) = pair();
        choose(&client, held.name()).unwrap_or_else(|error| panic!("{}: {error}", held.name()));
        assert_eq!(chosen(&client), held.name());
        let name = held.name().to_owned();
        drop(held);
        let (second, _peer) = pair();
        let refusal = choose(&second, &name).unwrap_err();
        assert_eq!(refusal.raw_os_error(), Some(libc::ENOENT), "{name} is still there");
        // A connection that has it keeps it.
        let reader = std::thread::spawn(move || {
            let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
            while let Ok(length @ 1..) = server.read(&mut buffer) {
                total += length;
            }
            total
        });
        client.write_all(&vec![7; BYTES]).unwrap();
        assert_eq!(chosen(&client), name);
        drop(client);
        assert_eq!(reader.join().unwrap(), BYTES, "{name}");
    }
}

/// An algorithm is loaded once in a process: the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn two_of_one_algorithm_are_refused_in_one_process_and_the_first_stays() {
    let _turn = TURN.lock();
    let Some(first) = loaded("illinois") else { return };
    match load("illinois") {
        Err(LoadError::System { source, .. }) => assert_eq!(source.raw_os_error(), Some(libc::EEXIST)),
        other => panic!("{other:?}"),
    }
    let (client, _server) = pair();
    choose(&client, first.name()).unwrap();
}
