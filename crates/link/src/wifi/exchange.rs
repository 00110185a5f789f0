//! What happens on the air once stations transmit: one exchange, or a collision.

use framewire_units::{DataSize, Timestamp};

use crate::verdict::{Packet, SniffedFrame};
use crate::wifi::bss::{Bss, Protection};
use crate::wifi::medium::{Medium, MediumEvent, StationId};
use crate::wifi::phy::{ACK, CTS, DataRate, RTS, data_frame};
use crate::wifi::station::InFlight;

/// An exchange at its beginning.
struct Exchange {
    packet: Packet,
    attempt: u16,
    /// When its first frame begins.
    start: Timestamp,
    /// Rate of the data frame.
    rate: DataRate,
    protection: Protection,
    /// When the data frame begins and ends, if it is sent.
    data_start: Timestamp,
    data_end: Timestamp,
}

/// Uniform draws that decide the fate of the frames of an exchange.
struct Draws {
    data: f64,
    ack: f64,
    rts: f64,
    cts: f64,
}

impl Medium {
    /// One exchange of data and acknowledgement, with its announcement where frames are protected; returns when the
    /// others' interframe space after it is over.
    pub(super) fn transmit_alone(&mut self, number: usize, at: Timestamp) -> Timestamp {
        let exchange = self.begin(number, at);
        let draws = self.draw(number);
        if exchange.protection == Protection::RtsCts
            && let Some(others_from) = self.request_fails(number, &exchange, &draws)
        {
            return others_from;
        }
        self.send_data(number, &exchange);
        let bss = self.bss;
        let ack_rate = exchange.rate.acknowledgement();
        let ack_start = exchange.data_end + bss.sifs();
        let ack_end = ack_start + bss.air_time(ACK, ack_rate);
        let size = exchange.packet.size;
        if draws.data >= self.errors.data_frame_survives(exchange.data_start, size, exchange.rate, bss.preamble) {
            // Clause 10.3.2.3.7: who heard a damaged frame waits an EIFS; the sender waits for an acknowledgement. Who
            // heard its announcement waits for the end of the time that it reserved as well.
            let resolved = exchange.data_end + bss.answer_timeout(ack_rate);
            self.fail(number, resolved, true);
            self.busy_until = self.busy_until.max(exchange.data_end);
            let reserved = if exchange.protection == Protection::None { at } else { ack_end + bss.difs() };
            return (exchange.data_end + bss.eifs()).max(reserved);
        }
        let acknowledged = draws.ack < self.control_frame_survives(ack_start, ACK, ack_rate);
        let own_space = if acknowledged { bss.difs() } else { bss.eifs() };
        let count_from = ack_end + own_space;
        let station = &mut self.stations[number];
        station.in_flight = Some(InFlight { resolved: ack_end, acknowledged, data_sent: true, count_from });
        self.receive(number, &exchange);
        self.busy_until = self.busy_until.max(ack_end);
        ack_end + bss.difs()
    }

    /// The receiver has the packet: it is delivered when it did not have it before.
    fn receive(&mut self, number: usize, exchange: &Exchange) {
        let station = &mut self.stations[number];
        let head = station.head.as_mut().expect("invariant: a transmission has a packet");
        if head.received.is_some() {
            return;
        }
        head.received = Some(exchange.data_end);
        if !station.is_saturated() {
            let (station, packet, at) = (StationId(number), exchange.packet, exchange.data_end);
            self.events.push_back(MediumEvent::Received { station, packet, at });
        }
    }

