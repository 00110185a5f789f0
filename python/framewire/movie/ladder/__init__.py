"""Ladders: one movie at several levels of quality, with the same frames in each, and the file that a server sends.

A ladder is made of a picture of the lab's (``presets``) or of any file that ffmpeg reads: it is encoded once for each
level (``coding``), at rates that are pinned where a preset says so (``pinning``), its levels are checked frame by
frame, and it is cut into packets with the plan by which they are to be sent. ``docs/ladder.md`` has the formats.

>>> made = make(Path("mild"), preset="mild")  # doctest: +SKIP
>>> made.streaming_file, made.description["plan"]["client_buffer_bytes"]  # doctest: +SKIP
"""

from framewire.movie.ladder.build import MadeLadder, Plan, make
from framewire.movie.ladder.coding import LevelSpec, parse_levels
from framewire.movie.ladder.encoded_levels import join
from framewire.movie.ladder.presets import PRESETS

__all__ = ["PRESETS", "LevelSpec", "MadeLadder", "Plan", "join", "make", "parse_levels"]
