#pragma once

#include "schemas/json.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// The first thing found wrong while a config is read; reading goes on with harmless values.
struct ReadErrors {
  std::optional<Error> first;
  void add(std::string message);
};

/// Bounds of what a config may say; over them a value is an error, so that products of two stay in
/// 64 bits.
constexpr std::int64_t max_dimension = 100'000'000;
constexpr std::int64_t max_layers = 10'000;
constexpr std::int64_t max_positions_limit = 1'000'000'000'000;

/// Reads the keys of one config object: the several spellings of one key are one, keys that are
/// absent take the default of their model type, and a value of the wrong kind is an error with its
/// path and value.
class Config {
public:
  Config(const Json &object, std::string_view model_type, std::string path, ReadErrors &errors);

  /// True when the config itself holds a value other than null.
  bool has(std::string_view key) const;
  /// A whole number in 0..limit from the config or the defaults; nullopt where neither has one.
  std::optional<std::int64_t> maybe(std::string_view key, std::int64_t limit = max_dimension) const;
  /// The same; an absent key is an error (never guess a missing key that multiplies).
  std::int64_t size(std::string_view key) const;
  /// Like size, with a value to take when the key is absent.
  std::int64_t size_or(std::string_view key, std::int64_t otherwise) const;
  /// size, at least 1.
  std::int64_t positive(std::string_view key) const;
  /// Like maybe, and the first number of a list.
  std::optional<std::int64_t> first_of(std::string_view key) const;
  bool flag(std::string_view key, bool otherwise = false) const;
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  /// List of whole numbers; empty when absent.
  std::vector<std::int64_t> numbers(std::string_view key) const;
  /// List of words; empty when absent.
  std::vector<std::string> words(std::string_view key) const;
  /// The value itself, nullptr when absent or null.
  const Json *find(std::string_view key) const;
  /// An object under `key`, read as `model_type`; an empty object when absent.
  Config child(std::string_view key, std::string_view model_type) const;
  /// A fraction or whole number.
  double real(std::string_view key, double otherwise) const;

  const Json &json() const { return *object_; }
  std::string_view model_type() const { return model_type_; }
  void set_model_type(std::string_view model_type);
  ReadErrors &errors() const { return *errors_; }
  /// Records that `key` holds a value that cannot be.
  void reject(std::string_view key, std::string_view why) const;

private:
  std::int64_t whole(const Json &value, std::string_view key, std::int64_t limit) const;

  const Json *object_;
  std::string model_type_;
  std::string path_;
  ReadErrors *errors_;
  std::string_view defaults_;
};

} // namespace headwater::estimator
