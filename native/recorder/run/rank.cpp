#include "recorder/run/rank.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace streamsan::recorder {
namespace {

/// The variables by which one launcher tells a process its place.
struct Launcher {
    const char* rank;
    const char* world_size;
    const char* local_rank;
};

/// The innermost launcher first: under `srun torchrun` or `srun mpirun` Slurm numbers the launchers.
constexpr std::array launchers{
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK"},  // torchrun, and programs that set it for their children
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

/// The number in a variable; below 0 where there is none.
int number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return -1;
    int number = -1;
    const char* const end = text + std::strlen(text);
    const auto [read, error] = std::from_chars(text, end, number);
    return error == std::errc{} && read == end ? number : -1;
}

void add(std::string& members, const char* name, int number) {
    if (number >= 0) members += std::string(", \"") + name + "\": " + std::to_string(number);
}

}  // namespace

std::string rank_members() {
    for (const Launcher& launcher : launchers) {
        const int rank = number_in(launcher.rank);
        if (rank < 0) continue;
        std::string members;
        add(members, "rank", rank);
        add(members, "world_size", number_in(launcher.world_size));
        add(members, "local_rank", number_in(launcher.local_rank));
        return members;
    }
    return "";
}

}  // namespace streamsan::recorder
