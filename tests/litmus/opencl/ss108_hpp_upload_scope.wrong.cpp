// Font atlas uploader (C++ bindings): glyph bitmaps are rasterised into temporaries and uploaded.
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

using Bitmap = std::vector<unsigned char>;

static constexpr int GLYPHS = 24, GW = 64, GH = 64, GSZ = GW * GH;

static Bitmap rasterise(int code)
{
    Bitmap b(GSZ);
    for (int i = 0; i < GSZ; ++i) b[i] = static_cast<unsigned char>((i * code) ^ (i >> 5));
    return b;
}

class Atlas {
public:
    Atlas(const cl::Context &c, const cl::CommandQueue &q)
        : queue(q), store(c, CL_MEM_READ_WRITE, GLYPHS * GSZ) {}

    void add(int code)
    {
        Bitmap b = rasterise(code);
        queue.enqueueWriteBuffer(store, CL_FALSE, used * GSZ, GSZ, b.data());
        ++used;
    }  // expect: SS108

    const cl::Buffer &buffer() const { return store; }

private:
    cl::CommandQueue queue;
    cl::Buffer store;
    std::size_t used = 0;
};

static int run()
{
    cl::Context ctx(CL_DEVICE_TYPE_ALL);
    cl::CommandQueue queue(ctx);
    cl::Program prog(ctx, R"(
        kernel void weigh(global const uchar *g, global uint *w, int size) {
            uint s = 0; int id = get_global_id(0);
            for (int i = 0; i < size; i++) s += g[id * size + i] * (i % 7 + 1);
            w[id] = s;
        })", true);
    Atlas atlas(ctx, queue);
    for (int c = 0; c < GLYPHS; ++c) atlas.add(c + 33);

    cl::Buffer weights(ctx, CL_MEM_WRITE_ONLY, GLYPHS * sizeof(cl_uint));
    cl::Kernel weigh(prog, "weigh");
    weigh.setArg(0, atlas.buffer());
    weigh.setArg(1, weights);
    weigh.setArg(2, GSZ);
    queue.enqueueNDRangeKernel(weigh, cl::NullRange, cl::NDRange(GLYPHS));
    std::vector<cl_uint> w(GLYPHS);
    queue.enqueueReadBuffer(weights, CL_TRUE, 0, GLYPHS * sizeof(cl_uint), w.data());

    int bad = 0;
    for (int c = 0; c < GLYPHS; ++c) {
        Bitmap b = rasterise(c + 33);
        cl_uint s = 0;
        for (int i = 0; i < GSZ; ++i) s += b[i] * (i % 7 + 1);
        bad += s != w[c];
    }
    return bad;
}

int main()
{
    try {
        int bad = run();
        std::puts(bad ? "glyphs damaged" : "ok");
        return bad != 0;
    } catch (const cl::Error &e) {
        std::fprintf(stderr, "%s: %d\n", e.what(), e.err());
        return 2;
    }
}
