//! Movies over HTTP, as a file and as a transport stream, in virtual time.

use bytes::Bytes;
use framewire_media::Movie;
use framewire_media::audio::AudioTrack;
use framewire_recording::ledger::{FrameRow, Ledger};
use framewire_recording::record::FlowStatus;
use framewire_session::Sound;
use framewire_sim::{Content, Options, Received, Simulated, Simulation};
use framewire_units::{Duration, Timestamp};

use crate::common::{LIVE, movie, movies, run, scenario, summaries};

fn wired(rate: &str, more: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"remote\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n{more}"
    )
}

fn flow(network: &str, transport: &str, movie: &Movie) -> Simulated {
    run(&scenario(&format!("{network}[[flow]]\ntransport = \"{transport}\"")), movie, true)
}

fn rows(simulated: &Simulated) -> Vec<FrameRow> {
    Ledger::build(&simulated.logs[0], LIVE).rows.to_vec()
}

#[test]
fn a_fast_network_brings_every_frame_of_every_codec_as_it_was() {
    for movie in movies() {
        for transport in ["http", "http+ts", "http+fmp4"] {
            let simulated = flow(&wired("100 Mbit/s", ""), transport, &movie);
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            let fates = summary.fates.unwrap();
            assert_eq!((fates.lost, fates.late), (0, 0), "{transport}");
            assert_eq!(simulated.outcomes[0].received.rejections, [""; 0], "{transport}");
        }
    }
}

/// A connection, a request and the beginning of the answer are three times the delay of 5 ms until the sender knows what is wanted:
/// frames are due from then on, a file's as those of a stream.
#[test]
fn frames_are_due_from_the_request_on_and_those_of_a_file_come_before() {
    let movie = movie(3.0, 4);
    for transport in ["http", "http+ts", "http+fmp4"] {
        let rows = rows(&flow(&wired("100 Mbit/s", ""), transport, &movie));
        let asked = rows[0].due;
        assert!((Timestamp::from_micros(15_000)..Timestamp::from_micros(15_500)).contains(&asked), "{asked:?}");
        let late: Vec<i64> = rows.iter().map(|row| row.arrival.unwrap().nanos_since(row.due) / 1_000_000).collect();
        let offered: Vec<i64> = rows.iter().map(|row| row.offered.unwrap().nanos_since(row.due)).collect();
        if transport == "http" {
            // 4 s of 3 Mbit/s take 0.12 s at 100 Mbit/s, and some round trips of a slow start.
            assert!((-3_900..-3_600).contains(late.last().unwrap()), "{late:?}");
            assert!(offered.iter().all(|&after| after <= 0) && *offered.last().unwrap() < -3_500_000_000);
        } else {
            assert!(late.iter().all(|late| (5..40).contains(late)), "{late:?}");
            assert!(offered.iter().all(|&after| after == 0));
        }
    }
}

/// On a link that is narrower than the movie a file takes as long as its bytes need, and its player waits: beside connections
/// that carry nothing but bytes it gets what one of those gets.
#[test]
fn a_file_comes_as_fast_as_tcp_brings_it() {
    let movie = movie(6.0, 10);
    let simulated = flow(&wired("4 Mbit/s", ""), "http", &movie);
    let bytes = movie.to_bytes().len() as f64;
    let needed = bytes * 8.0 / 4e6 * 1_500.0 / 1_448.0;
    let took = summaries(&simulated)[0].duration_s.unwrap();
    assert!(took > 0.99 * needed && took < 1.05 * needed, "took {took} s, its bytes need {needed}");
    // The same beside a bulk connection: each has its half, within what chance makes of it.
    let text = format!(
        "layout = \"together\"\n{}[[flow]]\ntransport = \"http\"\n[[flow]]\ntransport = \"bulk\"\nstop = \"60 s\"",
        wired("8 Mbit/s", "queue = \"50 packets\"\n")
    );
    let simulated = run(&scenario(&text), &movie, true);
    let of_http = summaries(&simulated)[0].duration_s.unwrap();
    assert!(of_http > 0.75 * needed && of_http < 1.35 * needed, "took {of_http} s of {needed} s");
}

