"""Compares the Python frames that the probe reads with those that the interpreter tells. Usage: python_frames.py PROBE.

Runs on every CPython that the recorder knows, so its syntax is that of the oldest.
"""
# ruff: noqa: B015, C408, C417, D101, D102, D103, UP031, UP033

import asyncio
import ctypes
import functools
import itertools
import sys
import threading

NEW = sys.version_info >= (3, 11)
without_gil = ctypes.CDLL(sys.argv[1])
with_gil = ctypes.PyDLL(sys.argv[1])
checks = 0
failures = []
KEPT = 16


def expected(frame):
    """The frames from `frame` outwards: file, function, line, column from 1 (0: none)."""
    while frame is not None:
        code = frame.f_code
        column = 0
        if NEW:
            positions = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
            column = 0 if positions[2] is None else positions[2] + 1
        name = code.co_qualname if NEW else code.co_name
        yield (code.co_filename, name, str(frame.f_lineno or code.co_firstlineno), str(column))
        frame = frame.f_back


def check(what):
    """Looks at the caller's chain three times: the second and third time it is known."""
    global checks
    wanted = list(itertools.islice(expected(sys._getframe(1)), KEPT - 1))
    for library in (without_gil, with_gil, without_gil):
        text = ctypes.create_string_buffer(65536)
        library.probe_text(text, len(text))
        lines = text.value.decode().splitlines()
        found = [tuple(line.split("\t")[:4]) for line in lines]
        if found[:1] and found[0][1] == "check" and found[0][0] == __file__ and found[1:] == wanted:
            continue
        failures.append((what, found, wanted))
    checks += 1
    return what


def nested(depth):
    if depth:
        return nested(depth - 1)
    return check("nested function")


def inner_functions():
    secret = 1

    def inner():
        def innermost(value):
            return [secret, value, check("closure")]

        return innermost(2)

    inner()


def generator():
    yield check("generator")
    yield from (check("generator expression") for _ in range(2))


class Body:
    value = check("class body")

    def method(self):
        return check("method")

    @property
    def attribute(self):
        return check("property")

    @staticmethod
    def static():
        return check("static method")

    def __del__(self):
        check("__del__")

    def __eq__(self, other):
        return bool(check("__eq__"))

    __hash__ = None


def long_call():
    return dict(
        first=1,
        second=check("call over several lines"),
        third=3,
    )


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **names):
        return function(*arguments, **names)

    return wrapper


@decorated
@functools.lru_cache(maxsize=None)
def behind_decorators(value):
    return check("behind decorators")


async def awaited():
    check("awaited")
    await asyncio.sleep(0)
    check("after an await")


async def coroutine():
    check("coroutine")
    await awaited()
    await asyncio.gather(awaited(), awaited())
    async with Manager():
        check("async with")
    return [check("asynchronous comprehension") async for _ in numbers()]


async def numbers():
    for number in range(2):
        yield number


class Manager:
    async def __aenter__(self):
        check("__aenter__")

    async def __aexit__(self, *_):
        check("__aexit__")


def far_down(lines):
    """Code with a long line table, and calls far from its first line."""
    source = "def far(check):\n" + "    value = [1,\n     2]\n" * lines + "    check('far down')\n"
    names = {}
    exec(compile(source, "far é ☃ 🐍.py", "exec"), names)
    names["far"](check)


def big_column():
    exec(compile("check(" + " " * 300 + "'long line') or " + "check('end of a long line')" * 1, "columns.py", "exec"))
    exec(compile("x = 1; " * 100 + "check('column over 255')", "columns2.py", "exec"))


def recompiled():
    """Code objects that die, and others that get their addresses."""
    for index in range(300):
        source = "\n" * (index % 7) + "def f(check):\n  " + "pass;" * (index % 3) + "check('recompiled')\nf(check)"
        exec(compile(source, "made%d.py" % (index % 11), "exec"), {"check": check})


def of_one_shape():
    """Code objects that get each other's addresses, and differ in nothing but where their lines are."""
    for index in range(100 if sys.version_info >= (3, 12) else 0):  # older ones do not number their code
        source = "def f(check):\n" + "\n" * (index % 5) + "  check('of one shape')\nf(check)"
        exec(compile(source, "<string>", "exec"), {"check": check})


def main():
    check("main")
    nested(3)
    nested(40)
    inner_functions()
    list(generator())
    body = Body()
    body.method()
    _ = body.attribute
    Body.static()
    [check("list comprehension") for _ in range(2)]
    {check("set comprehension") for _ in range(2)}
    {check("dictionary comprehension"): 1 for _ in range(2)}
    (lambda: check("lambda"))()
    sorted([3, 1, 2], key=lambda value: (check("sort key"), value))
    list(map(lambda _: check("map"), range(2)))
    body in [Body()]
    del body
    long_call()
    behind_decorators(1)
    exec("check('exec')")
    eval("[check('eval') for _ in range(1)]")
    exec(compile("def f():\n\n\n  return (1,\n    check('compiled'))\nf()", "latin-1 ü.py", "exec"), {"check": check})
    try:
        raise ValueError
    except ValueError:
        check("except")
    finally:
        check("finally")
    exec(compile("first = [check('one line')]; second = check('two statements')", "statements.py", "exec"))
    far_down(5)
    far_down(200)
    big_column()
    recompiled()
    of_one_shape()
    asyncio.run(coroutine())
    threads = [threading.Thread(target=nested, args=(depth,)) for depth in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ctypes.CFUNCTYPE(None)(lambda: check("callback from C") and None)()
    sys.settrace(lambda *_: None)
    nested(1)
    sys.settrace(None)


main()
for what, found, wanted in failures[:3]:
    print("failed:", what)
    for left, right in itertools.zip_longest(found, [("check",), *wanted]):
        print("  ", left, right, "" if left == right else "<--")
print("%d checks, %d failures" % (checks, len(failures)))
sys.exit(1 if failures or checks < 300 else 0)
