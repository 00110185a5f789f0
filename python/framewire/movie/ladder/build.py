"""Making a ladder, or finding it in the cache: levels, the streaming file, and a description of both."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from framewire import _native, content_store
from framewire.errors import InputError, MachineError, NotAStreamingFile
from framewire.files import check_regular, kind_of_video
from framewire.movie import cache, ffmpeg
from framewire.movie.ladder import coding, presets, segment_rates
from framewire.movie.ladder.coding import Codec, LevelSpec
from framewire.movie.ladder.install import DESCRIPTION, MadeLadder, kept_and_copied
from framewire.movie.ladder.picture import FileSource, LabSource
from framewire.movie.ladder.presets import Preset
from framewire.movie.ladder.sound import Audio
from framewire.movie.option_values import parse_duration
from framewire.movie.picture import Progress

__all__ = [
    "AUDIO",
    "DESCRIPTION",
    "FORMAT",
    "PAYLOAD",
    "STREAMING_FILE",
    "MadeLadder",
    "Plan",
    "check_options",
    "describe",
    "make",
    "written",
]

FORMAT = 1
STREAMING_FILE = "movie.vtp"
PAYLOAD = 1024
"""Bytes of video in a packet: the paper's 1 Kbyte."""

PAYLOADS = range(64, 65_001)
"""What a streaming file allows (``crates/media/src/streaming_file``), known here to refuse it before encoding."""

_DAY_S = 86_400.0

AUDIO = Audio()
"""How the audio of a file is encoded unless stated otherwise."""

DEFAULT_LEVELS = {"mpeg4": "8-31, 4-18, 2-10", "h264": "36, 30, 24", "h265": "38, 32, 26"}


@dataclass(frozen=True)
class Plan:
    """How the levels are to be sent: in segments with bytes sent ahead, or as smoothly as a buffer allows."""

    segments: int = 10
    pre_send_s: float | None = None
    """t_j: until when missing bytes are sent ahead, refused where bytes are missing before; None is 5 s, or earlier
    where bytes are missing before."""
    startup_s: float = 1.0
    buffer: int | None = None
    """Bytes of the client's buffer: asks for the smoothest plan instead of segments."""

    def settings(self) -> _native.PlanSettings:
        """As the plan is made."""
        exact = self.pre_send_s is not None
        return _native.PlanSettings(
            segments=self.segments,
            pre_send_s=5.0 if self.pre_send_s is None else self.pre_send_s,
            exact=exact,
            startup_s=self.startup_s,
            buffer=self.buffer,
        )


def check_options(payload: int, plan: Plan, frames: int | None = None) -> None:
    """Raises InputError, with the name of the option, for what no ladder of so many frames (None: any) can have.

    What hangs on the sizes of the frames, as a buffer that is smaller than one, is not known before they are encoded.
    """
    pre_send_s = _DAY_S if plan.pre_send_s is None else plan.pre_send_s
    checks = (
        ("payload", payload, payload in PAYLOADS, f"{PAYLOADS[0]} to {PAYLOADS[-1]} bytes"),
        (
            "segments",
            plan.segments,
            1 <= plan.segments <= (frames or plan.segments),
            f"1 to {frames or 'the number of frames'}",
        ),
        ("startup", plan.startup_s, 1e-9 <= plan.startup_s <= _DAY_S, "more than 0 s, up to a day"),
        ("pre-send", pre_send_s, 1e-9 <= pre_send_s <= _DAY_S, "more than 0 s, up to a day"),
        ("buffer", plan.buffer, plan.buffer is None or 1 <= plan.buffer < 2**63, "1 byte and more"),
    )
    for name, value, fits, allowed in checks:
        if not fits:
            raise InputError(f"--{name}: {value} is not allowed; allowed is {allowed}")


