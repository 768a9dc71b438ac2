#include "recorder/cuda/cubin.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace streamsan::recorder::cuda {
namespace {

constexpr std::string_view code_section = ".text.";
constexpr std::string_view arguments_section = ".nv.constant0.";  // of a kernel
constexpr std::string_view variables_section = ".nv.global";      // and .nv.global.init
constexpr std::string_view constants_section = ".nv.constant3";   // `__constant__`
constexpr std::uint16_t machine_of_cuda = 190;
constexpr std::size_t elf_header_size = 64;
constexpr std::size_t section_header_size = 64;

/// Reads numbers of an image that lie inside it.
class ImageView {
public:
    explicit ImageView(std::span<const unsigned char> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t size) const {
        return offset <= bytes_.size() && size <= bytes_.size() - offset;
    }
    /// The caller has asked whether it is there.
    template <class Number>
    [[nodiscard]] Number number(std::uint64_t offset) const {
        Number value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    /// The text from `offset` to its zero, which lies before `end`; empty where it does not.
    [[nodiscard]] std::string_view text(std::uint64_t offset, std::uint64_t end) const {
        if (offset >= end || end > bytes_.size()) return {};
        const auto* const begin = reinterpret_cast<const char*>(bytes_.data() + offset);
        const auto* const zero = static_cast<const char*>(std::memchr(begin, 0, end - offset));
        return zero == nullptr ? std::string_view{} : std::string_view(begin, static_cast<std::size_t>(zero - begin));
    }

private:
    std::span<const unsigned char> bytes_;
};

enum class SectionKind : std::uint32_t { symbols = 2, relocations_with_addends = 4, relocations = 9 };

struct Section {
    std::uint32_t name;
    SectionKind kind;
    std::uint32_t link;
    std::uint64_t offset;
    std::uint64_t size;
};

/// The table of sections of an ELF file of 64 bits.
class SectionTable {
public:
    explicit SectionTable(const ImageView& image) : image_(image) {
        constexpr unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
        if (!image.has(0, elf_header_size)) return;
        for (std::size_t at = 0; at < sizeof magic; ++at)
            if (image.number<unsigned char>(at) != magic[at]) return;
        if (image.number<std::uint16_t>(18) != machine_of_cuda) return;
        if (image.number<std::uint16_t>(58) != section_header_size) return;
        place_ = image.number<std::uint64_t>(40);
        if (place_ == 0 || !image.has(place_, section_header_size)) return;
        // Numbers that are too large for their place in the header stand in the first section's.
        constexpr std::uint16_t elsewhere = 0xffff;
        const auto count = image.number<std::uint16_t>(60);
        count_ = count != 0 ? count : at(0).size;
        const auto names = image.number<std::uint16_t>(62);
        const std::uint64_t of_names = names != elsewhere ? names : at(0).link;
        whole_ =
            of_names < count_ && count_ <= (std::uint64_t{1} << 24) && image.has(place_, count_ * section_header_size);
        if (!whole_) return;
        names_ = at(of_names);
        whole_ = image.has(names_.offset, names_.size);
    }
    [[nodiscard]] bool whole() const { return whole_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] Section at(std::uint64_t index) const {
        const std::uint64_t place = place_ + index * section_header_size;
        return {image_.number<std::uint32_t>(place), image_.number<SectionKind>(place + 4),
                image_.number<std::uint32_t>(place + 40), image_.number<std::uint64_t>(place + 24),
                image_.number<std::uint64_t>(place + 32)};
    }
    [[nodiscard]] std::string_view name(const Section& section) const {
        return section.name < names_.size ? image_.text(names_.offset + section.name, names_.offset + names_.size)
                                          : std::string_view{};
    }

private:
    const ImageView& image_;
    std::uint64_t place_ = 0;
    std::uint64_t count_ = 0;
    Section names_{};
    bool whole_ = false;
};

constexpr std::size_t symbol_size = 24;

/// Which symbols the relocations of an image name, by index.
std::vector<bool> symbols_referred_to(const ImageView& image, const SectionTable& sections, std::uint64_t symbols) {
    std::vector<bool> named(symbols);
    for (std::uint64_t index = 0; index < sections.count(); ++index) {
        const Section section = sections.at(index);
        const bool with_addends = section.kind == SectionKind::relocations_with_addends;
        if (!with_addends && section.kind != SectionKind::relocations) continue;
        if (!image.has(section.offset, section.size)) continue;
        const std::uint64_t size = with_addends ? 24 : 16;
        for (std::uint64_t at = 0; at + size <= section.size; at += size) {
            const auto symbol = image.number<std::uint32_t>(section.offset + at + 12);
            if (symbol < symbols) named[symbol] = true;
        }
    }
    return named;
}

/// The variables among the symbols of one table that the code refers to. Of `__constant__` ones it has no relocation:
/// the code has their places in the constant bank, so all are told, behind the others.
void variables_in(const ImageView& image, const SectionTable& sections, const Section& table,
                  const std::function<void(std::string_view)>& found) {
    if (!image.has(table.offset, table.size) || table.link >= sections.count()) return;
    const Section names = sections.at(table.link);
    if (!image.has(names.offset, names.size)) return;
    const std::uint64_t symbols = table.size / symbol_size;
    const std::vector<bool> named = symbols_referred_to(image, sections, symbols);
    std::vector<std::string_view> constants;
    for (std::uint64_t index = 0; index < symbols; ++index) {
        constexpr unsigned char kind_bits = 15, object = 1;
        const std::uint64_t place = table.offset + index * symbol_size;
        if ((image.number<unsigned char>(place + 4) & kind_bits) != object) continue;
        const auto holder = image.number<std::uint16_t>(place + 6);
        if (holder >= sections.count()) continue;
        const std::string_view section = sections.name(sections.at(holder));
        const bool is_constant = section.starts_with(constants_section);
        if (!is_constant && !(named[index] && section.starts_with(variables_section))) continue;
        const auto name = image.number<std::uint32_t>(place);
        if (name >= names.size) continue;
        const std::string_view text = image.text(names.offset + name, names.offset + names.size);
        if (text.empty()) continue;
        if (is_constant) constants.push_back(text);
        else found(text);
    }
    for (const std::string_view constant : constants) found(constant);
}

/// Whether the symbols of one table have this name without a place.
bool lacks(const ImageView& image, const SectionTable& sections, const Section& table, std::string_view name) {
    if (!image.has(table.offset, table.size) || table.link >= sections.count()) return false;
    const Section names = sections.at(table.link);
    if (!image.has(names.offset, names.size)) return false;
    for (std::uint64_t at = 0; at + symbol_size <= table.size; at += symbol_size) {
        const std::uint64_t place = table.offset + at;
        const auto text = image.number<std::uint32_t>(place);
        const auto holder = image.number<std::uint16_t>(place + 6);
        if (holder != 0 || text >= names.size) continue;
        if (image.text(names.offset + text, names.offset + names.size) == name) return true;
    }
    return false;
}

/// UTMALDG, UTMASTG and UTMAREDG: alike on all devices that have them.
constexpr std::array<std::uint32_t, 3> tensor_copies{0x5b4, 0x3b5, 0x3b6};

bool copies_tensors(const ImageView& image, const Section& code) {
    constexpr std::uint64_t instruction_size = 16;
    constexpr std::uint32_t operation_bits = 0xfff;
    if (!image.has(code.offset, code.size)) return false;
    for (std::uint64_t at = 0; at + instruction_size <= code.size; at += instruction_size) {
        const std::uint32_t operation = image.number<std::uint32_t>(code.offset + at) & operation_bits;
        if (std::ranges::find(tensor_copies, operation) != tensor_copies.end()) return true;
    }
    return false;
}

}  // namespace

bool functions_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found) {
    const ImageView view(image);
    const SectionTable sections(view);
    if (!sections.whole()) return false;
    for (std::uint64_t index = 0; index < sections.count(); ++index) {
        const std::string_view name = sections.name(sections.at(index));
        if (name.size() > code_section.size() && name.starts_with(code_section))
            found(name.substr(code_section.size()));
    }
    return true;
}

