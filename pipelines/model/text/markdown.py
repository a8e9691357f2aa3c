"""Markdown, read by markdown-it-py: text without the marks of headings, bullets, emphasis, code and links.

Here belongs what CommonMark takes for a mark and prose does not.
"""

import re
from functools import lru_cache
from typing import Any

from pipelines.model.text.characters import UNSHIELD, shielded

_LATEX_QUOTES = re.compile(r"``([^`'\n]{1,200})''")
_LATEX_QUOTE = re.compile(r"(?<![`\w])`([^`'\n]{1,200})'(?![\w`'])")
_OUTER_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")
# What most emphasis looks like: around whole words, with nothing of note inside. The rest is CommonMark's to decide.
_SIMPLE_EMPHASIS = re.compile(r"(?<![\w*/])(\*{1,2})(?=\w)([^*\[\]<&\n]*[\w.?!:)])\1(?![\w*/])")
_HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$", re.MULTILINE)
_BULLET = re.compile(r"^\* +(?=\S)", re.MULTILINE)
# Stars and underscores that CommonMark would take for emphasis, although they are arithmetic, globs or identifiers.
_PLAIN_MARKS = re.compile(
    r"(?<!\S)[^\s*]*\w\*\w\S*"  # a*b*c
    r"|(?<=\w)\*\*(?=\d)|(?<=\d)\*\*(?=\w)"  # x**2, 2**n
    r"|(?<=/)\*+|\*+(?=/)|\*(?=\.\w)"  # data/*.py
    r"|\b__\w+__(?=[.(]\w|\()"  # __init__.py
)
_LINK_TARGET = re.compile(r"https?:|mailto:|www\.", re.IGNORECASE)


def without_markdown(text: str) -> str:
    """The text without the marks of headings, bullets, emphasis, code and links."""
    if "#" in text:
        text = _HEADING.sub(r"\1", text)
    if "`" in text:
        text = _LATEX_QUOTES.sub("\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text)
        text = _LATEX_QUOTE.sub("\N{LEFT SINGLE QUOTATION MARK}\\1\N{RIGHT SINGLE QUOTATION MARK}", text)
    if "*" in text:
        text = _BULLET.sub("- ", text)
        if "`" not in text:
            text = _SIMPLE_EMPHASIS.sub(r"\2", text)
    if "*" in text or "__" in text:
        text = _PLAIN_MARKS.sub(shielded, text)
    return "\n\n".join(_inline(part) if _may_be_marked(part) else part for part in text.split("\n\n"))


def _may_be_marked(text: str) -> bool:
    """Whether CommonMark's inline rules could change anything; underscores inside words cannot."""
    return any(mark in text for mark in ("*", "`", "&", "](", "<http")) or (
        "_" in text and _OUTER_UNDERSCORE.search(text) is not None
    )


def _inline(paragraph: str) -> str:
    """One paragraph without its emphasis, code and link marks."""
    try:
        blocks = _markdown_parser().parseInline(paragraph)
    except Exception:  # see _latex
        return paragraph
    written: list[str] = []
    links: list[tuple[int, str]] = []
    for token in (token for block in blocks for token in block.children or []):
        if token.type == "link_open":
            links.append((len(written), str(token.attrs.get("href", ""))))
        elif token.type == "link_close":
            start, target = links.pop()
            if (label := "".join(written[start:])) != target:
                written.append(f" ({target})" if label else target)
        elif token.type == "image":
            written.append(" ".join(part for part in (token.content, f"({token.attrs.get('src', '')})") if part))
        else:
            written.append("\n" if token.type in ("softbreak", "hardbreak") else token.content)
    return "".join(written)


@lru_cache(maxsize=1)
def _markdown_parser() -> Any:
    """CommonMark's inline rules. No escapes (LaTeX's are done with) and no HTML (`<C>` is text); a link needs an
    address, so that `f[0](x)` is none."""
    from markdown_it import MarkdownIt

    parser: Any = MarkdownIt("commonmark").disable(["escape", "html_inline"])
    parser.validateLink = lambda url: _LINK_TARGET.match(url.translate(UNSHIELD)) is not None
    parser.normalizeLink = parser.normalizeLinkText = lambda url: url
    return parser
