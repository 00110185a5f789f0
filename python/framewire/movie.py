"""Making movies: the lab's own test movie, or any file of the user's, as an MPEG-2 video elementary stream.

ffmpeg does the work, as a program. A movie is made once and kept in a cache under a name that says what went into it:
the picture (drawn, or the bytes of the user's file), every option, and the version of ffmpeg. The options and what
came out stand beside it as JSON, with type, size and luma PSNR of every frame in decode order.

>>> made = make(bitrate=6_000_000, duration=60.0)  # doctest: +SKIP
>>> made.path, made.metadata["sizes"]  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from framewire import movie_scene as scene
from framewire.errors import InputError, MachineError

__all__ = ["MadeMovie", "Progress", "cache_directory", "make", "parse_bitrate", "parse_duration", "prepare"]

Progress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 to 1."""

FORMAT = 1  # of the JSON beside a movie
TOLERANCE = 0.01  # of the mean rate, where the movie is long enough for it
BITRATES = (100_000, 15_000_000)  # bit/s; the upper bound is that of Main Profile at Main Level
SHORTEST = 0.2  # seconds: a few frames
VBV_BITS = 1_835_000  # the buffer of Main Profile at Main Level

# IBBPBBPBBPBBPBB whatever the picture holds, and the same bits from the same ffmpeg. One thread: slices cut by
# threads would differ between machines. The finest quantiser (ffmpeg holds it back unless lmin allows it too) lets an
# easy scene fill its rate with picture; a larger share of the buffer than the default third lets I pictures at high
# rates grow as far beyond the others as they need.
ENCODER_OPTIONS = (
    *("-c:v", "mpeg2video", "-pix_fmt", "yuv420p", "-g", "15", "-bf", "2", "-b_strategy", "0"),
    *("-sc_threshold", "1000000000", "-qmin", "1", "-lmin", "1", "-rc_max_vbv_use", "0.4"),
    *("-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact+psnr", "-map_metadata", "-1"),
    *("-f", "mpeg2video"),
)

# A file of the user's: square pixels, its aspect kept, black around it.
FIT = (
    f"scale={scene.WIDTH}:{scene.HEIGHT}:force_original_aspect_ratio=decrease:force_divisible_by=2"
    ":flags=bicubic+accurate_rnd+bitexact,setsar=1,"
    f"pad={scene.WIDTH}:{scene.HEIGHT}:(ow-iw)/2:(oh-ih)/2,fps={scene.FPS},format=yuv420p"
)

# How the encoder may spend its bits, tried in this order until the mean rate fits without stuffing: (peak over mean,
# even, passes). "Even" also bounds the rate from below, which makes the most regular stream; where the picture is too
# simple for that, ffmpeg stuffs, and the bits go to where they are of use instead.
_EVEN, _UNEVEN, _FREE = (1.0, True, 1), (1.5, False, 2), (2.5, False, 2)
RATE_CONTROLS = (_EVEN, _EVEN, _UNEVEN, _FREE, _FREE, _FREE)

STUFFING = re.compile(rb"\x00{8,}(?=\x00\x00\x01)")  # zero bytes before a start code; an encoder aligns with fewer
STUFFING_ALLOWED = 0.001  # of the bytes


@dataclass(frozen=True)
class MadeMovie:
    """A movie that is ready to be sent."""

    path: Path
    metadata: dict[str, Any]

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return float(self.metadata["duration_s"])

    @property
    def bitrate_bps(self) -> float:
        """Mean rate in bit/s, as it came out."""
        return float(self.metadata["mean_bitrate_bps"])


