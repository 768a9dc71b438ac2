#include "recorder/sites/python_layout.hpp"

#include <dlfcn.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::call_sites {
namespace {

constexpr unsigned word = 8;

PythonLayout layout_3_9() {
    PythonLayout layout;
    layout.state_frame = 24;
    layout.frame_previous = 24;
    layout.frame_code = 32;
    layout.frame_instruction = 104;
    layout.code_file = 104;
    layout.code_name = 112;
    layout.code_first_line = 40;
    layout.code_lines = 120;
    layout.line_table = LineTable::increments;
    return layout;
}

PythonLayout layout_3_10() {
    PythonLayout layout = layout_3_9();
    layout.frame_instruction = 96;
    layout.instruction_scale = 2;
    layout.line_table = LineTable::ranges;
    return layout;
}

PythonLayout layout_3_11() {
    PythonLayout layout;
    layout.state_frame = 56;
    layout.c_frame_frame = 8;
    layout.frame_previous = 48;
    layout.frame_code = 32;
    layout.frame_instruction = 56;
    layout.frame_owner = 69;
    layout.code_file = 112;
    layout.code_name = 128;
    layout.code_first_line = 72;
    layout.code_lines = 136;
    layout.code_instructions = 184;
    layout.code_first_traceable = 168;
    return layout;
}

PythonLayout layout_3_12() {
    PythonLayout layout = layout_3_11();
    layout.c_frame_frame = 0;
    layout.frame_previous = 8;
    layout.frame_code = 0;
    layout.frame_owner = 70;
    layout.code_first_line = 68;
    layout.code_instructions = 192;
    layout.code_first_traceable = 176;
    layout.code_version = 92;
    layout.ascii_size = 40;
    layout.compact_size = 56;
    return layout;
}

/// 3.13 and 3.14: _Py_DebugOffsets (CPython's Include/internal/pycore_debug_offsets.h), a cookie and then words of 8
/// bytes, group after group, each group's first word being the size of the structure it describes.
class PublishedOffsets {
public:
    PublishedOffsets(std::uint64_t address, std::uint32_t version) : address_(address), version_(version) {}

    std::optional<PythonLayout> layout() const {
        if (std::memcmp(reinterpret_cast<const void*>(address_), "xdebugpy", 8) != 0) return std::nullopt;
        constexpr unsigned version_at = 1;
        constexpr unsigned free_threaded_at = 2;
        if (at(version_at) != version_ || at(free_threaded_at) != 0) return std::nullopt;
        const bool is_3_14 = (version_ >> 16) == 0x030e;
        // 3.14 added words to the interpreter's group, and at the end of the frame's and of the code's, not all in its
        // first releases: how many there are shows in what must follow, an object of 16 bytes with its type in the
        // second half.
        constexpr unsigned interpreter_at = 6;
        constexpr unsigned thread_words = 9;
        const unsigned more = is_3_14 ? 1 : 0;
        for (unsigned interpreter = 13; interpreter <= 13 + 5 * more; ++interpreter)
            for (unsigned frame = 6; frame <= 6 + 2 * more; ++frame)
                for (unsigned code = 10; code <= 10 + 2 * more; ++code) {
                    const unsigned thread_at = interpreter_at + interpreter;
                    const unsigned frame_at = thread_at + thread_words;
                    auto found = from(thread_at, frame_at, frame_at + frame, frame_at + frame + code);
                    if (!found) continue;
                    if (is_3_14) {
                        found->code_mask = ~std::uint64_t{3};  // _PyStackRef: two tag bits
                        found->text_kind_bit = 16;             // `interned` is a short of its own
                    }
                    return found;
                }
        return std::nullopt;
    }

private:
    [[nodiscard]] std::uint64_t at(unsigned index) const {
        return load<std::uint64_t>(address_ + index * std::uint64_t{word});
    }

    /// The layout, if the groups begin at these words: every member lies in its structure, and no two at the same
    /// place.
    std::optional<PythonLayout> from(unsigned thread, unsigned frame, unsigned code, unsigned object) const {
        if (at(object) != 16 || at(object + 1) != word) return std::nullopt;
        PythonLayout layout;
        bool good = true;
        const auto offset = [&](unsigned group, unsigned index) {
            const std::uint64_t value = at(group + index);
            if (value >= at(group) || at(group) >= PythonLayout::absent) good = false;
            return static_cast<std::uint16_t>(value);
        };
        layout.state_frame = offset(thread, 4);
        layout.frame_previous = offset(frame, 1);
        layout.frame_code = offset(frame, 2);
        layout.frame_instruction = offset(frame, 3);
        layout.frame_owner = offset(frame, 5);
        layout.code_file = offset(code, 1);
        layout.code_name = offset(code, 3);
        layout.code_lines = offset(code, 4);
        layout.code_first_line = offset(code, 5);
        layout.code_instructions = offset(code, 9);
        layout.code_version = code_version(layout.code_first_line, offset(code, 7));
        const std::set<std::uint16_t> frame_members{layout.frame_previous, layout.frame_code, layout.frame_instruction,
                                                    layout.frame_owner};
        const std::set<std::uint16_t> code_members{layout.code_file, layout.code_name, layout.code_lines,
                                                   layout.code_first_line, layout.code_instructions};
        // Strings and bytes have been as in 3.12 ever since.
        layout.ascii_size = 40;
        layout.compact_size = 56;
        return good && frame_members.size() == 4 && code_members.size() == 5 ? std::optional(layout) : std::nullopt;
    }

