"""Runs of ``framewire reproduce balk`` made up for its tests."""

from __future__ import annotations

from collections.abc import Sequence

from framewire.studies.balk import (
    claims,
)
from framewire.studies.balk.clips import FRAME_RATE
from framewire.studies.balk.clips import made_up as clip
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import Setting


def made_up(setting: Setting, share: float = 1.0, levels: str = "", fates: str = "", seed: int = 1) -> Run:
    """A run in which the stream has this share, and TCP the rest; of its bytes a tenth are headers."""
    fair = setting.fair_share_kbps * 1e3
    others, on_wire = (
        (setting.link_mbps * 1e6 - part) / max(1, setting.tcp) for part in (share * fair, share * fair / 0.9)
    )
    frames = clip(setting.clip).frames
    levels = levels or "2" * frames
    by_second = [share * fair] * 40
    document = {
        "simulated_s": 80.0,
        "stream": {
            "begin_s": 5.0,
            "throughput_bps": share * fair / 0.9,
            "throughput_bps_by_second": [rate / 0.9 for rate in by_second],
            "video_bps": share * fair,
            "packets": {"sent": 100, "delivered": 99},
            "video_bps_by_second": by_second,
            "least_over_floor": 1.0,
            "rate_over_top": 1.0,
            "tfrc_over_equation": None,
            "levels": levels,
            "fates": fates or "i" * frames,
            "completed_s": [5.0 + frame * FRAME_RATE[1] / FRAME_RATE[0] for frame in range(frames)],
            "switches": 1,
            "series": {"t": [5.0, 6.0], "rate_kbps": [1, 2], "estimate_kbps": [None, 2], "level": [0, 2],
                       "plan_kbps": [[1, 2, 3], [1, 2, 3]]},
        },
        "tcp": [{"throughput_bps": on_wire, "goodput_bps": others}] * setting.tcp,
    }  # fmt: skip
    return Run(setting, seed, document)


def seeded(setting: Setting, shares: Sequence[float], levels: str = "") -> list[Run]:
    return [made_up(setting, share, levels, seed=seed) for seed, share in enumerate(shares, 1)]


def measured(*some: tuple[Setting, Sequence[float]]) -> Measured:
    return Measured({setting: seeded(setting, shares) for setting, shares in some}, repeats=3)


def finding(of: Measured, key: str) -> claims.Finding:
    return next(one for one in claims.findings(of) if one.claim.key == key)


def verdict(of: Measured, key: str) -> str:
    return finding(of, key).verdict
