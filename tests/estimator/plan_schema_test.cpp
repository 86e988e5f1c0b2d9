// Holds schemas/plan.schema.json and to_json(Plan) to each other: what is written validates, and
// every key that the schema names is written by some plan.

#include "estimator/plan.hpp"
#include "tests/estimator/plan_inputs.hpp"
#include "tests/folders.hpp"

#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

using test::data_path;
using test::read_json;

/// The keywords that our schemas use, closed objects above all; anything else in a schema is an
/// error of the test.
class Validator {
public:
  explicit Validator(const Json &schema) : root_(schema) {}

  std::set<std::string> errors;
  std::set<std::string> seen; ///< schema paths of the properties that were met

  void check(const Json &schema, const Json &value, const std::string &path,
             const std::string &schema_path) {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(8);
      check(root_["$defs"][name], value, path, "$defs." + name);
      return;
    }
    if (schema.contains("enum")) {
      bool met = false;
      for (const Json &word : schema["enum"])
        met = met || word == value;
      if (!met)
        errors.insert(path + " is none of the words");
    }
    if (schema.contains("type"))
      check_type(schema["type"].get<std::string>(), value, path);
    if (schema.contains("minimum") && value.is_number() &&
        value.get<double>() < schema["minimum"].get<double>()) {
      errors.insert(path + " is under its minimum");
    }
    if (value.is_object())
      check_object(schema, value, path, schema_path);
    if (value.is_array() && schema.contains("items")) {
      for (const Json &item : value)
        check(schema["items"], item, path + "[]", schema_path + "[]");
    }
  }

private:
  void check_type(const std::string &type, const Json &value, const std::string &path) {
    const bool met =
        (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
        (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
        (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
    if (!met)
      errors.insert(path + " is not of type " + type);
  }

  void check_object(const Json &schema, const Json &value, const std::string &path,
                    const std::string &schema_path) {
    for (const Json &key : schema["required"]) {
      const std::string name = key.get<std::string>();
      if (!value.contains(name))
        errors.insert(path + " lacks " + name);
    }
    for (const auto &[key, member] : value.items()) {
      if (!schema["properties"].contains(key)) {
        errors.insert(path + "." + key + " is not in the schema");
        continue;
      }
      seen.insert(schema_path + "." + key);
      check(schema["properties"][key], member, path + "." + key, schema_path + "." + key);
    }
  }

  const Json &root_;
};

void all_properties(const Json &schema, const std::string &path, std::set<std::string> &into) {
  if (schema.contains("properties")) {
    for (const auto &[key, member] : schema["properties"].items()) {
      into.insert(path + "." + key);
      all_properties(member, path + "." + key, into);
    }
  }
  if (schema.contains("items"))
    all_properties(schema["items"], path + "[]", into);
}

TEST(PlanSchema, HoldsForEveryPlanAndNamesNoOtherKey) {
  const Json schema = read_json(headwater::test::source_folder() / "schemas/plan.schema.json");
  Validator validator(schema);
  const auto validate = [&](const Json &config, const PlanOptions &options) {
    Result<Plan> made = plan(config, options);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    made->source = "config.json";
    made->repo = "org/name";
    made->revision = std::string(40, '0');
    validator.check(schema, Json::parse(to_json(*made).dump()), "plan", "plan");
  };
  PlanOptions all;
  all.published_scalars = 1'000'000;
  all.stored_scalars = 1'000'000;
  all.muted = {"deep-attention-default-init"};
  for (const char *name :
       {"Ilama-3.2-1B", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        "NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "Nemotron-Labs-Diffusion-8B"}) {
    const Json config = read_json(data_path(std::string("reference/configs/") + name + ".json"));
    validate(config, {});
    validate(config, all);
  }
  PlanOptions tensors = all;
  tensors.tensors = true;
  validate(read_json(data_path("reference/configs/Ilama-3.2-1B.json")), tensors);
  validate({{"model_type", "no_such_family"}}, {});
  validate({{"model_type", "no_such_family"}}, all);
  for (const std::string &error : validator.errors)
    ADD_FAILURE() << error;

  std::set<std::string> named;
  all_properties(schema, "plan", named);
  for (const std::string &path : named) {
    if (path.starts_with("plan.reconciliation"))
      continue;
    EXPECT_TRUE(validator.seen.contains(path)) << path << " is in the schema and never written";
  }
}

} // namespace
} // namespace headwater::estimator
