#include "daemon/jinja/jinja.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

namespace {

const headwater::jinja::Variables &conversation() {
  static const headwater::jinja::Variables variables =
      headwater::jinja::make_variables(headwater::OrderedJson::parse(R"({
        "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "n": 3, "f": 2.5, "none": null,
        "messages": [{"role": "system", "content": "Über"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]},
          {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]})"));
  return variables;
}

} // namespace

/// Any bytes as a template: parse and render end with a value, and doing it again gives the same
/// one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace headwater::jinja;
  std::string_view source(reinterpret_cast<const char *>(data), size);
  Limits limits;
  limits.fuel_steps = 50'000;
  limits.allocation_bytes = 4U << 20U;
  limits.output_bytes = 1U << 20U;
  auto parsed = parse(source, limits);
  if (!parsed) {
    return 0;
  }
  auto first = render(*parsed, conversation(), limits, Clock{});
  auto second = render(*parsed, conversation(), limits, Clock{});
  if (first.has_value() != second.has_value() || (first && first->output != second->output)) {
    __builtin_trap();
  }
  return 0;
}
