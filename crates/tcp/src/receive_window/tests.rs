use super::*;

const SETTINGS: WindowSettings = WindowSettings {
    is_fixed: false,
    buffer: 131_072,
    maximum_buffer: 33_554_432,
    maximum_segment: 1_460,
    options: 12,
    is_client: false,
    scaling: true,
};

fn established(settings: &WindowSettings) -> ReceiveWindow {
    let mut window = ReceiveWindow::new(settings);
    window.establish(Timestamp::ZERO, 1, settings.options, settings.scaling);
    window
}

#[test]
fn the_first_window_is_that_of_linux() {
    // As captured from Linux 6.18: the client's SYN and the server's SYN-ACK.
    assert_eq!(ReceiveWindow::new(&WindowSettings { is_client: true, ..SETTINGS }).syn_window(), 64_240);
    let server = ReceiveWindow::new(&SETTINGS);
    assert_eq!((server.syn_window(), server.scale), (65_160, 10));
    let before_6_17 = ReceiveWindow::new(&WindowSettings { maximum_buffer: 6_291_456, ..SETTINGS });
    assert_eq!(before_6_17.scale, 7);
    let unscaled = established(&WindowSettings { scaling: false, ..SETTINGS });
    assert_eq!(unscaled.scale, 0);
    assert!(unscaled.announced() <= UNSCALED_WINDOW);
}

#[test]
fn the_window_opens_with_full_packets_up_to_the_clamp() {
    let mut window = established(&SETTINGS);
    assert_eq!(window.announce(1, 536).0, 64 * 1_024, "64,088, up to a unit of the scale");
    window.set_ratio(1_448, 2_304);
    let mut last = 0;
    for number in 1..=20 {
        window.grow(1_448, 2_304, 1_448);
        let (announced, is_short) = window.announce(1 + number * 1_448, 1_448);
        assert!(announced >= last && !is_short);
        last = announced;
    }
    // 131,072 bytes hold 1,448 bytes per 2,304.
    assert_eq!(window.clamp, 131_072 * 160 / 256);
    assert_eq!(last, 80 * 1_024);
}

#[test]
fn a_reader_that_stops_closes_the_window_and_one_that_goes_on_opens_it() {
    let mut window = established(&WindowSettings { is_fixed: true, ..SETTINGS });
    window.set_ratio(1_448, 2_304);
    let (mut next, mut edge) = (1, 0);
    let mut packets = 0;
    while window.remaining(next) >= 1_448 {
        window.charge(2_304);
        next += 1_448;
        packets += 1;
        window.grow(1_448, 2_304, 1_448);
        let (announced, _) = window.announce(next, 1_448);
        assert!(next + announced >= edge, "taken back");
        edge = next + announced;
        assert!(packets < 200);
    }
    // Linux 6.18 with SO_RCVBUF of 65,536 took 56.9 such packets.
    assert!((55..=58).contains(&packets), "{packets}");
    assert!(!window.is_update_due(next, 1_448));
    window.release(2_304);
    assert!(!window.is_update_due(next, 1_448), "one packet would be a silly window");
    window.release(4 * 2_304);
    assert!(window.is_update_due(next, 1_448), "a sixteenth of the buffer is free");
}

#[test]
fn the_buffer_grows_with_what_comes_per_round_trip() {
    let mut window = established(&SETTINGS);
    window.set_ratio(1_448, 2_304);
    window.note_echo(40, true);
    assert_eq!(window.round_trip(), Duration::from_millis(40));
    let mut read = 1;
    // Below the first guess of ten packets nothing changes.
    window.adjust(Timestamp::from_millis(40), read + 14_000, read + 14_000, 0);
    assert_eq!(window.buffer, 131_072);
    read += 14_000;
    window.adjust(Timestamp::from_millis(60), read + 100_000, read + 100_000, 0);
    assert_eq!(window.buffer, 131_072, "not a round trip yet");
    window.adjust(Timestamp::from_millis(80), read + 100_000, read + 100_000, 0);
    // Twice what came, and twice the growth of that on top: 14,480 to 100,000.
    let expected = (200_000 + 2 * (200_000 * (100_000 - 14_480) / 14_480)) * 256 / 160;
    assert_eq!(window.buffer, expected);
    assert_eq!(window.clamp, expected * 160 / 256);
    read += 100_000;
    // What waits to be read is not what the application takes.
    let buffer = window.buffer;
    window.adjust(Timestamp::from_millis(120), read + 150_000, read + 250_000, 0);
    assert_eq!(window.buffer, buffer);
    window.adjust(Timestamp::from_millis(160), read + 350_000_000, read + 350_000_000, 0);
    assert_eq!(window.buffer, 33_554_432);
}

#[test]
fn the_round_trip_is_the_least_window_time_or_smoothed_echoes() {
    let mut window = established(&SETTINGS);
    window.measure_round_trip(Timestamp::from_millis(100), 1);
    window.measure_round_trip(Timestamp::from_millis(130), 60_000);
    assert_eq!(window.round_trip(), Duration::ZERO, "the window has not passed");
    window.measure_round_trip(Timestamp::from_millis(150), 66_000);
    assert_eq!(window.round_trip(), Duration::from_millis(50));
    window.note_echo(40, false);
    assert_eq!(window.round_trip(), Duration::from_millis(40));
    window.note_echo(80, false);
    assert_eq!(window.round_trip(), Duration::from_millis(40), "a reader that is late would lengthen it");
    window.note_echo(80, true);
    assert_eq!(window.round_trip(), Duration::from_millis(45));
}
