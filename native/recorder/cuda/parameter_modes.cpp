#include "recorder/cuda/parameter_modes.hpp"

#include <array>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t longest_label = 160;
constexpr std::size_t longest_whole_label = 72;  // up to here template arguments stay as they are
constexpr std::size_t longest_argument = 24;     // of a template whose list is shortened
constexpr std::size_t most_modes = 4096;         // as many as fit in the argument buffer, no more

constexpr std::array<std::string_view, 5> qualifiers{"const", "volatile", "restrict", "__restrict", "__restrict__"};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Takes qualifiers off the end of a type; whether `const` was one of them.
bool take_qualifiers(std::string_view& type) {
    bool constant = false;
    for (bool again = true; again;) {
        again = false;
        type = trimmed(type);
        for (const std::string_view word : qualifiers) {
            if (!type.ends_with(word) || (type.size() > word.size() && is_word(type[type.size() - word.size() - 1])))
                continue;
            type.remove_suffix(word.size());
            constant |= word == "const";
            again = true;
        }
    }
    return constant;
}

/// Steps over `operator<`, `operator->`, ... at `at`: what looks like brackets there is none. Returns how many
/// characters.
std::size_t operator_name(std::string_view text, std::size_t at) {
    constexpr std::string_view word = "operator";
    if (!text.substr(at).starts_with(word) || (at > 0 && is_word(text[at - 1]))) return 0;
    constexpr std::array<std::string_view, 12> symbols{"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                                       "<=",  ">=",  "->",  "()",  "<",  ">"};
    const std::string_view rest = text.substr(at + word.size());
    for (const std::string_view symbol : symbols) {
        if (rest.starts_with(symbol)) return word.size() + symbol.size();
    }
    return word.size();
}

/// Splits at the commas that are in no brackets.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (const std::size_t skip = operator_name(text, at); skip != 0) {
            at += skip - 1;
            continue;
        }
        const char c = text[at];
        if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
        if (c == ')' || c == '}' || c == ']' || (c == '>' && !(at > 0 && text[at - 1] == '-'))) --depth;
        if (c == ',' && depth == 0) {
            parts.push_back(trimmed(text.substr(begin, at - begin)));
            begin = at + 1;
        }
    }
    parts.push_back(trimmed(text.substr(begin)));
    return parts;
}

/// Where the parenthesis that the last one of `text` closes was opened; npos if nowhere.
std::size_t opening(std::string_view text) {
    int depth = 0;
    for (std::size_t at = text.size(); at-- > 0;) {
        if (text[at] == ')') ++depth;
        if (text[at] == '(' && --depth == 0) return at;
    }
    return std::string_view::npos;
}

/// Where the `<` of the first template argument list begins, and its `>`; npos if there is none.
std::pair<std::size_t, std::size_t> template_list(std::string_view text, std::size_t from) {
    int depth = 0;
    std::size_t begin = std::string_view::npos;
    for (std::size_t at = from; at < text.size(); ++at) {
        if (const std::size_t skip = operator_name(text, at); skip != 0) {
            at += skip - 1;
            continue;
        }
        if (text[at] == '<' && depth++ == 0) begin = at;
        if (text[at] == '>' && !(at > 0 && text[at - 1] == '-') && --depth == 0) return {begin, at};
    }
    return {std::string_view::npos, std::string_view::npos};
}

}  // namespace

ParameterType parameter_type(std::string_view type) {
    take_qualifiers(type);
    if (type.ends_with("]") || type.ends_with(")")) {
        // `int const (*) [4]`: a pointer to an array. `void (*)(float const*)`: a function, which is no memory.
        const std::size_t star = type.find("(*");
        const std::size_t reference = type.find("(&");
        const std::size_t at = star < reference ? star : reference;
        if (at == std::string_view::npos || !type.ends_with("]")) return {};
        std::string_view element = type.substr(0, at);
        return {true, take_qualifiers(element) ? AccessMode::READ : AccessMode::OPAQUE};
    }
    if (type.ends_with("*") || type.ends_with("&")) {
        while (type.ends_with("&")) {  // && too
            type.remove_suffix(1);
            if (!type.ends_with("&")) return {true, take_qualifiers(type) ? AccessMode::READ : AccessMode::OPAQUE};
        }
        type.remove_suffix(1);
        return {true, take_qualifiers(type) ? AccessMode::READ : AccessMode::OPAQUE};
    }
    return {};
}

std::string short_label(std::string_view name) {
    std::string out(name);
    if (out.size() > longest_whole_label) {
        out.clear();
        std::size_t from = 0;
        for (;;) {
            const auto [begin, end] = template_list(name, from);
            if (begin == std::string_view::npos) break;
            out += name.substr(from, begin + 1 - from);
            bool first = true;
            for (const std::string_view argument : split(name.substr(begin + 1, end - begin - 1))) {
                if (!first) out += ", ";
                first = false;
                if (argument.size() > longest_argument) {
                    out += "...";
                    break;
                }
                out += argument;
            }
            from = end;
            if (from >= name.size()) break;
        }
        out += name.substr(from);
    }
    if (out.size() > longest_label) {
        out.resize(longest_label - 3);
        out += "...";
    }
    return out;
}

KernelSignature demangled_signature(std::string_view text) {
    KernelSignature found;
    text = trimmed(text);
    std::string_view name = text;
    if (text.ends_with(")")) {
        const std::size_t open = opening(text);
        if (open != std::string_view::npos && open > 0) {
            name = text.substr(0, open);
            const std::string_view list = trimmed(text.substr(open + 1, text.size() - open - 2));
            found.typed = true;
            if (!list.empty() && list != "void") {
                for (const std::string_view type : split(list)) {
                    if (found.parameters.size() >= most_modes) break;
                    found.parameters.push_back(parameter_type(type));
                }
            }
        }
    }
    // A template's name begins with the type it returns.
    if (name.starts_with("void ")) name.remove_prefix(5);
    found.label = short_label(trimmed(name));
    return found;
}

KernelSignature kernel_signature(const char* symbol) {
    if (symbol == nullptr || *symbol == '\0') return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(::abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                           &std::free);
    const std::string_view name(symbol);
    // `i` alone would be demangled as the type `int`: only what is a mangled function is read so.
    if (status != 0 || text == nullptr || !name.starts_with("_Z")) return {short_label(name), false, {}};
    return demangled_signature(text.get());
}

}  // namespace streamsan::recorder::cuda
