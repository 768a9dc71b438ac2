"""Programs of pyopencl; `expect` says what is found at which line. test_opencl_python.py records each."""

import sys

import numpy as np
import pyopencl as cl

platform = cl.get_platforms()[0]
context = cl.Context(platform.get_devices()[:1])
queue, other = cl.CommandQueue(context), cl.CommandQueue(context)
unordered = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
SIZE = 4096
ONE = np.float32(1)


def two_queues_wrong():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    result = np.empty(SIZE // 4, dtype=np.float32)
    cl.enqueue_fill_buffer(queue, data, ONE, 0, SIZE)
    cl.enqueue_copy(other, result, data)  # expect: SS109
    queue.finish()


def two_queues_with_event_right():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    result = np.empty(SIZE // 4, dtype=np.float32)
    filled = cl.enqueue_fill_buffer(queue, data, ONE, 0, SIZE)
    queue.flush()
    cl.enqueue_copy(other, result, data, wait_for=[filled])
    print(result[0])


def unordered_queue_wrong():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    target = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    cl.enqueue_fill_buffer(unordered, data, ONE, 0, SIZE)
    cl.enqueue_copy(unordered, target, data)  # expect: SS109
    unordered.finish()


def unordered_queue_with_barrier_right():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    target = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    cl.enqueue_fill_buffer(unordered, data, ONE, 0, SIZE)
    cl.enqueue_barrier(unordered)
    cl.enqueue_copy(unordered, target, data)
    unordered.finish()


def release_under_user_event_wrong():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    gate = cl.UserEvent(context)
    cl.enqueue_fill_buffer(queue, data, ONE, 0, SIZE, wait_for=[gate])
    data.release()  # expect: SS208
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()


def released_after_user_event_right():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    gate = cl.UserEvent(context)
    cl.enqueue_fill_buffer(queue, data, ONE, 0, SIZE, wait_for=[gate])
    gate.set_status(cl.command_execution_status.COMPLETE)
    data.release()
    queue.finish()


def host_sees_status_right():
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    filled = cl.enqueue_fill_buffer(queue, data, ONE, 0, SIZE)
    filled.wait()
    result = np.empty(SIZE // 4, dtype=np.float32)
    cl.enqueue_copy(other, result, data)
    print(result[0])


for name in sys.argv[1:]:
    globals()[name]()
