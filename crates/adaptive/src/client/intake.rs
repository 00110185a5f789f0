//! What arrives from the server.

use framewire_units::Timestamp;
use framewire_wire::vtp::{Description, Features, Key, Origin, Packet, Reason, Teardown, VideoHeader};

use super::event::ClientEvent;
use super::tracks::Tracks;
use super::{Client, LINGER, LINGER_FOR_REPEATS, Phase};
use crate::datagram::{Channel, DropReason};

impl Client {
    /// A datagram from the server.
    pub(super) fn accept(&mut self, now: Timestamp, channel: Channel, datagram: &[u8]) -> Result<(), DropReason> {
        let packet = open(self.settings.key.as_ref(), datagram)?;
        if packet.session() != self.settings.session {
            return Err(DropReason::Foreign);
        }
        match packet {
            Packet::Video(header, video) => self.accept_video(now, channel, &header, video),
            Packet::Description(description) => self.accept_description(now, channel, description),
            Packet::Teardown(teardown) => self.accept_teardown(now, teardown),
            Packet::Offer(offer) => self.accept_offer(now, channel, offer.features),
            Packet::Request(_) | Packet::Start(_) | Packet::Control(_) | Packet::Report(_) | Packet::Missing(_) => {
                Err(DropReason::Unexpected)
            }
        }
    }

    fn accept_description(
        &mut self,
        now: Timestamp,
        channel: Channel,
        description: Description,
    ) -> Result<(), DropReason> {
        let Phase::Opening(opening) = &mut self.phase else { return Err(DropReason::Stale) };
        let differs = |known: &Description| *known != Description { cookie: known.cookie, ..description.clone() };
        if self.description.as_ref().is_some_and(differs) {
            return Err(DropReason::Inconsistent);
        }
        opening.handle_cookie(now, channel, description.cookie)?;
        if self.description.is_none() {
            // Only once: a server that goes on describing a movie and sends nothing of it is waited for no longer.
            if let Some(liveness) = &mut self.liveness {
                liveness.hear(now);
            }
            self.tracks = Some(Tracks::new(&description, &self.settings));
            self.description = Some(description.clone());
            self.event(ClientEvent::Described(description));
        }
        Ok(())
    }

    fn accept_video(
        &mut self,
        now: Timestamp,
        channel: Channel,
        header: &VideoHeader,
        video: &[u8],
    ) -> Result<(), DropReason> {
        let (Some(description), Some(tracks)) = (&self.description, &mut self.tracks) else {
            return Err(DropReason::Unexpected);
        };
        if channel != Channel::Data || matches!(self.phase, Phase::Closing(_) | Phase::Closed) {
            return Err(DropReason::Unexpected);
        }
        let audio = description.audio.filter(|_| header.audio);
        let frames = if header.audio { audio.map_or(0, |audio| audio.packets) } else { description.frames };
        let fits = header.frame < frames
            && usize::from(header.level) < description.rates.len()
            && video.len() <= usize::from(description.payload);
        if !fits {
            return Err(DropReason::Inconsistent);
        }
        let Some((number, skipped)) = self.arrivals.insert(header.sequence) else { return Err(DropReason::Stale) };
        if matches!(self.phase, Phase::Opening(_)) {
            self.phase = Phase::Streaming;
        }
        self.state.received += header.size;
        self.state.round_trip = Some(header.round_trip).filter(|time| !time.is_zero()).or(self.state.round_trip);
        if let Some(player) = &mut self.player {
            player.begin(now);
            if self.requests.has_repeats() {
                tracks.wait_for_repeats(player.shown(now).unwrap_or(i64::MIN));
            }
        }
        let kept = tracks.insert(now, header, video);
        // Media that advances, or fills a gap; there is no end of what is sent again under fresh numbers.
        if let Some(liveness) = self.liveness.as_mut().filter(|_| tracks.is_further(header) || kept.is_ok()) {
            liveness.hear(now);
        }
        let refused = kept == Err(DropReason::NoRoom);
        self.requests.handle_packet(now, number, skipped, header, refused);
        let mut free = self.player_buffer;
        if let Some(player) = &mut self.player {
            if !refused {
                player.handle_video(now, header);
            }
            free.get_or_insert(player.free(now));
        }
        if self.settings.packet_events {
            self.event(ClientEvent::Packet { arrived: now, header: *header, kept: kept.is_ok() });
        }
        let mut bytes = vec![];
        // Whether it was kept or not: equation 1 is about the path, and over that it came.
        self.reporter.handle_video(now, header, free, &mut bytes);
        self.report(bytes);
        self.poll_report(now);
        kept
    }

    /// The server's part of an agreement.
    fn accept_offer(&mut self, now: Timestamp, channel: Channel, features: Features) -> Result<(), DropReason> {
        let is_open = matches!(self.phase, Phase::Opening(_) | Phase::Streaming);
        if channel != Channel::Control || !is_open || !self.requests.handle_answer(features) {
            return Err(DropReason::Unexpected);
        }
        if let Some(liveness) = &mut self.liveness {
            liveness.hear(now);
        }
        Ok(())
    }

    fn accept_teardown(&mut self, now: Timestamp, teardown: Teardown) -> Result<(), DropReason> {
        if teardown.reason == Reason::Acknowledged {
            let Phase::Closing(closing) = &self.phase else { return Err(DropReason::Unexpected) };
            let reason = closing.reason();
            self.finish(reason);
            return Ok(());
        }
        // The server repeats what is missing until it receives the end of this.
        let waits = teardown.reason == Reason::EndOfMovie
            && self.requests.has_repeats()
            && matches!(self.phase, Phase::Streaming | Phase::Lingering { .. })
            && !self.is_whole();
        if waits {
            self.requests.tell_newest();
        } else if matches!(self.phase, Phase::Streaming | Phase::Lingering { .. } | Phase::Closing(_)) {
            self.send_teardown(Reason::Acknowledged);
        }
        match self.phase {
            Phase::Streaming if teardown.reason == Reason::EndOfMovie => {
                self.phase = Phase::Lingering { until: now + if waits { LINGER_FOR_REPEATS } else { LINGER } };
                self.advance(now);
            }
            Phase::Opening(_) | Phase::Streaming => self.finish(teardown.reason),
            Phase::Lingering { .. } | Phase::Closed => {}
            Phase::Closing(closing) => self.finish(closing.reason()),
        }
        Ok(())
    }
}

/// Video is never sealed, everything else is where a key is shared.
fn open<'a>(key: Option<&Key>, datagram: &'a [u8]) -> Result<Packet<'a>, DropReason> {
    match (key, Packet::parse(datagram)) {
        (None, packet) | (Some(_), packet @ Ok(Packet::Video(..))) => Ok(packet?),
        (Some(key), _) => Ok(Packet::parse(key.open(Origin::Server, datagram)?)?),
    }
}
