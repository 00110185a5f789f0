"""The page: a table per link, and who is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from cases import BITRATE, MOVIES, OURS, SECONDS, TRANSPORTS, Link
from measure import Row

INTRODUCTION = f"""\
# Frame-aware dropping compared

A live stream of {BITRATE} over TCP that falls behind: what the viewer gets when nothing is dropped, when others' rules
drop, and when ours do. `make dropping TRACES=DIR` computes the tables again.

**In short.** `dependency` shows the most where the player waits about a second. Under half a second `ifd-optimised` is
the better choice for MPEG-2, with the lowest latency (with a pyramid of B frames it is of no use); with several seconds
of buffer on a link that only dips, nothing needs to be dropped at all. Choose the limit (`queue_time`,
`max-size-time`) below the player's start-up and above the time of a key frame.

Every movie is the lab's own picture, {SECONDS} s, 720x576 at 25 Hz, encoded as named. Every transport has the link to
itself, with the same draws of chance. A frame is *shown in time* when it can be decoded and came within a second of its
due time. The picture's quality is luma PSNR against the movie as sent, a missing frame scored as the frozen picture in
its place, an undamaged one as 50 dB. *Latency* counts the frames that arrived: who drops more can have less of it, so
read it beside what was shown.

| name here | what it is |
|---|---|
| plain TCP | `tcpclientsink`: the pipeline waits, nothing is dropped |
| `queue leaky=downstream` | GStreamer's queue of one second before the sink: the oldest buffers go |
| `recover-policy=keyframe` | GStreamer's `tcpserversink`: a client that is too far behind jumps to the last key frame |
| OBS Studio's rule | its RTMP output: B frames go from 700 ms of backlog on, P frames from 900 ms, until a key frame |
| ifd, ifd-optimised, dependency | the modes of `ifdsink`, with at most 32 KiB unsent in the kernel |

## What the tables depend on

- **The socket.** Ours bound what waits in the kernel (`unsent_limit`, 32 KiB); the others are as their programs have
  it, with a send buffer that grows. Much of the difference is this and not the rule. With 32 KiB for OBS Studio's rule
  too, H.264 over the Verizon recording goes from 60.8 % to 69.5 % shown, against 70.2 % of `dependency`; with 32 KiB
  and a limit of 500 ms for `recover-policy=keyframe`, MPEG-2 over the narrow wire goes from 33.0 % to 68.5 %, against
  73.5 %.
- **`ifdqueue` before a sink of others** (`tcpclientsink`, `rtmp2sink`) cannot bound the kernel. Without the limit
  `dependency` shows 71.7 % instead of 75.5 % (MPEG-2 over Verizon) and 62.7 % instead of 70.2 % (H.264). Over TCP use
  `ifdsink` where you can, else a smaller `max-size-time`.
- **The player's start-up**, here a second, which is also the limit of the queue. With 0.3 s of start-up and the same
  limit, MPEG-2 over the narrow wire: `dependency` 15.2 % (51.6 % with a limit of 250 ms), `ifd-optimised` 65.8 %. With
  3 s: over Verizon `recover-policy=keyframe` shows 77.9 % against 76.8 %, and over the Wi-Fi plain TCP shows all.
- **The application.** These are the lab's own writers in virtual time, not the programs themselves. Pipelines of
  GStreamer can be run in real time beside them: [applications](applications.md), `scenarios/pipelines/rivals.toml`.

"""


@dataclass(frozen=True)
class Measure:
    """A column."""

    title: str
    value: Callable[[Row], float | None]
    digits: int
    more_is_better: bool


MEASURES = (
    Measure("shown in time", lambda row: row.shown_percent, 1, True),
    Measure("PSNR", lambda row: row.psnr_db, 1, True),
    Measure("longest freeze", lambda row: row.longest_freeze_s, 2, False),
    Measure("latency p95", lambda row: row.latency_p95_ms, 0, False),
    Measure("maximum", lambda row: row.latency_max_ms, 0, False),
    Measure("key frames lost", lambda row: row.keys_lost, 1, False),
    Measure("undecodable kB", lambda row: row.wasted_kb, 0, False),
)
HEAD = ("", "shown in time %", "PSNR dB", "longest freeze s", "latency p95 ms", "maximum ms", "key frames lost",
        "undecodable kB")  # fmt: skip


def page(rows: Sequence[Row], links: Sequence[Link], codecs: Sequence[str]) -> str:
    """The whole page."""
    parts = [INTRODUCTION, _verdict(rows)]
    for link in links:
        seeds = f", mean of {len(link.seeds)} draws" if len(link.seeds) > 1 else ""
        parts.append(f"## {link.text[0].upper()}{link.text[1:]}{seeds}\n\n")
        parts.extend(f"### {MOVIES[codec]}\n\n{_table(_of(rows, codec, link.name))}\n" for codec in codecs)
    return "".join(parts).rstrip("\n") + "\n"


def _of(rows: Sequence[Row], codec: str, link: str) -> list[Row]:
    return [row for row in rows if row.codec == codec and row.link == link]


def _means(rows: Sequence[Row], measure: Measure) -> dict[str, float | None]:
    """By method, over the draws."""
    means: dict[str, float | None] = {}
    for method in TRANSPORTS:
        values = [value for row in rows if row.method == method and (value := measure.value(row)) is not None]
        means[method] = fmean(values) if values else None
    return means


def _table(rows: Sequence[Row]) -> str:
    columns = [_means(rows, measure) for measure in MEASURES]
    lines = [f"| {' | '.join(HEAD)} |", "|---|" + "---:|" * len(MEASURES)]
    for method, label in TRANSPORTS.items():
        cells = [label if method not in OURS else f"**{label}**"]
        for measure, means in zip(MEASURES, columns, strict=True):
            cells.append(_cell(means, method, measure))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(means: dict[str, float | None], method: str, measure: Measure) -> str:
    value = means[method]
    if value is None:
        return ""
    known = [other for other in means.values() if other is not None]
    best = max(known) if measure.more_is_better else min(known)
    text = f"{value:.{measure.digits}f}"
    return f"**{text}**" if text == f"{best:.{measure.digits}f}" else text


def _verdict(rows: Sequence[Row]) -> str:
    """How often the best of the others beats our default, and by how much at most."""
    lines = ["## Where `dependency` loses to others\n\n"]
    cells = sorted({(row.codec, row.link) for row in rows})
    for measure in (*MEASURES[:3], MEASURES[5]):
        losses = []
        for codec, link in cells:
            means = _means(_of(rows, codec, link), measure)
            ours = means["tcp+dependency"]
            others = {name: value for name, value in means.items() if name not in OURS and value is not None}
            if ours is None or not others:
                continue
            best = (max if measure.more_is_better else min)(others, key=lambda name: others[name])
            behind = others[best] - ours if measure.more_is_better else ours - others[best]
            if behind > 0.5 * 10**-measure.digits:
                losses.append(f"{MOVIES[codec]} over {link}: {ours:.{measure.digits}f} against "
                              f"{others[best]:.{measure.digits}f} of {TRANSPORTS[best]}")  # fmt: skip
        told = "\n".join(f"  - {loss}" for loss in losses) if losses else "  - nowhere"
        lines.append(f"- **{measure.title}**, of {len(cells)} movies and links:\n{told}\n")
    return "".join(lines) + "\n"
