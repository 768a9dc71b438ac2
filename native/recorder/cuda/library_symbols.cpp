#include "recorder/cuda/library_symbols.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace streamsan::recorder::cuda {
namespace {

/// A file, mapped for reading.
class MappedFile {
public:
    explicit MappedFile(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat status{};
        if (fstat(file, &status) == 0 && status.st_size > 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            void* const at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
            if (at != MAP_FAILED) data_ = static_cast<const unsigned char*>(at);
        }
        close(file);
    }
    ~MappedFile() {
        if (data_ != nullptr) munmap(const_cast<unsigned char*>(data_), size_);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::span<const unsigned char> bytes() const { return {data_, data_ == nullptr ? 0 : size_}; }

private:
    const unsigned char* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Part of a file; empty where it does not have that.
std::span<const unsigned char> part(std::span<const unsigned char> all, std::uint64_t offset, std::uint64_t size) {
    if (offset > all.size() || size > all.size() - offset) return {};
    return all.subspan(offset, size);
}

template <class Record>
bool read(std::span<const unsigned char> all, std::uint64_t offset, Record& record) {
    const auto bytes = part(all, offset, sizeof record);
    if (bytes.empty()) return false;
    std::memcpy(&record, bytes.data(), sizeof record);
    return true;
}

std::string_view text_at(std::span<const unsigned char> texts, std::uint64_t offset) {
    if (offset >= texts.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(texts.data()) + offset;
    return {begin, strnlen(begin, texts.size() - offset)};
}

}  // namespace

bool symbols_of_library(const std::string& path,
                        const std::function<void(std::string_view name, std::uint64_t value)>& found) {
    const MappedFile file(path);
    const auto all = file.bytes();
    Elf64_Ehdr header{};
    if (!read(all, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    const auto section = [&](std::uint64_t number, Elf64_Shdr& into) {
        return number < header.e_shnum && read(all, header.e_shoff + number * sizeof(Elf64_Shdr), into);
    };
    Elf64_Shdr table{};
    bool any = false;
    for (const Elf64_Word wanted : {Elf64_Word{SHT_SYMTAB}, Elf64_Word{SHT_DYNSYM}}) {
        for (std::uint64_t number = 0; number < header.e_shnum && !any; ++number)
            any = section(number, table) && table.sh_type == wanted;
        if (any) break;
    }
    Elf64_Shdr names{};
    if (!any || table.sh_entsize != sizeof(Elf64_Sym) || !section(table.sh_link, names)) return false;
    const auto symbols = part(all, table.sh_offset, table.sh_size);
    const auto texts = part(all, names.sh_offset, names.sh_size);
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol{};
        std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
        found(text_at(texts, symbol.st_name), symbol.st_value);
    }
    return true;
}

}  // namespace streamsan::recorder::cuda
