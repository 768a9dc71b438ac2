#include "recorder/cuda/cupti_search.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <glob.h>
#include <link.h>
#include <string_view>
#include <unistd.h>

namespace streamsan::recorder::cuda {
namespace {

std::string real_path(const std::string& path) {
    std::array<char, PATH_MAX> resolved{};
    return realpath(path.c_str(), resolved.data()) != nullptr ? std::string(resolved.data()) : path;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// The number after `mark` in the last part of a path; 0 if there is none.
int number_after(const std::string& path, std::string_view mark) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::size_t at = name.find(mark);
    return at == std::string::npos ? 0 : std::atoi(name.c_str() + at + mark.size());
}

void add(std::vector<std::string>& all, const std::string& folder) {
    if (!folder.empty() && std::find(all.begin(), all.end(), folder) == all.end()) all.push_back(folder);
}

void add_matches(std::vector<std::string>& all, const std::string& pattern) {
    glob_t found{};
    if (glob(pattern.c_str(), GLOB_ONLYDIR, nullptr, &found) == 0) {
        // Newer versions have greater names.
        for (std::size_t number = found.gl_pathc; number-- > 0;) add(all, found.gl_pathv[number]);
    }
    globfree(&found);
}

void add_toolkit(std::vector<std::string>& all, const std::string& home) {
    add_matches(all, home + "/lib64");
    add_matches(all, home + "/targets/*/lib");
    add_matches(all, home + "/extras/CUPTI/lib64");
}

void add_wheels(std::vector<std::string>& all, const std::string& packages) {
    add_matches(all, packages + "/nvidia/cu[0-9]*/lib");
    add_matches(all, packages + "/nvidia/cuda_cupti/lib");
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

LoadedCuda loaded_cuda() {
    LoadedCuda loaded;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& all = *static_cast<LoadedCuda*>(data);
            const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
            const std::string name = path.substr(path.rfind('/') + 1);
            if (name.starts_with("libcupti.so")) {
                all.cupti = path;
            } else if (name.starts_with("libcudart.so")) {
                all.runtime = path;
                all.runtime_major = number_after(path, ".so.");
            } else if (name.starts_with("libcuda.so")) {
                all.driver_major = cuda_of_driver_branch(number_after(real_path(path), ".so."));
            }
            return 0;
        },
        &loaded);
    if (loaded.runtime_major == 0 && !loaded.runtime.empty()) {
        loaded.runtime_major = number_after(real_path(loaded.runtime), ".so.");
    }
    return loaded;
}

int cuda_of_driver_branch(int branch) {
    // The driver may not be asked while it initialises. Branches: release notes of the CUDA toolkit, table of drivers.
    if (branch >= 580) return 13;
    if (branch >= 525) return 12;
    return branch >= 450 ? 11 : 0;
}

std::vector<int> versions_to_try(const LoadedCuda& loaded) {
    constexpr int newest = 13;
    constexpr int oldest = 11;
    const int most = loaded.driver_major != 0 ? loaded.driver_major : newest;
    std::vector<int> versions;
    // A CUPTI that is newer than the driver does not work; an older one does.
    if (loaded.runtime_major >= oldest && loaded.runtime_major <= most) versions.push_back(loaded.runtime_major);
    for (int version = most; version >= oldest; --version) {
        if (version != loaded.runtime_major) versions.push_back(version);
    }
    return versions;
}

std::vector<std::string> folders_to_try(const std::string& places, const LoadedCuda& loaded) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < places.size();) {
        const std::size_t end = std::min(places.find(':', at), places.size());
        add(all, places.substr(at, end - at));
        at = end + 1;
    }
    if (!loaded.runtime.empty()) {
        const std::string folder = folder_of(real_path(loaded.runtime));
        add(all, folder);
        add_matches(all, folder + "../../cuda_cupti/lib");
        add_matches(all, folder + "../extras/CUPTI/lib64");
    }
    for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const std::string home = variable(name); !home.empty()) add_toolkit(all, home);
    }
    const std::string program = real_path("/proc/self/exe");
    for (const std::string& prefix : {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), folder_of(program) + ".."}) {
        if (prefix.empty()) continue;
        add_wheels(all, prefix + "/lib/python3*/site-packages");
        add_wheels(all, prefix + "/local/lib/python3*/dist-packages");
        add_wheels(all, prefix + "/lib/python3*/dist-packages");
    }
    add_toolkit(all, "/usr/local/cuda");
    std::vector<std::string> toolkits;
    add_matches(toolkits, "/usr/local/cuda-*");
    for (const std::string& home : toolkits) add_toolkit(all, home);
    return all;
}

}  // namespace streamsan::recorder::cuda
