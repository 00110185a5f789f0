"""``framewire movie ladder``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from framewire import progress as progress_module
from framewire.commands import AsJson, clear_errors, print_json, stderr, stdout
from framewire.errors import InputError

__all__ = ["ladder"]


@clear_errors
def ladder(
    source: Annotated[
        Path | None, typer.Argument(metavar="[SOURCE]", help="A file that ffmpeg reads, or a streaming file (.vtp).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Put the levels and the streaming file here.")
    ] = None,
    lab: Annotated[bool, typer.Option("--lab", help="The lab's own picture instead of a file.")] = False,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="mild or strong: the lab's picture at the paper's rates.")
    ] = None,
    codec: Annotated[str, typer.Option(help="mpeg4, h264 or h265.")] = "mpeg4",
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='Lowest first: quantiser ranges of mpeg4 ("8-31, 4-18, 2-10", each with a rate behind an @ or not), '
            'constant qualities of h264 and h265 ("36, 30, 24"), or mean rates ("125 kbit/s, 450 kbit/s").',
        ),
    ] = None,
    duration: Annotated[str | None, typer.Option(help="Length of the lab's picture, or cut the file to this.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Scale a file to this.")] = None,
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
    plot: Annotated[bool, typer.Option("--plot", help="Draw V(t), C(t), U(t) and the rates: DIR/ladder.html.")] = False,
    as_json: AsJson = False,
) -> None:
    """Encode a movie at several levels with the same frames, and cut them into a streaming file with its plan.

    A streaming file (.vtp) instead of a source is checked, every byte of it, and described.
    """
    from framewire.movie.ladder import making, parse_levels, plots  # not needed elsewhere

    if source is not None and source.suffix == ".vtp":
        _show(making.describe(source), source, as_json)
        return
    if sum((source is not None, lab, preset is not None)) != 1:
        raise InputError("what to encode: one of SOURCE, --lab and --preset is needed")
    if plot and out is None:
        raise InputError("--plot needs --out, where the page goes")
    with progress_module.for_console(stderr()) as display:
        made = making.make(
            out,
            source=source,
            preset=preset,
            codec=codec,
            levels=None if levels is None else parse_levels(levels, codec),
            duration=duration,
            size=None if size is None else _parse_size(size),
            payload=payload,
            plan=making.Plan(segments=segments, pre_send_s=pre_send, startup_s=startup, buffer=buffer),
            progress=lambda text, share: display({"event": "step", "text": text, "share": share}),
        )
    if plot:
        plots.write_page(made.description, made.directory / "ladder.html")
    _show(made.description, made.streaming_file, as_json)


def _parse_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if match is None or any(int(part) < 16 or int(part) % 2 for part in match.groups()):
        raise InputError(f'size "{text}": even numbers from 16 to 9998 are allowed, for instance 640x360')
    return int(match[1]), int(match[2])


def _show(description: dict[str, Any], path: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {"streaming_file": str(path)}
            | {key: value for key, value in description.items() if key != "streaming_file"}
        )
        return
    table = Table(box=box.SIMPLE, title=f"{description['frames']} frames, {description['codec']}", title_justify="left")
    plan = description.get("plan")
    columns = ["level", "quality", "mean (kbit/s)", "plan's peak (kbit/s)", "rates", "client buffer (kB)"]
    for column in columns:
        table.add_column(column, justify="left" if column == "quality" else "right")
    for number, level in enumerate(description["levels"]):
        if plan is None:
            rates = [rate for _, rate in level["steps"]]
            peak, count, buffer = (
                max(rates, default=0),
                len([rate for rate in rates if rate]),
                description["client_buffer_bytes"],
            )
        else:
            own = plan["levels"][number]
            peak, count, buffer = own["peak_bps"], len(own["steps"]), own["client_buffer_bytes"]
        quality = str(level.get("quality", ""))
        numbers = (f"{level['mean_bps'] / 1e3:.1f}", f"{peak / 1e3:.1f}", str(count), f"{buffer / 1e3:.1f}")
        table.add_row(str(number), quality, *numbers)
    console = stdout()
    console.print(table)
    console.print(str(path), markup=False, highlight=False, soft_wrap=True)
