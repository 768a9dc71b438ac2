// The driver's modules and libraries: code that is loaded, and who has it.
#include "modules.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "model.hpp"

using namespace fake;

namespace {

std::mutex mutex;
std::map<Word, Word> libraries;  // by kernel
using Variables = std::map<std::string, std::pair<Word, std::size_t>, std::less<>>;
Variables variables, managed_variables;
std::map<Word, std::function<void()>> loads;  // by kernel
std::set<Word> loaded;
std::uint32_t modules = 0;

constexpr std::size_t header_size = 64;

template <class Number>
void put(std::vector<unsigned char>& bytes, std::size_t at, Number value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

Status place_of(const Variables& all, Word* address, std::size_t* size, const char* name) {
    const std::lock_guard lock(mutex);
    const auto found = all.find(std::string_view(name));
    if (found == all.end()) return 500;
    std::tie(*address, *size) = found->second;
    return 0;
}

}  // namespace

namespace fake {

std::vector<unsigned char> image_of(std::initializer_list<std::string_view> functions, unsigned salt) {
    // The header; the names; code, which is the salt; the headers of sections: none, the names, one for each function.
    std::string names("\0.shstrtab\0", 11);
    std::vector<std::size_t> places;
    for (const std::string_view function : functions) {
        places.push_back(names.size());
        names.append(".text.").append(function).push_back('\0');
    }
    const std::size_t code = (header_size + names.size() + 7) / 8 * 8;
    const std::size_t headers = code + 8;
    std::vector<unsigned char> bytes(headers + (2 + places.size()) * header_size);
    constexpr unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7};
    std::memcpy(bytes.data(), magic, sizeof magic);
    put<std::uint16_t>(bytes, 16, 2);
    put<std::uint16_t>(bytes, 18, 190);
    put<std::uint64_t>(bytes, 40, headers);
    put<std::uint16_t>(bytes, 52, header_size);
    put<std::uint16_t>(bytes, 58, header_size);
    put<std::uint16_t>(bytes, 60, static_cast<std::uint16_t>(2 + places.size()));
    put<std::uint16_t>(bytes, 62, 1);
    std::memcpy(bytes.data() + header_size, names.data(), names.size());
    put<std::uint64_t>(bytes, code, salt);
    const auto section = [&](std::size_t index, std::size_t name, std::size_t offset, std::size_t size) {
        const std::size_t at = headers + index * header_size;
        put<std::uint32_t>(bytes, at, static_cast<std::uint32_t>(name));
        put<std::uint32_t>(bytes, at + 4, index == 1 ? 3 : 1);
        put<std::uint64_t>(bytes, at + 24, offset);
        put<std::uint64_t>(bytes, at + 32, size);
    };
    section(1, 1, header_size, names.size());
    for (std::size_t index = 0; index < places.size(); ++index) section(2 + index, places[index], code, 8);
    return bytes;
}

void put_into_library(Word kernel, Word library) {
    const std::lock_guard lock(mutex);
    libraries[kernel] = library;
}

void put_variable(std::string_view name, Word address, std::size_t size) {
    const std::lock_guard lock(mutex);
    variables[std::string(name)] = {address, size};
}

void put_managed_variable(std::string_view name, Word address, std::size_t size) {
    const std::lock_guard lock(mutex);
    managed_variables[std::string(name)] = {address, size};
}

void when_asked_for(Word kernel, std::function<void()> load) {
    const std::lock_guard lock(mutex);
    loads[kernel] = std::move(load);
}

void load_at_first_launch(Word kernel, std::string_view symbol) {
    if (std::getenv("FAKE_CODE") == nullptr) return;
    std::uint32_t number = 0;
    {
        const std::lock_guard lock(mutex);
        if (!loaded.insert(kernel).second) return;
        number = ++modules;
    }
    const std::vector<unsigned char> image = image_of({symbol});
    const abi::ModuleData module{number, image.size(), image.data()};
    const abi::ResourceData data{fake_current_context(), 0, &module};
    fire_resource(abi::Resource::module_loaded, &data);
}

}  // namespace fake

extern "C" {

Status cuKernelGetLibrary(Word* library, Word kernel) {
    const std::lock_guard lock(mutex);
    const auto found = libraries.find(kernel);
    if (found == libraries.end()) return invalid_handle;
    *library = found->second;
    return 0;
}

Status cuKernelGetFunction(Word* function, Word kernel) {
    std::function<void()> load;
    {
        const std::lock_guard lock(mutex);
        if (auto found = loads.extract(kernel)) load = std::move(found.mapped());
    }
    if (load) load();
    *function = kernel;
    return 0;
}

Status cuLibraryGetGlobal(Word* address, std::size_t* size, Word, const char* name) {
    return place_of(variables, address, size, name);
}

Status cuLibraryGetManaged(Word* address, std::size_t* size, Word, const char* name) {
    return place_of(managed_variables, address, size, name);
}

Status cuFuncGetModule(Word*, Word) { return invalid_handle; }  // all functions here are kernels of libraries

Status cuLibraryGetModule(Word* module, Word library) {
    *module = library + 1;
    return 0;
}

}  // extern "C"
