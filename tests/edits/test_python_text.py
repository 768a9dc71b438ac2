"""Python text under its tree: bytes that stay, places of calls, arguments through helpers, the program's own checks."""

from __future__ import annotations

import ast

import pytest
from msgspec.structs import replace

from streamsan.edits.layout import NoPlaceError
from streamsan.edits.python.calls import may_be_repeated, parameter_of, written
from streamsan.edits.python.checks import Checks, unit_of
from streamsan.edits.python.imports import defined_at_top, imports_of, longer_import, new_import
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.places import PythonPlace, find
from streamsan.edits.source_text import EditError
from streamsan.findings.finding import Edit
from streamsan.trace import Site

NAME = "a.py"


def place_of(text: str, part: str, level: int = 0) -> PythonPlace:
    """Return the last place where `part` stands."""
    begin = text.rindex(part)
    line = text.count("\n", 0, begin) + 1
    column = begin - (text.rfind("\n", 0, begin) + 1) + 1
    end = part.count("\n")
    end_column = len(part.rpartition("\n")[2]) + 1 if end else column + len(part)
    found = find(PythonText(NAME, text.encode()), Site(NAME, line, column, line + end, end_column), level)
    assert found is not None, part
    return found


def layout_of(place: PythonPlace) -> PythonLayout:
    return PythonLayout({NAME: place.text})


def put(text: str, part: str, code: tuple[str, ...] = ("x()", "y()"), behind: bool = False) -> str:
    place = place_of(text, part)
    layout = layout_of(place)
    edits = layout.behind(place, code) if behind else layout.before(place, code)
    return place.text.edited(edits).decode()


# -- bytes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"a = 1\r\nb = 2\r\n", b"a = 1\r\nnew\r\nb = 2\r\n"),
        (b"\xef\xbb\xbfa = 1\nb = 2", b"\xef\xbb\xbfa = 1\nnew\nb = 2"),
        (
            b"# coding: latin-1\na = '\xe4'; b = 2\n",
            b"# coding: latin-1\nnew\na = '\xe4'; b = 2\n",
        ),
        (b"a = '\x0c'\nb = 2\n", b"a = '\x0c'\nnew\nb = 2\n"),
    ],
    ids=["crlf", "mark", "latin-1", "form feed"],
)
def test_other_bytes_stay(data: bytes, after: bytes) -> None:
    assert PythonText(NAME, data).edited([Edit(NAME, 2, 1, 2, 1, "new\n")]) == after


def test_columns_count_characters() -> None:
    text = PythonText(NAME, '"äöü"; free(p)\n'.encode())
    call = text.tree.body[1]
    assert text.span(call) == (NAME, 1, 8, 1, 15)
    assert text.of(call) == "free(p)"
    assert text.edited([Edit(NAME, 1, 13, 1, 14, "q")]).decode() == '"äöü"; free(q)\n'


@pytest.mark.parametrize(
    "data",
    [b"def f(:\n", b"# coding: nonsense\n", b"\xff\xfe", b"a = '\x00'\n"],
    ids=["syntax", "name", "bytes", "zero"],
)
def test_what_is_not_python_is_refused(data: bytes) -> None:
    with pytest.raises(EditError):
        PythonText(NAME, data)


def test_characters_that_an_encoding_lacks_are_refused() -> None:
    with pytest.raises(EditError):
        PythonText(NAME, b"# coding: latin-1\na = 1\n").edited([Edit(NAME, 2, 1, 2, 1, "\u0416 = 1\n")])


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(EditError):
        PythonText(NAME, b"abc\n").edited([Edit(NAME, 1, 1, 1, 3, ""), Edit(NAME, 1, 2, 1, 4, "")])


