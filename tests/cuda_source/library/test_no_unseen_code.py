"""What programs use all the time is not code that nobody can see: it orders nothing, and nothing is said of it."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import operations, reading_of

D = "float* d; cudaMalloc(&d, 400); cudaStream_t s; cudaStreamCreate(&s);"

PROGRAMS = {
    "text": 'std::string t = "a"; t += "b"; t.append("c"); t.resize(9); std::string u = t.substr(1) + "x"; if (t.find("z") != std::string::npos) u.clear(); std::cout << u << t.c_str() << t.size() << std::endl;',
    "c text": 'char t[64]; strcpy(t, "a"); strncat(t, "b", 3); sprintf(t, "%d", 3); snprintf(t, sizeof t, "%s", "x"); char* e; long n = strtol(t, &e, 10); if (!strcmp(t, "x")) n = strlen(t) + atoi(t); printf("%ld %s", n, t);',
    "text streams": 'std::stringstream t; t << "a" << 3 << std::setw(3); int x; t >> x; std::string u = t.str(); std::ifstream f("name"); std::string line; while (std::getline(f, line)) x += line.size(); std::ofstream o("out", std::ios::binary); o.write((char*)&x, 4); o.close();',
    "c files": 'FILE* f = fopen("x", "rb"); float h[4]; fread(h, 4, 4, f); int n; fscanf(f, "%d", &n); fprintf(stderr, "%d", n); fclose(f);',
    "random": "std::random_device r; std::mt19937 g(r()); std::uniform_real_distribution<float> u(0, 1); std::vector<float> h(100); for (auto& x : h) x = u(g); std::generate(h.begin(), h.end(), [&] { return u(g); }); std::shuffle(h.begin(), h.end(), g);",
    "time": "auto t0 = std::chrono::high_resolution_clock::now(); auto t1 = std::chrono::steady_clock::now(); double ms = std::chrono::duration<double, std::milli>(t1 - t0).count(); auto n = std::chrono::duration_cast<std::chrono::microseconds>(t1 - t0).count(); struct timeval v; gettimeofday(&v, NULL); clock_t c = clock();",
    "mathematics": "float x = sqrtf(2.f) + std::pow(2, 3) + fmaxf(1, 2) + std::abs(-1) + atan2f(1, 2) + std::clamp(3, 1, 2); float big = std::numeric_limits<float>::max(); int m = std::min(3, std::max(1, 2)); std::complex<float> z(1, 2); x += std::abs(z) + std::isnan(x);",
    "algorithms": "std::vector<int> h(100); std::iota(h.begin(), h.end(), 0); std::sort(h.begin(), h.end(), [](int a, int b) { return a > b; }); int sum = std::accumulate(h.begin(), h.end(), 0); auto m = *std::max_element(h.begin(), h.end()); std::reverse(h.begin(), h.end()); bool same = std::equal(h.begin(), h.end(), h.begin()); h.erase(std::unique(h.begin(), h.end()), h.end());",
    "functors": "struct Scale { float k; float operator()(float x) const { return k * x; } }; float a[100], b[100]; std::transform(a, a + 100, b, Scale{2}); std::copy_if(a, a + 100, b, [](float x) { return x > 0; });",
    "cuda values": "float4 f = make_float4(1, 2, 3, 4); int3 i = make_int3(1, 2, 3); dim3 g(1, 2); cudaExtent e = make_cudaExtent(4, 4, 4); half h = __float2half(1.f); float x = __half2float(h) + f.x + i.y;",
    "processes": 'signal(SIGINT, SIG_IGN); const char* v = getenv("HOME"); usleep(10); srand(time(NULL)); int r = rand() % 10; std::this_thread::sleep_for(std::chrono::milliseconds(1));',
    "mpi": "int rank, size; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size); float h[4]; MPI_Recv(h, 4, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize();",
    "openmp": "omp_set_num_threads(2); int t = omp_get_thread_num(); double w = omp_get_wtime();",
    "libraries": "cublasHandle_t h; cublasCreate(&h); cublasSetStream(h, s); float one = 1; cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, d, 2, d, 2, &one, d, 2);",
    "thrust": "thrust::device_vector<int> v(10, 1); thrust::sort(v.begin(), v.end()); int sum = thrust::reduce(thrust::cuda::par.on(s), v.begin(), v.end(), 0, thrust::plus<int>()); fill<<<1, 1>>>((float*)thrust::raw_pointer_cast(v.data()), v.size());",
    "graphics": 'glutInit(&argc, argv); glutInitWindowSize(3, 4); unsigned b; glGenBuffers(1, &b); glBindBuffer(1, b); glewInit();',
    "smart pointers": "auto p = std::make_unique<float[]>(10); p[0] = 1; std::shared_ptr<int> q = std::make_shared<int>(3), r = q; std::weak_ptr<int> w = q; if (auto l = w.lock()) *l = 4; long n = q.use_count();",
    "bind": "auto f = std::bind([](int a, int b) { return a + b; }, std::placeholders::_1, 2); int x = f(1);",
}  # fmt: skip


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_library_code_is_followed(body, tmp_path):
    reading = reading_of(f"int main(int argc, char** argv) {{\n{D}\n{body}\n}}\n", tmp_path)
    for world in reading.worlds:
        unseen = [(op.kind, op.label) for op in operations(world) if op.kind in ("OPAQUE_CALL", "NOT_UNDERSTOOD")]
        assert unseen == []
