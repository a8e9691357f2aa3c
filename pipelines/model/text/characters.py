"""Characters that nobody sees, blanks, and the shield that keeps a plain character from a parser.

Here belongs what is true of a single character, whatever the text says.
"""

import re
import string

# The 32 noncharacters U+FDD0..U+FDEF never occur in exchanged text; ASCII has exactly 32 punctuation characters.
SHIELD = dict(zip(map(ord, string.punctuation), map(chr, range(0xFDD0, 0xFDF0)), strict=True))
UNSHIELD = {ord(stand_in): chr(plain) for plain, stand_in in SHIELD.items()}


def shielded(match: re.Match[str]) -> str:
    """For `re.sub`: what matched, with stand-ins for its punctuation."""
    return match[0].translate(SHIELD)


_LINE_BREAK = re.compile("\r\n|[\r\v\x85\u2028\u2029]")
# Cc, Cf, lone surrogates and noncharacters. The ranges are spelled out because `re` has no \p{Cf}; a test compares
# them with unicodedata.
_INVISIBLE_CLASS = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f"
)
_INVISIBLE = re.compile(f"[{_INVISIBLE_CLASS}]")


def is_printable(text: str) -> bool:
    """Whether every character is a visible one, a blank or a newline; far quicker than a regular expression."""
    return text.replace("\n", " ").isprintable()


def visible(text: str) -> str:
    """The text without the characters that nobody sees, stand-ins among them; blanks of every kind stay."""
    return text if is_printable(text) else _INVISIBLE.sub("", text)


def folded(text: str) -> str:
    """Lines without leading, trailing or repeated blanks, and at most one empty line in a row."""
    if not is_printable(text):
        text = _LINE_BREAK.sub("\n", text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return re.sub("\n{3,}", "\n\n", text) if "\n\n\n" in text else text
