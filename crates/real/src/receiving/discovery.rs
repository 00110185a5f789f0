//! What comes, found out before it is received: by the sender's announcement, or by what the user says of it.

use std::net::SocketAddr;

use framewire_session::{ASSUMED_RATE, Announcement};
use framewire_sockets::{Interest, Watch, wait, wait_watching};
use framewire_units::{Duration, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;
use framewire_wire::sdp::DescribedBandwidth;

use super::reports::Reports;
use super::{DescribedStreams, End, ReceiveOptions, of_sound, receiver_at};
use crate::TICK;
use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::exchange::Question;

/// How long what comes may go before what is said of it: a question that was lost is asked again sooner.
const UNANNOUNCED: Duration = Duration::from_secs(1);

/// What comes more often than that without having been announced, and for so long, is a stream, and nothing that went astray.
const ASTRAY: (u64, Duration) = (16, Duration::from_secs(1));

/// Why a stream is not announced, and what to do about it.
const NOT_ANNOUNCED: &str = "framewire send announces a stream when it begins: start the receiver first; a stream that goes on \
     already, or of another program, is received with its --codec (or --sdp)";

/// What is waited for where a user says nothing of the stream.
const ANNOUNCED: &str = "that is announced";

impl End<'_> {
    /// Sound that a session description says more of has a socket from the beginning.
    pub(super) fn listen_for_described_sound(&mut self, listener: &mut Listener<'_>) -> Result<(), RealError> {
        let described = self.options.description.as_ref().and_then(|streams| streams.sound.as_ref());
        match described.filter(|_| !self.options.transport.is_stream()) {
            Some(Ok((_, port))) => {
                let address = SocketAddr::new(self.address.ip(), *port);
                let channel = Announcement::described_sound_channel();
                self.sockets.add(&channel, &receiver_at(address)).map_err(of_sound)
            }
            Some(Err(reason)) => {
                let (name, transport) = (String::new(), self.options.transport.to_string());
                listener(&Event::SoundLeftOut { name, transport, reason: reason.clone() });
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits until it is known what comes, and something has been announced or come.
    pub(super) fn wait_for_stream(
        &mut self,
        is_stopped: &dyn Fn() -> bool,
        listener: &mut Listener<'_>,
    ) -> Result<Announcement, RealError> {
        let mut came_at: Option<Timestamp> = None;
        let mut thrown_away: Option<(Timestamp, Timestamp)> = None;
        loop {
            if let Some(announced) = self.take_announcement()? {
                return Ok(announced);
            }
            let now = self.clock.now();
            if is_stopped() {
                return Err(RealError::Stopped);
            }
            if self.has_something()? {
                if let Some(stated) = self.stated()? {
                    return Ok(stated);
                }
                if now.saturating_since(*came_at.get_or_insert(now)) < UNANNOUNCED {
                    std::thread::sleep(TICK);
                } else {
                    thrown_away = Some((thrown_away.map_or(now, |(first, _)| first), now));
                    if self.sockets.discard()? == 0 {
                        // The first of it: what a stranger sends does not end a receiver that waits for a stream.
                        listener(&Event::Unannounced);
                    }
                }
            }
            if let Some(ended) = thrown_away.and_then(|between| self.unannounced_end(now, between)) {
                return Err(ended);
            }
            if now.saturating_since(Timestamp::ZERO) >= self.options.patience {
                let seconds = self.options.patience.as_secs_f64();
                let (came, why) = match self.sockets.of_others() {
                    0 => ("nothing".to_owned(), String::new()),
                    _ => (format!("nothing {ANNOUNCED}"), format!("; {NOT_ANNOUNCED}")),
                };
                return Err(RealError::Failed(format!("{}: {came} came in {seconds} s{why}", self.options.address)));
            }
            let read = Watch { read: true, write: false };
            let watched = [Some(self.answers.descriptor()), self.sockets.descriptor()];
            let watched: Vec<_> = watched.into_iter().flatten().map(|socket| (socket, read)).collect();
            wait_watching(&watched, TICK)?;
        }
    }

    /// A stream that was not announced, and of which nothing comes any more: this receiver was started too late for it.
    fn unannounced_end(&self, now: Timestamp, (first, last): (Timestamp, Timestamp)) -> Option<RealError> {
        let (count, is_datagrams) = (self.sockets.of_others(), !self.options.transport.is_stream());
        let is_stream = count > ASTRAY.0 && last.saturating_since(first) >= ASTRAY.1;
        let is_silent = now.saturating_since(last) >= self.options.silence;
        (is_datagrams && is_stream && is_silent).then(|| {
            RealError::Failed(format!(
                "{}: a stream came that was not announced, and has ended: {count} datagrams were thrown away; {NOT_ANNOUNCED}",
                self.options.address
            ))
        })
    }

    /// True where something has come by the stream's socket.
    fn has_something(&self) -> Result<bool, RealError> {
        let Some(socket) = self.sockets.descriptor() else { return Ok(false) };
        Ok(wait(&socket, Interest::Read, Duration::ZERO)?)
    }

    /// What a user says of a stream that is not announced; `None` where that is nothing.
    fn stated(&mut self) -> Result<Option<Announcement>, RealError> {
        let ReceiveOptions { transport, description, .. } = self.options;
        let video = description.as_ref().map(|streams| &streams.video);
        let described = video.and_then(|of| Announcement::codec_in_rtp(&of.encoding_name));
        let Some(codec) = self.options.codec.or(described) else { return Ok(None) };
        let of_sound = description.as_ref().and_then(|streams| streams.sound.as_ref()?.as_ref().ok());
        let of_sound = of_sound.filter(|_| !transport.is_stream()).map(|(sound, _)| sound.clone());
        let stated = Announcement {
            transport: *transport,
            codec,
            mpeg2: true,
            origin: None,
            payload_type: video.map(|of| of.payload_type),
            sound: None,
            sound_packets: of_sound,
            frame_rate: None,
            reports: self.stated_reports(),
        };
        stated.check()?;
        let of_sound = description.as_ref().and_then(|streams| streams.sound.as_ref()?.as_ref().ok());
        let sound_port = of_sound.map(|(_, port)| *port);
        self.reports = Reports::open(&stated, self.address, sound_port, &mut self.answers)?;
        // What an earlier stream's sender has said does not count.
        self.answers.has_left = false;
        Ok(Some(stated))
    }

    /// What reports may take of the sessions of a stream that is not announced: of video, and of sound; nothing where no receiver is to
    /// report (`b=RR:0`, RFC 3556, section 2).
    fn stated_reports(&self) -> Vec<RtcpBandwidth> {
        let description = self.options.description.as_ref();
        let of = |bandwidth: Option<DescribedBandwidth>| bandwidth.unwrap_or_default().rtcp(ASSUMED_RATE);
        let video = of(description.map(|streams: &DescribedStreams| streams.video.bandwidth));
        let sound = of(description.map(|streams| streams.sound_bandwidth));
        let may_report = [video, sound].iter().any(|bandwidth| bandwidth.receivers.as_bps() > 0);
        if self.options.reports && may_report { vec![video, sound] } else { Vec::new() }
    }

    fn take_announcement(&mut self) -> Result<Option<Announcement>, RealError> {
        while let Some(Question { session, text, from, has_ended }) = self.answers.answer()? {
            // An earlier stream's end that came late.
            if has_ended {
                continue;
            }
            // What cannot be received is of another version, or of nobody who means it.
            let Ok(mut announced) = Announcement::parse(&text) else { continue };
            if !self.options.reports {
                announced.reports.clear();
            }
            if announced.transport.is_stream() != self.options.transport.is_stream() {
                return Err(RealError::Input(format!(
                    "{}: {from} sends by {}, and {} is listened for: both need the same --transport",
                    self.options.address, announced.transport, self.options.transport
                )));
            }
            self.answers.settle_on(session);
            self.sockets.expect(from.ip());
            self.session = Some(session);
            // It stands before the next question is answered, and so before the sender begins.
            if let Some(channel) = announced.sound_channel() {
                self.sockets.add(&channel, &receiver_at(self.address)).map_err(of_sound)?;
            }
            self.reports = Reports::open(&announced, self.address, None, &mut self.answers)?;
            return Ok(Some(announced));
        }
        Ok(None)
    }
}
