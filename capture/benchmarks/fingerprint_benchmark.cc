// Fingerprint throughput beside a plain read of the same memory.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "kernels.h"

namespace {

using namespace opguard::capture;

struct Memory {
  explicit Memory(std::size_t size) : bytes(size) {
    data = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    madvise(data, size, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 2654435761U >> 24U);
  }
  ~Memory() { munmap(data, bytes); }
  std::byte* data;
  std::size_t bytes;
};

// The limit: load every word once and keep a sum of it.
__attribute__((noinline)) std::uint64_t ReadAll(const std::byte* data, std::size_t bytes) {
  using Vector __attribute__((vector_size(64))) = std::uint64_t;
  Vector a{}, b{}, c{}, d{};
  for (std::size_t at = 0; at + 256 <= bytes; at += 256) {
    Vector loaded[4];
    std::memcpy(loaded, data + at, 256);
    a += loaded[0];
    b += loaded[1];
    c += loaded[2];
    d += loaded[3];
  }
  a += b + c + d;
  std::uint64_t sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  return sum;
}

void PlainRead(benchmark::State& state) {
  const Memory memory(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ReadAll(memory.data, memory.bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void Hash(benchmark::State& state, const Kernels& kernels, ElementKind kind, std::uint32_t item,
          bool measures) {
  const Memory memory(static_cast<std::size_t>(state.range(0)));
  const std::int64_t size = state.range(0) / item, stride = 1;
  const MemoryView view{memory.data, item, kind, {&size, 1}, {&stride, 1}};
  Statistics statistics;
  for (auto _ : state) {
    benchmark::DoNotOptimize(FingerprintWith(kernels, view, measures ? &statistics : nullptr));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void Transposed(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Memory memory(static_cast<std::size_t>(n * n) * 4);
  const std::int64_t sizes[] = {n, n}, strides[] = {1, n};
  const MemoryView view{memory.data, 4, ElementKind::kFloat32, sizes, strides};
  for (auto _ : state) benchmark::DoNotOptimize(Fingerprint(view));
  state.SetBytesProcessed(state.iterations() * n * n * 4);
}

struct Kind {
  const char* name;
  ElementKind kind;
  std::uint32_t item;
};
constexpr Kind kKinds[] = {{"uint8", ElementKind::kUInt8, 1},
                           {"bfloat16", ElementKind::kBFloat16, 2},
                           {"float32", ElementKind::kFloat32, 4},
                           {"int64", ElementKind::kInt64, 8},
                           {"complex128", ElementKind::kComplex128, 16}};

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t kCache = 256 << 10, kMain = 256 << 20;
  for (const std::int64_t bytes : {kCache, kMain}) {
    benchmark::RegisterBenchmark("plain_read", PlainRead)->Arg(bytes);
  }
  for (const Kernels& kernels : AvailableKernels()) {
    for (const Kind& kind : kKinds) {
      for (const bool measures : {false, true}) {
        const std::string name = std::string(kernels.name) + "/" + kind.name +
                                 (measures ? "/with_statistics" : "/digests");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&kernels, kind, measures](benchmark::State& state) {
                                       Hash(state, kernels, kind.kind, kind.item, measures);
                                     })
            ->Arg(4)
            ->Arg(4096)
            ->Arg(kCache)
            ->Arg(kMain);
      }
    }
  }
  benchmark::RegisterBenchmark("transposed/float32", Transposed)->Arg(1024)->Arg(4096);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