def prepare(
    source: str | os.PathLike[str] = "lab",
    bitrate: str | float | None = None,
    duration: str | float | None = None,
    *,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> MadeMovie:
    """The movie that a scenario's ``[movie]`` table asks for.

    ``source`` is ``lab`` or a path. A path without ``bitrate`` is an MPEG-2 video elementary stream and used as it is.
    ``bitrate`` is bit/s, or a text such as ``6 Mbit/s``; ``duration`` is seconds, or a text such as ``60 s``.
    """
    rate = None if bitrate is None else parse_bitrate(bitrate)
    seconds = None if duration is None else parse_duration(duration)
    path = None if source == "lab" else Path(source)
    if path is not None and rate is None:
        return _as_it_is(path, seconds, cache_dir)
    return make(rate or 6_000_000, 60.0 if path is None and seconds is None else seconds, path, cache_dir, progress)


def make(
    bitrate: float,
    duration: float | None = 60.0,
    source: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> MadeMovie:
    """Make a movie of a mean rate of ``bitrate`` bit/s within 1 %, or find it in the cache.

    720x576, 25 frames per second, IBBPBBPBBPBBPBB. ``source`` is any file that ffmpeg reads, by default the lab's own
    picture. ``duration`` is in seconds; None is the whole of a file. A file that is shorter ends where it ends.

    Movies shorter than about 15 seconds may miss the rate by a quarter of the encoder's buffer, 459 kbit.

    Raises InputError for a file that holds no video, a value out of range or a rate that the picture cannot fill, and
    MachineError when ffmpeg is missing or the cache cannot be written.
    """
    rate = parse_bitrate(bitrate)
    seconds = None if duration is None else parse_duration(duration)
    report = progress or (lambda _step, _share: None)
    ffmpeg_version = _version_of("ffmpeg")
    picture = _LabPicture(seconds) if source is None else _FilePicture(Path(source), seconds)
    recipe = {
        "format": FORMAT,
        "ffmpeg": ffmpeg_version,
        "source": picture.identity(report),
        "bitrate_bps": rate,
        "frames_at_most": picture.frames,
        "encoder": list(ENCODER_OPTIONS),
        "vbv_bits": VBV_BITS,
        "rate_controls": [list(control) for control in RATE_CONTROLS],
    }
    key = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]
    cache = Path(cache_dir) if cache_dir is not None else cache_directory()
    path = cache / f"{picture.name}-{rate / 1e6:g}M-{key}.m2v"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            return _cached(path) or _make(path, picture, rate, recipe, report)
    except OSError as error:
        raise MachineError(f"{cache}: the movie cannot be kept here: {error.strerror or error}") from error


def cache_directory() -> Path:
    """Where movies are kept: in ``$FRAMEWIRE_CACHE``, or ``framewire`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if own := os.environ.get("FRAMEWIRE_CACHE"):
        return Path(own) / "movies"
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "framewire" / "movies"


_RATE_UNITS = {"bit/s": 1, "kbit/s": 1_000, "Mbit/s": 1_000_000, "Gbit/s": 1_000_000_000}
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "min": 60.0}


def parse_bitrate(value: str | float) -> int:
    """Bit/s from a number of them, or from a text with a unit.

    >>> parse_bitrate("5.5 Mbit/s")
    5500000
    """
    rate = _parse(value, "bitrate", _RATE_UNITS)
    if not BITRATES[0] <= rate <= BITRATES[1]:
        raise InputError(f"bitrate {value}: {BITRATES[0] / 1e3:g} kbit/s to {BITRATES[1] / 1e6:g} Mbit/s is allowed")
    return round(rate)


def parse_duration(value: str | float) -> float:
    """Seconds from a number of them, or from a text with a unit.

    >>> parse_duration("1.5 min")
    90.0
    """
    seconds = _parse(value, "duration", _TIME_UNITS)
    if not SHORTEST <= seconds <= 86_400:
        raise InputError(f"duration {value}: {SHORTEST:g} s to 1440 min is allowed")
    return seconds


def _parse(value: str | float, what: str, units: dict[str, Any]) -> float:
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z/]+)\s*", value)
    if match is None or match[2] not in units:
        raise InputError(f'"{value}" is not a {what}: a number and one of {", ".join(units)} is allowed')
    return float(match[1]) * float(units[match[2]])


class _Picture(Protocol):
    """What a movie is made of."""

    name: str
    frames: int | None  # how many at most
    expected: int  # how many there will be, for progress; 0 where that is not known

    def identity(self, report: Progress) -> dict[str, Any]:
        """What tells this picture from any other."""

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        """Options of ffmpeg, up to and with the choice of the picture."""


class _LabPicture:
    """The picture that ffmpeg draws."""

    name = "lab"

    def __init__(self, seconds: float | None) -> None:
        if seconds is None:
            raise InputError("the lab's own movie needs a duration, for instance 60 s")
        self.expected = round(seconds * scene.FPS)
        self.frames: int | None = self.expected

    def identity(self, report: Progress) -> dict[str, Any]:
        drawn = hashlib.sha256((scene.layers_graph() + scene.scene_graph()).encode())
        for picture in scene.counter_pictures(scene.FPS + 1):
            drawn.update(picture)
        return {"kind": "lab", "sha256": drawn.hexdigest()}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        width, height = scene.COUNTER_SIZE
        counter, graph = scratch / "counter.gray", scratch / "scene.graph"
        graph.write_text(scene.scene_graph(), encoding="ascii")
        with counter.open("wb") as file:
            file.writelines(scene.counter_pictures(self.expected))
        raw = ["-f", "rawvideo", "-pixel_format", "gray", "-video_size", f"{width}x{height}"]
        counted = [*raw, "-framerate", str(scene.FPS), "-i", str(counter)]
        layers = _drawn_layers(cache, report)
        return [*counted, "-i", str(layers), "-filter_complex_script", str(graph), "-map", "[scene]"]


def _drawn_layers(cache: Path, report: Progress) -> Path:
    """The layers of the lab's picture: drawn once, then used for every movie."""
    identity = hashlib.sha256(f"{_version_of('ffmpeg')}\n{scene.layers_graph()}".encode()).hexdigest()[:16]
    layers = cache / f"lab-layers-{identity}.nut"
    if not layers.exists():
        report("drawing the lab's picture", 0.0)
        with tempfile.TemporaryDirectory(prefix=f".{layers.stem}-", dir=cache) as directory:
            graph, part = Path(directory) / "layers.graph", Path(directory) / "layers.nut"
            graph.write_text(scene.layers_graph(), encoding="ascii")
            maps = [argument for layer in scene.LAYERS for argument in ("-map", f"[{layer.name}]")]
            stored = ["-c:v", "ffv1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "nut", str(part)]
            _ffmpeg(["-filter_complex_script", str(graph), *maps, *stored], lambda _frame: None)
            part.replace(layers)
    return layers


class _FilePicture:
    """The first video stream of a file."""

    def __init__(self, path: Path, seconds: float | None) -> None:
        self._path = path
        self.name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.stem)[:60] or "movie"
        length = float(_probe(path)["format"].get("duration", 0.0))
        self.frames: int | None = None if seconds is None else round(seconds * scene.FPS)
        self.expected = round(min(seconds or length, length or math.inf) * scene.FPS)

    def identity(self, report: Progress) -> dict[str, Any]:
        report("reading the file", 0.0)
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"kind": "file", "name": self._path.name, "sha256": digest, "filter": FIT}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        return ["-i", f"file:{self._path}", "-map", "0:V:0", "-vf", FIT]


