"""Changes to text in which the grammar stumbled, each keeping every character at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.scanner import STRING, unclosed
from streamsan.cuda_syntax.source_code import Code
from streamsan.patterns.late_pattern import late_pattern

_HOLE = late_pattern(r"(?<=[(,<{=])(\s*)\.\.\.(?=\s*[),;>}])")
_RETURN_HOLE = late_pattern(r"(?<=return)(\s+)\.\.\.(?=\s*;)")
_TYPE_ARGUMENT = late_pattern(
    r"(?:(?<=[\w>]\()|(?<=,))(?P<lead>\s*)(?P<type>(?:(?:const|struct|volatile)\s+)*"
    r"(?:(?:unsigned|signed|void|bool|char|short|int|long|float|double)\b(?:\s+(?:long|int|double|char|short)\b)*"
    r"|[^\W\d][\w:]*(?=\s*\*))(?:\s*\*)*)(?=\s*[,)])"
)
_NEW_POINTERS = late_pattern(
    r"(?<=\bnew)(?P<lead>\s+)(?P<type>(?:(?:const|struct|unsigned|signed|long)\s+)*[^\W\d][\w:]*(?:\s*<[^<>;(){}]*>)?(?:\s*\*)+)(?=\s*[\[({;])"
)
_LAMBDA_SPACE = late_pattern(r"(?<=\])(?P<words>(?:\s*(?:__device__|__host__))+)")
_UNKNOWN_QUALIFIER = late_pattern(
    r"(?<![\w.>:])(?P<name>_*[A-Z][A-Z0-9_]{2,})(?P<call>\s*\((?:[^()]|\([^()]*\))*\))?(?=\s+(?P<next>[A-Za-z_~\[]\w*))"
)
_SIZED_CAST = late_pattern(r"(?<=[(=+\-*/%&|^<>?:,])\s*\b(?:unsigned|signed|long|short)\b(?=\s*\((?!\s*\*))")
_KEYWORDS: Final = frozenset("else while and or not xor bitand bitor".split())  # noqa: SIM905
_EMPTY_ARGUMENT = late_pattern(r"(?<=[(,])(\s*),|(?<=,)(\s*)(?=\))")
_WORD = late_pattern(rf"{STRING}|(?P<word>[^\W\d]\w*)")
_SPELLING = late_pattern(
    r"\b(?:__align__|__builtin_align__|_Alignas|alignas)\s*\([^()]*\)|(?<=\benum)\s*:\s*\w[\w:\s]*(?=\{)"
    r"|(?<=[=(,?:{])\s*\btypename\b|(?<=\breturn)\s+typename\b|(?<=\busing)\s+typename\b"
    r"|\b_[A-Z][a-z]\w*_\b(?:\s*\([^()]*\))?|(?<=\()\s*(?:WINAPI|CALLBACK|APIENTRY)\b"
    r"|\b(?:CUDART_CB|CUDA_CB|CUDARTAPI|CUDARTAPI_CDECL|CUDAAPI|CUDART_DEVICE|CL_CALLBACK|CL_API_CALL|CL_API_ENTRY)\b(?!\s*[();,=])"
    r"|\b__(?:host|device|inline|forceinline|noinline|volatile|const|cdecl|stdcall|unused)(?:__)?\b(?!\s*\()"
    r"|\b(?:override|final)\b(?=\s*[{;])|(?:(?<=\bconst)|(?<=\bvolatile))\s+__restrict\b"
    r"|\busing\s[\w:\s]+::\s*operator\s*\(\)\s*\.\.\.\s*;"
)
_NAMESPACE_ATTRIBUTE = late_pattern(
    r"(?<=\bnamespace)\s+__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"
    r"|(?P<name>\bnamespace\s+[\w:]+)(?P<behind>\s+__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\))(?=\s*\{)"
)
_MEMBER_POINTER = late_pattern(
    r"(?P<open>\()(?P<scope>\s*(?:[^\W\d]\w*(?:<[^<>(){};]*>)?\s*::\s*)+)(?P<star>\*)"
    r"|(?P<arrow>->)\*(?=\s*[^\W\d])|(?<=[\w)\]])(?<![\d.]\d)(?P<dot>\.)\*(?=[^\W\d])"
)
_POINTER_TO_FUNCTION = late_pattern(
    r"(?P<head>\b(?:void|bool|char|short|int|long|unsigned|float|double)\s*\(\s*\*\s*[^\W\d]\w*\s*\)\s*\()(?=\s*\)\s*[=;{])"
)
_UNNAMED_DEFAULT = late_pattern(r"(?<=[*&])[ \t](?==\s*[^=])")
_DEFAULTED_OUTSIDE = late_pattern(
    r"\b(?P<name>[^\W\d]\w*)(?P<head>\s*::\s*~?\s*(?P=name)\s*\(\s*\)\s*)(?P<default>=\s*default)(?=\s*;)"
)
_LAUNCH_CONFIGURATION = late_pattern(r'<<<(?P<inside>(?:[^;<"]|<(?!<<)|"(?:[^"\\\n]|\\.)*+")*?)>>>')
_BRACED = late_pattern(r"(?P<type>\bdim3\s*)?(?P<open>\{)|(?P<close>\})")
_CONVENTION = late_pattern(r"(?<=\()\s*(?:CUDART_CB|CUDA_CB|CL_CALLBACK|CL_API_CALL)\b(?=\s*\*)")
_TYPE_OF = late_pattern(
    r"\b(?:(?:__typeof__|__typeof|typeof)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|__auto_type\b)(?=[\s*]+\w+\s*=)"
)
_EMPTY_DEFAULT = late_pattern(r"(?P<lead>(?<![=<>!])=[ \t]*)(?P<braces>\{[ \t]*\})(?=\s*[,)])")
EMPTY_BRACES: Final = "__"
"""stands for `{}` where the grammar has no place for it"""
_QUOTED: Final = r'"(?:[^"\\\n]|\\.)*+"'
_WORD_CALL: Final = rf'\b[^\W\d]\w*\s*\((?:[^()"\n]|{_QUOTED}|\([^()"\n]*\))*\)'
_BESIDE_STRINGS = late_pattern(
    rf"\b(?:extern|operator)\s*{_QUOTED}|(?P<string>{_QUOTED}|\b__FILE__)(?P<behind>(?:\s*{_WORD_CALL})*)|(?P<before>{_WORD_CALL})(?=\s*(?:\"|__FILE__\b))"
)
_SEPARATOR = late_pattern(rf"{STRING}|(?P<symbol>[()\[\]{{}},])")


def _stand_in(match: re.Match[str]) -> str:
    return match["lead"] + "x" + "_" * (len(match["type"]) - 1)


def holes(text: str) -> str:
    """`f(a, ...)`, `x = ...;`: a name stands in; what is shown stays `...`."""
    if "..." not in text:
        return text
    return _RETURN_HOLE.sub(r"\1___", _HOLE.sub(r"\1___", text))


def type_arguments(text: str) -> str:
    """`va_arg(list, int)`, `new float*[n]`, lambdas with `__device__`: names stand in for types."""
    text = _NEW_POINTERS.sub(_stand_in, text)
    text = _LAMBDA_SPACE.sub(lambda m: " " * len(m[0]), text)
    return _TYPE_ARGUMENT.sub(_stand_in, text)


def unknown_qualifiers(text: str) -> str:
    """`MYLIB_API void f();`: words in capitals before another word vanish, unless they say where the function runs."""

    def vanish(match: re.Match[str]) -> str:
        if match["next"] in _KEYWORDS:
            return match[0]
        name = match["name"]
        if match["call"] is None:
            for hint, word in (("GLOBAL", "__global__"), ("KERNEL", "__global__"), ("DEVICE", "__device__")):
                if hint in name and "HOST" not in name and len(name) >= len(word):
                    return word.ljust(len(name))
        return re.sub(r"[^\n]", " ", match[0])

    return _UNKNOWN_QUALIFIER.sub(vanish, text)


def sized_casts(text: str) -> str:
    """`(unsigned(i) * 2)`: the grammar takes it for a type. Only of `unsigned` the conversion matters here."""

    def convert(match: re.Match[str]) -> str:
        return match[0].replace("unsigned", "uint32_t") if "unsigned" in match[0] else " " * len(match[0])

    return _SIZED_CAST.sub(convert, text)


def spellings(text: str) -> str:
    """Words the grammar does not know where they stand, and that change nothing here, are blanked."""
    return _SPELLING.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def joined_strings(text: str) -> str:
    """`__FILE__ ":" STR(__LINE__)`: a macro's call beside a string is a string."""
    if '"' not in text:
        return text

    def join(match: re.Match[str]) -> str:
        calls = match["behind"] or match["before"] or ""
        if not calls:
            return match[0]
        begin = len(calls) - len(calls.lstrip())
        return (match["string"] or "") + calls[:begin] + '"' + " " * (len(calls) - begin - 2) + '"'

    return _BESIDE_STRINGS.sub(join, text)


