#pragma once

#include "daemon/jinja/jinja.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::diff {

/// One of a repo's chat templates by the name a reader asks for ("default", "tool_use", "rag").
struct TemplateSource {
  std::string name;
  std::string text;
  std::string path; ///< file that it came from
};

/// What the tokenizer adds around a template, before and after.
struct TemplateContext {
  /// Special-token variables a template is rendered with ("bos_token", "eos_token", "pad_token",
  /// ...).
  std::vector<std::pair<std::string, std::string>> tokens_before;
  std::vector<std::pair<std::string, std::string>> tokens_after;
  bool add_bos_token_before = false;
  bool add_bos_token_after = false;
};

/// One fact about an edit. Kinds: template.does-not-parse, template.raises, template.renders-again,
/// template.generation-prompt, template.turn-marker, template.system-prompt, template.tools,
/// template.reasoning, template.double-bos, template.rendering (another rendered difference),
/// template.whitespace (only white space of the rendering differs), template.text (nothing rendered
/// differs, or only what no real request asks for).
struct TemplateFinding {
  std::string kind;
  std::string sentence;
  std::string before; ///< shortest excerpt that shows it, raw: escape before showing
  std::string after;
  /// What a conversation that shows it renders to, cut to what surrounds the difference, raw.
  /// Empty where nothing is rendered on that side.
  std::string prompt_before = {};
  std::string prompt_after = {};
};

/// One probe conversation whose rendering differs, or failed on one side.
struct ProbeDifference {
  std::string probe;
  std::string ability;
  std::string before; ///< shortest differing excerpt with a little of what surrounds it, raw
  std::string after;
  bool before_failed = false;
  bool after_failed = false;
  std::string error_before; ///< "UndefinedError: 'x' is undefined", "" when it rendered
  std::string error_after;
  bool ordinary = true; ///< false when no real request asks for such a conversation
};

struct TemplateComparison {
  std::vector<TemplateFinding> findings; ///< the weightiest first; empty when the texts are equal
  std::vector<ProbeDifference> probes;
};

/// Renders the probe conversations of schemas/probes.json with both templates and says what
/// differs. Pure; hostile templates end within the limits.
TemplateComparison compare_templates(std::string_view before, std::string_view after,
                                     const TemplateContext &context,
                                     const jinja::Limits &limits = {});

/// A digest of what a template makes of the ordinary probe conversations: equal for templates that
/// no request can tell apart. Pure; hostile templates end within the limits.
std::string rendering_digest(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>> &tokens,
                             bool add_bos, const jinja::Limits &limits = {});

} // namespace headwater::diff
