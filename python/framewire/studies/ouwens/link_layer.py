"""Which movie section 3.5 sent, and at which rate: derived from its own tables.

The thesis does not say. Three of its numbers decide. Table 3.3 counts 29,385 UDP packets. Table 3.7 has a 6 Mbit/s
movie take 85 s in the same kind of packets, which by the timing of 802.11b at 11 Mbit/s means about 750 bytes of movie
in each. And table 3.6 gives the durations of the same bytes over UDP and over TCP.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.published import BITRATES, DURATION_S, LINK_LAYER_PACKETS, lookup
from framewire.studies.table import shown

__all__ = ["Candidate", "candidates", "conclusion", "without_oven"]

LARGEST_PAYLOAD = 1_100
"""The thesis: packets "varied more or less randomly between 50 bytes and 1100 bytes" (section 3.6)."""


SEGMENT = 1_448
"""Bytes of movie in a TCP segment of 1,500 bytes with time stamps (RFC 7323)."""


@dataclass(frozen=True)
class Candidate:
    """A movie that section 3.5 may have sent."""

    bitrate: int
    packets: float | None
    """That our packet rule `thesis` cuts it into."""
    payload: float
    """Bytes of movie in each of 29,385 packets."""

    @property
    def fits(self) -> bool:
        """Whether the packet count is within a tenth of the thesis'."""
        return self.packets is not None and abs(self.packets / LINK_LAYER_PACKETS - 1) < 0.1


def candidates(measured: Measured) -> list[Candidate]:
    """The four movies."""
    found = []
    for rate in BITRATES:
        packets = measured.samples("movies", "packets_sent", bitrate=rate, retry=4, oven="no", flow="udp-blocking")
        payload = rate * 1e6 / 8 * DURATION_S / LINK_LAYER_PACKETS
        found.append(Candidate(rate, fmean(packets) if packets else None, payload))
    return found


def conclusion(measured: Measured) -> list[str]:
    """What follows, in sentences."""
    findings = [
        "By the count of packets it was the 3 Mbit/s movie: the 4 Mbit/s movie would have to fill packets of at most "
        f"{LARGEST_PAYLOAD:,} bytes with 1,020 bytes in the mean.",
    ]
    for flow, name in (("udp", "UDP"), ("tcp", "TCP")):
        published = without_oven(flow)
        ours = {
            rate: measured.samples("link-layer", "duration_s", rate=rate, retry=4, oven="no", flow=flow)
            for rate in ("auto", "5.5")
        }
        if ours["auto"] and ours["5.5"]:
            findings.append(
                f"{name} took {min(published):.1f} to {max(published):.1f} s there at retry values of 2 and more "
                f"without the oven. Here it takes {shown(fmean(ours['auto']), 1)} s with the card's own choice of "
                f"rate, which is 11 Mbit/s, and {shown(fmean(ours['5.5']), 1)} s at 5.5 Mbit/s."
            )
    findings += _longer_by_bytes(measured)
    findings.append(
        "So the thesis' card seems to have sent at 5.5 Mbit/s in this set (its section 3.5 says that separate "
        "measurements confirmed lower rates), while tables 3.7 and 3.13 need 11. Table 3.6 is therefore shown with "
        "both. That is one cause for all its rows without the oven from retry value 2 on. With the oven its card fell "
        "further than either. At retry value 1 TCP is at the lowest rate, because each collision of a segment with an "
        "acknowledgement is a packet given up; there, the thesis' took longer than that rate does without losses. "
        "docs/reproduce-ouwens.md goes through the rows."
    )
    return findings


def _longer_by_bytes(measured: Measured) -> list[str]:
    """How much longer than at 11 Mbit/s each packet took there, beside how much longer one takes at 5.5 Mbit/s."""
    segments = 3e6 / 8 * DURATION_S / SEGMENT
    longer = []
    for flow, there in (("udp", float(LINK_LAYER_PACKETS)), ("tcp", segments)):
        auto, half = (
            measured.samples("link-layer", "duration_s", rate=rate, retry=4, oven="no", flow=flow)
            for rate in ("auto", "5.5")
        )
        packets = measured.samples("link-layer", "packets_sent", rate="auto", retry=4, oven="no", flow=flow)
        if not auto or not half:
            return []
        published = fmean(without_oven(flow))
        here = fmean(packets) if flow == "udp" and packets else segments
        longer.append((1e3 * (published - fmean(auto)) / there, 1e3 * (fmean(half) - fmean(auto)) / here))
    (udp, udp_half), (tcp, tcp_half) = longer
    return [
        f"Than at 11 Mbit/s, that is {udp:.2f} ms longer for each UDP packet and {tcp:.2f} ms for each TCP segment, "
        f"which has twice the bytes; half the rate makes {udp_half:.2f} and {tcp_half:.2f} ms. A time that each packet "
        "takes, in the host or on the air, would be the same for both."
    ]


def without_oven(flow: str) -> list[float]:
    """What the thesis measured of table 3.6 several times without meaning to: from retry value 2 on and without the
    oven next to no packet is sent again, so the retry value changes nothing."""
    values = [
        lookup("stream_duration", "duration_s", protocol=flow, retry=retry, interference="no") for retry in (2, 3, 4, 5)
    ]
    return [value for value in values if value is not None]
