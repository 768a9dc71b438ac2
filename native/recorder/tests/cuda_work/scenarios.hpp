// What `cuda_work` can record, by name.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace synthetic {

using Scenario = void (*)(const std::string& path);

const std::map<std::string_view, Scenario>& scenarios();

}  // namespace synthetic
