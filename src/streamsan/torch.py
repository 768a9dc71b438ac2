"""PyTorch programs: a block that is checked where it stands.

    import streamsan.torch

    streamsan.torch.prepare()           # before the first use of CUDA

    with streamsan.torch.check():
        train_step(model, batch)

The blocks of PyTorch's caching allocator are seen, so a tensor that is dropped while another stream uses it, without
`record_stream`, is an error at its line (SS105). With pytest: the fixture `streamsan_check`.
"""

from streamsan.sections import check as check
from streamsan.sections import prepare as prepare
