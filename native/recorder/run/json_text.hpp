// Text in JSON.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace streamsan::recorder {

/// UTF-8 as a JSON string.
inline std::string as_json(std::string_view text) {
    std::string json = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte == '"' || byte == '\\') {
            json += '\\';
            json += letter;
        } else if (byte < 0x20 || byte == 0x7f) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            json += escaped;
        } else {
            json += letter;
        }
    }
    return json + '"';
}

}  // namespace streamsan::recorder
