r"""Pure functions on text, for SQL that cannot say them: each takes any string, never raises and keeps no state.

Here belongs what turns one string into another: reading forms, name keys, redaction. What a mart does with the result
belongs in dbt; reading and writing belong elsewhere.

LaTeX is pylatexenc's, Markdown is markdown-it-py's. Neither is told about the other, and abstracts mix both with
prose in which `%`, `$`, `_` or `*` mean themselves. So a character that is known to be plain is *shielded* first, that
is replaced by a stand-in that no parser knows, and put back at the end.
"""

import html
import re
import string
import unicodedata
from functools import lru_cache
from typing import Any

# The 32 noncharacters U+FDD0..U+FDEF never occur in exchanged text; ASCII has exactly 32 punctuation characters.
_SHIELD = dict(zip(map(ord, string.punctuation), map(chr, range(0xFDD0, 0xFDF0)), strict=True))
_UNSHIELD = {ord(stand_in): chr(plain) for plain, stand_in in _SHIELD.items()}
_BACKSLASH = "\\".translate(_SHIELD)


def _shielded(match: re.Match[str]) -> str:
    return match[0].translate(_SHIELD)


# --- characters that nobody sees -------------------------------------------------------------------------------------

# Longer ones are no abstracts; some patterns take time that grows with the square of the length.
LONGEST_READ = 10_000
LONGEST_NAME = 200

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


def _is_printable(text: str) -> bool:
    """Whether every character is a visible one, a blank or a newline; far quicker than a regular expression."""
    return text.replace("\n", " ").isprintable()


def _visible(text: str) -> str:
    return text if _is_printable(text) else _INVISIBLE.sub("", text)