# -- where code goes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part", "after"),
    [
        ("if a:\n    free(p)\n", "free(p)", "if a:\n    x()\n    y()\n    free(p)\n"),
        ("\tcheck(free(p))\n".replace("\t", ""), "free(p)", "x()\ny()\ncheck(free(p))\n"),
        ("for p in get(1):\n    pass\n", "get(1)", "x()\ny()\nfor p in get(1):\n    pass\n"),
        ("@made(1)\ndef f():\n    pass\n", "made(1)", "x()\ny()\n@made(1)\ndef f():\n    pass\n"),
        ("a = [free(p) for p in q]\n", "free(p)", "x()\ny()\na = [free(p) for p in q]\n"),
        ("call(\n    1,\n    free(p),\n)\n", "free(p)", "x()\ny()\ncall(\n    1,\n    free(p),\n)\n"),
    ],
)
def test_code_goes_before_a_statement(text: str, part: str, after: str) -> None:
    assert put(text, part) == after


@pytest.mark.parametrize(
    ("text", "part", "after"),
    [
        ("if a:\n    use(p)  # now\n", "use(p)", "if a:\n    use(p)  # now\n    x()\n    y()\n"),
        ("use(p)", "use(p)", "use(p)\nx()\ny()"),
        ("use(\n    p,\n)\nfree(p)\n", "use(\n    p,\n)", "use(\n    p,\n)\nx()\ny()\nfree(p)\n"),
        ("with use(p) as q:\n    go(q)\n", "use(p)", "with use(p) as q:\n    x()\n    y()\n    go(q)\n"),
    ],
)
def test_code_goes_behind_a_statement(text: str, part: str, after: str) -> None:
    assert put(text, part, behind=True) == after


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("if a:\n    pass\nelif use(p):\n    pass\n", "use(p)"),
        ("def f():\n    return\nf(lambda: use(p))\n", "use(p)"),
        ("a(); use(p)\n", "use(p)"),
        ("if a: use(p)\n", "use(p)"),
    ],
    ids=["elif", "lambda", "one-line", "body-in-line"],
)
def test_no_code_goes_where_it_would_not_run(text: str, part: str) -> None:
    with pytest.raises(NoPlaceError):
        put(text, part)


@pytest.mark.parametrize("text", ["def f():\n    return use(p)\n", "while use(p):\n    pass\n"])
def test_nothing_goes_behind_what_does_not_come_back(text: str) -> None:
    with pytest.raises(NoPlaceError):
        put(text, "use(p)", behind=True)


def test_the_end_of_a_with_block_is_its_last_line() -> None:
    text = "with buffer(n) as b:\n    use(b)\n    # done\nafter()\n"
    place = place_of(text, "buffer(n)")
    at_exit = replace(place, at_exit=True)
    edited = place.text.edited(layout_of(place).before(at_exit, ["x()"])).decode()
    assert edited == "with buffer(n) as b:\n    use(b)\n    x()\n    # done\nafter()\n"


@pytest.mark.parametrize(
    ("text", "part", "after"),
    [
        ("a()\nwait(s)  # why\nb()\n", "wait(s)", "a()\nb()\n"),
        ("for s in t:\n    wait(s)\nb()\n", "wait(s)", "for s in t:\n    pass\nb()\n"),
        ("a()\nwait(s)", "wait(s)", "a()"),
    ],
)
def test_statements_are_taken_out(text: str, part: str, after: str) -> None:
    place = place_of(text, part)
    assert place.statement is not None
    assert place.text.edited(layout_of(place).removed(place, [place.statement])).decode() == after


def test_a_statement_moves_with_its_lines() -> None:
    text = "if a:\n    free(\n        p,  # the buffer\n    )\n    use(p)\n"
    place = place_of(text, "free(\n        p,  # the buffer\n    )")
    assert place.statement is not None
    assert place.block is not None
    edits = layout_of(place).moved([place.statement], place.block[-1], ["wait()"])
    assert place.text.edited(edits).decode() == (
        "if a:\n    use(p)\n    wait()\n    free(\n        p,  # the buffer\n    )\n"
    )


# -- how arguments are written ------------------------------------------------------------------------

FREE = "cudart.cudaFreeAsync({})"


