// The recorder in a program of synthetic calls: `recorded FAMILY NAME FILE [SETTINGS]` records a scenario, and
// tests/recorder reads the file.
#include <string>
#include <unistd.h>

#include "scenarios.hpp"

int main(int count, char** arguments) {
    using namespace recorded;
    if (count < 4) return 2;
    const auto family = families().find(arguments[1]);
    if (family == families().end()) return 2;
    const auto scenario = family->second.scenarios.find(arguments[2]);
    if (scenario == family->second.scenarios.end()) return 2;
    std::string settings = count > 4 ? arguments[4] : "";
    settings += std::string("\noutput=") + arguments[3] + "\nroot_pid=" + std::to_string(getpid()) + '\n';
    family->second.begin(settings, scenario->first);
    scenario->second();
    end();
    return 0;
}
