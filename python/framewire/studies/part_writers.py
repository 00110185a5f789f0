"""What is made of the parts of a page: HTML, Markdown, and what a terminal shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text as RichText

from framewire.studies.parts import Drawing, Drawings, Folded, Part, Points, Section, SideBySide, Text
from framewire.studies.table import Table
from framewire.studies.writers import html, markdown, templates, terminal

__all__ = ["figures_of", "html_of_part", "inline", "markdown_of_part", "plain", "terminal_of_part"]

_EMPHASISED = re.compile(r"\*\*(.+?)\*\*")
_TYPED = re.compile(r"`([^`]+)`")


def inline(words: str) -> Markup:
    """Words as HTML.

    >>> str(inline("**a < b** by `--quick`"))
    '<b>a &lt; b</b> by <code>--quick</code>'
    """
    return Markup(_TYPED.sub(r"<code>\1</code>", _EMPHASISED.sub(r"<b>\1</b>", str(escape(words)))))


def plain(words: str) -> str:
    """Words without their emphasis.

    >>> plain("**a < b** by `--quick`")
    'a < b by --quick'
    """
    return _TYPED.sub(r"\1", _EMPHASISED.sub(r"\1", words))


def html_of_part(part: Part, title: str = "") -> Markup:
    """A part of the page below a title."""
    match part:
        case str():
            return Markup("<p>{}</p>\n").format(inline(part))
        case Text():
            return Markup('<p class="{}">{}</p>\n').format(part.style, inline(part.words))
        case Points():
            points = Markup("\n").join(Markup("<li>{}</li>").format(inline(one)) for one in part.points)
            return Markup("<ul>\n{}</ul>\n").format(points)
        case Table():
            return _html_of_table(part, title)
        case SideBySide():
            every = (
                Markup('<div class="{}">\n{}</div>\n').format(
                    "narrow" if part.is_narrow(one) else "wide", _html_of_table(one, title)
                )
                for one in part.tables
            )
            return Markup('<div class="tables">\n{}</div>\n').format(Markup().join(every))
        case Drawings():
            return Markup('<div class="figures">\n{}</div>\n').format(Markup().join(map(_html_of_drawing, part.of)))
        case Folded():
            text = Markup('<details class="list"{}><summary>{}</summary>{}</details>\n')
            parts = Markup().join(html_of_part(one, part.summary) for one in part.parts)
            return text.format(Markup(" open" if part.is_open else ""), part.summary, parts)


def _html_of_table(table: Table, title: str) -> Markup:
    named = Markup(' id="{}"').format(table.key) if table.key else ""
    head = Markup("<h3{}>{}</h3>\n").format(named, table.title) if table.title not in ("", title) else Markup()
    above = Markup('<p class="hint">{}</p>\n').format(inline(table.above)) if table.above else ""
    return Markup("{}{}{}").format(head, above, html(table))


def _html_of_drawing(one: Drawing) -> Markup:
    macro = templates().get_template("table.html.jinja").module.drawing  # type: ignore[attr-defined]
    return Markup(macro(one.figure, one.said))


def figures_of(sections: Sequence[Section]) -> list[Drawing]:
    """Every figure that is drawn in them."""
    return [one for section in sections for part in section.parts for one in _drawn(part)]


def _drawn(part: Part) -> Sequence[Drawing]:
    if isinstance(part, Folded):
        return [one for inner in part.parts for one in _drawn(inner)]
    return part.of if isinstance(part, Drawings) else ()


def markdown_of_part(part: Part, title: str = "") -> str:
    """The same in Markdown; of figures what is said of them. Empty where nothing is."""
    match part:
        case str():
            return part
        case Text():
            return part.words
        case Points():
            return "\n".join(f"- {one}" for one in part.points)
        case Table():
            head = f"### {part.title}" if part.title not in ("", title) else ""
            return "\n\n".join(one.strip("\n") for one in (head, part.above, markdown(part), part.note) if one)
        case SideBySide():
            return "\n\n".join(markdown_of_part(one, title) for one in part.tables)
        case Drawings():
            return "\n".join(_markdown_of_drawing(one) for one in part.of)
        case Folded():
            return "\n\n".join([f"**{part.summary}**", *(markdown_of_part(one, part.summary) for one in part.parts)])


def _markdown_of_drawing(one: Drawing) -> str:
    absent = f"not drawn: {one.figure.absent}." if one.figure.absent else ""
    said = [f"{who}: {what}" for who, what in one.said if what]
    return " ".join(filter(None, [f"- *{one.figure.title or one.figure.name}*", one.figure.hint, *said, absent]))


def terminal_of_part(part: Part) -> RenderableType | None:
    """The same for a terminal, without rows in which nothing stands; None where there is nothing to show."""
    match part:
        case str():
            return RichText(plain(part))
        case Text():
            return RichText(plain(part.words), style="yellow" if part.style == "caveat" else "dim")
        case Points():
            return RichText("\n".join(f"- {plain(one)}" for one in part.points))
        case Table():
            return terminal(part.without_empty()) if part.rows else None
        case SideBySide():
            return _below_each_other(part.tables)
        case Drawings():
            return None
        case Folded():
            inner = _below_each_other(part.parts)
            return None if inner is None else Group(RichText(part.summary), inner)


def _below_each_other(parts: Sequence[Part]) -> RenderableType | None:
    shown = [one for one in map(terminal_of_part, parts) if one is not None]
    return (
        Group(*(Padding(one, (0, 0, 1 if place < len(shown) - 1 else 0, 0)) for place, one in enumerate(shown)))
        if shown
        else None
    )
