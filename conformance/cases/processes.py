"""Forks, and ends of processes with work pending."""

from __future__ import annotations

from conformance.companion import Companion
from conformance.lab import Lab
from conformance.registry import Family, Observations

fork_case = Family("fork")
exit_case = Family("exit", bare=True)


# -- fork and exit ------------------------------------------------------------------------------------------
@fork_case("W-07", "I-02", fresh=True)
def after_initialisation(lab: Lab) -> Observations:
    """Fork after CUDA was initialised: free, set device, allocate in the child; the parent goes on."""
    rt, memory = lab.rt, lab.plain()

    def child(parent: Companion) -> int:
        statuses = [lab.status(rt.cudaFree(memory)), lab.status(rt.cudaSetDevice(0)), lab.status(rt.cudaMalloc(64))]
        parent.send(statuses)
        return 0

    companion = lab.fork(child)
    statuses = companion.receive()
    return {"child": statuses, "child ended": companion.ended(), "parent": lab.status(rt.cudaFree(memory))}


@fork_case("W-07", bare=True)
def before_initialisation(lab: Lab) -> Observations:
    """Fork before CUDA is initialised: both processes use it."""

    def child(parent: Companion) -> int:
        lab.start()
        parent.send(lab.wrong(lab.plain(byte=5), 5))
        return 0

    companion = lab.fork(child)
    lab.start()
    own = lab.wrong(lab.plain(byte=6), 6)
    return {"child": companion.receive(), "child ended": companion.ended(), "parent": own}


def _ends(lab: Lab, how: str) -> Observations:
    """A process ends with work and memory pending; another one learns how, and uses the device afterwards."""

    def child(parent: Companion) -> int:
        lab.start()
        stream = lab.stream()
        memory = lab.pooled(stream)
        lab.plain()
        lab.busy(stream)
        lab.ok(lab.rt.cudaFreeAsync(memory, stream))
        parent.send("issued")
        if how == "exception":
            raise RuntimeError("the program fails")
        return 0

    companion = lab.fork(child)
    said = companion.receive()
    ended = companion.ended()
    lab.start()
    return {"said": said, "ended": ended, "device afterwards": lab.wrong(lab.plain(byte=5), 5)}


@exit_case("exit")
def pending_work(lab: Lab) -> Observations:
    """A process ends (_exit) with a kernel, a free and memory pending."""
    return _ends(lab, "normal")


@exit_case("exit", "I-03")
def handler_frees(lab: Lab) -> Observations:
    """An exit handler of the program frees memory and synchronises, a kernel pending."""

    def child(parent: Companion) -> int:
        import atexit

        lab.start()
        stream, plain = lab.stream(), lab.plain()
        pooled = lab.pooled(stream)
        lab.busy(stream)

        def at_exit() -> None:
            rt = lab.rt
            parent.send(
                [
                    lab.status(rt.cudaFreeAsync(pooled, stream)),
                    lab.status(rt.cudaFree(plain)),
                    lab.status(rt.cudaStreamSynchronize(stream)),
                    lab.status(rt.cudaDeviceReset()),
                ]
            )

        atexit.register(at_exit)
        atexit._run_exitfuncs()
        return 0

    companion = lab.fork(child)
    statuses = companion.receive()
    return {"statuses": statuses, "ended": companion.ended()}