def _make(path: Path, picture: _Picture, rate: int, recipe: dict[str, Any], report: Progress) -> MadeMovie:
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as directory:
        scratch = Path(directory)
        source = picture.input(path.parent, scratch, report)
        encoded = _encode_to_rate(source, picture, rate, scratch, report)
        metadata = recipe | encoded.described() | {"file": path.name}
        facts = scratch / "facts.json"
        facts.write_text(json.dumps(metadata, indent=1), encoding="utf-8")
        # The movie last: where it is, what belongs to it is there too.
        facts.replace(_facts_of(path))
        encoded.path.replace(path)
    return MadeMovie(path, metadata)


@dataclass(frozen=True)
class _Encoded:
    """What came out of the encoder: frames in decode order."""

    path: Path
    types: str
    sizes: list[int]
    psnr_y: list[float | None]  # None where the frame came out as it went in
    options: list[str]

    @property
    def mean_rate(self) -> float:
        return sum(self.sizes) * 8 * scene.FPS / len(self.sizes)

    def described(self) -> dict[str, Any]:
        by_type = {
            kind: [size for size, of in zip(self.sizes, self.types, strict=True) if of == kind] for kind in "IPB"
        }
        return {
            "frames": len(self.sizes),
            "frame_rate": scene.FPS,
            "duration_s": len(self.sizes) / scene.FPS,
            "bytes": sum(self.sizes),
            "mean_bitrate_bps": self.mean_rate,
            "frames_by_type": {kind: len(sizes) for kind, sizes in by_type.items()},
            "mean_size_by_type": {kind: sum(sizes) / len(sizes) for kind, sizes in by_type.items() if sizes},
            "encoded_with": self.options,
            "types": self.types,
            "sizes": self.sizes,
            "psnr_y_db": self.psnr_y,
        }


