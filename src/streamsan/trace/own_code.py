"""Which code is the program's own: not an interpreter's, a framework's, a compiler's or the system's.

A finding is shown where the programmer can change something. Judged by paths alone, since a trace is checked anywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from streamsan.patterns.late_pattern import late_pattern

_INSTALLED_SOURCE = late_pattern(
    r"""
    ^<(?:frozen|attrs|__array_function__|decorator-gen|builtin|generated:)      # code that Python or a library makes up
  | (?:^|/)(?:site-packages|dist-packages)/
  | (?:^|/)(?:lib|lib64|Lib)/(?:python|pypy)\d+(?:\.\d+)?t?/                  # the standard library
  | (?:^|/)python\d+\.zip/
  | ^/usr/(?:local/)?include/
  | (?:^|/)include/c\+\+/ | ^/usr/lib/ | (?:^|/)lib/gcc(?:-cross)?/ | (?:^|/)bits/[^/]+\.(?:h|tcc)$
  | (?:^|/)cuda(?:-\d+(?:\.\d+)*)?/(?:targets/[^/]+/)?include/      # a CUDA toolkit
  | (?:^|/)targets/[^/]+-linux/include/
  | (?:^|/)include/(?:cccl|cub|thrust|cuda|nv|cooperative_groups|crt|cutlass|cute|rmm|raft)/
  | (?:^|/)(?:cub/cub|thrust/thrust|libcudacxx/include|cudax/include)/
  | (?:^|/)(?:aten/src|c10/(?:cuda|core|util)|torch/(?:csrc|include)|pytorch/torch)/
  | ^\.\./(?:csu|nptl|sysdeps|libio)/ | ^\./(?:csu|nptl|sysdeps|libio)/
    """,
    re.VERBOSE,
)
_STUB_SOURCE = late_pattern(r"\.cudafe\d*\.(?:stub\.c|cpp|gpu|c)$|(?:^|/)tmpxft_\w+|\.(?:fatbin\.c|reg\.c)$")
"""what nvcc generates around the program's own code"""
_INSTALLED_MODULE = late_pattern(
    r"""
    ^/(?:usr/)?lib(?:32|64|x32)?/ | ^/usr/libexec/
  | (?:^|/)(?:site-packages|dist-packages)/ | (?:^|/)(?:lib|lib64)/(?:python|pypy)\d
  | (?:^|/)(?:ld-linux[^/]*|lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|c\+\+abi|gomp|tbb|python\d[^/]*))\.so[^/]*$
  | (?:^|/)lib(?:cuda|cudart|cupti|curand|nccl|sanitizer-public)[-.][^/]*so[^/]*$
  | (?:^|/)lib(?:nv[\w-]*|cublas\w*|cudnn\w*|cufft\w*|cusolver\w*|cusparse\w*)[-.][^/]*so[^/]*$
  | (?:^|/)(?:python|pypy)\d?(?:\.\d+)?t?$ | ^(?:linux-vdso|\[vdso\])
    """,
    re.VERBOSE,
)
_PACKAGE = late_pattern(r"(?:^|/)(?:site-packages|dist-packages)/(?!nvidia/)(\w+)")
_NOBODYS = late_pattern(
    r"""
    ^<
  | (?:^|/)(?:ld-linux[^/]*|lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|c\+\+abi))[-.][^/]*so[^/]*$
  | (?:^|/)lib(?:cuda|cudart|sanitizer-public|python\d[^/]*)[-.][^/]*so[^/]*$
  | (?:^|/)(?:python|pypy)\d?(?:\.\d+)?t?$
  | (?:^|/)(?:lib|lib64|Lib)/(?:python|pypy)\d+(?:\.\d+)?t?/(?!(?:site|dist)-packages/)
    """,
    re.VERBOSE,
)
"""code that acts for others: the system's, the interpreter's, CUDA's runtime and driver"""
_RUNTIME_FUNCTION = late_pattern(r"_*(?:cuda|cu)[A-Z]\w*|__cuda\w*|libcudart_static_\w+|cudart::|__device_stub_")
_RUNTIME_MODULE = late_pattern(r"(?:^|/)lib(?:cudart(?:_static)?|sanitizer-public)[-.][^/]*so[^/]*$")
_RUNTIME_API = late_pattern(r"(cuda[A-Z]\w*?)(?:_v\d+|_ptsz|_ptds)*$")


@lru_cache(maxsize=8192)
def is_own_source(file: str) -> bool:
    """Tell whether a source file is the program's own. Text that names no file ("<stdin>") is what the user typed."""
    return bool(file) and not _INSTALLED_SOURCE.search(file) and not _STUB_SOURCE.search(file)


@lru_cache(maxsize=8192)
def is_own_module(path: str) -> bool:
    """Tell whether an executable or library is the program's own."""
    return bool(path) and not _INSTALLED_MODULE.search(path)


def is_stub(file: str, function: str) -> bool:
    """Tell whether a frame is what nvcc generates to launch a kernel."""
    return "__device_stub_" in function or bool(_STUB_SOURCE.search(file))


def is_runtime_function(function: str) -> bool:
    """Tell whether a function is the CUDA runtime's or the driver's: a static runtime lies in the program itself."""
    return bool(_RUNTIME_FUNCTION.match(function))


@lru_cache(maxsize=8192)
def is_runtime_module(path: str) -> bool:
    """Tell whether a library is the CUDA runtime, or in exact mode what lies between it and the recorder."""
    return bool(_RUNTIME_MODULE.search(path))


def runtime_api(function: str) -> str:
    """Return the name, as programs write it, of a function of the runtime's API; "" for any other function.

    They are C functions: what has parameters in its name is the program's own, or a template of the runtime's headers.
    """
    match = _RUNTIME_API.match(function)
    return match[1] if match else ""


def library_name(path: str) -> str:
    """Return the name of the library that a module or an installed source is of, "" where it acts for others."""
    package = _PACKAGE.search(path)
    if package is not None:
        return package[1]
    return "" if _NOBODYS.search(path) else path.rpartition("/")[2]
