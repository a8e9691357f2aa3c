"""Characters that nobody sees, blanks, and the shield that keeps a plain character from a parser.

Here belongs what is true of a single character, whatever the text says.
"""

import re
import string
import unicodedata

# The 32 noncharacters U+FDD0..U+FDEF never occur in exchanged text; ASCII has exactly 32 punctuation characters.
SHIELD = dict(zip(map(ord, string.punctuation), map(chr, range(0xFDD0, 0xFDF0)), strict=True))
UNSHIELD = {ord(stand_in): chr(plain) for plain, stand_in in SHIELD.items()}


def shielded(match: re.Match[str]) -> str:
    """For `re.sub`: what matched, with stand-ins for its punctuation."""
    return match[0].translate(SHIELD)


_LINE_BREAK = re.compile("\r\n|[\r\v\x85\u2028\u2029]")
# Controls, formats and lone surrogates: `re` has no \p{Cf}.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs"))


def is_printable(text: str) -> bool:
    """Whether every character is a visible one, a blank or a newline; far quicker than a regular expression."""
    return text.replace("\n", " ").isprintable()


def visible(text: str) -> str:
    """The text without the characters that nobody sees, stand-ins among them; blanks of every kind stay."""
    return text if is_printable(text) else "".join(filter(_is_visible, text))


def _is_visible(character: str) -> bool:
    return character.isspace() or not (unicodedata.category(character) in _INVISIBLE or ord(character) in UNSHIELD)


def folded(text: str) -> str:
    """Lines without leading, trailing or repeated blanks, and at most one empty line in a row."""
    if not is_printable(text):
        text = _LINE_BREAK.sub("\n", text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return re.sub("\n{3,}", "\n\n", text) if "\n\n\n" in text else text
