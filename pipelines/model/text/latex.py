"""LaTeX, read by pylatexenc: formulas and macros as Unicode text.

Here belongs what pylatexenc must be told before it reads prose: what is a formula, what is a macro, what is neither.
"""

import re
from functools import lru_cache
from typing import Any

from pipelines.model.text.characters import SHIELD, shielded

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
_BACKSLASH = "\\".translate(SHIELD)


def without_latex(text: str) -> str:
    """The text with mathematics and macros turned into Unicode; what comes of mathematics is shielded."""
    text = _ESCAPED.sub(lambda m: m[0] if m[0] == "\\\\" else m[0][1].translate(SHIELD), text)
    text = _MATH.sub(lambda m: _math(m[0]).translate(SHIELD), text)
    if "\\" not in text:
        return text
    if "cit" in text or "ref" in text or "label" in text:
        text = _KEPT.sub(r"\\mbox", _DROPPED.sub("", text))
    if "~" in text:
        text = _TIE.sub(" ", text)
    # What is left of these is prose: a `%` starts no comment, a lone `$` no formula.
    text = re.sub(r"(?<!\\)~|[%#&$]|\\[()\[\]]", lambda m: m[0][-1].translate(SHIELD), text)
    while "\\" in text and text != (inner := _STYLED.sub(r"\1", text)):
        text = inner
    return _with_macros_read(text) if "\\" in text else text


def _math(formula: str) -> str:
    """One formula with its delimiters as one line: `$T^{\\frac{2}{3}}$` gives `T^(2/3)`."""
    if _SIMPLE_MATH.fullmatch(formula):
        return formula.strip("$").strip()
    formula = re.sub(r"(?<!\\)[%#~]", shielded, formula)
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
            letters[brace.start()] = "}".translate(SHIELD)
    for position in open_braces:
        letters[position] = "{".translate(SHIELD)
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
