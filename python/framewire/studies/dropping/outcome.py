"""The comparison as the outcome of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from framewire.studies.dropping import claims, losses, real_time, summary, unseen
from framewire.studies.dropping.choices import by_rule, choice_of, seconds
from framewire.studies.dropping.measure import Measured
from framewire.studies.dropping.plan import (
    BITRATE,
    DEFAULT,
    HEIGHT,
    MAIN_STARTUP_MS,
    METHODS,
    MOVIES,
    SOCKETS,
    STARTUPS_MS,
    WIDTH,
    WIFI,
    Setting,
)
from framewire.studies.dropping.tables import of_measures, of_seen, seen_cells
from framewire.studies.outcome import Outcome
from framewire.studies.parts import Part, Points, Section, SideBySide
from framewire.studies.table import Cell, Table, of_findings, of_texts
from framewire.studies.verdicts import Verdict, counted

__all__ = ["outcome"]


def outcome(measured: Measured) -> Outcome:
    """Claims, the means, where ours loses, and every table."""
    plan = measured.plan
    found = claims.findings(measured)
    counts = counted(one.verdict for one in found)
    means = summary.means(measured)
    headline = (
        f"{summary.headline(measured)} {counts[Verdict.HOLDS]} of {len(found)} claims hold, "
        f"{counts[Verdict.FAILS]} do not, {counts[Verdict.UNDECIDED]} are undecided, "
        f"{counts[Verdict.NOT_MEASURED]} were not measured."
    )
    judged = of_findings(found, heads=("for", "what is said", "here"), title="Claims", key="claims")
    return Outcome(
        headline=headline,
        findings=found,
        failures=measured.failures,
        facts=[
            ("bitrate", BITRATE),
            ("movies", str(len(plan.movies))),
            ("links", str(len(plan.links) + len(plan.unseen))),
            ("draws of a link with chance", str(plan.repeats)),
            ("simulated", f"{measured.simulated_s:,.0f} s"),
            ("took", f"{measured.wall_s:,.0f} s"),
        ],
        title="Frame-aware dropping compared",
        command=f"framewire reproduce dropping --seed {plan.seed} --repeats {plan.repeats}",
        overview=[means, Points(list(summary.points(measured))), judged, summary.drawings(measured)],
        sections=list(_sections(measured)),
        summary=[means, judged],
        numbers={"shown": _records(measured)},
        files={"claims.csv": [one.record() for one in found], "shown.csv": _records(measured)},
        took=[
            f"{plan.seconds} s of {len(plan.movies)} movies by {len(plan.settings())} settings, "
            f"{measured.simulated_s:,.0f} simulated s, {measured.wall_s:.0f} s now"
        ],
    )


def _records(measured: Measured) -> list[Mapping[str, Any]]:
    """What was seen of every setting."""
    return [
        {
            "movie": codec,
            "link": link,
            "startup_ms": startup,
            "transport": setting.method.name,
            "limit_ms": setting.limit_ms,
            "socket": setting.socket,
            "shown_percent": round(seen.shown_percent, 4),
            "longest_freeze_s": round(seen.longest_freeze_s, 4),
            "draws": len(seen.shown),
        }
        for (codec, link, startup), of_key in measured.seen.items()
        for setting, seen in of_key.items()
    ]


def _sections(measured: Measured) -> Iterator[Section]:
    yield _compared(measured)
    yield losses.section(measured)
    yield _startups(measured)
    if measured.plan.unseen:
        yield unseen.section(measured)
    yield _own_sockets(measured)
    if measured.plan.with_carrier_sense():
        yield _carrier_sense(measured)
    yield from real_time.sections(measured)
    yield from _full(measured)


_NAMES = (
    ("plain TCP", "tcpclientsink: the pipeline waits, nothing is dropped"),
    ("queue leaky=downstream", "GStreamer's queue before the sink: the oldest buffers go"),
    ("recover-policy=keyframe", "GStreamer's tcpserversink: a client that is too far behind jumps to a key frame"),
    (
        "OBS Studio's rule",
        "its RTMP output: B frames go at 7/9 of a threshold, and at the threshold all until a key frame",
    ),
    ("ifd, ifd-optimised, dependency", "the modes of ifdsink"),
)


def _compared(measured: Measured) -> Section:
    limits = measured.plan.limits_ms
    parts: list[Part] = [
        "A live stream over TCP that falls behind: what the viewer gets when nothing is dropped, when others' rules "
        f"drop, and when ours do. Every movie is the lab's own picture, {measured.plan.seconds} s, {WIDTH}x{HEIGHT} at "
        f"25 Hz, {BITRATE}, encoded as named. Every transport has the link to itself, with the same draws of chance. A "
        "frame is **shown in time** when it can be decoded and came before its turn with a player that starts so long "
        "after the first arrival as stated. The picture's quality is luma PSNR against the movie as sent, a missing "
        "frame scored as the frozen picture in its place, an undamaged one as 50 dB. **Latency** counts the frames "
        "that arrived: with more drops it can be less, so read it beside what was shown.",
        of_texts(("name here", "what it is"), _NAMES, align="left"),
        "What is done for a fair comparison, and what is not fair about it:",
        Points(
            [
                f"**Equal sockets.** In all tables but those that say otherwise, at most {SOCKETS['equal']} wait "
                "unsent in the kernel, for every method, though no program but `ifdsink` sees to that.",
                f"**The best limit for every rival, found afterwards.** Each was run with {len(limits)} limits from "
                f"{limits[0]} ms to {limits[-1]:,} ms (OBS Studio's threshold too, which its users cannot set), and "
                "each case has the one that showed the most frames of this very movie over this very link. It could "
                "not have been chosen before. `dependency` stands there with the limit that is known before: the "
                "player's start-up. What it has with a limit chosen as theirs stands beside it.",
                "**This favours ours: its thresholds were chosen on these movies and links**, by the mean of frames "
                "shown over all of them and with an eye on the longest freeze "
                "(`crates/transport/src/dependency/threshold.rs`). Nothing of the others' rules was tuned but the "
                "limit. So there is a table of links that nothing was tuned on.",
            ]
        ),
    ]
    return Section("What is compared, and how", parts, "compared", "How")


def _startups(measured: Measured) -> Section:
    """A table per start-up: what was shown, and the longest freeze."""
    ours = (
        ("dependency, limit = start-up", lambda key: by_rule(key[2])),
        ("dependency, best limit", choice_of(measured, DEFAULT)),
    )
    columns = [(method.label, choice_of(measured, method)) for method in (*METHODS[:4], METHODS[5])]
    tables = [
        of_seen(measured, f"Start-up {seconds(one)}", measured.keys(one), [*columns, *ours], f"startup-{one}")
        for one in STARTUPS_MS
    ]
    words = (
        "Frames shown in time in per cent, and the longest freeze in seconds; equal sockets; where there is a limit, "
        "it stands below."
    )
    return Section("By the player's start-up", [words, *tables], "startups", "Start-ups")


def _own_sockets(measured: Measured) -> Section:
    """As the programs have it."""
    columns = [
        *((method.label, choice_of(measured, method, "own")) for method in METHODS[:4]),
        ("dependency as ifdqueue ! tcpclientsink", choice_of(measured, DEFAULT, "own")),
        ("ifdsink", lambda key: by_rule(key[2])),
    ]
    title = "With the sockets that the programs have"
    words = (
        f"The same for a start-up of {seconds(MAIN_STARTUP_MS)}, without a bound on what waits unsent in the kernel, "
        "whose send buffer grows, and again the best limit for each. `ifdqueue` before a sink of others is in the same "
        "position; the last column is `ifdsink`, which has the bound, with the limit at the start-up."
    )
    table = of_seen(measured, title, measured.keys(MAIN_STARTUP_MS), columns, "own-sockets")
    return Section(title, [words, table], "sockets", "Own sockets")


def _carrier_sense(measured: Measured) -> Section:
    settings = measured.plan.limited_to_startup()
    rows: list[list[str | Cell]] = []
    for codec in measured.plan.movies:
        for time, link in measured.plan.with_carrier_sense():
            seen = measured.seen.get((codec, link.name, MAIN_STARTUP_MS))
            if seen is not None:
                rows.append([MOVIES[codec], time, *seen_cells([seen[one] for one in settings])])
    title = "At other times of carrier sense"
    words = (
        f"{WIFI.text[0].upper()}{WIFI.text[1:]}, by every method with a limit of the start-up of "
        f"{seconds(MAIN_STARTUP_MS)}; all else on this page is measured at the default, the last of each pair."
    )
    heads = ["", "carrier_sense", *(one.method.label for one in settings)]
    return Section(title, [words, of_texts(heads, rows, title=title, labels=2)], "carrier-sense", "Carrier sense")


def _full(measured: Measured) -> Iterator[Section]:
    """A table for every movie over every link."""
    words = "Equal sockets. **Undecodable**: delivered, and could not be decoded."
    parts: list[Part] = [words]
    for link in measured.plan.links:
        draws = measured.plan.draws(link)
        mean = f", mean of {draws} draws" if draws > 1 else ""
        parts.append(f"**{link.text[0].upper()}{link.text[1:]}{mean}**")
        parts.append(SideBySide([_of_case(measured, codec, link.name) for codec in measured.plan.movies]))
    yield Section(f"All measures, start-up {seconds(MAIN_STARTUP_MS)}", parts, "measures", "All measures")


def _of_case(measured: Measured, codec: str, link: str) -> Table:
    named = [
        (_row_name(one), measured.of(codec, link, one))
        for one in (measured.shown_settings(codec, link) if (codec, link, MAIN_STARTUP_MS) in measured.seen else ())
    ]
    return of_measures(f"{MOVIES[codec]} over {link}", named)


def _row_name(setting: Setting) -> str:
    return setting.method.label + (f", {setting.limit_ms:,} ms" if setting.limit_ms else "")