#[test]
fn a_queue_before_a_transport_stream_gives_frames_up_and_what_comes_is_what_the_ledger_calls_complete() {
    let movie = movie(6.0, 6);
    for transport in ["http+ts", "http+ts+dependency", "http+ts+ifd", "http+fmp4", "http+fmp4+dependency"] {
        let simulated = flow(&wired("4 Mbit/s", ""), transport, &movie);
        let rows = rows(&simulated);
        let lost = rows.iter().filter(|row| !row.complete).count();
        let gives_up = transport.matches('+').count() == 2;
        assert!(if gives_up { (20..120).contains(&lost) } else { lost == 0 }, "{transport}: {lost}");
        let frames = (0..rows.len()).filter(|&frame| rows[frame].complete);
        let expected: Vec<u8> = frames.flat_map(|frame| movie.frame_bytes(frame)).collect();
        assert!(simulated.movies[0] == expected, "{transport}");
    }
}

/// A run that ends before all of the file has come: what the receiver has are the frames that the ledger calls complete.
#[test]
fn of_a_file_that_is_cut_off_the_frames_are_there_whose_last_byte_came() {
    let movie = movie(6.0, 10);
    let text = format!("limit = \"8 s\"\n{}[[flow]]\ntransport = \"http\"", wired("2 Mbit/s", ""));
    let simulated = run(&scenario(&text), &movie, true);
    let rows = rows(&simulated);
    let complete = rows.iter().filter(|row| row.complete).count();
    assert!((50..90).contains(&complete), "{complete} frames");
    let expected: Vec<u8> = (0..complete).flat_map(|frame| movie.frame_bytes(frame)).collect();
    assert!(simulated.movies[0] == expected && rows[complete - 1].complete, "the first ones");
    assert_eq!(simulated.outcomes[0].received.complete_frames as usize, complete);
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Partial);
}

/// Packets of MPEG-1 layer II, 192 kbit/s at 48 kHz (ISO/IEC 11172-3, 2.4.2.3): 576 bytes in 24 ms, each of its own.
fn packets(seconds: f64) -> Vec<u8> {
    let count = (seconds / 0.024).ceil() as u32;
    let packet = |number: u32| [&[0xFF, 0xFD, 0xA4, 0xC0], &number.to_be_bytes()[..], &[number as u8; 568]].concat();
    (0..count).flat_map(packet).collect()
}

#[test]
fn sound_comes_beside_the_movie_before_the_frame_with_which_it_plays() {
    let movie = movie(3.0, 4);
    let sound = Sound::new(AudioTrack::parse(&Bytes::from(packets(4.0))).unwrap(), -21_333_333).unwrap();
    for transport in ["http", "http+ts", "http+fmp4"] {
        let folder = std::env::temp_dir().join(format!("framewire-{transport}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let content = Content::of_movie("movie.m2v", movie.clone()).with_sound("sound.mp2", sound.clone());
        let options = Options { packets: true, received: Received::Directory(folder.clone()), ..Options::default() };
        let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("4 Mbit/s", ""));
        let simulated = Simulation::run(&scenario(&text), &content, &options).expect("it can be simulated");
        let kept = |suffix| std::fs::read(folder.join(format!("{transport}.{suffix}"))).unwrap();
        let (video, audio) = (kept("m2v"), kept("mp2"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(video == movie.to_bytes() && audio == packets(4.0), "{transport}");
        let (pictures, sound): (Vec<_>, Vec<_>) = rows(&simulated).into_iter().partition(|row| row.track == 0);
        assert_eq!((pictures.len(), sound.len()), (100, 167), "{transport}");
        assert!(sound.iter().all(|row| row.complete));
        if transport == "http" {
            for (picture, next) in pictures.iter().zip(&pictures[1..]) {
                let of_it = sound.iter().filter(|row| row.due >= picture.due && row.due < next.due);
                assert!(of_it.clone().count() > 0);
                let gap = |row: &FrameRow| row.arrival.unwrap().saturating_since(picture.arrival.unwrap());
                assert!(of_it.into_iter().all(|row| gap(row) == Duration::ZERO), "{}", picture.frame);
            }
        }
    }
}
