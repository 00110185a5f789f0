use std::fs;

use super::*;
use crate::testing::{Directory, audio, audio_lost, described_with_audio, description, frame, pipe, read};

const MP3: u8 = 2;

/// A file of video, and the audio beside it.
fn beside_video(directory: &Directory, replace: bool) -> AudioFile {
    let video = directory.path("movie.m4v");
    fs::write(&video, "video").unwrap();
    AudioFile::beside(Some(&video), replace, Allowance::unlimited())
}

/// What is written when this happens, and what came of it.
fn written(name: &str, events: &[ClientEvent]) -> (Vec<u8>, ReceivedAudio) {
    let directory = Directory::new(name);
    let mut file = beside_video(&directory, false);
    file.handle(&described_with_audio(MP3));
    events.iter().for_each(|event| file.handle(event));
    let received = file.finish().expect("a disk").expect("audio");
    let bytes = read(received.file.as_deref().expect("a file"));
    assert_eq!(received.file, Some(directory.path("movie.mp3")));
    (bytes, received)
}

fn counts(received: &ReceivedAudio) -> (u64, u64) {
    (received.packets, received.lost)
}

#[test]
fn packets_follow_each_other() {
    let (bytes, received) = written("audio-whole", &[audio(b"one,"), frame(0, true, b"video"), audio(b"two,")]);
    assert_eq!((&bytes[..], counts(&received)), (&b"one,two,"[..], (2, 0)));
}

#[test]
fn in_a_gap_stands_the_packet_before_it() {
    let events = [audio(b"one,"), audio(b"two,"), audio_lost(3), audio(b"six,"), audio_lost(1)];
    let (bytes, received) = written("audio-gap", &events);
    assert_eq!((&bytes[..], counts(&received)), (&b"one,two,two,two,two,six,six,"[..], (3, 4)));
}

/// The first packet that comes stands for those that were lost before it too: all of them, once.
#[test]
fn losses_before_the_first_packet_are_owed() {
    let events = [audio_lost(2), audio_lost(1), audio(b"four,"), audio(b"five,")];
    let (bytes, received) = written("audio-owed", &events);
    assert_eq!((&bytes[..], counts(&received)), (&b"four,four,four,four,five,"[..], (2, 3)));
}

#[test]
fn one_packet_stands_for_so_many_and_no_more_however_the_losses_are_told() {
    let most = MOST_IN_A_ROW as usize;
    let gaps: [&[u32]; 4] = [&[251], &[249, 1, 1], &[100, 100, 100, 100], &[u32::MAX, u32::MAX]];
    for (place, gap) in gaps.into_iter().enumerate() {
        let lost = gap.iter().map(|&count| audio_lost(count));
        let events: Vec<_> = [audio(b"a")].into_iter().chain(lost).chain([audio(b"b"), audio_lost(2)]).collect();
        let (bytes, received) = written(&format!("audio-most-{place}"), &events);
        // The next packet that came stands for others again.
        assert_eq!(bytes, [vec![b'a'; 1 + most], vec![b'b'; 3]].concat(), "{gap:?}");
        let lost = gap.iter().map(|&count| u64::from(count)).sum::<u64>() + 2;
        assert_eq!(counts(&received), (2, lost), "{gap:?}");
    }
    let (bytes, _) = written("audio-just", &[audio(b"a"), audio_lost(249), audio_lost(1), audio(b"b")]);
    assert_eq!(bytes, [vec![b'a'; 1 + most], vec![b'b']].concat());
}

#[test]
fn no_more_than_that_is_owed() {
    let (bytes, received) =
        written("audio-owed-most", &[audio_lost(u32::MAX), audio_lost(9), audio(b"a"), audio(b"b")]);
    assert_eq!(bytes, [vec![b'a'; 1 + MOST_IN_A_ROW as usize], vec![b'b']].concat());
    assert_eq!(counts(&received), (2, u64::from(u32::MAX) + 9));
}

#[test]
fn the_name_ends_as_the_codec_does() {
    for (codec, name) in [(1, "movie.mp2"), (2, "movie.mp3"), (3, "movie.aac")] {
        let directory = Directory::new(&format!("audio-codec-{codec}"));
        let mut file = beside_video(&directory, false);
        file.handle(&described_with_audio(codec));
        assert!(directory.path(name).is_file() && directory.names().len() == 2, "from the beginning");
        file.handle(&audio(b"one"));
        assert_eq!(file.finish().expect("a disk").expect("audio").file, Some(directory.path(name)));
    }
}

