//! curl and FFmpeg fetch from our server of HTTP, and our client fetches from those of Python and FFmpeg, over loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use framewire_units::Timestamp;
use framewire_wire::http::{Client, ClientEvent, Fetch, Resource, Server, ServerEvent};

use crate::support::programs::{Running, Scratch, are_there, wait_until};

/// How long a peer may be silent before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves these files on a port of its own until the test ends; the port.
fn serve(files: Vec<(&'static str, Vec<u8>, bool)>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let files = files.clone();
            std::thread::spawn(move || answer(connection.unwrap(), &files));
        }
    });
    port
}

/// One connection, until the client has gone.
fn answer(mut connection: TcpStream, files: &[(&str, Vec<u8>, bool)]) {
    let resource = |(path, bytes, is_live): &(&str, Vec<u8>, bool)| Resource {
        path: (*path).to_owned(),
        media_type: if path.ends_with(".ts") { "video/mp2t" } else { "video/mp4" }.to_owned(),
        length: (!is_live).then_some(bytes.len() as u64),
    };
    let mut server = Server::new(files.iter().map(resource).collect::<Vec<_>>(), Timestamp::ZERO);
    let mut buffer = [0; 4_096];
    while !server.is_over() {
        match connection.read(&mut buffer) {
            Ok(0) | Err(_) => server.handle_close(),
            Ok(length) => drop(server.handle_bytes(Timestamp::ZERO, &buffer[..length])),
        }
        loop {
            while let Some(message) = server.poll_transmit() {
                let _ = connection.write_all(&message); // It may have gone.
            }
            let Some(ServerEvent::Serve(serve)) = server.poll_event() else { break };
            let bytes = &files[serve.resource].1;
            let end = serve.bytes.end.min(bytes.len() as u64) as usize;
            if connection.write_all(&bytes[serve.bytes.start as usize..end]).is_err() {
                server.handle_close(); // A player that seeks closes the connection.
            }
            drop(server.handle_served(Timestamp::ZERO));
        }
    }
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    output.stdout
}

/// Bytes that are not alike anywhere.
fn bytes(length: u32) -> Vec<u8> {
    (0..length).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect()
}

#[test]
fn curl_fetches_files_parts_and_headers_over_one_connection() {
    if !are_there(&["curl"]) {
        return;
    }
    let file = bytes(500_000);
    let port = serve(vec![("/a b.mp4", file.clone(), false), ("/live.ts", file.clone(), true)]);
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let curl = |arguments: &[&str]| output(Command::new("curl").arg("-sS").args(arguments));
    assert!(curl(&[&url("/a%20b.mp4")]) == file);
    assert!(curl(&["--http1.0", &url("/a%20b.mp4")]) == file);
    assert!(curl(&["-r", "1000-1999", &url("/a%20b.mp4")]) == file[1_000..2_000]);
    assert!(curl(&["-r", "-10", &url("/a%20b.mp4")]) == file[file.len() - 10..]);
    assert!(curl(&["-C", "1999990", &url("/a%20b.mp4")]) == file[1_999_990..]);
    assert!(curl(&[&url("/live.ts")]) == file, "it ends with the connection");
    let head = String::from_utf8(curl(&["-I", &url("/a%20b.mp4")])).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 2000000\r\n"), "{head}");
    let say = "%{http_code} %{num_connects}\n";
    let (one, none) = (url("/a%20b.mp4"), url("/none"));
    let said = curl(&["-w", say, "-o", "/dev/null", &one, "-o", "/dev/null", &none, "-o", "/dev/null", &one]);
    assert_eq!(String::from_utf8(said).unwrap(), "200 1\n404 0\n200 0\n", "all over one connection");
    let said = curl(&["-w", say, "-r", "2000000-", &one]);
    assert_eq!(String::from_utf8(said).unwrap(), "416 1\n");
}

/// Half a second of film, as a file of this kind; FFmpeg puts the index of an MP4 file at its end.
fn film(scratch: &Scratch, name: &str) -> Vec<u8> {
    let path = scratch.file(name);
    let make = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=25:d=2", "-c:v", "mpeg4", "-b:v", "4M"];
    output(Command::new("ffmpeg").args(make).arg(&path));
    std::fs::read(path).unwrap()
}

fn frames(source: &str) -> String {
    let arguments = ["-v", "error", "-i", source, "-map", "0", "-c", "copy", "-f", "framemd5", "-"];
    String::from_utf8(output(Command::new("ffmpeg").args(arguments))).unwrap()
}

