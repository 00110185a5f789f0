"""The page: what it says, table after table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import applications
import cases
import losses
import summary
import tables
import unseen
from cases import BITRATE, DEFAULT, LIMITS_MS, MAIN_STARTUP_MS, METHODS, MOVIES, SECONDS, STARTUPS_MS, Setting
from charts import Chart
from measure import Row
from results import Results, by_rule, cell, movie, seconds, shown_settings

from framewire.studies.writers import markdown_table

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
a player that starts so long after the first arrival as stated. The picture's quality is luma PSNR against the movie as
sent, a missing frame scored as the frozen picture in its place, an undamaged one as 50 dB. *Latency* counts the frames
that arrived: with more drops it can be less, so read it beside what was shown.

| name here | what it is |
|---|---|
| plain TCP | `tcpclientsink`: the pipeline waits, nothing is dropped |
| `queue leaky=downstream` | GStreamer's queue before the sink: the oldest buffers go |
| `recover-policy=keyframe` | GStreamer's `tcpserversink`: a client that is too far behind jumps to a key frame |
| OBS Studio's rule | its RTMP output: B frames go at 7/9 of a threshold, and at the threshold all until a key frame |
| ifd, ifd-optimised, dependency | the modes of `ifdsink` |

What is done for a fair comparison, and what is not fair about it:

- **Equal sockets.** In all tables but those that say otherwise, at most {UNSENT} wait unsent in the kernel, for
  every method, though no program but `ifdsink` sees to that.
- **The best limit for every rival, found afterwards.** Each was run with {len(LIMITS_MS)} limits from {LIMITS_MS[0]} ms
  to {LIMITS_MS[-1]:,} ms (OBS Studio's threshold too, which its users cannot set), and each cell has the one that
  showed the most frames of this very movie over this very link. It could not have been chosen before. `dependency`
  stands there with the limit that is known before: the player's start-up. What it has with a limit chosen as
  theirs stands beside it.
- **This favours ours: its thresholds were chosen on these movies, links and draws**, by the mean of frames shown over
  all of them and with an eye on the longest freeze (`crates/transport/src/dependency/threshold.rs`;
  [why](transports.md#why-these-rules)). Nothing of the others' rules was tuned but the limit. So there is a table of
  [{unseen.TITLE[0].lower()}{unseen.TITLE[1:]}](#{unseen.TITLE.lower().replace(" ", "-")}).

"""


def page(results: Results) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(summary=summary.in_short(results)),
        losses.section(results),
        _startups(results),
        unseen.section(results),
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
            place = (_panel(results, link), movie(codec), label)
            values["shown"][place] = tables.SHOWN.mean(rows)
            values["latency"][place] = tables.P95.mean(rows)
    axes = ([_panel(results, link.name) for link in results.links], [movie(codec) for codec in results.codecs], labels)
    shown = Chart(f"Frames shown in time, player waits {seconds(MAIN_STARTUP_MS)}", "%", *axes, values["shown"])
    latency = Chart("Latency, 95th percentile, of the frames that arrived", "ms", *axes, values["latency"], True)
    return {"shown": shown, "latency": latency}


def _bar(method: cases.Method) -> str:
    return {"tcp+leaky": "queue leaky", "tcp+keyframe": "recover-policy", "tcp+obs": "OBS Studio"}.get(
        method.name, method.label
    )


def _panel(results: Results, link: str) -> str:
    return next(one.text for one in results.links if one.name == link)


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
        parts.append(f"### Start-up {seconds(startup)}\n\n{_seen_table(results, startup, heads, columns)}\n")
    return "".join(parts)


def _seen_table(results: Results, startup: int, heads: Sequence[str], columns: Sequence[object]) -> str:
    lines = [["", *heads]]
    for key in results.keys(startup):
        chosen = [column(key) for column in columns]  # type: ignore[operator]
        texts = tables.of_seen([results.sweep.seen[key][one] for one in chosen])
        limits = (f"<br>{setting.limit_ms:,} ms" if setting.limit_ms else "" for setting in chosen)
        cells = [f"{text}{limit}" for text, limit in zip(texts, limits, strict=True)]
        lines.append([cell(key), *cells])
    return markdown_table(lines[0], lines[1:])


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
    parts = [APPLICATIONS, _mean_of_applications(results)]
    for link in results.links:
        parts.append(f"### Applications: {link.text}\n\n")
        for codec in results.codecs:
            rows = [row for row in results.applications if (row.codec, row.link) == (codec, link.name)]
            named = [
                (_labelled(one, rows), [row for row in rows if row.flow == one.name])
                for one in applications.FLOWS
                if any(row.flow == one.name for row in rows)
            ]
            parts.append(f"**{MOVIES[codec]}**\n\n{tables.of_measures(named)}\n")
    parts.append(_agreement(results))
    return "".join(parts)


def _mean_of_applications(results: Results) -> str:
    """One table over all cells, before those of each."""
    cells = {(row.codec, row.link) for row in results.applications}
    named = [
        (_labelled(one, rows), rows)
        for one in applications.FLOWS
        if (rows := [row for row in results.applications if row.flow == one.name])
    ]
    return f"### Applications: mean over {len(cells)} movies x links\n\n{tables.of_measures(named)}\n"


APPLICATIONS = f"""\
## The programs themselves

GStreamer's own elements, SRT and ours, in real time over the emulated network: {applications.SECONDS} s of each
movie over each link, every TCP socket with CUBIC. Start-up 1 s. Limits of the others as found best in virtual
time with their own sockets; that of `ifdsink` is its default of a second. SRT's receiver waits
{applications.SRT_LATENCY_MS} ms itself (`latency`) and the player {applications.PLAYER_MS} ms more, so that its frames
are due when the others' are; its latencies contain the wait. {applications.AT_ONCE} flows run at a time; one that the
machine disturbed was run again, and is marked † where that did not help. OBS Studio is a program with a window, so its
rule is in the tables of the lab only.

"""


def _labelled(one: applications.Application | applications.Lab, rows: Sequence[Row]) -> str:
    label = f"**{one.label}**" if one.ours else one.label
    disturbed = any(row.disturbed for row in rows if row.flow == one.name)
    return label + " †" * disturbed


def _agreement(results: Results) -> str:
    """Where an element and the lab's transport ought to be the same."""
    lines = [["", "shown in time %, application", "the lab's", "latency p95 ms, application", "the lab's"]]
    for twin in (one for one in applications.FLOWS if isinstance(one, applications.Lab)):
        for link in (link.name for link in results.links):
            for codec in results.codecs:
                pair = [
                    [row for row in results.applications if (row.codec, row.link, row.flow) == (codec, link, name)]
                    for name in (twin.twin, twin.name)
                ]
                if not all(pair):
                    continue
                cells = [measure.text(measure.mean(rows)) for measure in (tables.SHOWN, tables.P95) for rows in pair]
                lines.append([f"`{twin.twin}`, {movie(codec)} over {link}", *cells])
    return AGREEMENT + markdown_table(lines[0], lines[1:]) + "\n"


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
