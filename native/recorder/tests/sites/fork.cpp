// A site in a child of a fork, which another thread of the parent was looking up sites at the time.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "probe.hpp"

int main() {
    probe_site(0);  // the recorder is there before the first thread
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop.load()) {
            probe_forget();
            probe_site(1);
        }
    });
    int failures = 0;
    for (int index = 0; index < 50; ++index) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that nobody gives back is a failure, not a hang
            probe_forget();
            _exit(probe_site(2) != 0 && probe_main_has_begun() == 1 ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) ++failures;
    }
    stop.store(true);
    other.join();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
