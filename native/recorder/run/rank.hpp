// Which of the many processes of a job the calling one is, as its launcher says in the environment.
#pragma once
#include <string>

namespace streamsan::recorder {

/// The members `rank`, `world_size` and `local_rank` of a file's metadata, each as far as it is known: `, "rank": 3`.
std::string rank_members();

}  // namespace streamsan::recorder
