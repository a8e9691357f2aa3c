"""The text functions: what a reader must find in their results, and that no string breaks them."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipelines.model.text import name_key, name_problem, plain_text, redact_emails
from pipelines.model.text.characters import visible

DATA = Path(__file__).parents[4] / "shared" / "data"

unhurried = settings(deadline=None)  # the first text pays for the imports

# Any character, and often those that LaTeX, Markdown and these functions treat as special.
pieces = st.sampled_from(
    [
        *"\\$*_`#&%~^{}[]()<>|!@ \n\t\r",
        *(
            "\u2028",
            "\u00a0",
            "\u200e",
            "\x02",
            "\x0c",
            "\ud835",
            "**",
            "$$",
            "](",
            "\\(",
            "\\[",
            "``",
            "''",
            "https://a.b/c_d",
        ),
        *("\\textbf{", "\\'{e}", "\\frac", "\\begin{", "\\end{", "\\item", "\\today", "\\unknown"),
    ]
)
texts = st.lists(st.one_of(pieces, st.text(max_size=6), st.sampled_from(["abc", "x", "42"])), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("Plain text (with 3.5 numbers), dashes - and \u201cquotes\u201d.",) * 2,
        # mathematics
        ("pass@$n$ on $O(T^{\\frac{2}{3}})$ and $O(\\sqrt{T})$", "pass@n on O(T^(2/3)) and O(\u221a(T))"),
        ("top-$k$, $\\sim$4.5 points, Mixtral-8$\\times$7B", "top-k, \u223c4.5 points, Mixtral-8\u00d77B"),
        ("$\\mathbf{Z}^{(l)}$, $x_{i,j}$, $x^{n+1}$, $\\frac{a+b}{c}$", "Z^(l), x_(i,j), x^(n+1), (a+b)/c"),
        (
            r"\(x\) and \[ y^2 \] and $x \in \mathbb{R}^d$ and $\log \alpha$",
            "x and y^2 and x \u2208 \u211d^d and log \u03b1",
        ),
        ("RAPPO($\\textbf{R}$eliable $\\textbf{A}$lignment)", "RAPPO(Reliable Alignment)"),
        (r"$\theta^*$ and $\phi^*$ are *best*", "\u03b8^* and \u03d5^* are best"),
        (r"a set $\{a, b\}$ and $30\%$ and $30%$", "a set {a, b} and 30% and 30%"),
        # macros
        (r"the \textbf{\textit{Straggler Effect}}, \emph{i.e.} {\bf it}", "the Straggler Effect, i.e. it"),
        (r"is known \citep[see][]{a2020,b2021}, as \citet{c} says (\cref{fig:i}(a))", "is known, as c says (fig:i(a))"),
        (r"at \url{https://a.org/x_y%20~z}", "at https://a.org/x_y%20~z"),
        (r"\href{https://a.org/b_c}{our page}", "our page (https://a.org/b_c)"),
        (
            r"Jos\'{e}, caf{\'e}, Erd\H{o}s, \L{}ukasz, na\"ive",
            "Jos\u00e9, caf\u00e9, Erd\u0151s, \u0141ukasz, na\u00efve",
        ),
        (r"\ours beats \method{} by \alert{a lot}", r"\ours beats \method by a lot"),
        (r"10\% of \textbf{90\% of it}, 5% more, a\_b, R\&D", "10% of 90% of it, 5% more, a_b, R&D"),
        (r"Figure~3, Sec.~\ref{s}, \emph{a} total of ~5K", "Figure 3, Sec. s, a total of ~5K"),
        (r"\begin{itemize}\item one is 5% of it \item two\end{itemize}", "- one is 5% of it\n- two"),
        # what LaTeX would take amiss
        ("improves by 5% over a~b & c # d _ ^ x",) * 2,
        (r"improves by 5% over \textbf{x} & c # d", "improves by 5% over x & c # d"),
        ("costs $5 and $10, or $5 for my_tool and $6",) * 2,
        (r"costs \$5, not \$10, \emph{now}", "costs $5, not $10, now"),
        ("costs $5 and $x$ and $1,000", "costs $5 and x and $1,000"),
        (r"unbalanced {brace \emph{x}", "unbalanced {brace x"),
        (r"bad } brace \emph{x} in {a, b}", "bad } brace x in {a, b}"),
        # what pylatexenc would drop, were it given more than the macros
        (r"bad } brace, \ours in {a, b}, Erd\H{o}s", "bad } brace, \\ours in {a, b}, Erd\u0151s"),
        # Markdown
        ("**Phased DMD** is *new*, _fast_ and __good__: `code_x`", "Phased DMD is new, fast and good: code_x"),
        ("a **h**uman uncertainty-**a**ware aut**o**matic method", "a human uncertainty-aware automatic method"),
        ("*[https://a.b/c](https://a.b/c)* and [a](https://a.b/c_d)", "https://a.b/c and a (https://a.b/c_d)"),
        ("# Title\n* one\n- two\n1. three\n> 90% of it", "Title\n- one\n- two\n1. three\n> 90% of it"),
        ("say ``think'' or `fusion band'\u2014the", "say \u201cthink\u201d or \u2018fusion band\u2019\u2014the"),
        ("x &amp; y < z, <C>text</C>", "x & y < z, <C>text</C>"),
        # what Markdown would take amiss
        ("5 * 3 * 2, a*b*c, x**2 + y**2, 2**n and 3**m, A* and D*",) * 2,
        ("data/*.py, src/*.c, *.py and *.txt, __init__.py and __main__.py, a_b_c",) * 2,
        ("f[0](x) and [1] and (a)[b]",) * 2,
        ("https://a.b/_x_/y~?z=1&amp=2%20#q_r_s",) * 2,
        # characters
        ("a\u2028b\u00a0c  d\te \r\n\r\n\r\n f\x02g\u200eh\x0ci\u00adj ", "a\nb c d e\n\nfgh ij"),
        ("lone \ud835 surrogate", "lone surrogate"),
        ("a&#8206;b &lt;3 &#xD800;", "ab <3 \ufffd"),
    ],
)
def test_plain_text(given: str, read: str) -> None:
    assert plain_text(given) == read


def test_plain_text_keeps_no_state_and_prints_no_date() -> None:
    plain_text(r"\title{One} \author{Two} \date{Three}")
    assert plain_text(r"\maketitle \today \input{/etc/hostname}") == r"\maketitle \today /etc/hostname"


@pytest.mark.parametrize(
    "unit", ["\\textbf{", "{", "$", "*", "[", "`", "\\'{", "\\[", "{\\x ", "_a*", "$x^{", "\\frac"]
)
def test_plain_text_survives_depth(unit: str) -> None:
    assert "word" in plain_text(unit * 1500 + " word \\emph{end}")
    assert "word" in plain_text(unit * 1500 + " word " + "}" * 1500)


@unhurried
@given(texts)
def test_plain_text_is_total_and_clean(given: str) -> None:
    read = plain_text(given)
    assert not [c for c in read if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert read == read.strip()
    assert "  " not in read
    assert "\n\n\n" not in read


words = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=5)
marks = st.sampled_from(
    ["%", "~", "&", "#", "_", "^", "$", "*", "{", "}", "[", "]", "(", ")", "`", "'", " ", "\n", ", ", "**", "$$"]
)


@unhurried
@given(st.lists(st.one_of(words, marks), max_size=40))
def test_plain_text_loses_no_word(parts: list[str]) -> None:
    """Without a macro that is there to vanish, every letter and digit is still read, in its order."""

    def spoken(some: str) -> str:
        return "".join(c for c in some if c.isalnum())

    assert spoken(plain_text("".join(parts))) == spoken("".join(parts))
    assert spoken(plain_text("".join(parts) + " \\emph{end}")) == spoken("".join(parts) + "end")


@unhurried
@given(st.text("abc XYZ.,;:-()'!?\u00e9\u4e2d\n", max_size=60))
def test_plain_prose_is_only_folded(prose: str) -> None:
    assert plain_text(prose).split() == prose.split()


def test_no_invisible_character_is_left() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if not character.isspace() and unicodedata.category(character) in ("Cc", "Cf", "Cs"):
            assert visible(f"a{character}b") == "ab", hex(code)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared real data is not beside the project")
def test_real_abstracts_keep_their_words_and_lose_their_marks() -> None:
    import pyarrow.parquet as pq

    pages = (DATA / "iclr2026_paper_pages.jsonl").read_text(encoding="utf-8").splitlines()
    abstracts = [json.loads(page)["abstract"] for page in pages]
    abstracts += pq.read_table(DATA / "iclr2026_preview.parquet").column("abstract").to_pylist()
    assert len(abstracts) == 52
    for abstract in abstracts:
        read = plain_text(abstract)
        assert not any(mark in read for mark in ("\\", "$", "**", "]("))
        assert len(read.split()) >= len(abstract.split()) - 3
        if not any(mark in abstract for mark in "\\$*`_&#"):
            assert read.split() == abstract.split()


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "key"),
    [
        (
            ["Wei Wang", "WEI  WANG", "wei wang", "Wei\u00a0Wang\u200e", "Wei Wang*", "Wei Wang\u2020,", " Wei Wang;"],
            "wei wang",
        ),
        (["Wei Wang\u00b9\u02d2"[:-1], "Wei Wang$^{1,2}$", "Wei Wang\\textsuperscript{2}", "Wei Wang^1"], "wei wang"),
        (
            ["Jos\\'{e} Silva", "Jos{\\'e} Silva", "JOS\u00c9 SILVA", "Jose\u0301 Silva", "Jos\u00e9~Silva"],
            "jos\u00e9 silva",
        ),
        (["Jose Silva"], "jose silva"),
        (["\uff37ei Wang", "Wei Wang\uff0a"], "wei wang"),
        (["J. O'Neil-Smith Jr."], "j. o'neil-smith jr."),
        (["Stra\u00dfe", "STRASSE"], "strasse"),
        (["\u738b\u4f1f"], "\u738b\u4f1f"),
        (["*", "\u2020", "", " \u200b"], ""),
        (["^," * 40 + "x"], "^," * 40 + "x"),  # exponential, were the marks tried in every division
    ],
)
def test_name_key(names: list[str], key: str) -> None:
    assert {name: name_key(name) for name in names} == dict.fromkeys(names, key)


@unhurried
@example("\\c \u00e9")
@given(st.one_of(texts, st.text(max_size=20)))
def test_name_key_is_idempotent_and_blind_to_normal_forms(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert name_key(unicodedata.normalize("NFD", name)) == name_key(unicodedata.normalize("NFC", name)) == key


@pytest.mark.parametrize(
    "name", ["Wei Wang", "\u738b\u4f1f", "Jos\\'{e}", "O", "Anon Ymous", "Authorina Testa", "Madonna*"]
)
def test_names_without_a_problem(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        (" \u200b\u00a0", "is empty"),
        ("N/A", "says that there is none"),
        ("none*", "says that there is none"),
        ("withdrawn", "stands for withdrawn or anonymous authors"),
        ("Anonymous Author(s)", "stands for withdrawn or anonymous authors"),
        ("Paper withdrawn by the authors", "stands for withdrawn or anonymous authors"),
        ("someone@example.org", "is or holds an e-mail address"),
        ("Some One <some.one@example.org>", "is or holds an e-mail address"),
        ("1234", "has no letters"),
        ("*", "is only a footnote mark"),
    ],
)
def test_name_problem(name: str, problem: str) -> None:
    assert name_problem(name) == problem


@unhurried
@given(texts)
def test_name_problem_is_total(name: str) -> None:
    problem = name_problem(name)
    assert problem is None or problem
    assert name_key(name) or problem


# --- e-mail addresses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "redacted"),
    [
        ("write to first.last+x@cs.example.org.", "write to <e-mail address removed>."),
        ("{ann, bob}@example.org", "<e-mail address removed>"),
        ("\u00e9cole@example.fr", "<e-mail address removed>"),
        ("pass@1, recall@10.5 and @user",) * 2,
        ("no address",) * 2,
    ],
)
def test_redact_emails(given: str, redacted: str) -> None:
    assert redact_emails(given) == redacted


@unhurried
@given(
    st.lists(st.one_of(texts, st.just("a.b@example.org"), st.just("\n\u00e9@example.org")), max_size=5), st.booleans()
)
def test_redacted_json_stays_json_without_addresses(values: list[str], ascii_only: bool) -> None:
    redacted = json.loads(redact_emails(json.dumps(values, ensure_ascii=ascii_only)))
    assert len(redacted) == len(values)
    assert not any("@example.org" in value for value in redacted)