def types_of(text: str) -> str:
    """`__typeof__(x) y = x;`, `__auto_type y = x;`: the initialiser says it all."""
    return _TYPE_OF.sub(lambda m: "auto" + re.sub(r"[^\n]", " ", m[0][4:]), text)


def conventions(code: Code) -> Code:
    """`void (CL_CALLBACK *done)(cl_event)`: the calling convention goes; the grammar would take it for a type."""
    text = code.ascii
    if _CONVENTION.search(text) is None:
        return code
    return code.same_length(_CONVENTION.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text).encode("ascii"))


def namespace_attributes(text: str) -> str:
    """`namespace __attribute__((visibility("hidden"))) n {`, and behind the name: the attribute is blanked."""

    def vanish(match: re.Match[str]) -> str:
        return (match["name"] or "") + re.sub(r"[^\n]", " ", match["behind"] or match[0])

    return _NAMESPACE_ATTRIBUTE.sub(vanish, text)


def member_pointers(code: Code) -> Code:
    """`void (Solver::*step)()`, `(this->*step)()`: written as a pointer to a function, and as a member."""
    text = code.ascii
    if "*" not in text or _MEMBER_POINTER.search(text) is None:
        return code

    def plain(match: re.Match[str]) -> str:
        if match["open"]:
            return "(" + match["star"] + re.sub(r"[^\n]", " ", match["scope"])
        return (match["arrow"] or match["dot"]) + " "

    return code.same_length(_MEMBER_POINTER.sub(plain, text).encode("ascii"))


