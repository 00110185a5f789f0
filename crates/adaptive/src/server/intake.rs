//! What arrives, from the client or from any other host.

use std::net::SocketAddr;

use framewire_units::Timestamp;
use framewire_wire::tfrc;
use framewire_wire::vtp::{Features, Missing, Offer, Origin, Packet, Reason, Teardown};

use super::{Phase, Server, ServerEvent};
use crate::controller::Feedback;
use crate::datagram::{Channel, DropReason, Transmit};
use crate::liveness::Liveness;

impl Server {
    /// A datagram from any host.
    pub(super) fn accept(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), DropReason> {
        let datagram = match self.admission.key() {
            Some(key) => key.open(Origin::Client, datagram)?,
            None => datagram,
        };
        match Packet::parse(datagram)? {
            Packet::Request(request) => {
                if !matches!(self.phase, Phase::Waiting) {
                    return Err(DropReason::Unexpected);
                }
                let bytes = if self.session.is_some_and(|session| session != request.session) {
                    self.admission.refuse(request.session, Reason::Busy)
                } else if request.title != self.settings.title {
                    self.admission.refuse(request.session, Reason::UnknownTitle)
                } else {
                    self.admission.describe(now, channel, from, &request, self.description.clone())
                };
                self.answer(Transmit::answer(channel, from, bytes))
            }
            Packet::Start(start) => {
                if start.title != self.settings.title || !self.admission.admits(now, channel, from, &start) {
                    return Err(DropReason::BadCookie);
                }
                self.admit(now, channel, from, start.session)
            }
            Packet::Control(control) => {
                self.accept_report(now, channel, from, control.session, control.report)?;
                self.feed(now, &Feedback::Control(control));
                Ok(())
            }
            Packet::Report(report) => {
                let feedback = tfrc::Feedback::parse(report.body).map_err(|_| DropReason::Malformed)?;
                self.accept_report(now, channel, from, report.session, report.report)?;
                self.feed(now, &Feedback::Tfrc(feedback));
                Ok(())
            }
            Packet::Offer(offer) => self.accept_offer(channel, from, offer),
            Packet::Missing(missing) => self.accept_missing(now, channel, from, &missing),
            Packet::Teardown(teardown) => {
                if self.session != Some(teardown.session) || !self.peers.contains(&Some(from)) {
                    return Err(DropReason::Foreign);
                }
                self.accept_teardown(channel, from, teardown)
            }
            Packet::Video(..) | Packet::Description(_) => Err(DropReason::Unexpected),
        }
    }

    /// A start whose address is proved.
    fn admit(&mut self, now: Timestamp, channel: Channel, from: SocketAddr, session: u64) -> Result<(), DropReason> {
        if self.session.is_some_and(|known| known != session) {
            return Err(DropReason::Foreign);
        }
        let peer = &mut self.peers[channel.index()];
        if !matches!(self.phase, Phase::Waiting) || peer.is_some() {
            return Err(DropReason::Stale);
        }
        *peer = Some(from);
        self.session = Some(session);
        self.liveness = Liveness::new(now);
        if let [Some(data), Some(control)] = self.peers {
            self.phase = Phase::Streaming;
            if self.settings.repeats {
                self.stream.allow_repeats();
            }
            self.stream.start(now);
            self.event(ServerEvent::Started { session, data, control });
        }
        Ok(())
    }

    fn accept_report(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        session: u64,
        report: u32,
    ) -> Result<(), DropReason> {
        if self.session != Some(session) || self.peers[channel.index()] != Some(from) {
            return Err(DropReason::Foreign);
        }
        if channel != Channel::Control || !matches!(self.phase, Phase::Streaming | Phase::Closing(_)) {
            return Err(DropReason::Unexpected);
        }
        if self.last_report.is_some_and(|last| report <= last) {
            return Err(DropReason::Stale);
        }
        self.last_report = Some(report);
        self.liveness.hear(now);
        Ok(())
    }

    /// What of an offer the session has. A server that repeats nothing does as one that knows of no offers.
    fn accept_offer(&mut self, channel: Channel, from: SocketAddr, offer: Offer) -> Result<(), DropReason> {
        self.check_peer(channel, from, offer.session)?;
        let own = if self.settings.repeats { Features::REPEATS } else { Features::NONE };
        if own == Features::NONE || !matches!(self.phase, Phase::Waiting | Phase::Streaming) {
            return Err(DropReason::Unexpected);
        }
        let features = offer.features.and(own);
        let mut bytes = vec![];
        Offer { features, ..offer }.emit(&mut bytes);
        self.admission.seal(&mut bytes);
        self.answer(Transmit::answer(channel, from, bytes))?;
        if features.has(Features::REPEATS) {
            self.stream.agree_on_repeats();
        }
        // No sign of life: without a number, it can be replayed again and again.
        Ok(())
    }

    fn accept_missing(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        missing: &Missing,
    ) -> Result<(), DropReason> {
        self.check_peer(channel, from, missing.session)?;
        let is_over = match self.phase {
            Phase::Streaming => false,
            Phase::Closing(closing) if closing.reason() == Reason::EndOfMovie => true,
            _ => return Err(DropReason::Unexpected),
        };
        if self.last_missing.is_some_and(|last| missing.report <= last) {
            return Err(DropReason::Stale);
        }
        // Seen, whatever comes of it: it may not come again.
        self.last_missing = Some(missing.report);
        self.stream.handle_missing(now, missing, is_over)?;
        self.liveness.hear(now);
        Ok(())
    }

    /// Whether a datagram came from the client's socket for what is not video.
    fn check_peer(&self, channel: Channel, from: SocketAddr, session: u64) -> Result<(), DropReason> {
        if self.session != Some(session) || self.peers[channel.index()] != Some(from) {
            return Err(DropReason::Foreign);
        }
        if channel == Channel::Control { Ok(()) } else { Err(DropReason::Unexpected) }
    }

    fn feed(&mut self, now: Timestamp, feedback: &Feedback) {
        if matches!(self.phase, Phase::Streaming) {
            self.stream.handle_feedback(now, feedback);
        }
    }

    fn accept_teardown(&mut self, channel: Channel, from: SocketAddr, teardown: Teardown) -> Result<(), DropReason> {
        if teardown.reason == Reason::Acknowledged {
            let Phase::Closing(closing) = self.phase else { return Err(DropReason::Unexpected) };
            self.finish(closing.reason());
            return Ok(());
        }
        let bytes = self.admission.refuse(teardown.session, Reason::Acknowledged);
        self.answer(Transmit::answer(channel, from, bytes))?;
        match self.phase {
            Phase::Closed => {}
            Phase::Closing(closing) => self.finish(closing.reason()),
            Phase::Waiting | Phase::Streaming => self.finish(teardown.reason),
        }
        Ok(())
    }
}
