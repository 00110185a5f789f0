"""A run scored as decoded: what FFmpeg's decoder makes of all that arrived, damaged frames too, with its concealment.

The report's score is that of a receiver which discards a frame that lost a packet. Many players hand on what came up to
the gap, and show what their decoder makes of it; here the same run is scored so, slot by slot, in the player's time.
"""

from framewire.as_decoded.score import FILE, Score, measure, write

__all__ = ["FILE", "Score", "measure", "write"]
