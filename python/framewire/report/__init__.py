"""One self-contained HTML file made from a run directory.

It needs no network: styles, scripts, pictures and data are in the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from framewire.report import file
from framewire.report.data import load

__all__ = ["build"]

Progress = Callable[[dict[str, Any]], None]
"""Called with `{"event": "step", "text": ...}` at each step, as runs do."""


def build(
    run_dir: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path:
    """Writes the report of a run directory and returns its path; by default `report.html` in that directory.

    What a run does not hold (a movie that was moved, no sniffer, nothing arrived) is left out with a sentence in its
    place. PSNR is kept in the run directory as `psnr.parquet`, so that a second report is made at once.

    Raises InputError when the directory is no run directory or the file cannot be written.
    """
    from framewire.report import page

    tell = progress or (lambda _event: None)
    run = load(Path(run_dir))
    target = Path(out) if out is not None else run.directory / "report.html"
    html = page.render(run, lambda text: tell({"event": "step", "text": f"report: {text}"}))
    return file.write(html, target)