def pointers_to_functions(code: Code) -> Code:
    """`void (*step)() = first;` in a body, which the grammar takes for a call: what takes nothing takes `void`."""
    text = code.ascii
    parts: list[tuple[int, int, str | None]] = []
    at = 0
    for match in _POINTER_TO_FUNCTION.finditer(text):
        parts += [(at, match.end("head"), None), (match.end("head"), match.end("head"), "void")]
        at = match.end("head")
    return code if not parts else code.cut([*parts, (at, len(text), None)])


def unnamed_defaults(text: str) -> str:
    """`typename T::type* = nullptr` of a parameter that has no name: it gets one."""
    return _UNNAMED_DEFAULT.sub("_", text)


def defaulted_outside(code: Code) -> Code:
    """`Engine::~Engine() = default;` outside its class, which the grammar takes for an assignment: an empty body."""
    text = code.ascii
    if "default" not in text or _DEFAULTED_OUTSIDE.search(text) is None:
        return code

    def body(match: re.Match[str]) -> str:
        return match["name"] + match["head"] + "{" + re.sub(r"[^\n]", " ", match["default"][2:]) + "}"

    return code.same_length(_DEFAULTED_OUTSIDE.sub(body, text).encode("ascii"))


def launch_braces(code: Code) -> Code:
    """`kernel<<<{4, 1}, dim3{256}>>>`: in a configuration braces make a `dim3`, and are written as a call of it."""
    text = code.ascii
    parts: list[tuple[int, int, str | None]] = []
    at = 0
    for launch in _LAUNCH_CONFIGURATION.finditer(text):
        written: list[
            str
        ] = []  # of each brace that is open, what closes it; "}" for a lambda, or another type's object
        for match in _BRACED.finditer(text, launch.start("inside"), launch.end("inside")):
            begin = match.end() - 1
            if match["open"] is not None:
                bare = match["type"] is None and text[max(begin - 200, 0) : begin].rstrip()[-1:] in (",", "<")
                call = not written and (bare or match["type"] is not None)
                written.append(")" if call else "}")
                symbol = ("dim3(" if bare else "(") if call else "{"
            else:
                symbol = written.pop() if written else "}"
            if symbol not in "{}":
                parts.append((at, begin, None))
                parts.append((begin, begin + 1, symbol))
                at = begin + 1
    if not parts:
        return code
    parts.append((at, len(text), None))
    return code.cut([p for p in parts if p[2] is not None or p[1] > p[0]])


