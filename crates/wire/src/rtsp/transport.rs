use std::fmt;

/// How a stream is to be carried: one of those in a Transport field (RFC 2326, section 12.39).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Over what.
    pub carriage: Carriage,
    /// The synchronisation source of what the server sends, once it says so.
    pub ssrc: Option<u32>,
}

/// Over what a stream goes, and its two numbers: of RTP, and of RTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// In the connection of the messages, on these channels.
    Interleaved {
        /// Of RTP, and of RTCP; `None`: RTP alone, or the server chooses.
        channels: Option<(u8, Option<u8>)>,
    },
    /// In datagrams between these ports.
    Udp {
        /// Of the client.
        client: Option<(u16, Option<u16>)>,
        /// Of the server, once it says so.
        server: Option<(u16, Option<u16>)>,
    },
}

impl Transport {
    /// The transports of a field that are understood here, in the order in which the client wants them: unicast of RTP with the
    /// AVP profile, to be played, over UDP or interleaved.
    pub fn parse_all(value: &str) -> Vec<Self> {
        value.split(',').filter_map(Self::parse).collect()
    }

    /// One of them; `None` where it is not understood, or asks for what is not done here.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_uppercase();
        let mut carriage = match name.as_str() {
            "RTP/AVP" | "RTP/AVP/UDP" => Carriage::Udp { client: None, server: None },
            "RTP/AVP/TCP" => Carriage::Interleaved { channels: None },
            _ => return None,
        };
        let (mut ssrc, mut is_multicast) = (None, matches!(carriage, Carriage::Udp { .. }));
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match (key.trim().to_ascii_lowercase().as_str(), &mut carriage) {
                ("unicast", _) => is_multicast = false,
                ("multicast", _) => is_multicast = true,
                ("mode", _) => {
                    let mode = value.trim().trim_matches('"');
                    if !mode.eq_ignore_ascii_case("play") {
                        return None;
                    }
                }
                ("interleaved", Carriage::Interleaved { channels }) => *channels = Some(pair(value)?),
                ("client_port", Carriage::Udp { client, .. }) => *client = Some(pair(value)?),
                ("server_port", Carriage::Udp { server, .. }) => *server = Some(pair(value)?),
                ("ssrc", _) => ssrc = u32::from_str_radix(value.trim(), 16).ok(),
                _ => {}
            }
        }
        // Without a word a transport over UDP is multicast (section 12.39).
        (!is_multicast).then_some(Self { carriage, ssrc })
    }
}

/// A number, or two with a hyphen between them.
fn pair<N: std::str::FromStr>(text: &str) -> Option<(N, Option<N>)> {
    match text.trim().split_once('-') {
        Some((first, second)) => Some((first.trim().parse().ok()?, Some(second.trim().parse().ok()?))),
        None => Some((text.trim().parse().ok()?, None)),
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn numbers<N: fmt::Display>(
            f: &mut fmt::Formatter<'_>,
            name: &str,
            numbers: &Option<(N, Option<N>)>,
        ) -> fmt::Result {
            match numbers {
                None => Ok(()),
                Some((first, None)) => write!(f, ";{name}={first}"),
                Some((first, Some(second))) => write!(f, ";{name}={first}-{second}"),
            }
        }
        match &self.carriage {
            Carriage::Interleaved { channels } => {
                f.write_str("RTP/AVP/TCP;unicast")?;
                numbers(f, "interleaved", channels)?;
            }
            Carriage::Udp { client, server } => {
                f.write_str("RTP/AVP;unicast")?;
                numbers(f, "client_port", client)?;
                numbers(f, "server_port", server)?;
            }
        }
        self.ssrc.map_or(Ok(()), |ssrc| write!(f, ";ssrc={ssrc:08X}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_are_read_in_the_clients_order_and_what_is_not_done_is_left_out() {
        let value = "RTP/AVP;multicast;ttl=127;mode=\"PLAY\",RTP/AVP;unicast;client_port=3456-3457;mode=\"PLAY\",\
                     RAW/RAW/UDP;unicast, RTP/AVP/TCP;interleaved=4-5,RTP/AVP;unicast;mode=record,RTP/AVP;client_port=1";
        let udp = Carriage::Udp { client: Some((3_456, Some(3_457))), server: None };
        let interleaved = Carriage::Interleaved { channels: Some((4, Some(5))) };
        let expected = [udp, interleaved].map(|carriage| Transport { carriage, ssrc: None });
        assert_eq!(Transport::parse_all(value), expected);
        for wrong in ["", "RTP/AVP/TCP;interleaved=256", "RTP/AVP;unicast;client_port=x", "RTP/SAVP;unicast"] {
            assert_eq!(Transport::parse_all(wrong), [], "{wrong}");
        }
    }

    #[test]
    fn transports_are_written_as_they_are_read() {
        for text in [
            "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=00C0FFEE",
            "RTP/AVP/TCP;unicast;interleaved=0",
            "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=DEADBEEF",
            "RTP/AVP;unicast;client_port=5000",
        ] {
            assert_eq!(Transport::parse_all(text)[0].to_string(), text);
        }
    }
}
