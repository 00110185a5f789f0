//! What may have been meant by a word that is not allowed: a slip of the pen, or what other tools call it.

use crate::network::Wire;

/// What other tools call a key, from the manuals of tc-netem and ns-3, of Mahimahi's shells, of iperf3 and of the kernel's
/// sockets.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("delay", &["latency", "rtt", "propagation", "propagation_delay", "one_way_delay", "link_delay"]),
    ("rate", &["bandwidth", "bw", "data_rate", "datarate", "bit_rate", "bitrate", "link_rate", "capacity", "speed"]),
    ("bitrate", &["bit_rate", "rate", "bandwidth", "bw"]),
    ("loss", &["packet_loss", "packetloss", "loss_rate", "drop_rate", "plr", "per", "error_rate", "downlink_loss"]),
    ("jitter", &["delay_variation", "delay_jitter", "latency_jitter", "pdv"]),
    ("queue", &["buffer", "buffer_size", "queue_size", "queue_length", "queue_limit", "max_size", "qlen", "limit"]),
    ("queue_discipline", &["qdisc", "aqm", "discipline", "downlink_queue", "scheduler"]),
    ("trace", &["trace_file", "downlink", "downlink_trace"]),
    ("congestion", &["congestion_control", "congestion_algorithm", "cc", "cca", "tcp_congestion"]),
    ("transport", &["protocol", "proto"]),
    ("send_buffer", &["sndbuf", "so_sndbuf", "snd_buf", "snd_buf_size"]),
    ("unsent_limit", &["notsent_lowat", "tcp_notsent_lowat"]),
    ("retry", &["retries", "retry_limit", "max_retries"]),
    ("source", &["file", "path", "input"]),
    ("startup", &["startup_delay", "buffering", "preroll"]),
];

/// Keys whose other name is another quantity, and what that is of it.
const NOT_THE_SAME: &[(&str, &str)] = &[("rtt", ", which is one way: half of a round trip")];

/// What is like a transport here and is none: protocols that others carry video by.
const NOT_BUILT: &[&str] =
    &["srt", "rist", "quic", "webrtc", "whip", "whep", "hls", "ll-hls", "dash", "rtmp", "moq", "scream", "sctp", "ndi"];

/// The key among `known` that may have been meant by `name`, in words that end "did you mean ...?"; `path` is where it stands.
pub(crate) fn key(path: &str, name: &str, known: &[&str]) -> Option<String> {
    let written = name.to_ascii_lowercase().replace('-', "_");
    let note = NOT_THE_SAME.iter().find(|(other, _)| *other == written).map_or("", |(_, note)| note);
    if let Some(key) = by_another_name(&written, known) {
        return Some(format!("`{key}`{note}"));
    }
    // A table too high.
    if matches!(path.strip_suffix(name), Some("" | "network.")) {
        let key = Wire::KEYS.iter().find(|key| **key == written).copied();
        if let Some(key) = key.or_else(|| by_another_name(&written, Wire::KEYS)) {
            return Some(format!("`network.wire.{key}`{note}"));
        }
    }
    nearest(name, known).map(|key| format!("`{key}`"))
}

fn by_another_name<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let meant = OTHER_NAMES.iter().filter(|(_, others)| others.contains(&written));
    meant.filter_map(|(key, _)| known.iter().copied().find(|known| known == key)).next()
}

/// The protocol that a transport names which is not built.
pub(crate) fn not_built(transport: &str) -> Option<&'static str> {
    let written = transport.to_ascii_lowercase();
    let parts = written.split(['+', '/', ' ']);
    parts.chain([written.as_str()]).find_map(|part| NOT_BUILT.iter().copied().find(|protocol| *protocol == part))
}

/// The known word nearest to `word`, when it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().filter(|candidate| is_misspelt(word, candidate));
    near.map(|&candidate| (edit_distance(&word.to_ascii_lowercase(), candidate), candidate)).min().map(|best| best.1)
}

/// Whether `word` has few enough slips to be `known`, and is not rather the name of another thing: another letter in an
/// acronym of three, another letter or digit in the number of a standard, and another part in a name of parts make
/// another one.
fn is_misspelt(word: &str, known: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().take(64).filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let is_standard = known.starts_with(|first: char| first.is_ascii_digit());
    let is_acronym = known.len() <= 3 && word.chars().count() == known.len();
    if (is_standard || is_acronym) && letters(word) != letters(known) {
        return false;
    }
    let parts = |text: &str| -> Vec<String> { text.split('+').map(str::to_ascii_lowercase).collect() };
    let (of_word, of_known) = (parts(word), parts(known));
    match of_word.len() == of_known.len() {
        true => of_word.iter().zip(&of_known).all(|(word, known)| is_near(word, known)),
        false => is_near(&word.to_ascii_lowercase(), known),
    }
}