def _encode_to_rate(source: list[str], picture: _Picture, rate: int, scratch: Path, report: Progress) -> _Encoded:
    """Encodes until the mean rate is within the tolerance and every byte is picture."""
    target, stuffed, before, out = float(rate), False, _EVEN, scratch / "movie.m2v"
    for number, control in enumerate(RATE_CONTROLS):
        peak, even, passes = control
        if even and stuffed:
            continue
        if control != before:
            target, before = float(rate), control
        least = ["-minrate", f"{target:.0f}"] if even else []
        most = target if even else max(rate * peak, target)
        bits = ["-b:v", f"{target:.0f}", *least, "-maxrate", f"{most:.0f}", "-bufsize", f"{VBV_BITS}"]
        step = f"encoding at {rate / 1e6:g} Mbit/s" + (f", attempt {number + 1}" if number else "")
        for turn in range(1, passes + 1):
            show = _share_shown(report, step if passes == 1 else f"{step}, pass {turn} of 2", picture.expected)
            two = ["-pass", str(turn), "-passlogfile", str(scratch / "pass")] if passes > 1 else []
            encoded = _encode(source, picture, [*bits, *two], out, show)
        stuffed = _stuffing(out) > STUFFING_ALLOWED * sum(encoded.sizes)
        error = encoded.mean_rate / rate - 1
        # A movie of a few seconds ends with the encoder's buffer fuller or emptier than it began.
        buffered = VBV_BITS / 4 / (rate * len(encoded.sizes) / scene.FPS)
        if abs(error) < max(TOLERANCE * 0.9, buffered) and not stuffed:
            return encoded
        if not stuffed:
            # The same again, aiming to the other side of what was missed.
            target = min(max(target / (1 + error), target / 2), target * 2)
    raise InputError(
        f"{picture.name}: the mean rate came out at {encoded.mean_rate / 1e6:.3f} instead of {rate / 1e6:g} Mbit/s; "
        f"ask for a {'lower' if error < 0 else 'higher'} rate, which this picture can fill, or for a longer movie"
    )


def _stuffing(path: Path) -> int:
    """Bytes of a stream that hold nothing."""
    return sum(len(run.group()) for run in STUFFING.finditer(path.read_bytes()))


def _encode(source: list[str], picture: _Picture, bits: list[str], out: Path, show: Callable[[int], None]) -> _Encoded:
    statistics = out.with_suffix(".vstats")
    limit = [] if picture.frames is None else ["-frames:v", str(picture.frames)]
    options = [*limit, *ENCODER_OPTIONS, *bits]
    _ffmpeg([*source, *options, "-vstats_file", str(statistics), str(out)], show)
    rows = [_STATISTICS.search(line) for line in statistics.read_text(encoding="ascii").splitlines()]
    found = [row for row in rows if row is not None]
    sizes = [int(row["size"]) for row in found]
    if not found or sum(sizes) != out.stat().st_size:
        raise MachineError(f"ffmpeg's statistics say {sum(sizes)} bytes, its movie has {out.stat().st_size}")
    # Scratch names would make two metadata files of one movie differ.
    stated = [option for option in options if str(out.parent) not in option and option != "-passlogfile"]
    psnr = [None if row["psnr"] == "inf" else float(row["psnr"]) for row in found]
    return _Encoded(out, "".join(row["type"] for row in found), sizes, psnr, stated)


_STATISTICS = re.compile(r"PSNR=\s*(?P<psnr>inf|[\d.]+) f_size=\s*(?P<size>\d+) .* type= (?P<type>[IPB])")


def _share_shown(report: Progress, step: str, expected: int) -> Callable[[int], None]:
    return lambda frame: report(step, min(frame / expected, 1.0) if expected else 0.0)


