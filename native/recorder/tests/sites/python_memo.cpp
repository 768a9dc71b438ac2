// What a memo recognises, and what it must not: on frames and code objects made here, whose memory is used again.
#include "recorder/sites/python_memo.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace streamsan::recorder::call_sites;

namespace {

struct Code {
    std::uint64_t file = 0;
    std::uint64_t lines = 0;
    std::uint32_t first_line = 0;
    std::uint32_t version = 0;
};
struct Frame {
    std::uint64_t previous = 0;
    std::uint64_t code = 0;
    std::uint64_t instruction = 0;
};

std::uint64_t address_of(const auto& object) { return reinterpret_cast<std::uint64_t>(&object); }

PythonLayout layout_of(bool has_versions) {
    PythonLayout layout;
    layout.frame_previous = offsetof(Frame, previous);
    layout.frame_code = offsetof(Frame, code);
    layout.frame_instruction = offsetof(Frame, instruction);
    layout.code_file = offsetof(Code, file);
    layout.code_lines = offsetof(Code, lines);
    layout.code_first_line = offsetof(Code, first_line);
    if (has_versions) layout.code_version = offsetof(Code, version);
    return layout;
}

int failures = 0;
void require(bool good, const char* what) {
    if (good) return;
    std::printf("failed: %s\n", what);
    ++failures;
}

/// A thread's frames, the innermost first, and the memo that looks at them.
struct Thread {
    explicit Thread(bool has_versions, std::size_t depth)
        : layout(layout_of(has_versions)), frames(depth), codes(depth) {
        for (std::size_t index = 0; index < depth; ++index) {
            codes[index] = {0, 7000 + index, 10, static_cast<std::uint32_t>(500 + index)};
            frames[index] = {index + 1 < depth ? address_of(frames[index + 1]) : 0, address_of(codes[index]), index};
        }
    }
    std::uint32_t find(std::uint32_t label = 0) { return memo.find(layout, address_of(frames[0]), label); }
    /// As a walk does that looks at so many frames.
    void remember(std::uint32_t site, unsigned count, std::uint32_t label = 0) {
        std::array<PythonFrame, PythonMemo::frames_at_most> read;
        std::uint64_t frame = address_of(frames[0]);
        for (unsigned index = 0; index < count; ++index) {
            const auto code = load<std::uint64_t>(frame + layout.frame_code);
            const std::uint32_t version = code_version(layout, code);
            read[index] = {frame, code,    load<std::uint64_t>(frame + layout.frame_instruction),
                           code,  version, version == 0 ? code_shape(layout, code) : 0,
                           0};
            frame = load<std::uint64_t>(frame + layout.frame_previous);
        }
        memo.remember(layout, read.data(), count, label, site);
    }

    PythonLayout layout;
    std::vector<Frame> frames;
    std::vector<Code> codes;
    PythonMemo memo;
};

constexpr std::uint32_t none = PythonMemo::no_site;

/// One stack, whatever of it changes.
void changes(bool has_versions) {
    Thread thread(has_versions, 6);
    require(thread.find() == none, "nothing is known at first");
    thread.remember(41, 6);
    require(thread.find() == 41 && thread.find() == 41, "a stack that was seen");
    require(thread.find(1) == none, "another label");
    for (std::size_t index = 0; index < 6; ++index) {
        ++thread.frames[index].instruction;
        require(thread.find() == none, "another instruction in some frame");
        --thread.frames[index].instruction;
        Code other = thread.codes[index];
        thread.frames[index].code = address_of(other);
        require(thread.find() == none, "another code object");
        thread.frames[index].code = address_of(thread.codes[index]);
        (has_versions ? thread.codes[index].version : thread.codes[index].first_line) += 1;
        require(thread.find() == none, "another code object at the same address");
        (has_versions ? thread.codes[index].version : thread.codes[index].first_line) -= 1;
    }
    require(thread.find() == 41, "the stack as it was");
    Frame further;
    thread.frames[5].previous = address_of(further);
    require(thread.find() == none, "a frame around those that were all");
    thread.frames[4].previous = 0;
    require(thread.find() == none, "a frame less");
}

/// Of a deep stack only the inner part is looked at.
void deep() {
    Thread thread(true, 20);
    thread.remember(5, 16);
    require(thread.find() == 5, "the inner part of a deep stack");
    ++thread.frames[17].instruction;
    require(thread.find() == 5, "a change farther out");
    thread.frames[15].previous = 0;
    require(thread.find() == none, "nothing farther out");
}

/// Stacks one after the other, in one order and then in another.
void orders() {
    Thread thread(true, 3);
    const auto at = [&thread](std::uint64_t instruction) { thread.frames[0].instruction = instruction; };
    for (std::uint32_t site = 1; site < 6; ++site) {
        at(site);
        thread.remember(site, 3);
    }
    for (const std::uint32_t site : {1U, 2U, 3U, 4U, 5U, 1U, 3U, 5U, 2U, 2U, 4U, 1U, 2U}) {
        at(site);
        require(thread.find() == site, "in any order");
    }
}

/// When a memo is full it forgets all: no stack may be taken for another one that has got its place.
void full() {
    constexpr std::uint32_t first = 1, crowd = 2, second = 3;
    for (std::uint64_t between = 0; between < 400; ++between) {
        Thread thread(true, PythonMemo::frames_at_most);
        const auto remember = [&thread](std::uint32_t site) { thread.remember(site, PythonMemo::frames_at_most); };
        Code other = thread.codes[0];
        remember(first);
        for (std::uint64_t round = 0; round < between; ++round) {
            thread.frames.back().instruction = thread.frames.front().instruction = 100 + round;
            remember(crowd);
            require(thread.find() == crowd, "the stack that was seen last");
        }
        thread.frames.back().instruction = PythonMemo::frames_at_most - 1;
        thread.frames.front().instruction = 0;
        thread.frames[0].code = address_of(other);  // looked for where the first is looked for
        require(thread.find() == none, "one that was not seen");
        remember(second);
        require(thread.find() == second, "a stack in the place of another");
        thread.frames[0].code = address_of(thread.codes[0]);
        const std::uint32_t found = thread.find();
        require(found == first || (found == none && between > 6), "the first one again, unless it was forgotten");
    }
}

}  // namespace

int main() {
    changes(true);
    changes(false);
    deep();
    orders();
    full();
    return failures == 0 ? 0 : 1;
}