    /// A request to send, and the receiver's answer. `None` when both arrive; else when the others go on.
    fn request_fails(&mut self, number: usize, exchange: &Exchange, draws: &Draws) -> Option<Timestamp> {
        let bss = self.bss;
        let rts_end = exchange.start + bss.air_time(RTS, Bss::PROTECTION_RATE);
        let cts_start = rts_end + bss.sifs();
        let cts_end = cts_start + bss.air_time(CTS, Bss::PROTECTION_RATE);
        let heard = draws.rts < self.control_frame_survives(exchange.start, RTS, Bss::PROTECTION_RATE);
        if heard && draws.cts < self.control_frame_survives(cts_start, CTS, Bss::PROTECTION_RATE) {
            return None;
        }
        self.stations[number].record_transmission(Bss::PROTECTION_RATE);
        let resolved = if heard { cts_end } else { rts_end + bss.answer_timeout(Bss::PROTECTION_RATE) };
        self.fail(number, resolved, false);
        self.busy_until = self.busy_until.max(if heard { cts_end } else { rts_end });
        let others_from = if heard { rts_end + bss.void_reservation() + bss.difs() } else { rts_end + bss.eifs() };
        Some(others_from)
    }

    /// Transmissions that begin before their senders notice each other destroy each other, preambles included: the others sense energy and no frame, so they
    /// wait a DIFS after it and no EIFS.
    pub(super) fn collide(&mut self, starters: &[usize]) -> Timestamp {
        let bss = self.bss;
        let mut busy_until = self.busy_until;
        for &number in starters {
            let start = self.stations[number].next_transmission().expect("invariant: it is one of the starters");
            let exchange = self.begin(number, start);
            let requested = exchange.protection == Protection::RtsCts;
            let (end, answer) = if requested {
                self.stations[number].record_transmission(Bss::PROTECTION_RATE);
                (start + bss.air_time(RTS, Bss::PROTECTION_RATE), Bss::PROTECTION_RATE)
            } else {
                self.send_data(number, &exchange);
                (exchange.data_end, exchange.rate.acknowledgement())
            };
            busy_until = busy_until.max(end);
            self.fail(number, end + bss.answer_timeout(answer), !requested);
            self.stations[number].counters.collisions += 1;
        }
        for &number in starters {
            let in_flight = self.stations[number].in_flight.as_mut().expect("invariant: set above");
            in_flight.count_from = in_flight.count_from.max(busy_until + bss.difs());
        }
        self.busy_until = busy_until;
        busy_until + bss.difs()
    }

    fn begin(&mut self, number: usize, at: Timestamp) -> Exchange {
        let (attempt, packet, rate) = self.stations[number].begin(at);
        let data_start = at + self.bss.announcement(rate);
        let data_end = data_start + self.bss.air_time(data_frame(packet.size), rate);
        let protection = self.bss.protection_of(rate);
        Exchange { packet, attempt, start: at, rate, protection, data_start, data_end }
    }

    fn draw(&self, number: usize) -> Draws {
        let mut draws = self.channel.stream(&[number as u64, self.stations[number].counters.transmissions]);
        Draws { data: draws.next_f64(), ack: draws.next_f64(), rts: draws.next_f64(), cts: draws.next_f64() }
    }

    /// The data frame is on the air, and the sniffer may capture it.
    fn send_data(&mut self, number: usize, exchange: &Exchange) {
        let station = &mut self.stations[number];
        station.record_transmission(exchange.rate);
        let Some(sniffer) = self.config.sniffer.filter(|_| !station.is_saturated()) else { return };
        let place = [number as u64, station.counters.transmissions];
        if self.sniffer.stream(&place).chance(sniffer.capture) {
            let Exchange { packet, attempt, rate, data_end: at, .. } = *exchange;
            let frame = SniffedFrame { packet: packet.id, at, attempt, rate: rate.bitrate() };
            self.events.push_back(MediumEvent::Sniffed(frame));
        }
    }

    /// The sender gets no answer, and knows it at `resolved`.
    fn fail(&mut self, number: usize, resolved: Timestamp, data_sent: bool) {
        let count_from = resolved + self.bss.difs();
        self.stations[number].in_flight = Some(InFlight { resolved, acknowledged: false, data_sent, count_from });
    }

    fn control_frame_survives(&self, start: Timestamp, frame: DataSize, rate: DataRate) -> f64 {
        self.errors.control_frame_survives(start, frame, rate, self.bss.preamble)
    }
}
