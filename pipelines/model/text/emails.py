"""E-mail addresses, which no mart shows."""

import re

_EMAIL_LOCAL = r"(?:\\u[0-9a-fA-F]{4}|[\w.+%'-]){1,64}|\{[^{}@\n]{1,200}\}"
EMAIL = re.compile(rf"(?:{_EMAIL_LOCAL})@(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}")
_EMAIL_OR_ESCAPE = re.compile(rf"({EMAIL.pattern})|\\u[0-9a-fA-F]{{4}}|\\.", re.DOTALL)


def redact_emails(text: str) -> str:
    r"""The text with every e-mail address replaced by `<e-mail address removed>`.

    JSON stays JSON: the `n` of an escape such as `\n` is not taken for the start of an address.
    """
    if "@" not in text:
        return text
    return _EMAIL_OR_ESCAPE.sub(lambda m: "<e-mail address removed>" if m[1] else m[0], text)
