"""What a movie is made of, read from its frame index."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Group

from framewire import _native
from framewire.errors import InputError, MachineError
from framewire.files import is_container
from framewire.frame_columns import ColumnFile, Columns, columns
from framewire.movie import ffmpeg
from framewire.movie.option_values import parse_frame_rate
from framewire.movie.sound import Track, refusal, tracks_of
from framewire.movie.source import rotation_of, video_of
from framewire.wrapped_table import WrappedTable

__all__ = ["Probe", "probe"]

NANOS = 1_000_000_000

ROWS_OF_A_TABLE = 10_000

PICTURES = "pictures in display order"

STREAMING_FILE = bytes.fromhex("89 56 54 50 0D 0A 1A 0A")
"""How a streaming file begins (docs/ladder.md): behind it stand bytes that may be taken for any stream."""


@dataclass(frozen=True)
class Probe:
    """The frame index of a movie."""

    path: str
    sequence: dict[str, Any]
    """Width, height, frame rate (a fraction, or None), stated bit rate, MPEG-2 or not, progressive or not."""
    frames: Columns
    """Sequences, in decode order: frame, display, type, gop, size, offset, decode_ns, references, ..."""
    tracks: tuple[Track, ...] | None = None
    """What sound stands beside the video; None in an elementary stream, which holds none."""
    rotation: int | None = None
    """Degrees by which a container says that players are to turn the pictures; None in an elementary stream."""
    uneven_rate: float | None = None
    """Frames per second in the mean, where a container shows them at uneven distances; None where these are even."""

    @property
    def duration_s(self) -> float | None:
        """Frames times the frame interval; None where the frame rate is not known."""
        if self.sequence["frame_rate"] is None:
            return None
        numerator, denominator = self.sequence["frame_rate"]
        return len(self.frames["size"]) * int(denominator) / int(numerator)

    @property
    def bytes(self) -> int:
        """All frames together."""
        return sum(self.frames["size"])

    @property
    def mean_bps(self) -> float | None:
        """Mean rate over the whole movie; None where the frame rate is not known."""
        return None if self.duration_s is None else self.bytes * 8 / self.duration_s

    @property
    def cannot_be_sent(self) -> list[str]:
        """What flows cannot send of it as it is, and what helps: a sentence each, without the full stop."""
        said = []
        if self.tracks and all(map(refusal, self.tracks)):
            why = refusal(self.tracks[0])
            said.append(f"{why}: without movie.sound the video is sent alone (ffmpeg -i FILE -c:v copy -c:a aac NEW)")
        return said

    def peak_bps(self) -> float | None:
        """The highest rate over any window of one second that begins with a frame; None as the mean."""
        if self.duration_s is None:
            return None
        times, sizes = self.frames["decode_ns"], self.frames["size"]
        entering = zip(times, sizes, strict=True)
        best = window = 0
        after = next(entering, None)
        for begin, size in zip(times, sizes, strict=True):
            while after is not None and after[0] < begin + NANOS:
                window += after[1]
                after = next(entering, None)
            best = max(best, window)
            window -= size
        return best * 8 / min(1.0, self.duration_s)

    def types(self) -> list[dict[str, Any]]:
        """Count and sizes per picture type."""
        by_type: dict[str, _Sizes] = {}
        for kind, size in zip(self.frames["type"], self.frames["size"], strict=True):
            by_type.setdefault(kind, _Sizes()).add(size)
        total = self.bytes
        return [
            {
                "type": kind,
                "frames": sizes.count,
                "mean_bytes": sizes.total / sizes.count,
                "min_bytes": sizes.least,
                "max_bytes": sizes.most,
                "share_of_bytes": sizes.total / total,
            }
            for kind, sizes in sorted(by_type.items(), key=lambda item: "IPBD".index(item[0]))
        ]

    def groups(self) -> Iterator[dict[str, Any]]:
        """One entry per group of pictures, its types in display order."""
        names = ("gop", "type", "display", "size", "closed", "broken_link", "time_code")
        rows = zip(*(self.frames[name] for name in names), strict=True)
        for number, frames in itertools.groupby(rows, key=lambda row: row[0]):
            group = _Group()
            header: tuple[Any, Any, Any] = (None, None, None)
            for _, kind, display, size, *facts in frames:
                group.add(kind, display, size)
                if header[2] is None and facts[2] is not None:
                    header = facts[0], facts[1], facts[2]
            yield {
                "gop": number,
                "types": group.in_display_order(),
                "bytes": group.bytes,
                "closed": header[0],
                "broken_link": header[1],
                "time_code": header[2],
            }

    def as_json(self, with_frames: bool) -> dict[str, Any]:
        """Everything, for ``--json``; groups and frames are iterators, as there may be millions."""
        document = {
            "path": self.path,
            "sequence": self.sequence,
            "frames": len(self.frames["size"]),
            "bytes": self.bytes,
            "duration_s": self.duration_s,
            "mean_bps": _rounded(self.mean_bps),
            "peak_bps": _rounded(self.peak_bps()),
            "sound": None if self.tracks is None else bool(self.tracks),
            "tracks": None if self.tracks is None else [asdict(track) for track in self.tracks],
            "cannot_be_sent": self.cannot_be_sent,
            "rotation": self.rotation,
            "uneven_rate": self.uneven_rate,
            "types": self.types(),
            "groups": self.groups(),
        }
        if with_frames:
            names = list(self.frames)
            rows = zip(*self.frames.values(), strict=True)
            document["frame_index"] = (dict(zip(names, row, strict=True)) for row in rows)
        return document

    def tables(self) -> Group:
        """What the movie is made of, for a terminal."""
        unsent = [f"cannot be sent as it is: {reason}" for reason in self.cannot_be_sent]
        return Group("\n".join([self._headline(), *unsent]), self._types_table(), self._groups_table())

    def _headline(self) -> str:
        header, frames = self.sequence, len(self.frames["size"])
        mpeg = "MPEG-2" if header["mpeg2"] else "MPEG-1"
        coding = mpeg if header["codec"] == "MPEG video" else header["codec"]
        scan = "progressive" if header["progressive"] else "interlaced"
        stated = f"{header['bit_rate'] / 1e6:.3f} Mbit/s stated" if header["bit_rate"] else ""
        what, size = f"{coding} video, {header['width']}x{header['height']}", f"{self.bytes:,} bytes"
        if self.tracks is not None:
            size += f"; with sound: {'; '.join(map(str, self.tracks))}" if self.tracks else "; no sound"
        if self.rotation:
            what += f" (players turn it by {self.rotation} degrees, as its container says: the stream itself does not)"
        mean, peak = self.mean_bps, self.peak_bps()
        if self.duration_s is None or mean is None or peak is None:
            unknown = "frame rate unknown (the stream does not tell it: --frame-rate), and with it all rates and times"
            return f"{what}, {scan}\n{frames} frames, {size}\n{stated or unknown}"
        numerator, denominator = header["frame_rate"]
        rate = f"{numerator / denominator:.5g} frames/s"
        if self.uneven_rate is not None:
            rate += f" (evenly; in its container at uneven distances, {self.uneven_rate:.5g} frames/s in the mean)"
        return (
            f"{what}, {rate}, {scan}\n"
            f"{frames} frames, {self.duration_s:.2f} s, {size}\n"
            f"{mean / 1e6:.3f} Mbit/s mean, {peak / 1e6:.3f} Mbit/s in the fullest second"
            f"{stated and f', {stated}'}"
        )

    def _types_table(self) -> WrappedTable:
        types = self.types()
        heads = ("type", "frames", "mean size", "smallest", "largest", "of all bytes", "relative to the smallest")
        least = min(row["mean_bytes"] for row in types) or 1
        rows = [
            (
                row["type"],
                str(row["frames"]),
                f"{row['mean_bytes']:,.0f} B",
                f"{row['min_bytes']:,} B",
                f"{row['max_bytes']:,} B",
                f"{100 * row['share_of_bytes']:.1f} %",
                f"{row['mean_bytes'] / least:.2f}",
            )
            for row in types
        ]
        return WrappedTable.of(heads, rows)

    def _groups_table(self) -> WrappedTable:
        """Groups that are alike share a row."""
        alike = Counter((row["types"], row["closed"], row["broken_link"]) for row in self.groups())
        # Only MPEG video has headers of groups, and they need not be there.
        headers = any(closed is not None for _, closed, _ in alike)
        heads = ("groups", PICTURES, *(("closed", "broken link") if headers else ()))
        rows = []
        for (types, closed, broken), count in alike.most_common(20):
            shown = types if len(types) <= 50 else f"{types[:47]}..."
            told = (_word(closed), _word(broken)) if headers else ()
            rows.append((str(count), f"{shown} ({len(types)})", *told))
        if len(alike) > 20:
            rows.append(("...", f"{len(alike) - 20} more kinds of group", *([""] * (len(heads) - 2))))
        return WrappedTable.of(heads, rows, left=[PICTURES])

    def frame_tables(self) -> Iterator[WrappedTable]:
        """All frames, for a terminal: a table, and of a long movie one for each 10,000 frames."""
        names = ("frame", "display", "type", "gop", "temporal_reference", "offset", "size", "structure", "references")
        rows = zip(*(self.frames[name] for name in names), strict=True)
        for _ in range(0, len(self.frames["size"]), ROWS_OF_A_TABLE):
            heads = ("frame", "display", "type", "group", "time ref", "offset", "size", "structure", "refers to")
            some = itertools.islice(rows, ROWS_OF_A_TABLE)
            yield WrappedTable.of(
                heads, [(*map(str, facts), " ".join(map(str, references))) for *facts, references in some]
            )


def probe(path: str | os.PathLike[str], frame_rate: str | None = None) -> Probe:
    """Read the frame index of a video.

    It is an elementary stream, or stands in a container, out of which ffmpeg takes it as it is; offsets are then those
    in the stream. ``frame_rate``, for instance ``25 Hz``, is that of a stream that does not tell its own. Raises
    InputError for anything else and for what cannot be read.
    """
    rate = None if frame_rate is None else parse_frame_rate(frame_rate)
    ffmpeg.refuse_no_file(Path(path))
    tracks = rotation = uneven = None
    scratch = ColumnFile()
    try:
        with Path(path).open("rb") as file:
            if file.read(len(STREAMING_FILE)) == STREAMING_FILE:
                raise InputError(f"{path}: is a streaming file: framewire movie ladder FILE describes it")
        if is_container(path):
            found, uneven = _taken_out(Path(path), scratch, rate)
            tracks = tuple(tracks_of(Path(path)))
            rotation = rotation_of(ffmpeg.probe(Path(path))["streams"][0])
        else:
            found = _native.probe_movie(path, scratch.file, _ratio(rate))
    except _native.MovieError as error:
        from framewire.movie.elementary_stream import carried, without_headers

        if (bare := next((codec for text, codec in _BARE.items() if text in str(error)), None)) is not None:
            raise without_headers(Path(path), bare) from None
        if not str(error).startswith(_NOTHING_FOUND):
            raise InputError(f"{path}: {error}") from None
        _refuse_no_movie(Path(path))
        raise InputError(
            f"{path}: no video is found in it; a container with video, or an elementary stream of {carried('or')}, is "
            "needed"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot read the movie: {error.strerror or error}") from None
    return Probe(str(path), found["sequence"], columns(found["frames"], scratch), tracks, rotation, uneven)


_BARE = {"looks like an H.264 byte": "H.264", "looks like an H.265 byte": "H.265", "looks like MPEG-4": "MPEG-4 part 2"}
"""How the scanner ends for a stream that begins as one of these codecs and has not its headers."""

_NOTHING_FOUND = "not MPEG video: no sequence header"
"""How the scanner of MPEG video, which is asked last, ends for what is no stream at all."""


def _refuse_no_movie(path: Path) -> None:
    """Raises InputError, in the words of what makes movies, for a file in which no scanner finds a stream: sound, a
    still picture, text. Without ffmpeg nothing more is known of it.
    """
    from framewire.movie.source import refuse_what_does_not_move

    with path.open("rb") as file:
        if not any(file.read(1 << 16)):  # ffprobe would look for the first packet to the end of such a file
            return
    with contextlib.suppress(MachineError):
        refuse_what_does_not_move(video_of(path))


def _taken_out(
    path: Path, scratch: ColumnFile, rate: Fraction | None
) -> tuple[dict[str, dict[str, Any]], float | None]:
    """The same of the video in a container, and its mean rate where its frames stand at uneven distances."""
    from framewire.movie.elementary_stream import look_into, uneven_rate_of  # ffmpeg is not needed for others

    video = video_of(path)
    uneven = uneven_rate_of(video)
    with tempfile.TemporaryDirectory(prefix="framewire-recording-") as folder:
        stream, known = look_into(video, Path(folder), rate)
        return _native.probe_movie(stream, scratch.file, _ratio(known)), None if uneven is None else float(uneven)


def _ratio(rate: Fraction | None) -> tuple[int, int] | None:
    return None if rate is None else rate.as_integer_ratio()


@dataclass
class _Sizes:
    """Of frames of one type."""

    count: int = 0
    total: int = 0
    least: int = 1 << 32
    most: int = 0

    def add(self, size: int) -> None:
        self.count += 1
        self.total += size
        self.least = min(self.least, size)
        self.most = max(self.most, size)


class _Group:
    """Of a group's frames, of which there may be millions."""

    def __init__(self) -> None:
        self.bytes = 0
        self._types, self._displays = bytearray(), array("I")

    def add(self, kind: str, display: int, size: int) -> None:
        self.bytes += size
        self._types.append(ord(kind))
        self._displays.append(display)

    def in_display_order(self) -> str:
        """The types of its frames."""
        first = min(self._displays)
        span = max(self._displays) - first + 1
        if span > 4 * len(self._types):  # its frames are shown far apart
            order = sorted(range(len(self._types)), key=self._displays.__getitem__)
            return bytes(self._types[number] for number in order).decode()
        places = bytearray(span)
        for kind, display in zip(self._types, self._displays, strict=True):
            places[display - first] = kind
        return places.replace(b"\0", b"").decode()


def _rounded(rate: float | None) -> int | None:
    return None if rate is None else round(rate)


def _word(flag: bool | None) -> str:
    return {None: "no header", True: "yes", False: "no"}[flag]
