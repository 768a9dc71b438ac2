#include <dlfcn.h>
#include <sys/stat.h>
#include <utility>

#include "recorder/cuda/cupti.hpp"
#include "recorder/cuda/cupti_search.hpp"

namespace streamsan::recorder::cuda {
namespace {

template <class Function>
void look_up(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
}

std::string fill(void* library, const std::string& path, Cupti& cupti) {
    look_up(library, "cuptiSubscribe", cupti.subscribe);
    look_up(library, "cuptiSubscribe_v2", cupti.subscribe_v2);
    look_up(library, "cuptiEnableCallback", cupti.enable_callback);
    look_up(library, "cuptiGetResultString", cupti.result_string);
    CuptiActivity& activity = cupti.activity;
    look_up(library, "cuptiActivityRegisterCallbacks", activity.register_callbacks);
    look_up(library, "cuptiActivityRegisterTimestampCallback", activity.register_timestamp);
    look_up(library, "cuptiActivityEnable", activity.enable);
    look_up(library, "cuptiActivityDisable", activity.disable);
    look_up(library, "cuptiActivityGetNextRecord", activity.next_record);
    look_up(library, "cuptiActivityFlushAll", activity.flush_all);
    look_up(library, "cuptiActivityFlushPeriod", activity.flush_period);
    if (cupti.subscribe == nullptr || cupti.enable_callback == nullptr)
        return path + " is too old: functions are missing";
    return "";
}

bool is_file(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Opens the first libcupti of a version that can be loaded. What could not is remembered in `failed`.
void* open_version(int version, const std::vector<std::string>& folders, std::string& path, std::string& failed) {
    const std::string name = "libcupti.so." + std::to_string(version);
    for (const std::string& folder : folders) {
        path = is_file(folder) ? folder : folder + (folder.ends_with('/') ? "" : "/") + name;
        if (!is_file(path)) continue;
        if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        const char* const reason = dlerror();
        failed = reason != nullptr ? reason : path;
    }
    // Where the loader looks by itself: LD_LIBRARY_PATH, ld.so.conf.
    path = name;
    return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::string load_cupti(const std::string& places, Cupti& cupti) {
    const LoadedCuda loaded = loaded_cuda();
    if (!loaded.cupti.empty()) {
        // Two of them in one process do not work.
        if (void* const library = dlopen(loaded.cupti.c_str(), RTLD_NOW | RTLD_NOLOAD))
            return fill(library, loaded.cupti, cupti);
    }
    const std::vector<std::string> folders = folders_to_try(places, loaded);
    std::string path;
    std::string failed;
    for (const int version : versions_to_try(loaded)) {
        if (void* const library = open_version(version, folders, path, failed)) return fill(library, path, cupti);
    }
    if (!failed.empty()) return "libcupti cannot be loaded: " + failed;
    std::string looked;
    for (const std::string& folder : folders) looked += (looked.empty() ? "" : ", ") + folder;
    return "libcupti is not found" + (looked.empty() ? "" : " (looked in " + looked + " and where the loader looks)") +
           ": it comes with the CUDA toolkit, or as the package nvidia-cuda-cupti";
}

}  // namespace streamsan::recorder::cuda