/// One slip, and one more for every five letters.
fn is_near(word: &str, known: &str) -> bool {
    edit_distance(word, known) <= 1 + word.chars().count().min(64) / 5
}

/// How many letters are wrong, missing, too many, or changed places with the next (Damerau 1964, no letter twice), over at
/// most 64 characters of each word.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let (mut before, mut row): (Vec<usize>, Vec<usize>) = (vec![], (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = substituted.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Transport;

    #[test]
    fn distances_are_numbers_of_slips() {
        for (a, b, distance) in [
            ("retry", "retry", 0),
            ("retrys", "retry", 1),
            ("kitten", "sitting", 3),
            ("", "ab", 2),
            ("codle", "codel", 1),
            ("vpt", "vtp", 1),
            ("ca", "abc", 3),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn the_name_of_another_thing_is_not_taken_for_a_slip() {
        assert_eq!(nearest("rtp", &["rap", "tcp", "udp"]), None);
        assert_eq!(nearest("tc", &["rap", "tcp", "udp"]), Some("tcp"));
        assert_eq!(nearest("UDP", &["rap", "tcp", "udp"]), Some("udp"));
        assert_eq!(nearest("802.11ac", &["802.11b", "802.11a"]), None);
        assert_eq!(nearest("802.11A", &["802.11b", "802.11a"]), Some("802.11a"));
        assert_eq!(nearest("http+udp", &["rtsp+udp", "http+ts"]), None, "another session");
        assert_eq!(nearest("rtps+udp", &["rtsp+udp", "http+ts"]), Some("rtsp+udp"));
        assert_eq!(nearest("tcpifd", &["tcp", "tcp+ifd"]), Some("tcp+ifd"));
    }

    #[test]
    fn only_near_words_are_guessed() {
        assert_eq!(nearest("retries", &["retry", "rate"]), None);
        assert_eq!(nearest("send_bufer", &["send_buffer", "packets"]), Some("send_buffer"));
        assert_eq!(nearest("colour", &["retry", "rate"]), None);
    }

    #[test]
    fn what_other_tools_call_a_key_is_understood() {
        let meant = |path: &str, known: &[&str]| key(path, path.rsplit('.').next().unwrap(), known);
        let wire = |name: &str| meant(&format!("network.wire.{name}"), Wire::KEYS);
        for (name, expected) in [
            ("latency", "`delay`"),
            ("RTT", "`delay`, which is one way: half of a round trip"),
            ("bandwidth", "`rate`"),
            ("bw", "`rate`"),
            ("packet_loss", "`loss`"),
            ("packet-loss", "`loss`"),
            ("limit", "`queue`"),
            ("qdisc", "`queue_discipline`"),
            ("dealy", "`delay`"),
        ] {
            assert_eq!(wire(name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(wire("colour"), None);
        assert_eq!(meant("network.latency", &["kind", "wire"]).as_deref(), Some("`network.wire.delay`"));
        assert_eq!(meant("jitter", &["name", "seed"]).as_deref(), Some("`network.wire.jitter`"));
        assert_eq!(meant("movie.bandwidth", &["source", "bitrate"]).as_deref(), Some("`bitrate`"));
        assert_eq!(meant("playout.jitter", &["policy", "startup"]), None, "that has no wire");
    }

    /// Every other name leads somewhere, and hides no key.
    #[test]
    fn other_names_are_of_keys() {
        let known = [
            Wire::KEYS,
            crate::wifi::Wifi::KEYS,
            crate::movie::Movie::KEYS,
            crate::playout::KEYS,
            &crate::flow::Flow::all_keys(),
        ]
        .concat();
        for (key, others) in OTHER_NAMES {
            assert!(known.contains(key), "{key}");
            assert!(!others.contains(key), "{key}");
        }
    }

    #[test]
    fn what_is_not_built_has_no_name_of_a_transport() {
        assert_eq!(not_built("SRT"), Some("srt"));
        assert_eq!(not_built("rtp+quic"), Some("quic"));
        assert_eq!(not_built("ll-hls"), Some("ll-hls"));
        assert_eq!(not_built("sqrt"), None);
        for transport in Transport::every() {
            assert_eq!(not_built(transport.as_str()), None, "{transport}");
        }
    }
}
