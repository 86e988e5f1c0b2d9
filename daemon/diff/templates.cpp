#include "daemon/diff/effective_templates.hpp"
#include "daemon/diff/subjects.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

TemplateContext context_of(const Sides &sides) {
  TemplateTokens before = template_tokens(sides.before);
  TemplateTokens after = template_tokens(sides.after);
  TemplateContext context;
  context.tokens_before = std::move(before.tokens);
  context.tokens_after = std::move(after.tokens);
  context.add_bos_token_before = before.add_bos;
  context.add_bos_token_after = after.add_bos;
  return context;
}

const EffectiveTemplate *named(const std::vector<EffectiveTemplate> &templates,
                               std::string_view name) {
  const auto at = std::ranges::find(templates, name, &EffectiveTemplate::name);
  return at != templates.end() ? &*at : nullptr;
}

std::string excerpt_json(std::string_view text) {
  constexpr std::size_t longest = 2000;
  return json_text(Json(std::string(text.substr(0, longest))));
}

class TemplateDiff {
public:
  TemplateDiff(const Sides &sides, Changes &changes)
      : sides_(sides), changes_(changes), context_(context_of(sides)) {}

  void run() {
    const EffectiveTemplates before = effective_templates(sides_.before);
    const EffectiveTemplates after = effective_templates(sides_.after);
    for (const auto &[path, problem] : after.unreadable)
      if (differs(path))
        add("template.unreadable", path, "null", "null",
            fmt::format("{} was not compared: {}.", path, problem));
    if (!after.unreadable.empty() || !before.unreadable.empty())
      return;
    compare(before.tokenizer, after.tokenizer, "");
    if (before.processor != before.tokenizer || after.processor != after.tokenizer)
      compare(before.processor, after.processor,
              " for software that reads the processor's template");
    unused(before, after);
  }

private:
  bool differs(const std::string &path) const {
    const std::string file = path.substr(0, path.find('#'));
    const auto at = std::ranges::lower_bound(sides_.files, file, {}, &FilePair::path);
    return at != sides_.files.end() && at->path == file && at->differs;
  }

  void add(std::string_view kind, std::string path, std::string before, std::string after,
           std::string sentence) {
    // Two readers often see the same template; what it changes is told once.
    for (const Change &change : changes_)
      if (change.kind == kind && change.path == path && change.before_json == before &&
          change.after_json == after)
        return;
    told_.insert(path);
    changes_.push_back(make_change(kind, std::move(path), std::move(before), std::move(after),
                                   std::move(sentence)));
  }

  void compare(const std::vector<EffectiveTemplate> &before,
               const std::vector<EffectiveTemplate> &after, const std::string &reader) {
    if (before.empty() && after.empty())
      return;
    if (before.empty()) {
      const EffectiveTemplate &first = after.front();
      const bool upload = !loadable(sides_.before);
      return add(upload ? "template.first" : "template.added", first.path, "null",
                 excerpt_json(first.text),
                 fmt::format("A chat template was added{}; before, there was none.", reader));
    }
    if (after.empty()) {
      const EffectiveTemplate &first = before.front();
      return add("template.removed", first.path, excerpt_json(first.text), "null",
                 fmt::format("There is no chat template any more{}: chat requests fail or are "
                             "built by other rules.",
                             reader));
    }
    std::set<std::string> names;
    for (const EffectiveTemplate &item : before)
      names.insert(item.name);
    for (const EffectiveTemplate &item : after)
      names.insert(item.name);
    std::set<std::string> settled;
    for (const EffectiveTemplate &old : before) {
      if (old.name != old.path || named(after, old.name) != nullptr)
        continue;
      const auto same = std::ranges::find_if(after, [&](const EffectiveTemplate &item) {
        return item.name == item.path && item.text == old.text &&
               named(before, item.name) == nullptr && !settled.contains(item.name);
      });
      if (same == after.end())
        continue;
      add("template.moved", same->path, json_text(Json(old.path)), json_text(Json(same->path)),
          fmt::format("The template {} is now {}, text identical{}.", old.path, same->path,
                      reader));
      settled.insert({old.name, same->name});
    }
    for (const std::string &name : names)
      if (!settled.contains(name))
        pair(name, named(before, name), named(after, name), reader);
  }

