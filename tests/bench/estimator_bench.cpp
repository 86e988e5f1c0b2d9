#include "estimator/plan.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

// Parse, derive and plan each config.json of the folders given: median and largest time of one
// config, in microseconds, each config's own figure being the best of twenty runs.

namespace {

using Clock = std::chrono::steady_clock;

struct Timing {
  std::string name;
  double parse = 0;
  double derive = 0;
  double plan = 0;
};

double microseconds(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

template <class Work> double best_of(int runs, Work work) {
  double best = 1e18;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    work();
    best = std::min(best, microseconds(Clock::now() - begin));
  }
  return best;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  using namespace headwater;
  std::vector<Timing> timings;
  for (int index = 1; index < argc; ++index) {
    for (const auto &entry : std::filesystem::directory_iterator(argv[index])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      const Result<Json> config = parse_json(text);
      if (!config) {
        continue;
      }
      const Result<estimator::Architecture> read = estimator::derive(*config);
      if (!read || read->reading == estimator::Reading::unknown) {
        continue;
      }
      Timing timing{entry.path().filename().string()};
      timing.parse = best_of(20, [&] { benchmark::DoNotOptimize(parse_json(text)); });
      timing.derive = best_of(20, [&] { benchmark::DoNotOptimize(estimator::derive(*config)); });
      timing.plan =
          best_of(20, [&] { benchmark::DoNotOptimize(estimator::plan_of(*read, *config)); });
      timings.push_back(timing);
    }
  }
  if (timings.empty()) {
    fmt::print("no configs\n");
    return 1;
  }
  std::vector<double> parse;
  std::vector<double> derive;
  std::vector<double> plan;
  std::vector<double> all;
  for (const Timing &timing : timings) {
    parse.push_back(timing.parse);
    derive.push_back(timing.derive);
    plan.push_back(timing.plan);
    all.push_back(timing.parse + timing.derive + timing.plan);
  }
  const Timing &slowest = *std::ranges::max_element(
      timings, {}, [](const Timing &timing) { return timing.parse + timing.derive + timing.plan; });
  fmt::print("configs {} median_us {:.1f} max_us {:.1f} slowest {}\n", timings.size(), median(all),
             slowest.parse + slowest.derive + slowest.plan, slowest.name);
  fmt::print("medians: parse {:.1f} us, derive {:.1f} us, plan {:.1f} us\n", median(parse),
             median(derive), median(plan));
  return 0;
}
