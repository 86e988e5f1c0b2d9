#include "daemon/jinja/jinja.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

namespace {

using namespace headwater;

std::string file_named(const char *variable) {
  const char *path = std::getenv(variable);
  std::ifstream in(path == nullptr ? "" : path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The template and the conversation that jinja.sh measures all three on.
std::string source() {
  return file_named("JINJA_BENCH_TEMPLATE");
}
jinja::Variables variables() {
  return jinja::make_variables(
      OrderedJson::parse(file_named("JINJA_BENCH_VARIABLES"), nullptr, false));
}

void parse_and_render(benchmark::State &state) {
  std::string text = source();
  jinja::Variables given = variables();
  for (auto _ : state) {
    auto rendered = jinja::render(*jinja::parse(text), given, {}, jinja::Clock{});
    benchmark::DoNotOptimize(rendered);
  }
}
BENCHMARK(parse_and_render)->Unit(benchmark::kMicrosecond);

void render_alone(benchmark::State &state) {
  auto parsed = jinja::parse(source());
  jinja::Variables given = variables();
  for (auto _ : state) {
    auto rendered = jinja::render(*parsed, given, {}, jinja::Clock{});
    benchmark::DoNotOptimize(rendered);
  }
}
BENCHMARK(render_alone)->Unit(benchmark::kMicrosecond);

void hostile(benchmark::State &state) {
  auto parsed = jinja::parse(
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}");
  for (auto _ : state) {
    auto rendered = jinja::render(*parsed, jinja::Variables(), {}, jinja::Clock{});
    benchmark::DoNotOptimize(rendered);
  }
}
BENCHMARK(hostile)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
