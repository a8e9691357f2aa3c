r"""Pure functions on text, for SQL that cannot say them: each takes any string, never raises and keeps no state.

Here belongs what turns one string into another: reading forms, name keys, redaction. What a mart does with the result
belongs in dbt; reading and writing belong elsewhere.

LaTeX is pylatexenc's, Markdown is markdown-it-py's. Neither is told about the other, and abstracts mix both with
prose in which `%`, `$`, `_` or `*` mean themselves. So a character that is known to be plain is *shielded* first, that
is replaced by a stand-in that no parser knows, and put back at the end.

    reading.py      plain text: the order of the steps
    latex.py        formulas and macros
    markdown.py     emphasis, code, links
    names.py        the key of a name, and what is no name
    emails.py       addresses, which no mart shows
    characters.py   what nobody sees, blanks, the shield
"""

from pipelines.model.text.emails import redact_emails
from pipelines.model.text.names import name_key, name_problem
from pipelines.model.text.reading import plain_text, unescape_html, word_count

__all__ = ["name_key", "name_problem", "plain_text", "redact_emails", "unescape_html", "word_count"]