def _folded(text: str) -> str:
    """Lines without leading, trailing or repeated blanks, and at most one empty line in a row."""
    if not _is_printable(text):
        text = _LINE_BREAK.sub("\n", text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return re.sub("\n{3,}", "\n\n", text) if "\n\n\n" in text else text


# --- plain_text ------------------------------------------------------------------------------------------------------

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
    if _is_printable(text) and not any(marks in text for marks in _SPECIAL) and text == text.strip():
        return text
    text = _folded(_visible(text))
    if len(text) > LONGEST_READ:
        return text
    text = _URL.sub(_shielded, text)
    if "\\" in text or "$" in text:
        text = _without_latex(text)
    text = _without_markdown(text)
    return _folded(_visible(text.translate(_UNSHIELD)))  # entities such as `&#8206;` may have brought new ones


# --- LaTeX -----------------------------------------------------------------------------------------------------------

_ESCAPED = re.compile(r"\\\\|\\[%#&_${}*]")
_BODY = r"(?:(?!\n\n)[^$])+?"
_MATH = re.compile(
    rf"""
      \$\$ {_BODY} \$\$
    | \$ (?!\d) (?=[^$]*[\\^_]) {_BODY} \$          # evidently mathematics, whatever stands beside the dollars
    | \$ (?=\d[^$]*[\\^_]) {_BODY} (?<!\s) \$       # "$5 for my_tool and $6" is not
    | \$ (?![\s$]) {_BODY} (?<!\s) \$ (?!\d)        # otherwise as Pandoc reads it: "$5 and $10" is money
    | \\\( (?:(?!\n\n).)+? \\\)
    | (?<!\\)\\\[ (?:(?!\n\n).)+? \\\]
    | \\begin\{{(?P<name>(?:equation|align|gather|multline|eqnarray)\*?)\}} (?:(?!\n\n).)+? \\end\{{(?P=name)\}}
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACED_SYMBOL = re.compile(r"\\([A-Za-z]+)\s+(?=\\)")
_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")
_DROPPED = re.compile(
    r"\s*~?\\(?:[Cc]ite(?!t\b|author)[a-z]*|parencite|autocite)\*?(?:\[[^][]*\]){0,2}\{[^{}]*\}|\\label\{[^{}]*\}"
)
_KEPT = re.compile(r"\\(?:[Cc]itet|[Cc]iteauthor|textcite|[cC]ref|autoref|eqref|ref)\*?(?:\[[^][]*\]){0,2}(?=\{)")
_STYLED = re.compile(r"\\(?:emph|underline|mbox|url|text(?:bf|it|tt|sc|sf|rm|sl|md|up|normal)?)\{([^{}\\]*)\}")
_SIMPLE_MATH = re.compile(r"\$[^\\{}~%#&$]*\$|\$\$[^\\{}~%#&$]*\$\$")
_MACRO_START = re.compile(r"\{?\\(?:[A-Za-z]{2,}\*?|[A-Za-z](?![A-Za-z])(?: [A-Za-z]\b)?|[^A-Za-z{\[]\w?)")
_MACRO = re.compile(r"\\([A-Za-z]+)(?=(\{(?!\}))?)")
_TIE = re.compile(r"(?<=[\w.)])~(?=\\)|(?<=[a-z.])~(?=[\d(])")
_LATEX_QUOTES = re.compile(r"``([^`'\n]{1,200})''")
_LATEX_QUOTE = re.compile(r"(?<![`\w])`([^`'\n]{1,200})'(?![\w`'])")


def _without_latex(text: str) -> str:
    """The text with mathematics and macros turned into Unicode; what comes of mathematics is shielded."""
    text = _ESCAPED.sub(lambda m: m[0] if m[0] == "\\\\" else m[0][1].translate(_SHIELD), text)
    text = _MATH.sub(lambda m: _math(m[0]).translate(_SHIELD), text)
    if "\\" not in text:
        return text
    if "cit" in text or "ref" in text or "label" in text:
        text = _KEPT.sub(r"\\mbox", _DROPPED.sub("", text))
    if "~" in text:
        text = _TIE.sub(" ", text)
    # What is left of these is prose: a `%` starts no comment, a lone `$` no formula.
    text = re.sub(r"(?<!\\)~|[%#&$]|\\[()\[\]]", lambda m: m[0][-1].translate(_SHIELD), text)
    while "\\" in text and text != (inner := _STYLED.sub(r"\1", text)):
        text = inner
    return _with_macros_read(text) if "\\" in text else text


def _math(formula: str) -> str:
    """One formula with its delimiters as one line: `$T^{\\frac{2}{3}}$` gives `T^(2/3)`."""
    if _SIMPLE_MATH.fullmatch(formula):
        return formula.strip("$").strip()
    formula = re.sub(r"(?<!\\)[%#~]", _shielded, formula)
    text = _latex(formula, is_math=True)
    while text != (inner := _SCRIPT.sub(_script, text)):
        text = inner
    return " ".join(text.replace("{", "").replace("}", "").split())


def _script(match: re.Match[str]) -> str:
    mark, script = match.groups()
    is_one = script.isalnum() or len(script) == 1 or (script[:1] == "(" and script.find(")") == len(script) - 1)
    return mark + script if is_one else f"{mark}({script})"


def _with_macros_read(text: str) -> str:
    """Prose with its macros as text. Only the macros and their arguments go to pylatexenc, which reads a character at
    a time; the braces of prose stay, those that have no partner everywhere (a parser would drop them)."""
    letters, partner, open_braces = list(text), {}, []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            open_braces.append(brace.start())
        elif open_braces:
            partner[open_braces.pop()] = brace.start()
        else:
            letters[brace.start()] = "}".translate(_SHIELD)
    for position in open_braces:
        letters[position] = "{".translate(_SHIELD)
    text = "".join(letters)
    if "\\begin{" in text:
        return _latex(text, is_math=False)

    written, end = [], 0
    for macro in _MACRO_START.finditer(text):
        start, stop = macro.span()
        if start < end:
            continue
        if macro[0][0] == "{":  # `{\bf x}`, `{\'e}`: the group is the macro's
            stop = partner[start] + 1
        while (
            stop < len(text)
            and (
                closing := partner.get(stop, -1)
                if text[stop] == "{"
                else text.find("]", stop)
                if text[stop] == "["
                else -1
            )
            > 0
        ):
            stop = closing + 1
        written += [text[end:start], _latex(text[start:stop], is_math=False)]
        end = stop
    return "".join([*written, text[end:]])


@lru_cache(maxsize=4096)
def _latex(source: str, *, is_math: bool) -> str:
    """LaTeX source as text, or the source itself where pylatexenc gives up on it."""
    from pylatexenc.latexwalker import LatexWalker

    walker_context, text_context, writer, known = _latex_tools(is_math)
    # A macro of the author's own: its argument is read, and without one its name is.
    source = _MACRO.sub(
        lambda m: m[0] if m[1] in known else "\\mbox" if m[2] is not None else _BACKSLASH + m[1], source
    )
    if is_math:  # pylatexenc drops the blank between two macros, of which `\log \alpha` wants it
        source = _SPACED_SYMBOL.sub(lambda m: m[0] if walker_context.get_macro_spec(m[1]) else f"\\{m[1]}{{}} ", source)
    spaces = {"between-macro-and-chars": False, "between-latex-constructs": True}
    try:
        nodes, _, _ = LatexWalker(source, latex_context=walker_context, tolerant_parsing=True).get_latex_nodes()
        text: str = writer(
            latex_context=text_context,
            math_mode="text",
            strict_latex_spaces={**spaces, "in-equations": spaces},
            keep_braced_groups=is_math,
            keep_braced_groups_minlen=1,
        ).nodelist_to_text(nodes)
    except Exception:  # a text is never lost to a parser: its errors have no common type, and deep nesting recurses
        return source
    return text


@lru_cache(maxsize=2)
def _latex_tools(is_math: bool) -> tuple[Any, Any, Any, frozenset[str]]:
    """pylatexenc's tables and writer, made once: the tables cost more than a text. The writer has state, so its
    class is given and every text gets its own."""
    from pylatexenc import latex2text, latexwalker, macrospec

    class Writer(latex2text.LatexNodes2Text):  # type: ignore[misc]
        def nodelist_to_text(self, nodelist: Any) -> str:
            """A group alone is an argument and loses its braces; elsewhere they tell how far a script reaches."""
            if len(nodelist) == 1 and nodelist[0] is not None and nodelist[0].isNodeType(latexwalker.LatexGroupNode):
                nodelist = nodelist[0].nodelist
            return str(super().nodelist_to_text(nodelist))

        def macro_node_to_text(self, node: Any) -> str:
            """The arguments of a macro that the walker knows and the writer does not are text, not nothing."""
            if self.latex_context.get_macro_spec(node.macroname) is not None:
                return str(super().macro_node_to_text(node))
            arguments = node.nodeargd.argnlist if node.nodeargd and node.nodeargd.argnlist else []
            return "".join(self._groupnodecontents_to_text(argument) for argument in arguments if argument)

    # pylatexenc passes the writer to a parameter of exactly this name.
    def fraction(node: Any, l2tobj: Any) -> str:
        parts = [l2tobj.node_arg_to_text(node, position).strip() for position in (0, 1)]
        return "/".join(part if re.fullmatch(r"[\w.]*", part) else f"({part})" for part in parts)

    def link(node: Any, l2tobj: Any) -> str:
        return f"{l2tobj.node_arg_to_text(node, 1)} ({l2tobj.node_arg_to_text(node, 0)})"

    walker_context, defaults = macrospec.LatexContextDb(), latexwalker.get_default_latex_context_db()
    for category in defaults.categories():
        if category != "latex-ethuebung":
            walker_context.add_context_category(
                category,
                macros=list(defaults.iter_macro_specs([category])),
                environments=list(defaults.iter_environment_specs([category])),
                # In prose `~`, `&`, `--` and quotes stay as they are.
                specials=list(defaults.iter_specials_specs([category])) if is_math else [],
            )
    text_context = latex2text.get_default_latex_context_db().filter_context(
        exclude_categories=["latex-ethuebung", "nonstandard-qit"]
    )
    spec = latex2text.MacroTextSpec
    fractions = ("frac", "nicefrac", "textfrac", "dfrac", "tfrac")
    contents = ("mathbf", "mathit", "mathrm", "mathsf", "mathtt", "mathcal", "mathscr", "mathfrak", "boldsymbol", "url")
    phrases = {"eg": "e.g.", "ie": "i.e.", "etal": "et al.", "etc": "etc.", "quad": " ", "qquad": " "}
    phrases |= {"item": "\n- ", "newline": "\n", "par": "\n\n", "|": "\N{DOUBLE VERTICAL LINE}"}
    silent = ["bf", "it", "em", "tt", "sc", "rm", "sf", "bfseries", "itshape", "scshape", "ttfamily", "small", "large"]
    silent += ["noindent", "xspace", "label", "hspace", "vspace"]
    text_context.add_context_category(
        "ours",
        prepend=True,
        macros=[
            *(spec(name, discard=False) for name in contents),
            *(spec(name, simplify_repl=fraction) for name in fractions),
            *(spec(name, simplify_repl=said) for name, said in phrases.items()),
            *(spec(name, discard=True) for name in silent),
            spec("href", simplify_repl=link),
        ],
    )
    walker_context.add_context_category(
        "ours", prepend=True, macros=[macrospec.MacroSpec(name, "{{") for name in (*fractions, "href")]
    )
    known = {spec.macroname for context in (walker_context, text_context) for spec in context.iter_macro_specs()}
    # These print what a document class collected, or today's date, or a file.
    known -= {"title", "author", "date", "maketitle", "today", "input", "include", "includegraphics"}
    return walker_context, text_context, Writer, frozenset(known | {"begin", "end"})


# --- Markdown --------------------------------------------------------------------------------------------------------

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


def _without_markdown(text: str) -> str:
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
        text = _PLAIN_MARKS.sub(_shielded, text)
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
    parser.validateLink = lambda url: _LINK_TARGET.match(url.translate(_UNSHIELD)) is not None
    parser.normalizeLink = parser.normalizeLinkText = lambda url: url
    return parser


# --- names -----------------------------------------------------------------------------------------------------------

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
        return " ".join(unicodedata.normalize("NFKC", _visible(name)).casefold().split())
    name = unicodedata.normalize("NFC", _visible(name))
    name = _FOOTNOTES_AT_END.sub("", _SUPERSCRIPT.sub("", name))
    if _LATEX_IN_NAME.search(name):
        name = _without_latex(name.replace("~", " ")).translate(_UNSHIELD)
    # Folding case may undo a normal form, and leaving out a character may compose its neighbours: until nothing moves.
    for _ in range(8):
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _visible(name)).casefold())
        name = _FOOTNOTES_AT_END.sub("", " ".join(_LATEX_IN_NAME.sub("", name).split()))
    return name


_EMAIL_LOCAL = r"(?:\\u[0-9a-fA-F]{4}|[\w.+%'-]){1,64}|\{[^{}@\n]{1,200}\}"
_EMAIL = re.compile(rf"(?:{_EMAIL_LOCAL})@(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}")
_EMAIL_OR_ESCAPE = re.compile(rf"({_EMAIL.pattern})|\\u[0-9a-fA-F]{{4}}|\\.", re.DOTALL)
_NOT_AVAILABLE = frozenset(
    ["n/a", "n.a.", "n.a", "na", "nan", "none", "null", "nil", "unknown", "tba", "tbd", "test", "xxx"]
)
_PLACEHOLDER = re.compile(
    r"(?:the )?(?:paper |submission )?(?:withdrawn?|withdrew|deleted|removed|redacted|hidden|anonym(?:ous|ized|ised))"
    r"(?: (?:by )?(?:the )?(?:authors?|paper|submission))?(?:\(s\))?\.?|(?:the )?authors?(?:\(s\))?"
)


def name_problem(name: str) -> str | None:
    """Why this author entry is not a person's name, as words that follow "the author"; None where it may be one."""
    if not _visible(name).strip():
        return "is empty"
    if "@" in name and _EMAIL.search(_visible(name)):
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


def redact_emails(text: str) -> str:
    r"""The text with every e-mail address replaced by `<e-mail address removed>`.

    JSON stays JSON: the `n` of an escape such as `\n` is not taken for the start of an address.
    """
    if "@" not in text:
        return text
    return _EMAIL_OR_ESCAPE.sub(lambda m: "<e-mail address removed>" if m[1] else m[0], text)


def unescape_html(text: str) -> str:
    """HTML entities (`&amp;`, `&#39;`) as the characters that they stand for; the text is otherwise left alone."""
    return html.unescape(text) if "&" in text else text


def word_count(text: str) -> int:
    """The number of words: runs of characters that are no white space."""
    return len(text.split())
