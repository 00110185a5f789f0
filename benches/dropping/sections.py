"""The page: what it says, table after table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import applications
import cases
import tables
from cases import (
    BITRATE,
    DEFAULT,
    LIMITS_MS,
    MAIN_STARTUP_MS,
    METHODS,
    MOVIES,
    RIVALS,
    SECONDS,
    STARTUPS_MS,
    Link,
    Setting,
)
from charts import Chart
from measure import Row
from sweep import Key, Sweep

UNSENT = cases.SOCKETS["equal"]
INTRODUCTION = f"""\
# Frame-aware dropping compared

A live stream of {BITRATE} over TCP that falls behind: what the viewer gets when nothing is dropped, when others' rules
drop, and when ours do. `make dropping TRACES=DIR` computes everything here again: text, tables and pictures.

{{summary}}

![Frames shown in time](images/dropping-shown.svg)

![Latency, 95th percentile](images/dropping-latency.svg)

## What is compared, and how

Every movie is the lab's own picture, {SECONDS} s, 720x576 at 25 Hz, encoded as named. Every transport has the link to
itself, with the same draws of chance. A frame is *shown in time* when it can be decoded and came before its turn with
a player that starts so long after the first arrival as is said. The picture's quality is luma PSNR against the movie as
sent, a missing frame scored as the frozen picture in its place, an undamaged one as 50 dB. *Latency* counts the frames
that arrived: who drops more can have less of it, so read it beside what was shown.

| name here | what it is |
|---|---|
| plain TCP | `tcpclientsink`: the pipeline waits, nothing is dropped |
| `queue leaky=downstream` | GStreamer's queue before the sink: the oldest buffers go |
| `recover-policy=keyframe` | GStreamer's `tcpserversink`: a client that is too far behind jumps to a key frame |
| OBS Studio's rule | its RTMP output: B frames go at 7/9 of a threshold, and at the threshold all until a key frame |
| ifd, ifd-optimised, dependency | the modes of `ifdsink` |

Nothing is to favour ours:

- **Equal sockets.** In all tables but those that say otherwise, at most {UNSENT} wait unsent in the kernel, for
  every method, though no program but `ifdsink` sees to that.
