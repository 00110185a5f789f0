"""The pseudocode of RFC 9332, appendix A, for the model of DualPI2 to be held against, written by itself.

The RFC's text was not at hand: it is from memory, and agrees with the lines that picoquic's test of it quotes
(C. Huitema, `picoquictest/dualq.c`).

    .venv/bin/python benches/validation/dualpi2.py > crates/link/tests/data/dualpi2_appendix_a.csv

A transmitter of 10 Mbit/s and packets at fixed times. Prints every packet that was marked or dropped, and when. Times
are whole nanoseconds. `crates/link/tests/dualpi2_reference.rs` offers the same packets to the model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

MS = 1_000_000
NS_PER_BYTE = 800
# From, to, interval, bytes, ECN field (two bits).
SOURCES = [
    (0, 6_000 * MS, 3_000_000, 1500, 0b10),
    (137_000, 6_000 * MS, 4_100_000, 1200, 0b00),
    (1_000_211_000, 4_500 * MS, 2_500_000, 1000, 0b01),
    (2_000_400_000, 3_000 * MS, 1_700_000, 1500, 0b01),
    (7_000_000_000, 8_000 * MS, 1_000_000, 1100, 0b01),
]

# Appendix A.1, figure 2.
K = 2
TARGET = 0.015
RTT_MAX = 0.1
P_CMAX = min(1 / K**2, 1)
T_UPDATE_NS = 15 * MS  # min(target, RTT_max / 3)
ALPHA = 0.1 * 0.015 / RTT_MAX**2
BETA = 0.3 / RTT_MAX
MIN_TH = 0.000_8
RANGE = 0.000_4
TH_LEN = 1
P_LMAX = 1
CLASSIC_WEIGHT = 1 / 16


@dataclass
class Packet:
    """A packet with the time stamp of its arrival."""

    number: int
    arrived: int
    size: int
    ecn: int


@dataclass
class Queue:
    """`lq` or `cq`, with the counter of its `recur`."""

    packets: deque[Packet] = field(default_factory=deque)
    count: float = 0.0

    def time(self, now: int) -> float:
        """Seconds that its first packet has waited."""
        return (now - self.packets[0].arrived) / 1e9 if self.packets else 0.0


def recur(queue: Queue, likelihood: float) -> bool:
    """Figure 4: true with a certain likelihood, evenly."""
    queue.count += likelihood
    if queue.count > 1:
        queue.count -= 1
        return True
    return False


@dataclass
class DualPi2:
    """Both queues and what they share."""

    lq: Queue = field(default_factory=Queue)
    cq: Queue = field(default_factory=Queue)
    base: float = 0.0
    previous: float = 0.0
    credit: float = 0.0
    lines: list[tuple[int, int, str]] = field(default_factory=list)

    def enqueue(self, packet: Packet) -> None:
        """Figure 3: the classifier."""
        (self.lq if packet.ecn % 2 == 1 else self.cq).packets.append(packet)

    def update(self, now: int) -> None:
        """Figures 5 and 8."""
        current = max(self.cq.time(now), self.lq.time(now))
        self.base += ALPHA * (current - TARGET) + BETA * (current - self.previous)
        self.base = min(max(self.base, 0.0), 1.0)
        self.previous = current

    def scheduler(self) -> Queue:
        """Weighted round robin: classic packets get a sixteenth of the bytes while both wait."""
        if not self.lq.packets or not self.cq.packets:
            self.credit = 0.0
            return self.lq if self.lq.packets else self.cq
        cost = self.cq.packets[0].size * (1 - CLASSIC_WEIGHT)
        if self.credit >= cost:
            self.credit -= cost
            return self.cq
        self.credit += self.lq.packets[0].size * CLASSIC_WEIGHT
        return self.lq

    def native(self, packet: Packet, now: int) -> float:
        """Figure 6: the ramp."""
        delay = (now - packet.arrived) / 1e9
        if len(self.lq.packets) <= TH_LEN:
            return 0.0
        if delay >= MIN_TH + RANGE:
            return 1.0
        return (delay - MIN_TH) / RANGE if delay > MIN_TH else 0.0

    def note(self, packet: Packet, now: int, what: str) -> None:
        """A line of the output."""
        self.lines.append((now, packet.number, what))

    def dequeue(self, now: int) -> Packet | None:
        """Figures 4 and 7: what leaves, with overload."""
        coupled = K * self.base
        classic = self.base**2
        while self.lq.packets or self.cq.packets:
            queue = self.scheduler()
            packet = queue.packets.popleft()
            if queue is self.lq:
                if coupled < P_LMAX:
                    if recur(self.lq, max(self.native(packet, now), coupled)):
                        self.note(packet, now, "marked")
                    return packet
                if recur(self.lq, classic):
                    self.note(packet, now, "dropped")
                    continue
                if recur(self.lq, min(coupled, P_LMAX)):
                    self.note(packet, now, "marked")
                return packet
            if recur(self.cq, classic):
                if packet.ecn == 0 or classic >= P_CMAX:
                    self.note(packet, now, "dropped")
                    continue
                self.note(packet, now, "marked")
            return packet
        return None


def run() -> list[tuple[int, int, str]]:
    """Every mark and drop in order."""
    arrivals = sorted(
        (at, source)
        for source, (start, end, interval, _, _) in enumerate(SOURCES)
        for at in range(start, end, interval)
    )
    dual = DualPi2()
    free, update = 0, T_UPDATE_NS

    def serve_until(now: int) -> None:
        nonlocal free, update
        while dual.lq.packets or dual.cq.packets:
            first = min(queue.packets[0].arrived for queue in (dual.lq, dual.cq) if queue.packets)
            start = max(free, first)
            if start > now:
                return
            while update <= start:
                dual.update(update)
                update += T_UPDATE_NS
            packet = dual.dequeue(start)
            if packet:
                free = start + NS_PER_BYTE * packet.size

    for number, (at, source) in enumerate(arrivals):
        serve_until(at)
        while update <= at:
            dual.update(update)
            update += T_UPDATE_NS
        dual.enqueue(Packet(number, at, SOURCES[source][3], SOURCES[source][4]))
        serve_until(at)
    serve_until(1 << 62)
    return dual.lines


def text() -> str:
    """The file."""
    return "packet,what,at_ns\n" + "".join(f"{packet},{what},{at}\n" for at, packet, what in run())


if __name__ == "__main__":
    print(text(), end="")
