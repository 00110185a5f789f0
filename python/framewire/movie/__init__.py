"""Making movies: the lab's own test movie, or any file of the user's, as an MPEG-2 video elementary stream.

ffmpeg does the work, as a program. A movie is made once and kept in a cache under a name that says what went into it:
the picture (drawn, or the bytes of the user's file), every option, and the version of ffmpeg. The options and what
came out stand beside it as JSON, with type, size and luma PSNR of every frame in decode order.

>>> made = make(bitrate=6_000_000, duration=60.0)  # doctest: +SKIP
>>> made.path, made.metadata["sizes"]  # doctest: +SKIP

A movie is a picture (``picture``, ``scene``) that is encoded (``encoder``, ``ffmpeg``) and kept (``cache``), or an
elementary stream of the user's as it is (``elementary_stream``); ``making`` decides which.
"""

from framewire.movie.cache import MadeMovie, cache_directory
from framewire.movie.elementary_stream import codec_of
from framewire.movie.making import check, make, prepare
from framewire.movie.option_values import parse_bitrate, parse_duration
from framewire.movie.picture import Progress

__all__ = [
    "MadeMovie",
    "Progress",
    "cache_directory",
    "check",
    "codec_of",
    "make",
    "parse_bitrate",
    "parse_duration",
    "prepare",
]