- **The best limit for every rival, found afterwards.** Each was run with {len(LIMITS_MS)} limits from {LIMITS_MS[0]} ms
  to {LIMITS_MS[-1]:,} ms (OBS Studio's threshold too, which its users cannot set), and each cell has the one that
  showed the most frames of this very movie over this very link. Nobody could have chosen it before. `dependency`
  stands there with the limit that anybody knows before: the player's start-up. What it has with a limit chosen as
  theirs stands beside it.

"""


@dataclass(frozen=True)
class Results:
    """Everything measured."""

    codecs: Sequence[str]
    links: Sequence[Link]
    sweep: Sweep
    chosen: Sequence[Row]
    applications: Sequence[Row]

    def keys(self, startup_ms: int) -> list[Key]:
        """Every movie over every link."""
        return [(codec, link.name, startup_ms) for codec in self.codecs for link in self.links]

    def rows(self, codec: str, link: str, flow: str) -> list[Row]:
        """Of the full tables."""
        return [row for row in self.chosen if (row.codec, row.link, row.flow) == (codec, link, flow)]


def by_rule(startup_ms: int, socket: str = "equal") -> Setting:
    """Ours, with the limit that is known before."""
    return Setting(DEFAULT, startup_ms, socket)


def best_rival(sweep: Sweep, key: Key) -> Setting:
    """The one with the most frames shown, with equal sockets."""
    settings = [sweep.best(key, method, "equal") for method in RIVALS]
    return max(settings, key=lambda one: sweep.seen[key][one].shown_percent)


def shown_settings(sweep: Sweep, codec: str, link: str) -> list[Setting]:
    """The rows of a full table."""
    key = (codec, link, MAIN_STARTUP_MS)
    best = [sweep.best(key, method, "equal") for method in METHODS]
    return list(dict.fromkeys([*best[:-1], by_rule(MAIN_STARTUP_MS), best[-1]]))


def page(results: Results) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(summary=_summary(results)),
        _losses(results),
        _startups(results),
        _own_sockets(results),
        _applications(results),
        *_full(results),
    ]
    return "".join(parts).rstrip("\n") + "\n"


def charts(results: Results) -> dict[str, Chart]:
    """By the name of their files."""
    labels = [_bar(method) for method in METHODS]
    values: dict[str, dict[tuple[str, str, str], float | None]] = {"shown": {}, "latency": {}}
    for codec, link, _ in results.keys(MAIN_STARTUP_MS):
        settings = shown_settings(results.sweep, codec, link)[: len(METHODS)]
        for label, setting in zip(labels, settings, strict=True):
            rows = results.rows(codec, link, setting.flow_name)
            place = (_panel(results, link), _group(codec), label)
            values["shown"][place] = tables.SHOWN.mean(rows)
            values["latency"][place] = tables.P95.mean(rows)
    axes = ([_panel(results, link.name) for link in results.links], [_group(codec) for codec in results.codecs], labels)
    shown = Chart("Frames shown in time, player waits 1 s", "%", *axes, values["shown"])
    latency = Chart("Latency, 95th percentile, of the frames that arrived", "ms", *axes, values["latency"], True)
    return {"shown": shown, "latency": latency}


def _bar(method: cases.Method) -> str:
    return {"tcp+leaky": "queue leaky", "tcp+keyframe": "recover-policy", "tcp+obs": "OBS Studio"}.get(
        method.name, method.label
    )


def _panel(results: Results, link: str) -> str:
    return next(one.text for one in results.links if one.name == link)


def _group(codec: str) -> str:
    return MOVIES[codec].replace("B frames without a pyramid", "no pyramid").replace("a pyramid of B frames", "pyramid")


def _summary(results: Results) -> str:
    """Means, so that a reader has one number."""
    lines = [["mean over all movies and links", *(f"start-up {_seconds(startup)}" for startup in STARTUPS_MS)]]
    best = {startup: _mean(results, startup, lambda key: best_rival(results.sweep, key)) for startup in STARTUPS_MS}
    lines.append(["the best rival of each cell, with its best limit", *(best[startup] for startup in STARTUPS_MS)])
    optimised = Setting(METHODS[-2], None, "equal")
    lines.append(["`ifd-optimised`", *(_mean(results, startup, lambda _: optimised) for startup in STARTUPS_MS)])
    rule = [_mean(results, startup, lambda key: by_rule(key[2])) for startup in STARTUPS_MS]
    lines.append(["**`dependency`, limit = start-up**", *(f"**{cell}**" for cell in rule)])
    ours = [_mean(results, at, lambda key: results.sweep.best(key, DEFAULT, "equal")) for at in STARTUPS_MS]
    lines.append(["`dependency`, best limit", *ours])
    return "**In short.** Frames shown in time, and the longest freeze:\n\n" + tables.markdown(lines) + "\n" + IN_WORDS


IN_WORDS = """\
`dependency` with the player's start-up as its limit is the choice for every codec. Where the player waits 0.3 s or less
and the movie is MPEG-2, `ifd-optimised` is better and has the lowest latency; with pyramids of B frames it is of no
use. With seconds of start-up on a link that only dips, nothing has to be dropped at all."""


def _mean(results: Results, startup: int, setting: object) -> str:
    seen = [results.sweep.seen[key][setting(key)] for key in results.keys(startup)]  # type: ignore[operator]
    return f"{fmean(one.shown_percent for one in seen):.1f} % ({fmean(one.longest_freeze_s for one in seen):.1f} s)"


def _seconds(startup_ms: int) -> str:
    return f"{startup_ms / 1000:g} s"


def _losses(results: Results) -> str:
    """Where the best of the others beats our default, by any measure."""
    lines = [
        "## Where `dependency` loses\n\nWith its limit at the start-up, against the best of the others with the limit "
        "that is best for them in that cell:\n\n"
    ]
    for startup in STARTUPS_MS:
        told = list(_lost_shown(results, startup))
        count = len(results.keys(startup))
        lines.append(f"- **shown in time, start-up {_seconds(startup)}**: behind in {len(told)} of {count}")
        lines.append("".join(f"\n  - {one}" for one in told) + "\n")
    for measure in (tables.PSNR, tables.FREEZE, tables.MEASURES[5], tables.MEASURES[6]):
        told = list(_lost_by(results, measure))
        lines.append(f"- **{measure.title}, start-up 1 s**: behind in {len(told)} of {len(results.keys(1000))}")
        lines.append("".join(f"\n  - {one}" for one in told) + "\n")
    lines.append(WHY)
    return "".join(lines)


WHY = """
Why it is left at that:

- **Freezes.** A link that is too narrow takes a share of the frames from everybody. OBS Studio's rule takes B frames
  everywhere, which are short gaps and many of them; `dependency` takes the ends of groups, where a lost frame saves the
  most bytes. That is the exchange: more frames shown, in return for one gap of half a second in a group instead of many
  of a tenth. Leaving old groups at a quarter of the limit, or giving up B frames from 0.6 of it on, was tried: it
  shortens the mean longest freeze by 0.1 to 0.2 s, and costs 0.4 % of the frames (the numbers to turn are in
  `crates/transport/src/dependency/threshold.rs`).
- **Links that stand still** for longer than the player waits freeze everybody; what differs there is where in a
  group the stream goes on, which is chance: a tenth of a second of limit more or less turns a second of freeze.
- **A start-up of seconds.** Who drops late and whole groups wins where the link comes back in time, and he who never
  drops wins where it always does. Both are known only afterwards.

"""


def _lost_shown(results: Results, startup: int) -> Iterator[str]:
    for key in results.keys(startup):
        seen = results.sweep.seen[key]
        rival = best_rival(results.sweep, key)
        ours, theirs = seen[by_rule(startup)].shown_percent, seen[rival].shown_percent
        if round(theirs, 1) > round(ours, 1):
            yield f"{_cell_name(key)} {ours:.1f} against {theirs:.1f} of {_named(rival)}"


def _lost_by(results: Results, measure: tables.Measure) -> Iterator[str]:
    for key in results.keys(MAIN_STARTUP_MS):
        codec, link, _ = key
        ours = measure.mean(results.rows(codec, link, by_rule(MAIN_STARTUP_MS).flow_name))
        rivals = [results.sweep.best(key, method, "equal") for method in RIVALS]
        known = {
            one: value
            for one in rivals
            if (value := measure.mean(results.rows(codec, link, one.flow_name))) is not None
        }
        # A freeze or a loss counts only against those who show the viewer something: a stream that is late altogether
        # loses no key frame.
        seen = results.sweep.seen[key]
        known = {
            one: value
            for one, value in known.items()
            if seen[one].shown_percent > 0.5 * seen[by_rule(1000)].shown_percent
        }
        if ours is None or not known:
            continue
        best = (max if measure.more_is_better else min)(known, key=lambda one: known[one])
        behind = known[best] - ours if measure.more_is_better else ours - known[best]
        if behind > 0.5 * 10**-measure.digits:
            frames = [f"{seen[one].shown_percent:.1f}" for one in (by_rule(MAIN_STARTUP_MS), best)]
            yield (
                f"{_cell_name(key)} {measure.text(ours)} against {measure.text(known[best])} of {_named(best)} "
                f"(shown {frames[0]} % against {frames[1]} %)"
            )


def _cell_name(key: Key) -> str:
    return f"{_group(key[0])} over {key[1]}"


def _named(setting: Setting) -> str:
    return setting.method.label + (f" at {setting.limit_ms:,} ms" if setting.limit_ms else "")


def _startups(results: Results) -> str:
    """A table per start-up: what was shown, and the longest freeze."""
    parts = [
        "## By the player's start-up\n\nFrames shown in time in per cent, and the longest freeze in seconds; equal "
        "sockets; where there is a limit, it stands below.\n\n"
    ]
    for startup in STARTUPS_MS:
        columns = [
            *(lambda key, method=method: results.sweep.best(key, method, "equal") for method in METHODS[:4]),
            lambda key: results.sweep.best(key, METHODS[5], "equal"),
            lambda key: by_rule(key[2]),
            lambda key: results.sweep.best(key, DEFAULT, "equal"),
        ]
        heads = [*(method.label for method in METHODS[:4]), "ifd-optimised", "**dependency**, limit = start-up",
                 "dependency, best limit"]  # fmt: skip
        parts.append(f"### Start-up {_seconds(startup)}\n\n{_seen_table(results, startup, heads, columns)}\n")
    return "".join(parts)


def _seen_table(results: Results, startup: int, heads: Sequence[str], columns: Sequence[object]) -> str:
    lines = [["", *heads]]
    for key in results.keys(startup):
        chosen = [column(key) for column in columns]  # type: ignore[operator]
        seen = [results.sweep.seen[key][one] for one in chosen]
        top = max(round(one.shown_percent, 1) for one in seen)
        cells = []
        for setting, one in zip(chosen, seen, strict=True):
            shown = f"{one.shown_percent:.1f}"
            shown = f"**{shown}**" if round(one.shown_percent, 1) == top else shown
            limit = f"<br>{setting.limit_ms:,} ms" if setting.limit_ms else ""
            cells.append(f"{shown} ({one.longest_freeze_s:.2f}){limit}")
        lines.append([_cell_name(key), *cells])
    return tables.markdown(lines)


def _own_sockets(results: Results) -> str:
    """As the programs have it."""
    heads = [*(method.label for method in METHODS[:4]), "`dependency` as `ifdqueue ! tcpclientsink`", "`ifdsink`"]
    columns = [
        *(lambda key, method=method: results.sweep.best(key, method, "own") for method in METHODS[:4]),
        lambda key: results.sweep.best(key, DEFAULT, "own"),
        lambda key: by_rule(key[2]),
    ]
    table = _seen_table(results, MAIN_STARTUP_MS, heads, columns)
    return f"{OWN_SOCKETS}{table}\n"


OWN_SOCKETS = """\
## With the sockets that the programs have

The same for a start-up of 1 s, without a bound on what waits unsent in the kernel, whose send buffer grows, and again
the best limit for each. `ifdqueue` before a sink of others is in the same position; the last column is `ifdsink`, which
has the bound, with the limit at the start-up.

"""


def _applications(results: Results) -> str:
    if not results.applications:
        return ""
    links = [link for link in results.links if link.name in applications.LINKS]
    parts = [APPLICATIONS]
    for link in links:
        parts.append(f"### Applications: {link.text}\n\n")
        for codec in (codec for codec in results.codecs if codec in applications.MOVIES):
            rows = [row for row in results.applications if (row.codec, row.link) == (codec, link.name)]
            named = [
                (_labelled(one, rows), [row for row in rows if row.flow == one.name])
                for one in applications.FLOWS
                if any(row.flow == one.name for row in rows)
            ]
            parts.append(f"**{MOVIES[codec]}**\n\n{tables.of_measures(named)}\n")
    parts.append(_agreement(results))
    return "".join(parts)


APPLICATIONS = f"""\
## The programs themselves

GStreamer's own elements, SRT and ours, in real time over the emulated network: {applications.SECONDS} s of two of the
movies over two of the links. Start-up 1 s. Limits of the others as found best in virtual time with their own
sockets; that of `ifdsink` is its default of a second. SRT's receiver waits {applications.SRT_LATENCY_MS} ms itself
(`latency`) and the player {applications.PLAYER_MS} ms more, so that its frames are due when the others' are; its
latencies contain the wait. {applications.AT_ONCE} flows run at a time; one that the machine disturbed was run again,
and is marked † where that did not help. OBS Studio is a program with a window, so its rule is in the tables of the lab
only.

"""


def _labelled(one: applications.Application | applications.Lab, rows: Sequence[Row]) -> str:
    label = f"**{one.label}**" if one.ours else one.label
    disturbed = any(row.disturbed for row in rows if row.flow == one.name)
    return label + " †" * disturbed


def _agreement(results: Results) -> str:
    """Where an element and the lab's transport ought to be the same."""
    lines = [["", "shown in time %, application", "the lab's", "latency p95 ms, application", "the lab's"]]
    for twin in (one for one in applications.FLOWS if isinstance(one, applications.Lab)):
        for link in applications.LINKS:
            for codec in results.codecs:
                pair = [
                    [row for row in results.applications if (row.codec, row.link, row.flow) == (codec, link, name)]
                    for name in (twin.twin, twin.name)
                ]
                if not all(pair):
                    continue
                cells = [measure.text(measure.mean(rows)) for measure in (tables.SHOWN, tables.P95) for rows in pair]
                lines.append([f"`{twin.twin}`, {_group(codec)} over {link}", *cells])
    return AGREEMENT + tables.markdown(lines) + "\n"


AGREEMENT = """\
### Where element and lab ought to agree

`tcpclientsink` and the lab's `tcp`, `ifdsink` and the lab's `tcp+dependency` have the same rules and the same sockets.
What is left between them: the parser gives a frame on when the next one begins, 40 ms later, and the pipe before it
holds 16 KiB; and the runs were not at the same time, on a machine with two cores.

"""


def _full(results: Results) -> Iterator[str]:
    """A table for every movie over every link."""
    yield ("## All measures, start-up 1 s\n\nEqual sockets. *Undecodable*: delivered, and could not be decoded.\n\n")
    for link in results.links:
        draws = f", mean of {len(link.seeds)} draws" if len(link.seeds) > 1 else ""
        yield f"### {link.text[0].upper()}{link.text[1:]}{draws}\n\n"
        for codec in results.codecs:
            settings = shown_settings(results.sweep, codec, link.name)
            named = [(_row_name(one), results.rows(codec, link.name, one.flow_name)) for one in settings]
            yield f"**{MOVIES[codec]}**\n\n{tables.of_measures(named)}\n"


def _row_name(setting: Setting) -> str:
    limit = f", {setting.limit_ms:,} ms" if setting.limit_ms else ""
    label = f"**{setting.method.label}**" if setting.method.ours else setting.method.label
    return label + limit
