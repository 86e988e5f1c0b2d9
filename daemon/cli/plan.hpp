#pragma once

#include "schemas/plan.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace headwater::cli {

/// `headwater plan SOURCE`: what a model takes to fine-tune and to serve.
struct PlanCommand {
  std::string source; ///< a config.json, a folder that has one, or org/name[@revision]
  bool json = false;
  bool tensors = false;
  std::int64_t batch = 1;
  std::int64_t seq = 0; ///< tokens of a sequence, to train and to serve; 0 = 2048 and 4096
  std::string card = {};
  std::string memory_model = "reference";
  std::string compare = {}; ///< another source; what its plan has otherwise is printed
  std::string reconcile =
      {}; ///< folder whose safetensors headers are held against the derived list
  std::vector<std::string> muted = {}; ///< ids of accepted rules
  bool colour = false;
  /// config.json of a repo at a revision ("" = main); unset: only files and folders are sources.
  std::function<Result<std::string>(const std::string &repo, const std::string &revision)>
      fetch_config = {};
};

/// Prints the plan on `out`, as a page or as JSON; errors in one line on `err`. Exit code: 0 fine,
/// 1 headers that differ from the derived list, 2 bad input, 3 upstream, or a model that nothing
/// reads (the plan that says so is printed).
int run_plan(const PlanCommand &command, std::ostream &out, std::ostream &err);

/// The plan as a page for a person, UTF-8.
std::string plan_page(const Plan &plan, bool colour);

/// How a checkpoint's headers differ from the tensors that its config builds.
struct Reconciliation {
  struct OtherShape {
    std::string name;
    std::vector<std::int64_t> derived;
    std::vector<std::int64_t> stored;
  };
  std::int64_t files = 0;
  std::int64_t stored_tensors = 0;
  std::int64_t stored_scalars = 0;
  std::int64_t equal = 0;
  std::vector<std::string> missing; ///< built, not stored
  std::vector<std::string>
      extra; ///< stored, not built; buffers and copies of tied tensors are neither
  std::vector<OtherShape> other_shape;
  bool agrees() const { return missing.empty() && extra.empty() && other_shape.empty(); }
};

/// Reads the header of every .safetensors file in a folder and holds it against the list derived
/// from a config. For a model that nothing reads only what is stored is counted. Errors: bad_input
/// (no such folder, no such files), malformed (a header, by file).
Result<Reconciliation> reconcile(const Json &config, const std::string &folder);
OrderedJson to_json(const Reconciliation &reconciliation);
std::string reconciliation_page(const Reconciliation &reconciliation, bool colour);

} // namespace headwater::cli
