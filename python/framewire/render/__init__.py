"""A film of what each viewer saw: all screens of a run side by side, as pictures stood on them, with every freeze.

The pictures are those of the report: what the received movie decodes to, in the time of the run's player.
"""

from framewire.render.film import Options, render

__all__ = ["Options", "render"]