def empty_defaults(text: str) -> str:
    """`const List& list = {}` of a parameter: a name stands in for the braces."""
    return _EMPTY_DEFAULT.sub(lambda m: m["lead"] + EMPTY_BRACES.ljust(len(m["braces"])), text)


SAME_LENGTH: Final[tuple[Callable[[str], str], ...]] = (
    holes,
    joined_strings,
    sized_casts,
    namespace_attributes,
    spellings,
    type_arguments,
    empty_defaults,
    unnamed_defaults,
)


def empty_arguments(code: Code) -> Code:
    """`f(a, , b)`, `f(a, )`: the hole `___` is put in."""
    text = code.ascii
    parts: list[tuple[int, int, str | None]] = []
    at = 0
    for match in _EMPTY_ARGUMENT.finditer(text):
        place = match.start()
        parts.append((at, place, None))
        parts.append((place, place, "___"))
        at = place
    if not parts:
        return code
    parts.append((at, len(text), None))
    return code.cut([p for p in parts if p[2] is not None or p[1] > p[0]])


def expand_macros(code: Code, macros: Mapping[str, MacroText], only: Callable[[MacroText], bool]) -> Code:
    """The text with known macros replaced, once; arguments keep their own places, the body stands at the call."""
    text = code.ascii
    parts: list[tuple[int, int, str | None]] = []
    at = 0
    for match in _WORD.finditer(text):
        if match.start() < at or match["word"] is None:
            continue
        macro = macros.get(match["word"])
        if macro is None or not only(macro):
            continue
        end = match.end()
        arguments: list[tuple[int, int]] = []
        if macro.parameters is not None:
            found = arguments_at(text, end)
            if found is None:
                continue
            arguments, end = found
        parts.append((at, match.start(), None))
        parts.extend(_replacement(macro, arguments, match.start()))
        at = end
    if not parts:
        return code
    parts.append((at, len(text), None))
    return code.cut([p for p in parts if p[2] is not None or p[1] > p[0]])


