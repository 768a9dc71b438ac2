"""What only code that nobody can see may call is run on its own; what is run from somewhere else is not run again."""

from __future__ import annotations

import pytest

from streamsan import cuda_source
from streamsan.cuda_source.world import Reading

CALL = "cudaMemsetAsync(memory, 0, 64, stream);"
MAIN = "int main() { cudaSetDevice(0); BODY }"
CASES = {
    "a table of functions": f"""
        struct Interface {{ const char* name; void (*clear)(void*, cudaStream_t); }};
        static void clear(void* memory, cudaStream_t stream) {{ {CALL} }}
        static const Interface interface = {{ "cuda", clear }};
        const Interface* get() {{ cudaSetDevice(0); return &interface; }}""",
    "an array of functions": f"""
        static void clear(void* memory, cudaStream_t stream) {{ {CALL} }}
        void (*const steps[])(void*, cudaStream_t) = {{ &clear }};
        void none() {{ cudaSetDevice(0); }}""",
    "a callback of a library": f"""
        float* memory; cudaStream_t stream;
        void display() {{ {CALL} }}
        {MAIN.replace("BODY", "glutDisplayFunc(display); glutMainLoop();")}""",
    "a signal's handler": f"""
        float* memory; cudaStream_t stream;
        void stop(int) {{ {CALL} }}
        {MAIN.replace("BODY", "signal(SIGINT, stop);")}""",
    "a method that is bound": f"""
        struct Window {{ float* memory; cudaStream_t stream; void draw() {{ {CALL} }} }};
        Window window;
        {MAIN.replace("BODY", "on_draw(std::bind(&Window::draw, &window));")}""",
    "a lambda for a library": f"""
        float* memory; cudaStream_t stream;
        {MAIN.replace("BODY", "glfwSetKeyCallback(0, [](int key) { " + CALL + " });")}""",
    "a lambda of an object": f"""
        struct Window {{
            float* memory; cudaStream_t stream;
            void open() {{ cudaSetDevice(0); on_draw([this] {{ {CALL} }}); }}
        }};""",
    "methods of a class that is a member": f"""
        struct Buffer {{ float* memory; void clear(cudaStream_t stream) {{ {CALL} }} }};
        struct Model {{ Buffer weights; }};
        void none() {{ cudaSetDevice(0); }}""",
    "a template that other files instantiate": f"""
        template <typename T> struct Pool {{ T* memory; void clear(cudaStream_t stream) {{ {CALL} }} }};
        template <typename T> void clear(T* memory, cudaStream_t stream) {{ {CALL} }}
        Pool<int>* pool();
        template struct Pool<float>;""",
}


CASES["a call that could not be followed"] = f"""
        static void clear(void* memory, cudaStream_t stream) {{ {CALL} }}
        void entry(int type, void* memory, cudaStream_t stream) {{
            cudaSetDevice(0);
            TYPE_SWITCH(type, Type, clear(static_cast<Type*>(memory), stream););
        }}"""


def explored(text: str, folder) -> tuple[Reading, list[str]]:
    path = folder / "program.cu"
    path.write_text(text)
    reading = cuda_source.read(path, strict=True)
    return reading, [world.entry for world in reading.worlds]


@pytest.mark.parametrize("name", CASES)
def test_code_that_only_unseen_code_calls_is_reached(name, tmp_path):
    reading, _ = explored(CASES[name], tmp_path)
    assert not reading.missed


def test_what_a_path_enters_is_no_entry(tmp_path):
    text = f"""
        float* memory; cudaStream_t stream;
        void clear() {{ {CALL} }}
        void (*const steps[])() = {{ clear }};
        {MAIN.replace("BODY", "steps[0]();")}"""
    _, entries = explored(text, tmp_path)
    assert entries == ["main"]


def test_what_nobody_calls_is_an_entry_beside_main(tmp_path):
    reading, entries = explored(f"void clear(void* memory, cudaStream_t stream) {{ {CALL} }}\n" + MAIN, tmp_path)
    assert entries == ["main", "clear"]
    assert not reading.missed


def test_what_nobody_calls_and_has_nothing_new_is_no_entry_beside_main(tmp_path):
    text = f"""
        static void clear(void* memory, cudaStream_t stream) {{ {CALL} }}
        void again(void* memory, cudaStream_t stream) {{ clear(memory, stream); }}
        int main() {{ clear(0, 0); }}"""
    _, entries = explored(text, tmp_path)
    assert entries == ["main"]


def test_a_lambda_that_needs_its_function_is_no_entry(tmp_path):
    text = MAIN.replace("BODY", f"float* memory = 0; cudaStream_t stream = 0; on_draw([&] {{ {CALL} }});")
    reading, entries = explored(text, tmp_path)
    assert entries == ["main"]
    assert len(reading.missed) == 1


def test_what_only_errors_lead_to_is_no_entry(tmp_path):
    text = """
        static void give_up(void* memory) { cudaFree(memory); exit(1); }
        void entry(void* memory) { if (cudaSetDevice(0) != cudaSuccess) give_up(memory); }"""
    _, entries = explored(text, tmp_path)
    assert entries == ["entry"]


def test_what_an_unseen_function_returns_is_of_the_class_that_it_is_bound_to(tmp_path):
    text = f"""
        struct Tensor {{ void* data = nullptr; int kind = 0; bool is_valid() const {{ return kind == 7; }} }};
        static void clear(const Tensor& tensor, cudaStream_t stream) {{
            if (!tensor.is_valid()) throw 1;
            void* memory = tensor.data;
            {CALL}
        }}
        void entry(void* handle, cudaStream_t stream) {{ clear(*tensor_of(handle), stream); }}"""
    reading, _ = explored(text, tmp_path)
    assert not reading.missed
