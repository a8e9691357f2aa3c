"""A text as a reader reads it: what the other modules do, in its order.

Here belongs what knows all the markup that a text may hold. What is true of one of them belongs in `latex.py` or
`markdown.py`.
"""

import html
import re

from pipelines.model.text.characters import UNSHIELD, folded, is_printable, shielded, visible
from pipelines.model.text.latex import without_latex
from pipelines.model.text.markdown import without_markdown

# Longer ones are no abstracts; some patterns take time that grows with the square of the length.
LONGEST_READ = 10_000

# A text with none of these reads as it stands. Substring tests, since most abstracts end here.
_SPECIAL = ("\\", "$", "*", "_", "`", "#", "&", "](", "<http", "  ", " \n", "\n ", "\n\n\n")
_URL = re.compile(r"https?://[^\s<>{}\\\[\]()*`\"$]*[^\s<>{}\\\[\]()*`\"$_.,;:!?']")


def plain_text(text: str) -> str:
    r"""What a reader reads: LaTeX and Markdown turned into Unicode text, invisible characters out, blanks folded.

    `$L^2$` becomes `L^2`, `\textbf{x}` and `**x**` become `x`, `[a](u)` becomes `a (u)`, `\citep{..}` goes. Words are
    never dropped: where a construct cannot be read (an unbalanced `$`, an unknown macro) it stays as written.
    A text of more than 10,000 characters is only folded. Lines and paragraphs are kept; the result has neither control
    characters nor blanks at its ends.
    """
    if is_printable(text) and not any(marks in text for marks in _SPECIAL) and text == text.strip():
        return text
    text = folded(visible(text))
    if len(text) > LONGEST_READ:
        return text
    text = _URL.sub(shielded, text)
    if "\\" in text or "$" in text:
        text = without_latex(text)
    text = without_markdown(text)
    return folded(visible(text.translate(UNSHIELD)))  # entities such as `&#8206;` may have brought new ones


def unescape_html(text: str) -> str:
    """HTML entities (`&amp;`, `&#39;`) as the characters that they stand for; the text is otherwise left alone."""
    return html.unescape(text) if "&" in text else text


def word_count(text: str) -> int:
    """The number of words: runs of characters that are no white space."""
    return len(text.split())
