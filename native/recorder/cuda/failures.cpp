#include "recorder/cuda/failures.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t most_words = 1024;
constexpr std::size_t text_in_slot = sizeof TextSlot::text;

/// A line of the log without what it begins with: time, thread, library and severity in brackets.
std::string_view message_of(std::string_view line) {
    while (!line.empty() && line.front() == '[') {
        const std::size_t end = line.find(']');
        if (end == std::string_view::npos) break;
        line.remove_prefix(end + 1);
        while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    }
    while (!line.empty() && (line.back() == '\n' || line.back() == '\0' || line.back() == ' ')) line.remove_suffix(1);
    return line;
}

/// The driver logs on the thread of the call, before the call's exit.
void on_log(void*, abi::LogLevel level, char* text, std::size_t length) noexcept {
    if (level != abi::LogLevel::error || text == nullptr || recorder() == nullptr) return;
    ThreadState& state = this_thread();
    if (state.inside || (state.call.callback == nullptr && state.runtime == nullptr)) return;
    const std::string_view line = message_of({text, strnlen(text, length)});
    // The status again: known, and in the trace.
    if (line.empty() || line.starts_with("Returning ")) return;
    try {
        if (state.explanation.size() + line.size() > most_words) return;
        if (!state.explanation.empty()) state.explanation += "; ";
        state.explanation += line;
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

void listen_to_the_driver() {
    const Driver* const driver = recorder()->driver;
    if (driver == nullptr || driver->cuLogsRegisterCallback == nullptr) return;
    const OwnCalls own;
    abi::Word handle = 0;
    driver->cuLogsRegisterCallback(on_log, nullptr, &handle);
}

bool is_answer(const Call& call) {
    if (call.status == status::not_ready || asks_for_code(*call.callback)) return true;
    return call.status == status::peer_already_enabled && call.callback->effect == Effect::PEER_ENABLE;
}

void explain_driver_failure(ThreadState& state, Call& call) {
    const bool told = state.written != state.written_before;
    if (is_answer(call)) {
        state.explanation.clear();
        return;
    }
    // The runtime may try something, fail, and succeed in another way: its own status counts, at its exit.
    if (!told) {
        if (state.runtime != nullptr) return;
        write_returned(state, call, OperationKind::CALL, CallClass::PLAIN, 0, 0);
    }
    write_explanation(state, call);
}

void write_explanation(ThreadState& state, Call& call) {
    if (state.explanation.empty()) return;
    const std::string_view words = state.explanation;
    Lane* const lane = recorder()->writer->lane();
    const std::size_t parts = (words.size() + text_in_slot - 1) / text_in_slot;
    Slot* const slot = lane != nullptr ? lane->reserve(static_cast<unsigned>(parts)) : nullptr;
    if (slot != nullptr) {
        slot->time = call.entered;
        slot->site = call.site;
        slot->kind = static_cast<std::uint8_t>(OperationKind::CALL);
        slot->detail = static_cast<std::uint8_t>(CallClass::EXPLAINED);
        for (std::size_t part = 0; part < parts; ++part) {
            auto& continuation = *reinterpret_cast<TextSlot*>(slot + 1 + part);
            const std::string_view text = words.substr(part * text_in_slot, text_in_slot);
            std::memcpy(continuation.text, text.data(), text.size());
            continuation.length = static_cast<std::uint16_t>(text.size());
            continuation.kind = static_cast<std::uint8_t>(OperationKind::TEXT);
        }
        lane->commit();
    }
    state.explanation.clear();
}

}  // namespace streamsan::recorder::cuda