#[test]
fn ffmpeg_plays_files_in_which_it_has_to_seek_and_what_goes_on_until_it_is_closed() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("http");
    let (mp4, ts) = (film(&scratch, "film.mp4"), film(&scratch, "film.ts"));
    let port = serve(vec![("/film.mp4", mp4, false), ("/film.ts", ts.clone(), false), ("/live.ts", ts, true)]);
    for (served, file) in [("film.mp4", "film.mp4"), ("film.ts", "film.ts"), ("live.ts", "film.ts")] {
        let came = frames(&format!("http://127.0.0.1:{port}/{served}"));
        assert!(came.lines().count() > 50, "{served}: {came}");
        assert_eq!(came, frames(scratch.file(file).to_str().unwrap()), "{served}");
    }
}

/// What the server has of these paths, all over one connection while it stays open.
fn fetch(port: u16, paths: &[&str]) -> Vec<(Option<u64>, Vec<u8>)> {
    let (mut client, mut found, mut connection) = (Client::default(), Vec::new(), None);
    let mut paths = paths.iter();
    let mut buffer = [0; 10_000];
    loop {
        if client.is_over() {
            (client, connection) = (Client::default(), None);
        }
        if client.is_idle() {
            let Some(path) = paths.next() else { return found };
            let is_last = paths.len() == 0;
            client.fetch(&Fetch { host: format!("127.0.0.1:{port}"), path: (*path).to_owned(), range: None, is_last });
        }
        let connection = connection.get_or_insert_with(|| connect(port));
        while let Some(message) = client.poll_transmit() {
            connection.write_all(&message).unwrap();
        }
        match connection.read(&mut buffer).unwrap() {
            0 => client.handle_close().unwrap(),
            length => client.handle_bytes(&buffer[..length]).unwrap(),
        }
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::Found { length, .. } => found.push((length, Vec::new())),
                ClientEvent::Body(bytes) => found.last_mut().unwrap().1.extend(&bytes),
                ClientEvent::Complete => {}
                ClientEvent::Failed(reason) => panic!("{reason}"),
            }
        }
    }
}

fn connect(port: u16) -> TcpStream {
    let start = Instant::now();
    loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(connection) => {
                connection.set_read_timeout(Some(PATIENCE)).unwrap();
                return connection;
            }
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn our_client_fetches_from_the_server_of_python() {
    if !are_there(&["python3"]) {
        return;
    }
    let scratch = Scratch::new("http-python");
    let (one, two) = (bytes(300_000), bytes(10));
    std::fs::write(scratch.file("one.mp4"), &one).unwrap();
    std::fs::write(scratch.file("two.mp4"), &two).unwrap();
    let folder = scratch.file("one.mp4").parent().map(Path::to_owned).unwrap();
    // A connection of HTTP/1.0 ends with each answer, one of HTTP/1.1 stays open.
    for protocol in ["HTTP/1.0", "HTTP/1.1"] {
        let port = free_port();
        let serve = format!(
            "import http.server as s, functools as f\ns.SimpleHTTPRequestHandler.protocol_version='{protocol}'\n\
             s.ThreadingHTTPServer(('127.0.0.1',{port}),f.partial(s.SimpleHTTPRequestHandler,directory={folder:?}))\
             .serve_forever()"
        );
        let _python = Running::start(Command::new("python3").args(["-c", &serve]).stderr(Stdio::null()));
        let found = fetch(port, &["/one.mp4", "/two.mp4", "/one.mp4"]);
        let expected = [&one, &two, &one].map(|file| (Some(file.len() as u64), file.clone()));
        assert!(found == expected, "{protocol}");
    }
}

#[test]
fn our_client_reads_the_chunks_that_ffmpeg_serves() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("http-chunks");
    let film = film(&scratch, "film.ts");
    let port = free_port();
    let served = format!("http://127.0.0.1:{port}");
    let mut ffmpeg = Running::start(
        Command::new("ffmpeg")
            .args(["-v", "error", "-i"])
            .arg(scratch.file("film.ts"))
            .args(["-map", "0", "-c", "copy", "-f", "mpegts", "-listen", "1", &served]),
    );
    let found = fetch(port, &["/film.ts"]);
    let [(None, bytes)] = &found[..] else { panic!("its length is not told: {}", found.len()) };
    let came = scratch.file("came.ts");
    std::fs::write(&came, bytes).unwrap();
    assert_eq!(frames(came.to_str().unwrap()), frames(scratch.file("film.ts").to_str().unwrap()));
    assert!(bytes.len() * 10 > film.len() * 9);
    wait_until("FFmpeg ends", || ffmpeg.has_ended());
}