def _ffmpeg(arguments: Sequence[str], show: Callable[[int], None]) -> None:
    """Runs ffmpeg to its end, or not at all: whatever interrupts this ends it."""
    command = ["ffmpeg", "-hide_banner", "-nostdin", "-v", "error", "-nostats", "-progress", "pipe:1", "-y", *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith("frame="):
                        show(int(line.removeprefix("frame=")))
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            errors.seek(0)
            told = errors.read().strip().splitlines()
            raise InputError(f"ffmpeg could not make the movie: {'; '.join(told[:3]) or f'exit {process.returncode}'}")


def _version_of(program: str) -> str:
    if shutil.which(program) is None:
        raise MachineError(f"{program} is not installed: making a movie needs ffmpeg and ffprobe (apt install ffmpeg)")
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stdout
    return said.partition("\n")[0].strip()


def _probe(path: Path, *more: str) -> dict[str, Any]:
    """What ffprobe says about the first real video stream of a file."""
    if not path.is_file():
        raise InputError(f"{path}: {'not a file' if path.exists() else 'no such file'}; a video file is needed")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; a video file is needed")
    _version_of("ffprobe")
    entries = "stream=codec_name,r_frame_rate,nb_read_packets:format=format_name,duration"
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", *more, "-show_entries", entries, "-of", "json"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        told = result.stderr.strip().splitlines()
        raise InputError(f"{path}: ffmpeg cannot read it: {told[-1].removeprefix(f'file:{path}: ') if told else '?'}")
    probed: dict[str, Any] = json.loads(result.stdout)
    if not probed.get("streams"):
        raise InputError(f"{path}: it holds no video; a file with a video stream is needed")
    return probed


def _as_it_is(path: Path, seconds: float | None, cache_dir: Path | None) -> MadeMovie:
    """An elementary stream of the user's, or the beginning of it."""
    probed = _probe(path, "-count_packets", "-f", "mpegvideo") if _is_mpeg_video(path) else _probe(path)
    codec, container = probed["streams"][0]["codec_name"], probed["format"]["format_name"]
    if container != "mpegvideo" or codec not in ("mpeg1video", "mpeg2video"):
        raise InputError(
            f"{path}: {codec} in {container}, not an MPEG-2 video elementary stream; "
            "state a bitrate to have it transcoded"
        )
    stream = probed["streams"][0]
    frame_rate = Fraction(stream["r_frame_rate"])
    frames = int(stream["nb_read_packets"])
    if seconds is not None and (limit := round(seconds * frame_rate)) < frames:
        path, frames = _beginning(path, limit, cache_dir), limit
    size = path.stat().st_size
    duration = float(frames / frame_rate)
    metadata = {
        "format": FORMAT,
        "source": {"kind": "file", "name": path.name},
        "frames": frames,
        "frame_rate": float(frame_rate),
        "duration_s": duration,
        "bytes": size,
        "mean_bitrate_bps": size * 8 / duration,
    }
    return MadeMovie(path, metadata)


def _is_mpeg_video(path: Path) -> bool:
    """Whether a sequence header stands near the beginning, and no container around it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(65536)
    return b"\x00\x00\x01\xb3" in head and _probe(path)["format"]["format_name"] == "mpegvideo"


def _beginning(path: Path, frames: int, cache_dir: Path | None) -> Path:
    """The first frames of an elementary stream in decode order, bit for bit, kept in the cache."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    cache = cache_dir or cache_directory()
    beginning = cache / f"{path.stem}-{frames}-{digest}.m2v"
    cache.mkdir(parents=True, exist_ok=True)
    if not beginning.exists():
        with tempfile.TemporaryDirectory(prefix=f".{beginning.stem}-", dir=cache) as scratch:
            part = Path(scratch) / "movie.m2v"
            copy = ["-c", "copy", "-frames:v", str(frames), "-fflags", "+bitexact", "-f", "mpeg2video", str(part)]
            _ffmpeg(["-f", "mpegvideo", "-i", f"file:{path}", *copy], lambda _frame: None)
            part.replace(beginning)
    return beginning


def _facts_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _cached(path: Path) -> MadeMovie | None:
    """The movie that was made before, if it is whole."""
    try:
        metadata = json.loads(_facts_of(path).read_text(encoding="utf-8"))
        whole = path.stat().st_size == metadata["bytes"]
    except (FileNotFoundError, json.JSONDecodeError, KeyError):
        return None
    return MadeMovie(path, metadata) if whole else None


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lets one process at a time make this movie; what a killed one left behind is removed."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left_behind in path.parent.glob(f".{path.stem}-*"):
            shutil.rmtree(left_behind, ignore_errors=True)
        yield