def arguments_at(text: str, at: int) -> tuple[list[tuple[int, int]], int] | None:
    """The arguments in the parentheses that begin at or after `at`, and where they end; None if there are none."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "(":
        return None
    depth = 0
    begin = at + 1
    found: list[tuple[int, int]] = []
    for match in _SEPARATOR.finditer(text, at):
        symbol = match["symbol"]
        if symbol is None:
            continue
        if symbol in "([{":
            depth += 1
        elif symbol in ")]}":
            depth -= 1
            if depth == 0:
                found.append((begin, match.start()))
                return found, match.end()
        elif depth == 1:
            found.append((begin, match.start()))
            begin = match.end()
    return None


def _replacement(macro: MacroText, arguments: list[tuple[int, int]], place: int) -> list[tuple[int, int, str | None]]:
    body = " ".join(macro.text.split("\n"))
    names = macro.parameters or []
    bound: dict[str, tuple[int, int]] = dict(zip(names, arguments, strict=False))
    if macro.variadic and len(arguments) >= len(names):
        bound[names[-1]] = (arguments[len(names) - 1][0], arguments[-1][1])
    parts: list[tuple[int, int, str | None]] = [(place, place, " ")]
    at = 0
    for match in _WORD.finditer(body):
        word = match["word"]
        if word is None or word not in bound:
            continue
        before = body[at : match.start()]
        if before.rstrip().endswith("##"):
            before = before.rstrip()[:-2].rstrip()
        if before.rstrip().endswith("#"):
            parts.append((place, place, before.rstrip()[:-1] + '""'))
            at = match.end()
            continue
        if before:
            parts.append((place, place, before))
        parts.append((*bound[word], None))
        at = match.end()
        if body[at:].lstrip().startswith("##"):
            at = len(body) - len(body[at:].lstrip()[2:].lstrip())
    if at < len(body):
        parts.append((place, place, body[at:]))
    parts.append((place, place, " "))
    return parts


_DECORATION = late_pattern(
    r"(?:__global__|__device__|__host__|__constant__|__managed__|__shared__|__forceinline__|__noinline__|__inline__"
    r"|__forceinline|inline|static|extern|const|constexpr|consteval|volatile|__restrict__|__restrict|restrict|noexcept"
    r"|virtual|explicit|override|final|thread_local|__cdecl|__stdcall|WINAPI|__grid_constant__|namespace"
    r"|(?:__attribute__|__declspec|__launch_bounds__|__align__|alignas|_Pragma|__pragma)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r"|\[\[[^\[\]]*\]\]|\"C(?:\+\+)?\"|\s+)*+"
)
_NAMES_IN_BODY = late_pattern(r"[^\W\d]\w*")


def is_decoration(macro: MacroText, macros: Mapping[str, MacroText]) -> bool:
    """Whether a macro's body is empty, qualifiers and attributes only, or has braces that do not pair up."""
    body = macro.text
    if body.count("{") != body.count("}"):
        return len(body) < 500
    if len(body) > 500:
        return False
    for _ in range(4):
        if _DECORATION.fullmatch(body):
            return True
        changed = _NAMES_IN_BODY.sub(lambda m: _decoration_of(m[0], macros), body)
        if changed == body or len(changed) > 2000:
            return False
        body = changed
    return False


def _decoration_of(name: str, macros: Mapping[str, MacroText]) -> str:
    macro = macros.get(name)
    return name if macro is None or macro.parameters is not None else macro.text


def mentions(text: str, words: set[str]) -> bool:
    """Whether any of the words occurs in the text."""
    return not words.isdisjoint(_NAMES_IN_BODY.findall(text))


_CALL = late_pattern(r"\s*(?P<name>[^\W\d][\w:]*)\s*\(")
_GOES_ON = late_pattern(r"\s*(?:[^\w\s;~]|else\b|and\b|or\b|const\b|noexcept\b|override\b)")
NO_MACROS: Final = frozenset(
    "if while for switch return sizeof decltype alignas alignof noexcept catch else do __attribute__ __declspec "  # noqa: SIM905
    "__launch_bounds__ static_assert requires explicit template typename operator void int float double auto".split()
)
"""words before `(` that are no macros"""


def macros_without_semicolon(code: Code) -> tuple[list[Code], Code | None]:
    """`CHECK(f()) g();`: the calls at the start, each with a `;`, and the rest, if any."""
    text = code.ascii
    size = len(text)
    calls: list[Code] = []
    at = 0
    while (match := _CALL.match(text, at)) is not None and match["name"] not in NO_MACROS:
        arguments = arguments_at(text, match.end() - 1)
        if arguments is None or _GOES_ON.match(text, arguments[1]):
            break
        end = arguments[1]
        after = text[end : end + 200].lstrip()
        if after[:1] == ";" or (not after and not _is_macro_name(match["name"])):
            break  # a statement like any other, or a call at the end of a block whose `;` was forgotten
        calls.append(code.cut([(at, end, None), (end, end, ";")]))
        at = end
    if not calls:
        return [], None
    return calls, code.cut([(at, size, None)]) if text[at:].strip("; \n\t") else None


def _is_macro_name(name: str) -> bool:
    return name.upper() == name


def terminated(code: Code) -> tuple[Code, str] | None:
    """The code with the brackets that nothing closed, and the `;`, added; and what was missing."""
    text = code.ascii.rstrip()
    missing = unclosed(text.rstrip("; \n\t"))
    if not missing and text.endswith((";", "}")):
        return None
    size = len(text) if not missing else len(text.rstrip("; \n\t"))
    return code.cut([(0, size, None), (size, size, missing + ";")]), missing[:1] or ";"
