#include "recorder/run/settings.hpp"

#include <charconv>

namespace streamsan::recorder {
namespace {

std::string unescaped(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
            ++at;
            plain += text[at] == 'n' ? '\n' : text[at];
        } else {
            plain += text[at];
        }
    }
    return plain;
}

/// The number, or `otherwise` where the text is none.
template <class Number>
Number number_or(const std::string& text, Number otherwise) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

void set(Settings& settings, std::string_view key, std::string value) {
    if (key == "output") settings.output = std::move(value);
    else if (key == "counter") settings.counter = std::move(value);
    else if (key == "run") settings.run = std::move(value);
    else if (key == "cupti") settings.cupti = std::move(value);
    else if (key == "sanitizer") settings.sanitizer = std::move(value);
    else if (key == "patch") settings.patch = std::move(value);
    else if (key == "kernels") settings.kernels = std::move(value);
    else if (key == "accesses_first") settings.accesses_first = number_or<std::uint32_t>(value, 0);
    else if (key == "omissions") settings.omissions = std::move(value);
    else if (key == "code") settings.code = std::move(value);
    else if (key == "code_left_out") settings.code_left_out = std::move(value);
    else if (key == "max_bytes") settings.max_bytes = number_or<std::uint64_t>(value, 0);
    else if (key == "host_accesses") settings.host_accesses = value == "1";
    else if (key == "driver_pools") settings.driver_pools = value == "1";
    else if (key == "times") settings.times = value == "1";
    else if (key == "poison") settings.poison = value == "1";
    else if (key == "adapters") settings.adapters = std::move(value);
    else if (key == "redact") settings.redact = value == "1";
    else if (key == "sites") settings.sites = value != "0";
    else if (key == "root_pid") settings.root_pid = number_or<int>(value, 0);
}

}  // namespace

Settings parse_settings(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (const std::size_t equals = line.find('='); equals != std::string_view::npos) {
            set(settings, line.substr(0, equals), unescaped(line.substr(equals + 1)));
        }
    }
    return settings;
}

}  // namespace streamsan::recorder
