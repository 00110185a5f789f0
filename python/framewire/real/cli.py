"""``framewire send --to`` and ``framewire receive --transport``: what they say and print."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from framewire import progress as progress_module
from framewire.commands import print_json, stderr, stdout, warn
from framewire.endpoint.address import Address
from framewire.endpoint.closing_message import joining_command
from framewire.errors import RunError
from framewire.real import ends
from framewire.real.ends import End

__all__ = ["receive", "send"]


def send(as_json: bool, source: Path, to: str, **options: Any) -> End:
    """Sends, shows how far it has come, and prints what came of it."""
    address = Address.parse(to)
    name = options["transport"]
    with progress_module.for_console(stderr()) as display:
        end = ends.send(source, address, listener=_shown(name, display), **options)
    result = end.result
    if as_json:
        print_json({"directory": str(end.directory), **result})
    else:
        given_up = f", {result['dropped']:,} given up" if result["dropped"] else ""
        _print(f"{result['offered']:,} frames offered{given_up}; {_how_it_ended(end)}")
        _print(f"sender   {end.directory}")
        if result["clock_error_s"] is None:
            _print("The receiver is another program, or was not there: nothing is known of what came.")
        else:
            _print(f"with the receiver's directory: {_command('report', str(end.directory), 'RECEIVER_DIR')}")
    if result["unreachable"]:
        warn(f"{result['unreachable']:,} times the receiver's host said that nothing receives at this port")
    if result["refused_reports"]:
        warn(f"{result['refused_reports']:,} datagrams where reports are taken were of other hosts or no RTCP")
    return _checked(end)


def receive(as_json: bool, at: str, **options: Any) -> End:
    """Receives, shows how much came, and prints what came of it."""
    with progress_module.for_console(stderr()) as display:
        if "://" in at:
            name = options["transport"] or at.split(":")[0]
            end = ends.ask(at, listener=_shown(name, display), **options)
        else:
            name = options["transport"]
            end = ends.receive(Address.parse(at), listener=_shown(name, display), **options)
    result = end.result
    movie = end.directory / "received" / str(result["movie"])
    heard = end.sound
    if as_json:
        packets, sound = (0, None) if heard is None else (heard[0], str(heard[1]))
        print_json(
            {"directory": str(end.directory), **result, "movie": str(movie), "sound": sound, "sound_packets": packets}
        )
    else:
        lost = f", {result['dropped']:,} with something missing" if result["dropped"] else ""
        _print(f"{result['whole']:,} whole frames{lost}; {_how_it_ended(end)}")
        if result["whole"]:
            rate = result["frames_per_second"]
            pace = [] if rate is None else ["-framerate", str(Fraction(rate).limit_denominator(1_001))]
            video = ["-f", result["ffmpeg_format"], *pace]
            _print(f"{result['codec']}; plays with: {shlex.join(['ffplay', *video, str(movie)])}")
            if heard is not None:
                _print(f"{heard[0]:,} packets of its sound: {heard[1]}")
                _print(f"with its sound: {joining_command(result['codec'], video, movie, ['-i', str(heard[1])])}")
        _print(f"receiver {end.directory}")
    if result["rejected"]:
        warn(f"{result['rejected']:,} packets or frames made no sense and were refused (run.json has reasons)")
    if result["of_others"]:
        warn(f"{result['of_others']:,} datagrams or connections of others were refused")
    return _checked(end)


def _checked(end: End) -> End:
    if end.failure is not None:
        raise RunError(end.failure)
    return end


def _how_it_ended(end: End) -> str:
    ended = {
        "interrupted": "until you stopped it",
        "silence": "until nothing more came",
        "size limit": "until --max-size was reached",
    }
    by = end.result["ended_by"]
    if by is not None:
        return ended[by]
    return "broken off" if end.failure is not None else "to the end"


def _command(*words: str) -> str:
    return shlex.join(["framewire", *words])


def _print(text: str) -> None:
    stdout().print(text, markup=False, highlight=False, soft_wrap=True)


def _shown(name: str, display: progress_module.Display) -> Callable[[dict[str, Any]], None]:
    """Events of an end as a display takes those of a run; what is only said once goes to stderr."""
    before = (0.0, 0)

    def show(event: dict[str, Any]) -> None:
        nonlocal before
        match event["event"]:
            case "step":
                display(event)
            case "listening":
                _say(f"waiting for a stream by {name} at {event['address']}; Ctrl-C ends it")
            case "unreachable":
                _say(f"{event['elapsed_s']:.1f} s: nothing receives there (any more); what is sent is lost meanwhile")
            case "taking reports":
                _say(f"reports of the receiver (RTCP) are taken at port {event['port']}")
            case "unannounced":
                _say(
                    "a stream comes that was not announced, and is thrown away: its sender was started before this "
                    "receiver (start the receiver first), or is another program, or cannot reach the port above, which "
                    "has to be open for UDP, too; with --codec (or --sdp) what comes is received as it is"
                )
            case "sound left out":
                _say(f"without the sound: {event['reason']}")
            case "other sound":
                many = "1 more track" if event["tracks"] == 1 else f"{event['tracks']} more tracks"
                _say(f"without {many} of sound: one is received, the first that can be")
            case "asking":
                _say(f"asking for a receiver of framewire's at {event['address']} ...")
            case "aligned":
                _say(f"it answers; the clocks are known to within {event['error_s'] * 1e3:.3f} ms")
            case "not aligned":
                _say(
                    "nobody answers: whatever receives there is another program, and clocks are not aligned; framewire "
                    "receive has to be started first, as a stream is announced when it begins"
                )
            case "started":
                before = (0.0, 0)
                display({"event": "started", "flows": [name]})
            case "progress":
                (since_s, had), at_s = before, float(event["elapsed_s"])
                before = (at_s, event["bytes"])
                rate = 8 * (event["bytes"] - had) / (at_s - since_s) if at_s > since_s else 0.0
                frames = {} if event["frames"] is None else {"frames": event["frames"]}
                sent = event["offered"] if event["offered"] is not None else event["whole"]
                display(
                    {
                        "event": "progress",
                        "flow": name,
                        "elapsed_s": at_s,
                        "throughput_bps": rate,
                        "dropped": event["dropped"],
                        "offered": sent,
                        "state": "streaming",
                        **frames,
                    }
                )

    return show


def _say(text: str) -> None:
    stderr().print(text, markup=False, highlight=False, soft_wrap=True)
