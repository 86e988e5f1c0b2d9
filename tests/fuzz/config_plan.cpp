#include "estimator/architecture.hpp"
#include "estimator/plan.hpp"
#include "schemas/json.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

// config.json -> architecture -> plan: any bytes give a plan or an error, never a crash, a hang or
// a negative count.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace headwater;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Result<Json> config =
      parse_json(text, {.max_bytes = 1U << 20U, .max_depth = 64, .max_values = 100'000});
  if (!config) {
    return 0;
  }
  const Result<estimator::Architecture> read = estimator::derive(*config);
  if (!read) {
    return 0;
  }
  if (read->counts.total < 0 || read->counts.mtp > read->counts.total || read->counts.buffers < 0) {
    std::abort();
  }
  if (read->tensors.size() < 500) {
    const auto expanded = estimator::expand(read->tensors, 20'000);
    static_cast<void>(expanded);
  }
  const auto planned = estimator::plan_of(*read, *config);
  static_cast<void>(planned);
  return 0;
}
