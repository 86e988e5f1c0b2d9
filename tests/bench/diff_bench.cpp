#include "daemon/diff/diff.hpp"
#include "schemas/digest.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

namespace {

using namespace headwater;

std::string file_named(const char *variable) {
  const char *path = std::getenv(variable);
  std::ifstream in(path == nullptr ? "" : path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

Snapshot one_file(const std::string &path, FilePart part, std::string bytes, std::int64_t size) {
  Snapshot snapshot;
  snapshot.facts.name = "acme/model";
  FileEntry entry;
  entry.path = path;
  entry.size = size;
  entry.sha256 = sha256_hex(bytes);
  entry.oid = git_blob_id(entry.sha256);
  snapshot.contents[path] =
      FileContent{part, std::make_shared<const std::string>(std::move(bytes)), {}};
  snapshot.files.push_back(std::move(entry));
  return snapshot;
}

/// Largest resident size of this process so far, in MB.
double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

/// A tokenizer.json and an edited copy of it, named by diff.sh.
void tokenizer(benchmark::State &state) {
  Snapshot before;
  Snapshot after;
  {
    std::string text = file_named("DIFF_BENCH_BEFORE");
    const auto size = static_cast<std::int64_t>(text.size());
    before = one_file("tokenizer.json", FilePart::whole, std::move(text), size);
  }
  {
    std::string text = file_named("DIFF_BENCH_AFTER");
    const auto size = static_cast<std::int64_t>(text.size());
    after = one_file("tokenizer.json", FilePart::whole, std::move(text), size);
  }
  std::size_t changes = 0;
  for (auto _ : state)
    changes = diff::diff(before, after).changes.size();
  state.counters["changes"] = static_cast<double>(changes);
  state.counters["peak_mb"] = peak_mb();
}
BENCHMARK(tokenizer)->Unit(benchmark::kMillisecond);

/// Four revisions of a repository whose tokenizer.json stays as it is, each read, compared with the
/// one before and given its digest.
void unchanged(benchmark::State &state) {
  std::vector<Snapshot> revisions;
  {
    std::string text = file_named("DIFF_BENCH_BEFORE");
    const auto size = static_cast<std::int64_t>(text.size());
    const Snapshot first = one_file("tokenizer.json", FilePart::whole, std::move(text), size);
    for (int i = 0; i < 4; ++i) {
      std::string config = R"({"model_type":"acme","hidden_size":)" + std::to_string(64 + i) + "}";
      const auto bytes = static_cast<std::int64_t>(config.size());
      Snapshot revision = one_file("config.json", FilePart::whole, std::move(config), bytes);
      revision.files.push_back(first.files.front());
      revision.contents.insert(first.contents.begin(), first.contents.end());
      revisions.push_back(std::move(revision));
    }
  }
  std::size_t changes = 0;
  for (auto _ : state) {
    diff::Facts before;
    for (std::size_t i = 0; i < revisions.size(); ++i) {
      diff::Facts after = diff::facts_of(revisions[i], i > 0 ? &before : nullptr);
      if (i > 0)
        changes = diff::diff({revisions[i - 1], before}, {revisions[i], after}).changes.size();
      benchmark::DoNotOptimize(diff::fact_hash(after));
      before = std::move(after);
    }
  }
  state.counters["changes"] = static_cast<double>(changes);
  state.counters["peak_mb"] = peak_mb();
}
BENCHMARK(unchanged)->Unit(benchmark::kMillisecond);

/// The header of a checkpoint of 200,000 tensors; the last one is called otherwise in an edited
/// copy.
std::string manifest(bool edited, std::int64_t &size) {
  constexpr int tensors = 200'000;
  std::string text = R"({"__metadata__":{"format":"pt"})";
  std::int64_t at = 0;
  for (int i = 0; i < tensors; ++i) {
    const std::string number = std::to_string(1'000'000 + i).substr(1);
    text += ",\"model.layers." + number + ".mlp.experts." +
            (edited && i == tensors - 1 ? "up_proj" : "gate_proj") +
            R"(.weight":{"dtype":"BF16","shape":[64,32],"data_offsets":[)" + std::to_string(at) +
            "," + std::to_string(at + 4096) + "]}";
    at += 4096;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  size = static_cast<std::int64_t>(bytes.size() + text.size()) + at;
  return bytes + text;
}

void manifests(benchmark::State &state) {
  std::int64_t size = 0;
  std::string bytes = manifest(false, size);
  const Snapshot before =
      one_file("model.safetensors", FilePart::safetensors_header, std::move(bytes), size);
  bytes = manifest(true, size);
  const Snapshot after =
      one_file("model.safetensors", FilePart::safetensors_header, std::move(bytes), size);
  std::size_t changes = 0;
  for (auto _ : state)
    changes = diff::diff(before, after).changes.size();
  state.counters["changes"] = static_cast<double>(changes);
  state.counters["peak_mb"] = peak_mb();
}
BENCHMARK(manifests)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
