"""Elements of inline SVG: no script, no network, colours by class, all text escaped by `Markup`."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

__all__ = ["element", "picture", "words"]


def picture(
    kind: str,
    title: str,
    description: str,
    parts: Iterable[Markup],
    width: float,
    height: float,
    *,
    style: str = "",
    scale: float = 1.0,
) -> Markup:
    """A whole picture, with a title and a description for readers who do not see it.

    With a `style` it is a file that stands alone, shown `scale` times its own size.
    """
    alone = Markup(' xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"').format(
        _spelled(width * scale), _spelled(height * scale)
    )
    return Markup(
        '<svg{} class="{}" role="img" viewBox="0 0 {} {}" aria-label="{}. {}">'
        "<title>{}</title><desc>{}</desc>{}{}</svg>"
    ).format(
        alone if style else "",
        kind,
        _spelled(width),
        _spelled(height),
        title,
        description,
        title,
        description,
        Markup("<style>{}</style>").format(style) if style else "",
        Markup("").join(parts),
    )


def element(name: str, style: str, told: str = "", **attributes: float | str) -> Markup:
    """One element with an optional tooltip."""
    spelled = Markup("").join(
        Markup(' {}="{}"').format(key, _spelled(value)) for key, value in attributes.items()
    )
    inner = Markup("<title>{}</title>").format(told) if told else ""
    return Markup('<{} class="{}"{}>{}</{}>').format(name, style, spelled, inner, name)


def words(text: str, style: str, x: float, y: float, anchor: str = "middle") -> Markup:
    """A line of text at a place."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        style, _spelled(x), _spelled(y), anchor, text
    )


def _spelled(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
