#include "recorder/sites/stack_note.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "recorder/sites/python_layout.hpp"
#include "recorder/sites/python_stack.hpp"
#include "recorder/sites/python_text.hpp"
#include "recorder/sites/sites.hpp"

namespace streamsan::recorder::call_sites {
namespace {

void note_python(StackNote& note, const PythonLayout& python) noexcept {
    if (syscall(SYS_gettid) != getpid() && python.finalizing() != 0) return;
    const std::uint64_t innermost = innermost_python_frame(python);
    if (innermost == 0) return;
    constexpr unsigned all_at_most = 24;
    std::array<PythonFrame, all_at_most> frames;
    const unsigned all =
        python_frames(python, innermost, frames.data(), all_at_most, static_cast<unsigned>(note.python.size()));
    std::size_t used = 0;
    for (unsigned index = 0; index < all && note.python_count < note.python.size(); ++index) {
        const PythonFrame& frame = frames[index];
        if (frame.code == 0) continue;
        const auto copied = [&](std::uint64_t text) {
            const std::size_t size = copy_python_text(python, load<std::uint64_t>(frame.code + text),
                                                      note.text.data() + used, note.text.size() - used);
            used += size;
            return static_cast<std::uint16_t>(size);
        };
        StackNote::PythonPlace& place = note.python[note.python_count];
        const PythonPosition position = python_position(python, frame.code, frame.offset);
        place.line = position.line;
        place.column = position.column;
        place.file = static_cast<std::uint16_t>(used);
        place.file_size = copied(python.code_file);
        if (place.file_size == 0) return;  // no room for more
        place.function = static_cast<std::uint16_t>(used);
        place.function_size = copied(python.code_name);
        ++note.python_count;
    }
}

/// What the kernel can copy: the stack may end, and part of it may be protected.
void note_stack(StackNote& note) noexcept {
    constexpr std::uint64_t page_bytes = 4096;
    constexpr std::size_t pages_at_most = StackNote::most_bytes / page_bytes + 1;
    note.low = note.start.stack_pointer & ~std::uint64_t{7};
    std::array<iovec, pages_at_most> pages;
    std::size_t count = 0;
    std::size_t left = note.stack.size();
    for (std::uint64_t at = note.low; left != 0; ++count) {
        const std::size_t here = std::min<std::size_t>(left, page_bytes - at % page_bytes);
        pages[count] = {reinterpret_cast<void*>(at), here};
        at += here;
        left -= here;
    }
    iovec whole{note.stack.data(), note.stack.size()};
    const long copied = syscall(SYS_process_vm_readv, getpid(), &whole, 1UL, pages.data(), count, 0UL);
    note.bytes = copied > 0 ? static_cast<std::uint32_t>(copied) : 0;
}

}  // namespace

}  // namespace streamsan::recorder::call_sites

namespace streamsan::recorder {

using namespace call_sites;

void Sites::note(StackNote& note, const StackStart& start) const noexcept {
    note.start = start;
    note.python_count = 0;
    note_stack(note);
    if (const PythonLayout* const python = python_.load(std::memory_order_acquire)) note_python(note, *python);
}

}  // namespace streamsan::recorder
