// Runs kernels of extent_kernels.cu on the host and prints what they touch.
// A line of input: name, seed, grid, block, argument buffer (hexadecimal), offsets of the words that are pointers.
// A line of output: word, mode, then begins and ends, for each; `;` between them.
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

#include "extent_kernels.cu"

template <class A>
A argument(const std::vector<char>& buffer, std::size_t& at) {
    at = (at + alignof(A) - 1) / alignof(A) * alignof(A);
    A value;
    std::memcpy(&value, buffer.data() + at, sizeof(A));
    at += sizeof(A);
    return value;
}

template <class... A>
std::function<void()> bound(void (*kernel)(A...), const std::vector<char>& buffer) {
    std::size_t at = 0;
    std::tuple<A...> arguments{argument<A>(buffer, at)...};
    return [=] { std::apply(kernel, arguments); };
}

#define KERNEL(name) {#name, [](const std::vector<char>& buffer) { return bound(name, buffer); }}
static const std::map<std::string, std::function<void()> (*)(const std::vector<char>&)> kernels = {
#include KERNEL_LIST
};

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string name, text;
        Index grid{}, block{};
        words >> name >> seed >> grid.x >> grid.y >> grid.z >> block.x >> block.y >> block.z >> text;
        std::vector<char> buffer;
        for (std::size_t at = 0; at + 1 < text.size(); at += 2)
            buffer.push_back(char(std::stoi(text.substr(at, 2), nullptr, 16)));
        int word;
        while (words >> word) {
            const std::uint64_t bits = (std::uint64_t(word + 1) << word_shift) | middle;
            std::memcpy(buffer.data() + word, &bits, sizeof bits);
        }
        touched.clear();
        gridDim = grid;
        blockDim = block;
        const auto run = kernels.at(name)(buffer);
        Index& b = blockIdx;
        Index& t = threadIdx;
        for (b.z = 0; b.z < grid.z; ++b.z)
            for (b.y = 0; b.y < grid.y; ++b.y)
                for (b.x = 0; b.x < grid.x; ++b.x)
                    for (t.z = 0; t.z < block.z; ++t.z)
                        for (t.y = 0; t.y < block.y; ++t.y)
                            for (t.x = 0; t.x < block.x; ++t.x) run();
        for (auto& [key, ranges] : touched) {
            std::sort(ranges.begin(), ranges.end());
            std::printf("%d %c", key.first, key.second);
            long long begin = ranges[0].first, end = ranges[0].second;
            for (const auto& [from, to] : ranges) {
                if (from > end) {
                    std::printf(" %lld %lld", begin, end);
                    begin = from;
                }
                end = std::max(end, to);
            }
            std::printf(" %lld %lld;", begin, end);
        }
        std::printf("\n");
    }
}