    /// It is not published. In 3.13 it is the last of the numbers between the first line and the names of variables, as
    /// in 3.12; how 3.14 numbers code was not looked at.
    [[nodiscard]] std::uint16_t code_version(std::uint16_t first_line, std::uint16_t variable_names) const {
        constexpr std::uint16_t numbers = 6;  // the version is one of them
        const bool as_known = variable_names == first_line + 4 + 4 * numbers;
        return as_known && version_ >> 16 == 0x030d ? static_cast<std::uint16_t>(variable_names - 4)
                                                    : PythonLayout::absent;
    }

    std::uint64_t address_;
    std::uint32_t version_;
};

/// PY_VERSION_HEX from Py_GetVersion's "3.12.1 (main, ...) [GCC ...]" without its last byte, 0 for anything else.
std::uint32_t version_of(std::string_view text) {
    // PyPy and GraalPy have a Python's version too; a free-threaded build says so.
    for (const std::string_view other : {"PyPy", "GraalPy", "free-threading", "experimental free"})
        if (text.find(other) != std::string_view::npos) return 0;
    unsigned numbers[3] = {0, 0, 0};
    std::size_t at = 0;
    for (unsigned& number : numbers) {
        const std::size_t begin = at;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9')
            number = number * 10 + static_cast<unsigned>(text[at++] - '0');
        if (at == begin || number > 255) return 0;
        if (at < text.size() && text[at] == '.') ++at;
    }
    return numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8;
}

/// A handle in which CPython's symbols are found: the global scope, or a libpython that was loaded for itself.
void* python_handle() {
    if (dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr) return RTLD_DEFAULT;
    std::string path;
    Modules::instance().each([&](const Module& module) {
        if (module.loader_name.find("libpython3") != std::string::npos) path = module.loader_name;
    });
    void* handle = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    return handle != nullptr && dlsym(handle, "Py_GetVersion") != nullptr ? handle : nullptr;
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version, std::uint64_t runtime) {
    switch (version >> 16) {
        case 0x0309: return layout_3_9();
        case 0x030a: return layout_3_10();
        case 0x030b: return layout_3_11();
        case 0x030c: return layout_3_12();
        case 0x030d:
        case 0x030e: return runtime == 0 ? std::nullopt : PublishedOffsets(runtime, version).layout();
        default: return std::nullopt;
    }
}

std::optional<PythonLayout> loaded_python() {
    void* const handle = python_handle();
    if (handle == nullptr && dlsym(RTLD_DEFAULT, "Py_GetVersion") == nullptr) return std::nullopt;
    const auto symbol = [&](const char* name) { return dlsym(handle, name); };
    const auto address = [&](const char* name) { return reinterpret_cast<std::uint64_t>(symbol(name)); };
    // A build that counts references in total is a debug build: its structures differ.
    for (const char* debug_only : {"_Py_RefTotal", "_Py_GetGlobalRefTotal", "_Py_INCREF_IncRefTotal"})
        if (symbol(debug_only) != nullptr) return std::nullopt;
    const auto get_version = reinterpret_cast<const char* (*)()>(symbol("Py_GetVersion"));
    std::uint32_t version = get_version == nullptr ? 0 : version_of(get_version());
    // The data object, not the text, has the release level.
    if (const std::uint64_t full = address("Py_Version"); full != 0 && version != 0)
        version = load<std::uint32_t>(full);
    auto layout = python_layout(version, address("_PyRuntime"));
    if (!layout) return std::nullopt;
    layout->thread_state = reinterpret_cast<void* (*)()>(symbol("PyGILState_GetThisThreadState"));
    layout->finalizing = reinterpret_cast<int (*)()>(symbol("Py_IsFinalizing"));
    if (layout->finalizing == nullptr) layout->finalizing = reinterpret_cast<int (*)()>(symbol("_Py_IsFinalizing"));
    layout->code_type = address("PyCode_Type");
    layout->text_type = address("PyUnicode_Type");
    layout->bytes_type = address("PyBytes_Type");
    if (layout->thread_state == nullptr || layout->finalizing == nullptr || layout->code_type == 0 ||
        layout->text_type == 0 || layout->bytes_type == 0)
        return std::nullopt;
    return layout;
}

}  // namespace streamsan::recorder::call_sites
