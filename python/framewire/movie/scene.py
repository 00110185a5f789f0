"""The lab's own test picture: an ffmpeg filter graph that draws a landscape in motion, and a counter burnt into it.

Layers (sky, mountains, hills, meadow) scroll at different speeds with balloons between them. Every layer is a still
picture, drawn once and moved: what changes from frame to frame is what changes in a camera's pan. Fine texture makes
I pictures large, light temporal noise keeps B pictures from vanishing; together they give sizes as real content has.
Everything is drawn by integer or pinned noise filters from fixed seeds, so one version of ffmpeg draws the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["COUNTER_SIZE", "FPS", "HEIGHT", "LAYERS", "WIDTH", "counter_pictures", "layers_graph", "scene_graph"]

WIDTH, HEIGHT, FPS = 720, 576, 25

PERIOD = 2400  # width of a layer in pixels; it wraps around
STILL = f"r={FPS}:d={1 / FPS}"  # a source of one picture
# Computed once a pixel and kept in a variable of the expression: the texture, about -1 to 1, the row of the whole
# picture, the angle once around the layer, and the row of the ridge.
TEXTURE, ROW, TURN, RIDGE = "ld(0)", "ld(1)", "ld(2)", "ld(3)"
BELOW = f"clip(({ROW}-{RIDGE})/1.5+.5,0,1)"  # 1 below the ridge, 0 above, smooth at the edge
TEMPORAL_NOISE = 11  # of luma, in levels: what film grain and sensors leave; it keeps B pictures from vanishing


@dataclass(frozen=True)
class _Placed:
    """A layer, where it stands in the picture, and how far it scrolls with each frame."""

    name: str
    x: str = "0"
    y: str = "0"
    speed: float = 0


# From the back to the front.
LAYERS = (
    _Placed("sky", speed=0.5),
    _Placed("sun"),
    _Placed("far", y="140", speed=1),
    _Placed("small", "740-mod(n*0.9+160\\,800)", "86+14*sin(n/31)"),
    _Placed("mid", y="316", speed=2),
    _Placed("medium", "mod(60+n*1.3\\,860)-80", "150+34*sin(n/47)"),
    _Placed("large", "mod(430+n*2.1\\,900)-120", "96+60*sin(n/61)"),
    _Placed("near", y="290", speed=4),
)


def layers_graph() -> str:
    """Draws every layer once: one picture comes out of ``[<name>]`` for each of :data:`LAYERS`."""
    return ";\n".join([_sky(), _sun(), _mountains(), _hills(), _meadow(), *_balloons()])


def scene_graph(divisor: int = 1) -> str:
    """Moves the layers: pictures come out of ``[scene]``, so many times smaller than the lab's.

    Input 0 is the counter, which also says how long the movie is; input 1 has the layers as its streams.
    """
    graph, below = [], ""
    width, height, period = WIDTH // divisor, HEIGHT // divisor, PERIOD // divisor
    smaller = f"scale=iw/{divisor}:ih/{divisor}:flags=area+accurate_rnd+bitexact" if divisor > 1 else ""
    for number, layer in enumerate(LAYERS):
        speed = layer.speed / divisor if divisor > 1 else layer.speed
        window = f",crop={width}:ih:'mod(n*{speed}\\,{period})':0" if speed else ""
        # Nothing is seen through the sky, and to draw upon a picture without an alpha plane takes half the time.
        opaque = "format=yuv444p" if number == 0 else ""
        still = ",".join(filter(None, [smaller, opaque, "loop=-1:1"]))
        graph.append(f"[1:v:{number}]{still},settb=1/{FPS},setpts=N{window}[{layer.name}]")
        if number == 0:
            graph.append(f"[{layer.name}]pad={width}:{height}[back]")
            below = "[back]"
        else:
            x, y = (f"({place})/{divisor}" if divisor > 1 else place for place in (layer.x, layer.y))
            graph.append(f"{below}[{layer.name}]overlay=x='{x}':y='{y}':format=yuv444[on_{layer.name}]")
            below = f"[on_{layer.name}]"
    noise = f"noise=c0s={TEMPORAL_NOISE}:c0f=t:c0_seed=7:c1s=2:c1f=t:c1_seed=8:c2s=2:c2f=t:c2_seed=9"
    if divisor > 1:
        # Half as large at least, to be read; noise can be added.
        counter_height = COUNTER_SIZE[1] // 2
        graph.append(f"[0:v]scale=iw/2:{counter_height}:flags=area+accurate_rnd+bitexact[counter]")
        graph.append(f"{below}format=yuv420p[quiet]")
        graph.append(f"[quiet][counter]overlay=x=8:y={height - counter_height - 8}:eof_action=endall[scene]")
        return ";\n".join(graph)
    graph.append(f"{below}format=yuv420p,{noise}[noisy]")
    graph.append(f"[noisy][0:v]overlay=x=16:y={HEIGHT - COUNTER_SIZE[1] - 16}:eof_action=endall[scene]")
    return ";\n".join(graph)


def _texture(seed: int, octaves: Sequence[tuple[int, float]]) -> str:
    """Noise at several scales (size of a grain in pixels, weight), wrapping around horizontally."""
    graph, names = [], ""
    for number, (grain, _) in enumerate(octaves):
        name = f"t{seed}_{number}"
        names += f"[{name}]"
        # Scaled up in three copies side by side, of which the middle one is cut out: so left fits right.
        graph.append(
            f"color=c=gray:s={PERIOD // grain}x{HEIGHT // grain}:{STILL},format=gray,"
            f"noise=c0s=100:c0_seed={seed * 10 + number}:c0f=u,split=3[{name}a][{name}b][{name}c];"
            f"[{name}a][{name}b][{name}c]hstack=3,"
            f"scale={3 * PERIOD}x{HEIGHT}:flags=bicubic+bitexact+accurate_rnd,crop={PERIOD}:{HEIGHT}:{PERIOD}:0[{name}]"
        )
    weights = " ".join(str(weight) for _, weight in octaves)
    contrast = f"lut=c0='128+(val-128)*{sum(weight for _, weight in octaves):.2f}'"
    graph.append(f"{names}mix=inputs={len(octaves)}:weights={weights},format=gray,{contrast},format=gray[t{seed}]")
    return ";\n".join(graph)


def _layer(
    name: str,
    seed: int,
    octaves: Sequence[tuple[int, float]],
    colours: tuple[str, str, str],
    alpha: str,
    rows: tuple[int, int],
    variables: Sequence[str] = (),
) -> str:
    """A textured picture to be scrolled; only ``rows`` of it are ever seen."""
    top, height = rows[0], rows[1] - rows[0]
    values = ["(g(X,Y)-128)/128", f"Y+{top}", "2*PI*X/W", *variables]

    def with_variables(expression: str) -> str:
        """And with no others: what is computed is so for every pixel of every plane."""
        for number, value in reversed([*enumerate(values)]):
            if f"ld({number})" in expression:
                expression = f"st({number},{value});{expression}"
        return expression

    # Clipped here: the filter would wrap around.
    red, green, blue = (with_variables(f"clip({colour},0,255)") for colour in colours)
    # The beginning again at the end, so that a window of one picture's width fits everywhere.
    wrapped = f"split[{name}_a][{name}_b];[{name}_b]crop={WIDTH}:ih:0:0[{name}_c];[{name}_a][{name}_c]hstack"
    return (
        f"{_texture(seed, octaves)};\n[t{seed}]crop=iw:{height}:0:{top},format=gbrap,"
        f"geq=r='{red}':g='{green}':b='{blue}':a='{with_variables(alpha)}',format=yuva444p,{wrapped}[{name}]"
    )


def _sky() -> str:
    cloud = f"clip({TEXTURE}*2.6*(1-{ROW}/380)-0.02,0,1)"
    colours = (
        f"lerp(64+190*pow({ROW}/400,1.3),252,{cloud})",
        f"lerp(120+95*({ROW}/400),248,{cloud})",
        f"lerp(205-40*({ROW}/400),245,{cloud})",
    )
    octaves = [(96, 0.55), (40, 0.45), (16, 0.2), (8, 0.1), (2, 0.04)]
    return _layer("sky", 1, octaves, colours, "255", (0, 400))


def _sun() -> str:
    distance = "hypot(X-560,Y-205)"
    alpha = f"if(lt({distance},30),255,190*exp(-({distance}-30)/70))"
    return _still("sun", WIDTH, HEIGHT, ("255", "236", "190"), alpha)


def _still(name: str, width: int, height: int, colours: tuple[str, str, str], alpha: str) -> str:
    red, green, blue = colours
    return (
        f"color=c=black:s={width}x{height}:{STILL},format=gbrap,geq=r='{red}':g='{green}':b='{blue}':a='{alpha}',"
        f"format=yuva444p[{name}]"
    )


def _ridge(base: float, waves: Sequence[tuple[float, int, float, bool]]) -> str:
    """Height of a ridge line: waves of (pixels, periods around the layer, phase, pointed)."""
    terms = (f"-{size}*{'abs' if pointed else ''}(sin({TURN}*{n}+{phase}))" for size, n, phase, pointed in waves)
    return f"({base}{''.join(terms)})"


def _mountains() -> str:
    waves = [(58, 3, 0.4, True), (34, 7, 1, True), (14, 17, 2, False), (6, 43, 0, False), (3, 97, 0, False)]
    ridge = _ridge(262, waves)
    snow = f"clip((34+26*{TEXTURE}-({ROW}-{RIDGE}))/5,0,1)"
    haze = f"(0.35+0.65*clip(({ROW}-{RIDGE})/190,0,1))"
    colours = (
        f"lerp(92+58*{TEXTURE}+45*{haze},238+14*{TEXTURE},{snow})",
        f"lerp(100+58*{TEXTURE}+45*{haze},240+14*{TEXTURE},{snow})",
        f"lerp(138+50*{TEXTURE}+30*{haze},250,{snow})",
    )
    octaves = [(48, 0.3), (12, 0.4), (4, 0.7), (2, 0.85)]
    return _layer("far", 2, octaves, colours, f"255*{BELOW}", (140, 424), [ridge])


def _hills() -> str:
    ridge = _ridge(372, [(26, 2, 2, False), (16, 5, 0.3, False), (5, 13, 0, False), (4, 150, 0, True)])
    colours = (
        f"52+62*{TEXTURE}+0.18*({ROW}-{RIDGE})",
        f"92+75*{TEXTURE}+0.28*({ROW}-{RIDGE})",
        f"50+40*{TEXTURE}",
    )
    octaves = [(64, 0.3), (16, 0.45), (4, 1.0), (2, 1.1)]
    return _layer("mid", 3, octaves, colours, f"255*{BELOW}", (316, 520), [ridge])


def _meadow() -> str:
    """Grass, and a tree of its own size every 240 pixels."""
    ridge = _ridge(486, [(14, 3, 0, False), (6, 8, 1, False), (2, 400, 0, True)])
    tree_size, tree_across = "0.75+0.25*sin(floor(X/240)*1.7)", "mod(X,240)-120+30*sin(floor(X/240)*2.4)"
    size, across = "ld(4)", "ld(5)"
    crown = f"clip((1-hypot({across}/(44*{size}),({ROW}-{RIDGE}+88*{size})/(62*{size}))+0.35*{TEXTURE})*14,0,1)"
    trunk = f"clip(between(abs({across}),0,5)*between({ROW},{RIDGE}-60*{size},{RIDGE}+6),0,1)"

    def colour(grass: str, leaves: str, wood: str) -> str:
        return f"lerp(lerp({grass},{wood},{trunk}),{leaves},{crown})"

    colours = (
        colour(f"128+85*{TEXTURE}-0.3*({ROW}-{RIDGE})", f"44+75*{TEXTURE}+0.25*({RIDGE}-{ROW})", "74"),
        colour(f"142+80*{TEXTURE}-0.4*({ROW}-{RIDGE})", f"84+85*{TEXTURE}+0.2*({RIDGE}-{ROW})", "54"),
        colour(f"62+50*{TEXTURE}", f"34+40*{TEXTURE}", "40"),
    )
    alpha = f"255*max(max({BELOW},{trunk}),{crown})"
    octaves = [(24, 0.35), (6, 0.6), (3, 1.4), (2, 1.1)]
    return _layer("near", 4, octaves, colours, alpha, (290, HEIGHT), [ridge, tree_size, tree_across])


def _balloons() -> list[str]:
    return [
        _balloon("large", 108, (226, 52, 46), (250, 226, 120)),
        _balloon("medium", 72, (40, 92, 190), (240, 240, 236)),
        _balloon("small", 50, (240, 140, 30), (120, 40, 120)),
    ]


def _balloon(name: str, width: int, odd: tuple[int, int, int], even: tuple[int, int, int]) -> str:
    """A striped balloon with a basket."""
    height = int(width * 1.4) // 2 * 2
    centre, radius = width / 2 - 0.5, width / 2 - 2
    x, y = f"((X-{centre})/{radius})", f"((Y-{radius + 2})/{radius})"
    body = f"lt(hypot({x},{y}*if(gt({y},0),0.78,1)),1)"
    meridian = f"asin(clip({x}/max(sqrt(1-min({y}*{y}*0.6,0.99)),0.1),-1,1))/PI"
    stripe = f"lt(mod({meridian}*9+9.5,2),1)"
    basket = f"between(abs(X-{centre}),0,{width * 0.09:.2f})*between(Y,{height * 0.88:.2f},{height - 3})"
    shade = f"(1-0.45*max({x}+{y}*0.4,0))"
    wicker = (96, 62, 34)
    red, green, blue = (
        f"if({basket},{wicker[part]},if({stripe},{odd[part]},{even[part]})*{shade})" for part in range(3)
    )
    return _still(name, width, height, (red, green, blue), f"255*max({body},{basket})")


# The digits, seven rows of five pixels each.
_GLYPHS = {
    "0": (0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E),
    "1": (0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E),
    "2": (0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F),
    "3": (0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E),
    "4": (0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02),
    "5": (0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E),
    "6": (0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E),
    "7": (0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08),
    "8": (0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E),
    "9": (0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C),
    ":": (0x00, 0x04, 0x04, 0x00, 0x04, 0x04, 0x00),
    " ": (0x00,) * 7,
}
_PAPER, _INK = b"\x18", b"\xf0"
_MARGIN, _COLUMNS = 6, 8
_LARGE, _SMALL = 5, 3  # pixels per pixel of a glyph

COUNTER_SIZE = (_COLUMNS * 6 * _LARGE + 2 * _MARGIN, 7 * (_LARGE + _SMALL) + 3 * _MARGIN)
"""Width and height of the counter's pictures; both even, as 4:2:0 wants."""


def counter_pictures(frames: int) -> Iterator[bytes]:
    """The counter for each frame, 8-bit grey: time code (minutes, seconds, frames), and below it the frame's number."""
    width = COUNTER_SIZE[0]
    gap = _PAPER * (width * _MARGIN)
    for frame in range(frames):
        seconds, rest = divmod(frame, FPS)
        time_code = f"{seconds // 60 % 100:02}:{seconds % 60:02}:{rest:02}"
        yield gap + _line(time_code, _LARGE) + gap + _line(f"{frame:>{_COLUMNS}}", _SMALL) + gap


def _line(text: str, scale: int) -> bytes:
    width = COUNTER_SIZE[0]
    rows = []
    for row in range(7):
        bits = "".join(f"{_GLYPHS[character][row]:05b}0" for character in text)
        pixels = b"".join((_INK if bit == "1" else _PAPER) * scale for bit in bits)
        # Right-aligned, so that the number of the frame stands under the frames of the time code.
        line = (pixels + _PAPER * _MARGIN).rjust(width, _PAPER)
        rows.append(line * scale)
    return b"".join(rows)