  void pair(const std::string &name, const EffectiveTemplate *a, const EffectiveTemplate *b,
            const std::string &reader) {
    if (a == nullptr || b == nullptr) {
      const EffectiveTemplate &only = a != nullptr ? *a : *b;
      if (name == "default" && b == nullptr)
        return add("template.removed", only.path, excerpt_json(only.text), "null",
                   fmt::format("There is no default chat template any more{}, only named ones: "
                               "chat requests that name none fail.",
                               reader));
      const bool used_unasked = name == "tool_use" || name == "default";
      return add(b != nullptr && !used_unasked ? "template.named-added" : "template.named",
                 only.path, a != nullptr ? excerpt_json(a->text) : "null",
                 b != nullptr ? excerpt_json(b->text) : "null",
                 fmt::format("The template {} was {}{}.", shown_text(name, 40),
                             b != nullptr ? "added" : "removed", reader));
    }
    if (a->path != b->path)
      add("template.moved", b->path, json_text(Json(a->path)), json_text(Json(b->path)),
          fmt::format("The template {} moved from {} to {}{}{}.", shown_text(name, 40), a->path,
                      b->path, a->text == b->text ? ", text identical" : "", reader));
    // The tokens around a template are part of what it renders, so they are compared even when its
    // text is the same.
    const bool context_same = context_.tokens_before == context_.tokens_after &&
                              context_.add_bos_token_before == context_.add_bos_token_after;
    if (a->text == b->text && context_same)
      return;
    const TemplateComparison comparison = compare_templates(a->text, b->text, context_);
    if (a->text == b->text)
      return by_tokens(comparison, reader);
    for (const TemplateFinding &finding : comparison.findings) {
      if (find_change_kind(finding.kind) == nullptr)
        continue;
      const bool rendered = !finding.prompt_before.empty() || !finding.prompt_after.empty();
      add(finding.kind, b->path, excerpt_json(rendered ? finding.prompt_before : finding.before),
          excerpt_json(rendered ? finding.prompt_after : finding.after),
          finding.sentence +
              (name == "default" ? "" : fmt::format(" (template {})", shown_text(name, 40))) +
              (reader.empty() ? "" : " This holds" + reader + "."));
    }
  }

  /// The same text around other tokens: one fact, told where the token is given.
  void by_tokens(const TemplateComparison &comparison, const std::string &reader) {
    const TemplateFinding *first = nullptr;
    const auto rank = [](const TemplateFinding &finding) {
      const ChangeKind *kind = find_change_kind(finding.kind);
      return kind == nullptr || finding.kind == "template.text" ? -1
             : finding.kind == "template.turn-marker"           ? 5
             : finding.kind == "template.double-bos"            ? 6
                                                                : static_cast<int>(kind->level);
    };
    for (const TemplateFinding &finding : comparison.findings)
      if (rank(finding) >= 0 && (first == nullptr || rank(finding) > rank(*first)))
        first = &finding;
    if (first != nullptr)
      add(first->kind, token_place(), excerpt_json(first->before), excerpt_json(first->after),
          first->sentence + (reader.empty() ? "" : " This holds" + reader + "."));
  }

  /// Where the first special token that differs is given.
  std::string token_place() const {
    std::string key = "add_bos_token";
    for (const auto *tokens : {&context_.tokens_after, &context_.tokens_before})
      for (const auto &token : *tokens) {
        const auto &others =
            tokens == &context_.tokens_after ? context_.tokens_before : context_.tokens_after;
        if (key == "add_bos_token" && std::ranges::find(others, token) == others.end())
          key = token.first;
      }
    const bool in_config =
        read_document(sides_.after, "tokenizer_config.json").json->contains(key) ||
        read_document(sides_.before, "tokenizer_config.json").json->contains(key);
    return (in_config ? "tokenizer_config.json#/" : "special_tokens_map.json#/") + key;
  }

  /// Templates that differ in a file and that no reader uses.
  void unused(const EffectiveTemplates &before, const EffectiveTemplates &after) {
    std::map<std::string, std::pair<const std::string *, const std::string *>> places;
    for (const EffectiveTemplate &item : before.all)
      places[item.path].first = &item.text;
    for (const EffectiveTemplate &item : after.all)
      places[item.path].second = &item.text;
    std::set<std::string> used;
    for (const EffectiveTemplates *side : {&before, &after})
      for (const auto *list : {&side->tokenizer, &side->processor})
        for (const EffectiveTemplate &item : *list)
          used.insert(item.path);
    for (const auto &[path, texts] : places) {
      const auto &[was, is] = texts;
      if (used.contains(path) || told_.contains(path) ||
          (was != nullptr && is != nullptr && *was == *is))
        continue;
      add("template.unused", path, was != nullptr ? excerpt_json(*was) : "null",
          is != nullptr ? excerpt_json(*is) : "null",
          fmt::format("{} was {}; another template takes precedence.", path,
                      was == nullptr  ? "added"
                      : is == nullptr ? "removed"
                                      : "changed"));
    }
  }

  const Sides &sides_;
  Changes &changes_;
  TemplateContext context_;
  std::set<std::string> told_;
};

} // namespace

void diff_template(const Sides &sides, Changes &changes) {
  const bool touched = std::ranges::any_of(sides.files, [](const FilePair &file) {
    return file.differs &&
           (file.role == FileRole::template_jinja || file.role == FileRole::template_additional ||
            file.role == FileRole::template_json || file.role == FileRole::tokenizer_config ||
            file.role == FileRole::special_tokens_map || file.role == FileRole::processor_config);
  });
  if (touched)
    TemplateDiff(sides, changes).run();
}

} // namespace headwater::diff