#[test]
fn there_is_none_where_none_is_described() {
    let directory = Directory::new("audio-none");
    // Nor where the codec is not known.
    for described in [ClientEvent::Described(description(1)), described_with_audio(4)] {
        let mut file = beside_video(&directory, false);
        file.handle(&described);
        assert_eq!(file.finish().expect("nothing to fail"), None);
    }
    assert_eq!(beside_video(&directory, false).finish().expect("nothing to fail"), None, "nor without an answer");
    assert_eq!(directory.names(), ["movie.m4v"]);
}

#[test]
fn no_file_is_left_when_no_audio_came() {
    let directory = Directory::new("audio-silent");
    let mut file = beside_video(&directory, false);
    file.handle(&described_with_audio(MP3));
    file.handle(&audio_lost(7));
    let received = file.finish().expect("a disk");
    assert_eq!(received, Some(ReceivedAudio { file: None, packets: 0, lost: 7 }));
    assert_eq!(directory.names(), ["movie.m4v"]);
}

/// Without a file of video, and beside what is no file of a disk, packets are counted only.
#[test]
fn nothing_is_written_beside_no_file() {
    let directory = Directory::new("audio-device");
    let null = directory.link("movie.m4v", "/dev/null");
    let (_reader, pipe, _writer) = pipe();
    for video in [None, Some(&null), Some(&pipe), Some(&directory.path("nothing.m4v"))] {
        let video = video.map(PathBuf::as_path);
        let mut file = AudioFile::beside(video, true, Allowance::unlimited());
        [described_with_audio(MP3), audio(b"one"), audio_lost(1)].iter().for_each(|event| file.handle(event));
        let received = file.finish().expect("nothing is written");
        assert_eq!(received, Some(ReceivedAudio { file: None, packets: 1, lost: 1 }), "{video:?}");
    }
    assert_eq!(directory.names(), ["movie.m4v"]);
}

#[test]
fn a_file_that_is_there_goes_only_when_it_may() {
    let directory = Directory::new("audio-there");
    let path = directory.path("movie.mp3");
    for (replace, left) in [(false, &b"before"[..]), (true, b"one")] {
        fs::write(&path, "before").unwrap();
        let mut file = beside_video(&directory, replace);
        file.handle(&described_with_audio(MP3));
        assert_eq!(read(&path), b"before");
        file.handle(&audio(b"one"));
        let finished = file.finish();
        assert_eq!((finished.is_ok(), &read(&path)[..]), (replace, left));
        if let Err(error) = finished {
            let expected = format!("{}: the audio cannot be written: ", path.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}

/// A disk that is full, as the kernel plays one: packets go on to be taken, and the error is that of the first.
#[test]
fn what_cannot_be_written_is_told_at_the_end() {
    let directory = Directory::new("audio-full");
    let path = directory.link("movie.mp3", "/dev/full");
    // At once, and by what was kept back until the end.
    for length in [20_000, 20] {
        let mut file = beside_video(&directory, false);
        file.handle(&described_with_audio(MP3));
        for _ in 0..3 {
            file.handle(&audio(&vec![b'a'; length]));
            file.handle(&audio_lost(1));
        }
        let error = file.finish().expect_err("no room");
        let EndpointError::WriteAudio { path: told, error: reason } = &error else { panic!("{error}") };
        assert_eq!((told, reason.kind()), (&path, io::ErrorKind::StorageFull));
        let expected = format!("{}: the audio cannot be written: {reason}", path.display());
        assert_eq!(error.to_string(), expected);
    }
}

/// A packet of 60 kB, and 258 numbers left out behind it, again and again: what stands for the lost ones is no more than came,
/// and a mebibyte.
#[test]
fn a_server_that_leaves_out_most_of_its_numbers_fills_no_disk() {
    let packet = audio(&vec![b'a'; 60_000]);
    let events: Vec<_> = (0..100).flat_map(|_| [packet.clone(), audio_lost(258)]).collect();
    let (bytes, received) = written("audio-amplified", &events);
    let (came, filled) = (100 * 60_000, bytes.len() - 100 * 60_000);
    assert!((came..=came + MOST_AHEAD as usize).contains(&filled), "{filled}");
    assert_eq!(counts(&received), (100, 100 * 258));
}

#[test]
fn no_more_is_written_than_is_allowed() {
    let directory = Directory::new("audio-allowance");
    let allowance = Allowance::of(framewire_units::DataSize::from_bytes(10));
    let video = directory.path("movie.m4v");
    fs::write(&video, "video").unwrap();
    let mut file = AudioFile::beside(Some(&video), false, allowance.clone());
    let events = [audio(b"one,"), audio_lost(1), audio(b"three,"), audio(b"4")];
    [described_with_audio(MP3)].iter().chain(&events).for_each(|event| file.handle(event));
    let received = file.finish().expect("a disk").expect("audio");
    assert_eq!((read(&directory.path("movie.mp3")), received.packets), (b"one,one,".to_vec(), 3));
    assert!(allowance.is_used_up());
}
