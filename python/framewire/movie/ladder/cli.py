"""``framewire movie ladder``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from framewire import progress as progress_module
from framewire.commands import AsJson, clear_errors, one_of, print_json, stderr, stdout
from framewire.errors import InputError
from framewire.movie.option_values import parse_bitrate, parse_frame_rate, parse_size
from framewire.wrapped_table import WrappedTable

__all__ = ["ladder"]


def _presets() -> list[str]:
    from framewire.movie.ladder.presets import PRESETS

    return [preset.name for preset in PRESETS]


def _codecs() -> list[str]:
    from framewire.movie.ladder.coding import CODECS

    return [codec.name for codec in CODECS]


@clear_errors
def ladder(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="A file that ffmpeg reads, to be encoded; several, lowest first, that are the levels already and are "
            "not encoded again; or a streaming file (.vtp).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Put the levels and the streaming file here [default: only into the cache, $FRAMEWIRE_CACHE or "
            "~/.cache/framewire; the path is printed].",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of the ladder in DIR.")] = False,
    lab: Annotated[bool, typer.Option("--lab", help="The lab's own picture instead of a file.")] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="mild or strong: the lab's picture at the paper's rates.",
            autocompletion=one_of(_presets),
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            help="mpeg4, h264 or h265 [default: mpeg4].",
            autocompletion=one_of(_codecs),
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='Lowest first: quantiser ranges of mpeg4 ("8-31, 4-18, 2-10", each with a rate behind an @ or not), '
            'constant qualities of h264 and h265 ("36, 30, 24"), or mean rates ("125 kbit/s, 450 kbit/s") '
            "[default: three qualities; of a file whose video has less than the top one takes, coarser ones].",
        ),
    ] = None,
    duration: Annotated[str | None, typer.Option(help="Length of the lab's picture, or cut the file to this.")] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Scale a file to fit within this [default: its own size].")
    ] = None,
    frame_rate: Annotated[
        str | None,
        typer.Option(
            metavar="HZ",
            help="Encode a file at this rate [default: its own]; of levels that are encoded already, the rate of "
            "streams that do not state theirs.",
        ),
    ] = None,
    payload: Annotated[int, typer.Option(metavar="BYTES", help="Bytes of video in a packet.")] = 1024,
    segments: Annotated[int, typer.Option(help="Segments of the sending plan.")] = 10,
    pre_send: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Send missing bytes ahead until then [default: 5, or earlier where bytes are missing before].",
        ),
    ] = None,
    startup: Annotated[float, typer.Option(metavar="SECONDS", help="When the player takes the first frame.")] = 1.0,
    buffer: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Plan as smoothly as this client buffer allows, instead.")
    ] = None,
    audio: Annotated[
        str, typer.Option(metavar="CODEC", help="mp3, aac or mp2: the audio of a file, beside the levels.")
    ] = "mp3",
    audio_rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the audio.")] = "128 kbit/s",
    no_audio: Annotated[bool, typer.Option("--no-audio", help="Leave the audio of a file out.")] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw V(t), C(t), U(t) and the rates: DIR/ladder.html.")] = False,
    as_json: AsJson = False,
) -> None:
    """Encode a movie at several levels with the same frames, and cut them into a streaming file with its plan.

    Several files are levels that were encoded before: they are checked frame by frame and used as they are. A streaming
    file (.vtp) instead of a source is checked, every byte of it, and described.
    """
    from framewire.movie.ladder import build, encoded_levels, parse_levels, plots  # not needed elsewhere
    from framewire.movie.ladder.install import PAGE
    from framewire.movie.ladder.sound import Audio

    sources = sources or []
    if len(sources) == 1 and sources[0].suffix == ".vtp":
        _show(build.describe(sources[0]), sources[0], as_json)
        return
    chosen = [name for name, is_given in (("SOURCE", sources), ("--lab", lab), ("--preset", preset)) if is_given]
    if not chosen:
        raise InputError("what to encode: one of SOURCE, --lab and --preset is needed")
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)}: only one of SOURCE, --lab and --preset may be given")
    encoded = {"--codec": codec, "--levels": levels, "--duration": duration, "--size": size}
    if len(sources) > 1 and (asked := [option for option, value in encoded.items() if value is not None]):
        raise InputError(
            f"{', '.join(asked)}: several files are levels that are encoded already, and nothing of them is changed; "
            "give one file to have it encoded"
        )
    if plot and out is None:
        raise InputError("--plot needs --out, where the page goes")
    plan = build.Plan(segments=segments, pre_send_s=pre_send, startup_s=startup, buffer=buffer)
    sound = None if no_audio else Audio(audio, parse_bitrate(audio_rate))
    codec = codec or "mpeg4"
    rate = None if frame_rate is None else parse_frame_rate(frame_rate)
    with progress_module.for_console(stderr()) as display:

        def tell(text: str, share: float) -> None:
            display({"event": "step", "text": text, "share": share})

        if len(sources) > 1:
            made = encoded_levels.join(
                sources, out, frame_rate=rate, payload=payload, plan=plan, audio=sound, replace=replace, progress=tell
            )
        else:
            made = build.make(
                out,
                source=sources[0] if sources else None,
                preset=preset,
                codec=codec,
                levels=None if levels is None else parse_levels(levels, codec),
                duration=duration,
                size=None if size is None else parse_size(size),
                frame_rate=rate,
                payload=payload,
                plan=plan,
                audio=sound,
                replace=replace,
                progress=tell,
            )
    if plot:
        plots.write_page(made.description, made.directory / PAGE)
    _show(made.description, made.streaming_file, as_json)
    if not as_json:
        told = f"next: framewire send {shlex.quote(str(made.streaming_file))}"
        stdout().print(told, markup=False, highlight=False, soft_wrap=True)


def _show(description: dict[str, Any], path: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {"streaming_file": str(path)}
            | {key: value for key, value in description.items() if key != "streaming_file"}
        )
        return
    console = stdout()
    console.print(_levels_table(description))
    if "plan" not in description and description["client_buffer_bytes"]:
        buffer = f"{description['client_buffer_bytes'] / 1e3:.1f} kB for the whole ladder"
        console.print(f"client buffer: {buffer}", markup=False, highlight=False)
    sound = description.get("audio")
    if sound is not None:
        rate = f"{sound['mean_bps'] / 1e3:.1f} kbit/s"
        heard = f"{sound['codec']}, {sound['sample_rate']} Hz, {sound['channels']} channels, {rate}"
        console.print(f"audio: {heard}", markup=False, highlight=False)
    console.print(str(path), markup=False, highlight=False, soft_wrap=True)


def _levels_table(description: dict[str, Any]) -> Group:
    """One row per level; what a streaming file does not know of them is left out."""
    plan = description.get("plan")
    rows: list[dict[str, str]] = []
    for number, level in enumerate(description["levels"]):
        row = {"level": str(number)}
        for heading, key in (("quality", "quality"), ("of", "source")):
            if key in level:
                row[heading] = str(level[key])
        row["mean (kbit/s)"] = f"{level['mean_bps'] / 1e3:.1f}"
        if plan is not None:
            own = plan["levels"][number]
            row["plan's peak (kbit/s)"], row["rates"] = f"{own['peak_bps'] / 1e3:.1f}", str(len(own["steps"]))
            row["client buffer (kB)"] = f"{own['client_buffer_bytes'] / 1e3:.1f}"
        elif level["steps"]:
            rates = [rate for _, rate in level["steps"]]
            row["plan's peak (kbit/s)"], row["rates"] = f"{max(rates) / 1e3:.1f}", str(len([r for r in rates if r]))
        rows.append(row)
    table = WrappedTable.of(list(rows[0]), [list(row.values()) for row in rows], left=["quality", "of"])
    return Group(f"{description['frames']} frames, {description['codec']}", table)
