"""The interactive plots, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass

from framewire.report.data import ReportRun
from framewire.report.figures import link, losses, over_time, packets, quality, reports
from framewire.report.figures.base import Figure, arranged
from framewire.report.psnr import PsnrResult

__all__ = ["Figure", "Section", "accuracy", "sections"]


@dataclass(frozen=True)
class Section:
    """Figures under one heading."""

    name: str
    title: str
    figures: list[Figure]


def of_pictures(run: ReportRun, psnr: PsnrResult) -> Section:
    """The figures that need the pictures to be compared."""
    made = [quality.per_second(run, psnr), quality.per_frame(run, psnr)]
    return Section("quality", "Picture quality", arranged(made))


def of_tables(run: ReportRun) -> list[Section]:
    """All others."""
    return [Section(one.name, one.title, arranged(one.figures)) for one in drawn(run)]


def drawn(run: ReportRun) -> list[Section]:
    """Those that are made of the run's tables, section by section."""
    return [
        Section(
            "time",
            "Throughput and delay",
            [over_time.frame_throughput(run), over_time.packet_throughput(run), over_time.latency(run),
             over_time.jitter(run)],
        ),
        Section(
            "losses",
            "Losses",
            [losses.by_fate(run), losses.by_place(run), losses.by_type(run), losses.size_against_latency(run),
             losses.frame_runs(run), losses.packet_runs(run), losses.missed(run), losses.discontinuities(run)],
        ),
        Section("packets", "Packets", [packets.sizes(run), packets.gaps(run), packets.gaps_over_time(run)]),
        *([] if run.sound.is_empty() else [
            Section("sound", "Sound", [over_time.apart(run), over_time.sound_latency(run)])
        ]),
        *([Section(
            "link",
            "On the air",
            [link.transmissions(run), link.transmissions_over_time(run), link.rates_over_time(run), link.sniffer(run)],
        )] if run.has_air else []),
        *([Section("levels", "Levels", [over_time.levels(run), over_time.sending_rates(run), over_time.estimates(run)])]
          if run.has_levels else []),
        *([Section("reports", "What RTCP reports", [reports.loss(run), reports.round_trip(run), reports.jitter(run)])]
          if not run.reports.is_empty() else []),
        *([Section("socket", "In the sender's socket", [link.congestion_window(run), link.unsent_bytes(run)])]
          if run.samples_sockets else []),
    ]  # fmt: skip


def accuracy(run: ReportRun) -> Figure:
    """The figure that stands beside the proof of accuracy."""
    return arranged([link.release_errors(run)])[0]
