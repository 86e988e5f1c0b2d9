#pragma once

#include "daemon/diff/config_canonical.hpp"
#include "daemon/diff/facts.hpp"
#include "daemon/read/wanted.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headwater::diff {

/// Why the same holds without a key.
enum class Quiet : std::uint8_t {
  no,
  by_default,   ///< it is what holds for the model type, or for all
  rope_type,    ///< `type` beside a `rope_type` that says the same
  rope_repeats, ///< the rotary positions say it elsewhere
  part_type,    ///< the whole model's type decides what the part is
};

/// What one key of a config does.
struct ConfigMeaning {
  std::string subject; ///< "" for one that no code acts on, or that another subject tells
  Force force = Force::holds;
  Quiet quiet = Quiet::no;
  bool by_build = false;
};

/// A config.json: its one form, and what each key of it does.
struct ConfigFacts {
  CanonicalConfig canonical;         ///< with the keys of text_config at the top
  std::shared_ptr<const Json> plain; ///< the same with them where they stand
  bool has_text_config = false;
  std::map<std::string, ConfigMeaning> keys; ///< by canonical pointer
};

/// Reads a config.json at `path`.
ConfigFacts config_facts(const std::string &path, const Json &config);

/// The places of a config.json.
void add_places(const std::string &path, const ConfigFacts &config, FileFacts &facts);

/// The kind of change that a key of a config makes, inside `group`. An absent value is null.
std::string config_kind(const std::string &key, const Json *before, const Json *after,
                        const std::string &group);

/// The outermost object that gives a key its meaning: a part of the model, its positions, its
/// quantisation.
std::string config_group(const std::string &group, const std::string &key);

/// Whether a key of a config is told elsewhere: the code that runs, and where generation stops.
bool told_elsewhere(const std::string &path, const std::string &pointer);

/// Whether the key at a pointer of a config.json does only what is built from the whole.
bool is_by_build(const std::string &path, const std::string &pointer, std::string_view kind);

/// Whether a model is built the same where only the key at `pointer` is as in `after`.
bool key_builds_alike(const ConfigFacts &before, const ConfigFacts &after,
                      const std::string &pointer);
/// Whether both configs build the same.
bool configs_build_alike(const ConfigFacts &before, const ConfigFacts &after);

/// One row a config file of another kind than config.json: the kinds that its trouble and its keys
/// have.
struct RoleKinds {
  read::FileRole role;
  std::string_view removed;
  std::string_view malformed;
  std::string_view keys; ///< "" = by the key's own meaning
  std::string_view added;
};

/// The row of a role, or null for one that is no config.
const RoleKinds *role_kinds(read::FileRole role);

/// The kind of a key's change in a file of a role whose keys share one.
std::string role_key_kind(const RoleKinds &kinds, const std::string &key, const Json *before,
                          const Json *after);

/// Whether compare goes into an object of such a file.
bool goes_inside(const std::string &key);
/// Keys of such a file that are told with the template and the code.
bool told_with_template_or_code(const std::string &key);

/// Whether the older quantize_config.json says the same as a quantization_config, as far as both
/// speak.
bool repeats_quantize_config(const Json &older, const Json &stated);

/// The places of such a file.
void add_role_places(const RoleKinds &kinds, const std::string &path, const Json &json,
                     FileFacts &facts);

} // namespace headwater::diff
