"""An oracle that knows no clocks: small programs, and all executions of them that the contract allows.

    program     what a program is: the operations of a trace, without their numbers
    choices     a legal program from any sequence of numbers (random, or Hypothesis')
    traces      the program as a trace
    features    what a program has of the vocabulary
    lifetimes   which handles are alive at each operation, and which operations do nothing
    instances   of a program with objects of unknown callers: the programs that it may stand for
    machine     the program as steps of hosts, queues and work, each with what must have happened before it
    search      the executions of a machine: what may be unfinished when a step happens
    memory      which allocation each access refers to, and how long it lives
    verdicts    what is wrong with the program, and which waits bring nothing
    comparison  the engine's verdicts beside the oracle's
    shrinking   a program that fails, in a few lines

It shares nothing with `native/order` but the vocabulary of the trace.
"""