def texts_of(text: str, *parts: str) -> list[str]:
    """Return how the stream of a free is written at each level; `parts` are the calls, innermost first."""
    places = [place_of(text, part, level) for level, part in enumerate(parts)]
    position = parameter_of("cudaFreeAsync", "cudaStream_t", "CUstream")
    assert position is not None
    return [each.text for each in written(places, "cudaFreeAsync", position)]


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        ("cudaFreeAsync(p, s)\n", ["cudaFreeAsync(p, s)"], ["s"]),
        ("cudaFreeAsync(p, hStream=s)\n", ["cudaFreeAsync(p, hStream=s)"], ["s"]),
        (
            "def release(p, stream):\n    cudaFreeAsync(p, stream)\nrelease(q, a.b)\n",
            ["cudaFreeAsync(p, stream)", "release(q, a.b)"],
            ["stream", "a.b"],
        ),
        (
            "def release(p, *, stream):\n    cudaFreeAsync(p, stream)\nrelease(q, stream=b)\n",
            ["cudaFreeAsync(p, stream)", "release(q, stream=b)"],
            ["stream", "b"],
        ),
        (
            "class A:\n    def close(self):\n        cudaFreeAsync(p, self.s)\nx.y.close()\n",
            ["cudaFreeAsync(p, self.s)", "x.y.close()"],
            ["self.s", "x.y.s"],
        ),
        (
            "def call(f, *args):\n    f(*args)\ncall(cudaFreeAsync, p, s)\n",
            ["f(*args)", "call(cudaFreeAsync, p, s)"],
            ["s"],
        ),
        (
            "def kept(f):\n    def g(*args, **more):\n        f(*args)\n    return g\ng(s)\n",
            ["f(*args)", "g(s)"],
            [],
        ),
        (
            "def buffer(n, stream):\n    cudaFreeAsync(p, stream)\nwith buffer(1, work) as b:\n    pass\n",
            ["cudaFreeAsync(p, stream)", "with buffer(1, work) as b:\n    pass"],
            ["stream", "work"],
        ),
        (
            "class B:\n    def __exit__(self, *e):\n        cudaFreeAsync(p, self.s)\nwith B(w) as b:\n    pass\n",
            ["cudaFreeAsync(p, self.s)", "with B(w) as b:\n    pass"],
            ["self.s", "b.s"],
        ),
    ],
)
def test_the_stream_is_found_where_callers_hand_it_down(text: str, parts: list[str], expected: list[str]) -> None:
    assert texts_of(text, *parts) == expected


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a.b[0].c", True),
        ("s[i % 2]", True),
        ("x.handle()", True),
        ("int(s)", True),
        ("next(s)", False),
        ("f(a)", False),
    ],
)
def test_only_names_are_written_twice(text: str, good: bool) -> None:
    assert may_be_repeated(ast.parse(text, mode="eval").body) == good


# -- how calls are checked ----------------------------------------------------------------------------


def ways(text: str, part: str) -> tuple[list[str], list[str]]:
    place = place_of(text, part)
    checks = Checks(place.text)
    return (
        checks.status(place, driver=False).written("rt.f", ["a"]),
        checks.making(place, driver=False).written("rt.g", [], "e"),
    )