bool variables_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found) {
    const ImageView view(image);
    const SectionTable sections(view);
    if (!sections.whole()) return false;
    for (std::uint64_t index = 0; index < sections.count(); ++index)
        if (const Section section = sections.at(index); section.kind == SectionKind::symbols)
            variables_in(view, sections, section, found);
    return true;
}

bool calls_of_driver(std::span<const unsigned char> image, std::string_view function) {
    const ImageView view(image);
    const SectionTable sections(view);
    if (!sections.whole()) return false;
    for (std::uint64_t index = 0; index < sections.count(); ++index)
        if (const Section section = sections.at(index); section.kind == SectionKind::symbols)
            if (lacks(view, sections, section, function)) return true;
    return false;
}

bool tensor_copiers_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found) {
    const ImageView view(image);
    const SectionTable sections(view);
    if (!sections.whole()) return false;
    std::set<std::string_view> kernels;
    std::vector<std::string_view> copiers;
    for (std::uint64_t index = 0; index < sections.count(); ++index) {
        const Section section = sections.at(index);
        const std::string_view name = sections.name(section);
        if (name.starts_with(arguments_section)) kernels.insert(name.substr(arguments_section.size()));
        else if (name.starts_with(code_section) && copies_tensors(view, section))
            copiers.push_back(name.substr(code_section.size()));
    }
    for (const std::string_view name : copiers) found(kernels.contains(name) ? name : std::string_view{});
    return true;
}

}  // namespace streamsan::recorder::cuda
