"""Names of people: the key under which spellings of one name meet, and what is no name.

Here belongs what one name says. Who is who belongs in dbt.
"""

import re
import unicodedata

from pipelines.model.text.characters import UNSHIELD, visible
from pipelines.model.text.emails import EMAIL
from pipelines.model.text.latex import without_latex

LONGEST_NAME = 200

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z .'-]*[A-Za-z.]")
_LATEX_IN_NAME = re.compile(r"[\\{}$~]")
_SUPERSCRIPT = re.compile(r"\s*\\textsuperscript\s*\{[^{}]*\}\s*\Z")
# Possessive, or a run of marks that does not end the name would be tried in every division of it.
_FOOTNOTES_AT_END = re.compile(
    r"(?:\^[({]?[\d,]+[)}]?|[*\u2217\u204e\u2020\u2021\u00a7\u00b6\u2016#^,;\s\u00b9\u00b2\u00b3\u2070\u2074-\u2079])++\Z"
)


def name_key(name: str) -> str:
    r"""The key under which spellings of one name meet: `Jos\'{e}  Silva*`, `JOSÉ SILVA` and `José Silva` share one.

    LaTeX accents become Unicode, then NFKC, no invisible characters, single blanks, no footnote marks at the end, case
    folded. Accents stay, so `Jose Silva` is somebody else. Empty where nothing is left of the name.
    """
    if _PLAIN_NAME.fullmatch(name) and "  " not in name:
        return name.lower()
    if len(name) > LONGEST_NAME:
        return " ".join(unicodedata.normalize("NFKC", visible(name)).casefold().split())
    name = unicodedata.normalize("NFC", visible(name))
    name = _FOOTNOTES_AT_END.sub("", _SUPERSCRIPT.sub("", name))
    if _LATEX_IN_NAME.search(name):
        name = without_latex(name.replace("~", " ")).translate(UNSHIELD)
    # Folding case may undo a normal form, and leaving out a character may compose its neighbours: until nothing moves.
    for _ in range(8):
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible(name)).casefold())
        name = _FOOTNOTES_AT_END.sub("", " ".join(_LATEX_IN_NAME.sub("", name).split()))
    return name


_NOT_AVAILABLE = frozenset(
    ["n/a", "n.a.", "n.a", "na", "nan", "none", "null", "nil", "unknown", "tba", "tbd", "test", "xxx"]
)
_PLACEHOLDER = re.compile(
    r"(?:the )?(?:paper |submission )?(?:withdrawn?|withdrew|deleted|removed|redacted|hidden|anonym(?:ous|ized|ised))"
    r"(?: (?:by )?(?:the )?(?:authors?|paper|submission))?(?:\(s\))?\.?|(?:the )?authors?(?:\(s\))?"
)


def name_problem(name: str) -> str | None:
    """Why this author entry is not a person's name, as words that follow "the author"; None where it may be one."""
    if not visible(name).strip():
        return "is empty"
    if "@" in name and EMAIL.search(visible(name)):
        return "is or holds an e-mail address"
    key = name_key(name)
    if not key:
        return "is only a footnote mark"
    if key in _NOT_AVAILABLE:
        return "says that there is none"
    if _PLACEHOLDER.fullmatch(key):
        return "stands for withdrawn or anonymous authors"
    if not any(letter.isalpha() for letter in key):
        return "has no letters"
    return None