@pytest.mark.parametrize(
    ("text", "status", "made"),
    [
        ("check(rt.cudaFree(p))\ns = check(rt.cudaStreamCreate())\n", ["check(rt.f(a))"], ["e = check(rt.g())"]),
        (
            "err, s = rt.cudaStreamCreate()\nassert err == 0\nerr, = rt.cudaFree(p)\nassert err == 0, 'bad'\n",
            ["err, = rt.f(a)", "assert err == 0, 'bad'"],
            ["err, e = rt.g()", "assert err == 0"],
        ),
        (
            "(err,) = rt.cudaFree(p)\nif err:\n    raise E(err)\n",
            ["(err,) = rt.f(a)", "if err:", "    raise E(err)"],
            ["_, e = rt.g()"],
        ),
        ("rt.cudaFree(p)\n_, s = rt.cudaStreamCreate()\n", ["rt.f(a)"], ["_, e = rt.g()"]),
        ("call(rt.cudaFree, p)\ns = call(rt.cudaStreamCreate)\n", ["call(rt.f, a)"], ["e = call(rt.g)"]),
        ("s = int(check(rt.cudaStreamCreate()))\ncheck(rt.cudaFree(p))\n", ["check(rt.f(a))"], ["e = check(rt.g())"]),
        ("s = check(rt.cudaStreamCreate())[0]\ncheck(rt.cudaFree(p))\n", ["check(rt.f(a))"], ["e = check(rt.g())[0]"]),
        ("check(rt.cudaFree(p))\n", ["check(rt.f(a))"], ["e = check(rt.g())"]),
        ("print(1)\n", ["rt.f(a)"], ["_, e = rt.g()"]),
    ],
)
def test_calls_are_checked_as_those_around_them(text: str, status: list[str], made: list[str]) -> None:
    begin = "def check(r): pass\ndef call(f, *a): pass\n"
    last = text.strip().split("\n")[0]
    assert ways(begin + text, last if "=" not in last else last.partition("= ")[2]) == (status, made)


def test_a_check_of_another_function_is_not_visible() -> None:
    text = "def f(check):\n    check(rt.cudaFree(p))\n\ndef g():\n    use(p)\n"
    assert ways(text, "use(p)")[0] == ["rt.f(a)"]


def test_a_method_that_checks_is_of_its_class() -> None:
    text = (
        "class A:\n    def f(self):\n        self.ok(rt.cudaFree(p))\n    def g(self):\n        use(p)\n"
        "class B:\n    def g(self):\n        use(q)\n"
    )
    assert ways(text, "use(p)")[0] == ["self.ok(rt.f(a))"]
    assert ways(text, "use(q)")[0] == ["rt.f(a)"]


def test_a_status_belongs_to_its_call() -> None:
    block = ast.parse("err, = rt.cudaFree(p)\nif err: raise E\nuse(q)\n").body
    assert unit_of(block, block[0]) == block[:2]
    assert unit_of(block, block[2]) == block[2:]


# -- imports ------------------------------------------------------------------------------------------


def test_modules_and_functions_are_known_by_their_imports() -> None:
    text = (
        "from cuda.bindings import driver, runtime as rt\nimport cuda.bindings.runtime\nfrom cuda import cudart\n"
        "from cuda.bindings.runtime import cudaFree as free\n"
        "def f():\n    from cuda.bindings import driver as cu\n    go()\nwork()\n"
    )
    known = [(each.api, each.name, each.function) for each in imports_of(place_of(text, "work()"))]
    assert known == [
        ("driver", "driver", ""),
        ("runtime", "rt", ""),
        ("runtime", "cuda.bindings.runtime", ""),
        ("runtime", "cudart", ""),
        ("runtime", "free", "cudaFree"),
    ]
    assert [each.name for each in imports_of(place_of(text, "go()"))][-1] == "cu"


def test_imports_are_made_longer_or_put_in() -> None:
    text = "from cuda.bindings.runtime import (\n    cudaFree,\n)\n\nwork()\n"
    place = place_of(text, "work()")
    statement = next(imports_of(place)).statement
    assert isinstance(statement, ast.ImportFrom)
    longer = place.text.edited([longer_import(place, statement, "cudaMalloc")]).decode()
    assert longer == "from cuda.bindings.runtime import (\n    cudaFree,\n    cudaMalloc,\n)\n\nwork()\n"
    new = place.text.edited([new_import(place, "import x")]).decode()
    assert new == "from cuda.bindings.runtime import (\n    cudaFree,\n)\nimport x\n\nwork()\n"


def test_names_at_the_top_of_a_module() -> None:
    tree = ast.parse("import a.b\nfrom c import d as e\nf = 1\ndef g():\n    h = 1\nif f:\n    i, j = 1, 2\n")
    assert [name for name in "abdefghij" if defined_at_top(tree, name)] == ["a", "e", "f", "g", "i", "j"]
