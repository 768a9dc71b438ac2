"""`cudaMemcpyDefault`: the driver finds the direction; a synchronous copy to the host is there when it returns."""

from __future__ import annotations

import pytest

from streamsan import check

FUNCTION = """#include <cuda_runtime.h>
#include <vector>
int first(const int* values, cudaStream_t stream) {{
    {target}
    {copy};
    return {read};
}}
"""
VECTOR = ("std::vector<int> head(4);", "head.data()", "16", "head[0] + head[3]")
LOCAL = ("int head;", "&head", "4", "head + 1")


def found(folder, target, to, size, read, copy):
    source = folder / "copy.cu"
    source.write_text(FUNCTION.format(target=target, copy=copy.format(to=to, size=size), read=read))
    return [(finding.code, str(finding.severity)) for finding in check([str(source)]).findings]


@pytest.mark.parametrize("host", [VECTOR, LOCAL], ids=["vector", "local"])
def test_a_synchronous_copy_to_the_host_is_complete(tmp_path, host):
    assert found(tmp_path, *host, copy="cudaMemcpy({to}, values, {size}, cudaMemcpyDefault)") == []


@pytest.mark.parametrize("host", [VECTOR, LOCAL], ids=["vector", "local"])
def test_an_asynchronous_one_may_not_be(tmp_path, host):
    copy = "cudaMemcpyAsync({to}, values, {size}, cudaMemcpyDefault, stream)"
    codes = {code for code, _ in found(tmp_path, *host, copy=copy)}
    assert codes == {"SS108"}
