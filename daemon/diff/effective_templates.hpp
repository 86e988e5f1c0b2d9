#pragma once

#include "daemon/diff/sides.hpp"
#include "daemon/diff/template_render.hpp"

#include <string>
#include <utility>
#include <vector>

namespace headwater::diff {

/// A template that a reader uses, and where its text lives (file, with a pointer for one inside
/// JSON).
struct EffectiveTemplate {
  std::string name; ///< "default" or the name a caller asks for
  std::string text;
  std::string path;
  friend bool operator==(const EffectiveTemplate &, const EffectiveTemplate &) = default;
};

/// The templates of one revision as the two kinds of readers see them (precedence as transformers
/// has it).
struct EffectiveTemplates {
  std::vector<EffectiveTemplate> tokenizer; ///< sorted by name
  std::vector<EffectiveTemplate> processor;
  std::vector<EffectiveTemplate> all; ///< every template of the revision, used or not
  std::vector<std::pair<std::string, std::string>> unreadable; ///< path, why
};

EffectiveTemplates effective_templates(const Side &side);

/// What a tokenizer puts into and around a template.
struct TemplateTokens {
  std::vector<std::pair<std::string, std::string>> tokens; ///< by role
  bool add_bos = false;
};

TemplateTokens template_tokens(const Side &side);

} // namespace headwater::diff