def make(
    out: Path | None = None,
    *,
    source: Path | None = None,
    preset: str | None = None,
    codec: str = "mpeg4",
    levels: Sequence[LevelSpec] | None = None,
    duration: str | float | None = None,
    size: tuple[int, int] | None = None,
    frame_rate: Fraction | None = None,
    payload: int = PAYLOAD,
    plan: Plan | None = None,
    audio: Audio | None = AUDIO,
    replace: bool = False,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> MadeLadder:
    """Makes a ladder of a preset, of a file that ffmpeg reads, or of the lab's picture, or finds it in the cache.

    Without ``levels`` a file has three of the codec's usual qualities; where the top one would take more than the
    file's own video, the best that does not and two below it.
    A file keeps its size, shape, frame rate, interlacing and colour description as far as the codec can state them;
    ``size`` scales it to fit within that, and ``frame_rate`` repeats or leaves out frames.
    The audio of a file is encoded as ``audio`` says and goes into the streaming file; None leaves it out.
    It is made in the cache and, with ``out``, copied there: the levels, ``movie.vtp`` and ``ladder.json``. A directory
    that holds another ladder is refused, unless ``replace`` asks for this one in its place.

    Raises InputError for options out of range, what cannot be encoded, levels that are not aligned, or a plan that
    cannot be, and MachineError when ffmpeg is missing or a directory cannot be written.
    """
    report = progress or (lambda _step, _share: None)
    coded = coding.named(codec)
    chosen = None if preset is None else presets.named(preset)
    if chosen is not None and any(asked is not None for asked in (source, levels, duration, size, frame_rate)):
        raise InputError(f"preset {chosen.name}: it has a picture, levels, a duration, a size and a rate of its own")
    specs = _specs(chosen, coded, levels)
    seconds = None if duration is None else parse_duration(duration)
    picture = _picture(chosen, source, seconds, size, frame_rate, coded)
    plan = plan or Plan()
    check_options(payload, plan, picture.frames if isinstance(picture, LabSource) else None)
    recipe = {
        "format": FORMAT,
        "ffmpeg": ffmpeg.version_of("ffmpeg"),
        "source": picture.identity(report),
        "preset": None if chosen is None else asdict(chosen),
        "codec": [coded.name, coded.encoder, *coded.options, coded.fixed, *coded.output],
        "levels": [asdict(spec) for spec in specs],
        "payload": payload,
        "plan": asdict(plan),
    }
    most = math.inf
    if levels is None and isinstance(picture, FileSource):
        most = picture.rate_bps
        recipe["at_most_bps"] = most
    if audio is not None and (sound := picture.sound()) is not None:
        recipe["audio"] = asdict(audio) | {"from_s": float(sound.start_s)}
    else:
        audio = None
    store = cache.store(cache_dir)

    def build(scratch: Path) -> Path:
        return _make(store.directory, scratch, picture, chosen, coded, specs, most, payload, plan, audio, report)

    name = f"ladder-{picture.name}-{coded.name}-{content_store.key(recipe)}"
    return kept_and_copied(store, name, build, out, replace=replace, report=report)


def describe(path: Path) -> dict[str, Any]:
    """What is in a streaming file, every byte of which is checked; raises InputError for one that is damaged."""
    check_regular(path)
    try:
        return dict(json.loads(_native.read_streaming_file(path)))
    except _native.NotAStreamingFile as error:
        raise NotAStreamingFile(f"{error}{_looks_like(path)}") from None
    except _native.LadderError as error:
        raise InputError(str(error)) from None


def _looks_like(path: Path) -> str:
    """What a file is that is no streaming file, where its first bytes show it."""
    if path.stat().st_size == 0:
        return "; the file is empty"
    what = kind_of_video(path)
    return "" if what is None else f"; it looks like {what}"


def _specs(preset: Preset | None, codec: Codec, levels: Sequence[LevelSpec] | None) -> list[LevelSpec]:
    if preset is None:
        return list(levels if levels is not None else coding.parse_levels(DEFAULT_LEVELS[codec.name], codec.name))
    if codec.name == "mpeg4":
        return list(preset.levels)
    return [LevelSpec(rate_bps=level.rate_bps) for level in preset.levels]


def _picture(
    preset: Preset | None,
    source: Path | None,
    seconds: float | None,
    size: tuple[int, int] | None,
    frame_rate: Fraction | None,
    codec: Codec,
) -> LabSource | FileSource:
    if source is not None:
        return FileSource(source, seconds, size=size, frame_rate=frame_rate, fields=codec.fields)
    if size is not None or frame_rate is not None:
        raise InputError("the lab's picture has a size and a rate of its own: --size and --frame-rate are for a file")
    frames = preset.frames if preset is not None else round((seconds or 60.0) * Fraction(*coding.FRAME_RATE))
    return LabSource(preset, frames)


def _make(
    store: Path,
    scratch: Path,
    picture: LabSource | FileSource,
    preset: Preset | None,
    codec: Codec,
    specs: Sequence[LevelSpec],
    most: float,
    payload: int,
    plan: Plan,
    audio: Audio | None,
    report: Progress,
) -> Path:
    """Encodes everything, and puts what is to be kept into a directory of its own."""
    kept = scratch / "kept"
    kept.mkdir()
    source = picture.input(store, scratch, report)
    options: dict[int, list[str]] = {}

    def encode(number: int) -> float:
        """Encodes a level; its mean rate."""
        step = f"encoding level {number} ({specs[number]})"

        def show(more: str, frame: int) -> None:
            report(step + more, min(frame / picture.frames, 1.0) if picture.frames else 0.0)

        out = scratch / f"level{number}{codec.suffix}"
        options[number] = _encode(codec, source, specs[number], preset, specs, out, show)
        rate = _rate_of(out, picture.frame_rate)
        out.replace(kept / out.name)
        return rate

    top = len(specs) - 1
    while (rate := encode(top)) > most:  # each turn is a coarser one, down to the coarsest
        specs = coding.coarser(codec, specs[top], rate / most, len(specs))
    for number in range(top):
        encode(number)
    files = [kept / f"level{number}{codec.suffix}" for number in range(len(specs))]
    track, sound = None, picture.sound() if audio is not None else None
    if audio is not None and sound is not None:
        track = kept / f"audio.{audio.codec}"
        audio.encode(sound, track, report)
    description = written(files, kept / STREAMING_FILE, payload, plan, track)
    description |= {"name": picture.name, "preset": None if preset is None else preset.name}
    for level, file, spec, used in zip(
        description["levels"], files, specs, (options[number] for number in range(top + 1)), strict=True
    ):
        level |= {"file": file.name, "quality": str(spec), "encoded_with": used}
        if preset is not None:
            level["segment_bps"] = segment_rates.segment_rates(level["sizes"], preset.borders)
    description["files"] = {path.name: path.stat().st_size for path in sorted(kept.iterdir())}
    (kept / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")
    return kept


def _encode(
    codec: Codec,
    source: Sequence[str],
    spec: LevelSpec,
    preset: Preset | None,
    specs: Sequence[LevelSpec],
    out: Path,
    show: Any,
) -> list[str]:
    if preset is None:
        return coding.encode(codec, source, spec, out, show)
    top = specs[-1].rate_bps
    assert spec.rate_bps is not None
    assert top is not None
    wanted = [mean * 1e3 * spec.rate_bps / top for mean in preset.segments]
    return segment_rates.encode_pinned(codec, source, spec, wanted, preset.borders, out, _sizes, show)


def _rate_of(level: Path, frame_rate: Fraction) -> float:
    """The mean rate of a level, bit/s."""
    sizes = _sizes(level)
    return float(8 * sum(sizes) * frame_rate / len(sizes))


def _sizes(path: Path) -> list[int]:
    return list(_inspected([path])["levels"][0]["sizes"])


def _inspected(paths: Sequence[Path]) -> dict[str, Any]:
    try:
        return dict(json.loads(_native.inspect_ladder(list(paths))))
    except _native.LadderError as error:
        raise InputError(str(error)) from None


def written(files: Sequence[Path], out: Path, payload: int, plan: Plan, audio: Path | None) -> dict[str, Any]:
    """Writes the streaming file, reads it again, and describes it."""
    try:
        told = json.loads(_native.write_streaming_file(list(files), out, payload, plan.settings(), audio))
    except _native.LadderError as error:
        raise InputError(str(error)) from None
    again = describe(out)
    if any(again[field] != told["ladder"][field] for field in ("frames", "types", "switch_points", "frame_rate")):
        raise MachineError(f"{out}: what was read is not what was written")
    return {
        "format": FORMAT,
        "streaming_file": out.name,
        "payload": told["payload"],
        **told["ladder"],
        "plan": told["plan"],
        "audio": again["audio"],
    }
