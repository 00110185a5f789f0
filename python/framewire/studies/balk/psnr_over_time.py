"""What the viewer sees, as PSNR over time: figure 21."""

from __future__ import annotations

from statistics import fmean

from framewire.report.figures.base import Figure
from framewire.studies.balk.drawing import HYBRID, LEVEL_COLOURS, RIVAL, VTP, Drawn, line, plot
from framewire.studies.balk.measure import Measured
from framewire.studies.balk.plan import hybrid, mild

__all__ = ["FRAMES", "drawn"]

FRAMES = range(400, 701)
"""Those that the paper shows."""


def drawn(measured: Measured) -> Drawn:
    """The levels as they were encoded, and what came of them among 15 TCP connections."""
    title = "PSNR of luminance, mild clip, frames 400 to 700"
    return Drawn("21", title, (_levels(measured), _received(measured)))


_ABSENT = "the clip's sizes are made up, so that there is no picture to compare"


def _levels(measured: Measured) -> Figure:
    quality = measured.clips["mild"].quality
    traces, means = [], []
    for level, colour in enumerate(LEVEL_COLOURS if quality is not None else ()):
        assert quality is not None
        values = quality.psnr_db[level][0]
        mean = fmean(quality.quantisers[level])
        traces.append(line(f"level {level}", FRAMES, [values[at] for at in FRAMES], colour))
        means.append(f"level {level}: {fmean(values):.1f} dB, quantiser {mean:.1f}")
    hint = f"Every frame against the picture before it was encoded. Means of the clip: {'; '.join(means)}."
    return plot("figure-21", "As encoded", hint, traces, "frame", "dB", _ABSENT, yaxis={"rangemode": "normal"})


def _received(measured: Measured) -> Figure:
    traces, means = [], []
    ways = (("fixed rate", mild(16, transport="fixed"), RIVAL), ("VTP", mild(16), VTP),
            ("VTP, hybrid", hybrid(mild(16)), HYBRID))  # fmt: skip
    quality = measured.clips["mild"].quality
    for name, setting, colour in ways:
        runs = [run for run in measured.of(setting) if run.clip is not None and run.clip.quality is not None]
        if runs:
            traces.append(line(name, FRAMES, [runs[0].shown_psnr_db()[at] for at in FRAMES], colour))
            frozen = 100 - fmean(run.intact_percent for run in runs)
            mean = fmean(fmean(run.shown_psnr_db()) for run in runs)
            means.append(f"{name}: {mean:.1f} dB, {frozen:.1f} % of the frames frozen")
    hint = (
        "Among 15 TCP connections on 3 Mbit/s. A frame that did not come whole and in time is concealed by freezing "
        f"the last one that did; what is whole counts as decoded whole. Means of all seeds: {'; '.join(means)}."
    )
    absent = _ABSENT if quality is None else "it was not measured in this run"
    return plot("figure-21-received", "As received", hint, traces, "frame", "dB", absent, yaxis={"rangemode": "normal"})
