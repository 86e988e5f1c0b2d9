#include "daemon/diff/template_render.hpp"

#include "daemon/diff/rendered_difference.hpp"
#include "daemon/jinja/probes.hpp"
#include "schemas/digest.hpp"
#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {

namespace {

/// A probe needs a few thousand steps; many are run for one comparison, so each gets a small share.
constexpr std::int64_t probe_fuel = 300'000;

using Tokens = std::vector<std::pair<std::string, std::string>>;

/// What one template makes of one probe.
struct Rendering {
  bool good = false;
  std::string text;  ///< as the probe asks
  std::string body;  ///< the same without a prompt for the answer
  std::string error; ///< "UndefinedError: ..."
};

using Renderings = std::map<std::string, Rendering, std::less<>>;

/// The local time of all probes: fixed, so that a date in a template is no difference.
jinja::Clock probe_time() {
  return std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + std::chrono::hours{3} +
         std::chrono::minutes{4};
}

std::string without_space(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return c != ' ' && c != '\n' && c != '\t' && c != '\r'; });
  return out;
}

std::string describe(const jinja::TemplateError &error) {
  return error.message.empty() ? error.error : error.error + ": " + error.message;
}

/// How the two sides of a difference read in a sentence.
std::string changed(std::string_view before, std::string_view after) {
  if (before.empty()) {
    return fmt::format("gained {}", show_rendered(after));
  }
  if (after.empty()) {
    return fmt::format("lost {}", show_rendered(before));
  }
  return fmt::format("changed from {} to {}", show_rendered(before), show_rendered(after));
}

/// A closing delimiter in a template's text that no brace of its text opens: what is left of a tag
/// whose opening was broken. Python's Jinja writes such text out; lexers that check delimiters
/// reject it.
struct Stray {
  std::string delimiter;
  int line = 0;
};

std::vector<Stray> stray_delimiters(std::string_view source) {
  std::vector<Stray> found;
  int depth = 0;
  int line = 1;
  char inside = 0; // '{', '%' or '#': kind of tag
  char quote = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    char next = i + 1 < source.size() ? source[i + 1] : '\0';
    line += static_cast<int>(c == '\n');
    if (inside != 0) {
      if (quote != 0) {
        i += static_cast<std::size_t>(c == '\\');
        quote = c == quote ? '\0' : quote;
      } else if (inside != '#' && (c == '\'' || c == '"')) {
        quote = c;
      } else if (next == '}' && c == (inside == '{' ? '}' : inside)) {
        inside = 0;
        ++i;
      }
      continue;
    }
    if (c == '{' && (next == '{' || next == '%' || next == '#')) {
      inside = next;
      ++i;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && next == '}' && depth < 2) {
      found.push_back({"}}", line});
      depth = 0;
      ++i;
    } else if (c == '%' && next == '}' && depth == 0) {
      found.push_back({"%}", line});
      ++i;
    } else if (c == '}') {
      depth = std::max(depth - 1, 0);
    }
  }
  return found;
}

Renderings render_all(const jinja::Template &chat_template, const Tokens &tokens,
                      const jinja::Limits &limits) {
  Renderings all;
  std::optional<std::string> exhausted;
  for (const jinja::Probe &probe : jinja::probe_conversations()) {
    Rendering &rendering = all[probe.id];
    if (exhausted) {
      rendering.error = *exhausted;
      continue;
    }
    OrderedJson variables = OrderedJson::parse(probe.variables, nullptr, false);
    for (const auto &[name, value] : tokens) {
      variables[name] = value;
    }
    auto asked =
        jinja::render(chat_template, jinja::make_variables(variables), limits, probe_time());
    if (!asked) {
      rendering.error = describe(asked.error());
      if (asked.error().limit) {
        exhausted = rendering.error;
      }
      continue;
    }
    rendering.good = true;
    rendering.text = std::move(asked->output);
    rendering.body = rendering.text;
    if (variables["add_generation_prompt"] == true) {
      variables["add_generation_prompt"] = false;
      auto plain =
          jinja::render(chat_template, jinja::make_variables(variables), limits, probe_time());
      if (plain) {
        rendering.body = std::move(plain->output);
      }
    }
  }
  return all;
}

std::string token(const Tokens &tokens, std::string_view name) {
  for (const auto &[key, value] : tokens) {
    if (key == name) {
      return value;
    }
  }
  return name == "bos_token" ? "<s>" : "";
}

/// Whether the template writes the beginning-of-sequence token that the tokenizer adds anyway.
bool doubles_bos(const Rendering &rendering, const Tokens &tokens, bool adds) {
  const std::string bos = token(tokens, "bos_token");
  return adds && rendering.good && !bos.empty() && rendering.text.starts_with(bos);
}

class Comparison {
public:
  Comparison(std::string_view before, std::string_view after, const TemplateContext &context,
             const jinja::Limits &limits)
      : before_text_(before), after_text_(after), context_(context), limits_(limits) {
    limits_.fuel_steps = std::min(limits.fuel_steps, probe_fuel);
  }

  TemplateComparison run() {
    auto before = jinja::parse(before_text_, limits_);
    auto after = jinja::parse(after_text_, limits_);
    if (!after) {
      if (before) {
        add("template.does-not-parse",
            fmt::format("The template does not parse ({}{}): every request fails.",
                        describe(after.error()),
                        after.error().line > 0 ? fmt::format(", line {}", after.error().line) : ""),
            "", describe(after.error()));
      } else if (before_text_ != after_text_) {
        add("template.text",
            "The text of the template changed; it does not parse, before or after.", "", "");
      }
      return std::move(result_);
    }
    if (!before) {
      add("template.parses-again",
          fmt::format("The template parses again; before: {}.", describe(before.error())),
          describe(before.error()), "");
      return std::move(result_);
    }
    strays();
    before_ = render_all(*before, context_.tokens_before, limits_);
    after_ = render_all(*after, context_.tokens_after, limits_);
    collect();
    if (!result_.findings.empty()) {
      return std::move(result_); // a broken tag says it all: what it renders to is its consequence
    }
    failures();
    if (!only_white_space()) {
      generation_prompt();
      turns();
      system_prompt();
      group("template.tools", "tools",
            {"tools", "tools-system", "tool-call", "tool-call-null-content", "tool-calls-two",
             "tool-call-string-args", "numbers"});
      group("template.reasoning", "reasoning",
            {"thinking-on", "thinking-off", "reasoning-history", "think-tags-history"});
      rest();
    }
    double_bos();
    if (result_.findings.empty() && before_text_ != after_text_) {
      text_alone();
    }
    return std::move(result_);
  }

private:
  void add(std::string kind, std::string sentence, std::string before, std::string after) {
    result_.findings.push_back(
        {std::move(kind), std::move(sentence), std::move(before), std::move(after)});
  }

  /// Gives the last finding the renderings that show it.
  void show_in(std::string_view old, std::string_view now) {
    Excerpt both = in_context(old, now);
    result_.findings.back().prompt_before = std::move(both.before);
    result_.findings.back().prompt_after = std::move(both.after);
  }

  void strays() {
    std::vector<Stray> now = stray_delimiters(after_text_);
    if (now.size() <= stray_delimiters(before_text_).size()) {
      return;
    }
    add("template.does-not-parse",
        fmt::format("The template does not lex (stray `{}` on line {}): readers that check "
                    "delimiters fail on every "
                    "request, others write the broken tag into every prompt.",
                    now.front().delimiter, now.front().line),
        "", now.front().delimiter);
  }

  const Rendering &before(std::string_view probe) const { return before_.find(probe)->second; }
  const Rendering &after(std::string_view probe) const { return after_.find(probe)->second; }
  bool both(std::string_view probe) const { return before(probe).good && after(probe).good; }
  bool body_differs(std::string_view probe) const {
    return both(probe) && before(probe).body != after(probe).body;
  }

  void collect() {
    for (const jinja::Probe &probe : jinja::probe_conversations()) {
      const Rendering &old = before(probe.id);
      const Rendering &now = after(probe.id);
      if (old.good == now.good && old.text == now.text) {
        continue;
      }
      Excerpt part = excerpt(old.text, now.text);
      result_.probes.push_back({probe.id, probe.ability, std::move(part.before),
                                std::move(part.after), !old.good, !now.good, old.error, now.error,
                                probe.ordinary});
    }
  }

  void failures() {
    std::vector<const ProbeDifference *> broken;
    std::vector<const ProbeDifference *> mended;
    for (const ProbeDifference &difference : result_.probes) {
      if (!difference.ordinary) {
        continue;
      }
      if (difference.after_failed && !difference.before_failed) {
        broken.push_back(&difference);
      } else if (difference.before_failed && !difference.after_failed) {
        mended.push_back(&difference);
      }
    }
    if (!broken.empty()) {
      add("template.raises",
          fmt::format("The template now fails where it rendered before ({}{}): {}.",
                      broken[0]->ability, more(broken.size()), plain_text(broken[0]->error_after)),
          "", broken[0]->error_after);
      show_in(before(broken[0]->probe).text, "");
      result_.findings.back().prompt_after = broken[0]->error_after;
    }
    if (!mended.empty()) {
      add("template.renders-again",
          fmt::format("The template now renders where it failed before ({}{}): {}.",
                      mended[0]->ability, more(mended.size()), plain_text(mended[0]->error_before)),
          mended[0]->error_before, "");
      show_in("", after(mended[0]->probe).text);
      result_.findings.back().prompt_before = mended[0]->error_before;
    }
  }

  static std::string more(std::size_t count) {
    return count > 1 ? fmt::format(" and {} more", count - 1) : std::string();
  }

  bool only_white_space() {
    const ProbeDifference *first = nullptr;
    std::size_t count = 0;
    for (const ProbeDifference &difference : result_.probes) {
      if (difference.before_failed || difference.after_failed || !difference.ordinary) {
        continue;
      }
      if (without_space(before(difference.probe).text) !=
          without_space(after(difference.probe).text)) {
        return false;
      }
      first = first == nullptr ? &difference : first;
      ++count;
    }
    if (first != nullptr) {
      add("template.whitespace",
          fmt::format("Only white space of the rendering differs ({}{}): {}.", first->ability,
                      more(count), changed(first->before, first->after)),
          first->before, first->after);
      show_in(before(first->probe).text, after(first->probe).text);
    }
    return true;
  }

  /// What a probe's rendering has at its end only when an answer is asked for.
  static std::string prompt_of(const Rendering &rendering) {
    std::string_view text = rendering.text;
    return std::string(text.starts_with(rendering.body) ? text.substr(rendering.body.size())
                                                        : text);
  }

  void generation_prompt() {
    if (!both("single") || !both("single-nogen")) {
      return;
    }
    std::string old = prompt_of(before("single"));
    std::string now = prompt_of(after("single"));
    if (old == now) {
      return;
    }
    prompt_changed_ = true;
    if (before("single").text == after("single").text) {
      Excerpt part = excerpt(before("single").body, after("single").body);
      add("template.generation-prompt-unasked",
          fmt::format("The prompt for an answer is {} when none is asked for: the rendering {}.",
                      now.size() > old.size() ? "no longer written" : "written",
                      changed(part.before, part.after)),
          part.before, part.after);
      show_in(before("single").body, after("single").body);
      return;
    }
    std::string sentence;
    Excerpt part{old, now};
    if (std::string_view(now).starts_with(old)) {
      part = {"", now.substr(old.size())};
      sentence = fmt::format("The generation prompt gained suffix {}", show_rendered(part.after));
    } else if (std::string_view(old).starts_with(now)) {
      part = {old.substr(now.size()), ""};
      sentence = fmt::format("The generation prompt lost suffix {}", show_rendered(part.before));
    } else {
      sentence = fmt::format("The generation prompt {}", changed(old, now));
    }
    add("template.generation-prompt", sentence + ".", part.before, part.after);
    show_in(before("single").text, after("single").text);
  }

  /// The texts between the contents of a conversation, in order: what opens, joins and closes
  /// turns.
  static std::vector<std::string> joints(std::string_view text,
                                         std::initializer_list<std::string_view> contents) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (std::string_view content : contents) {
      std::size_t found = text.find(content, at);
      if (found == std::string_view::npos) {
        return {};
      }
      parts.emplace_back(text.substr(at, found - at));
      at = found + content.size();
    }
    parts.emplace_back(text.substr(at));
    return parts;
  }

  void turns() {
    if (!both("multi")) {
      return;
    }
    std::vector<std::string> old = joints(before("multi").body, {"Ping", "Pong.", "Again"});
    std::vector<std::string> now = joints(after("multi").body, {"Ping", "Pong.", "Again"});
    if (old.size() != now.size() || old.empty()) {
      return;
    }
    for (std::size_t i = 1; i < old.size(); ++i) {
      if (old[i] != now[i] && !prompt_explains(old[i], now[i])) {
        turn_changed_ = true;
        Excerpt part = excerpt(old[i], now[i]);
        add("template.turn-marker",
            fmt::format("What stands between turns {}.", changed(part.before, part.after)),
            part.before, part.after);
        show_in(before("multi").body, after("multi").body);
        return;
      }
    }
  }

  /// A difference at the end that is only the prompt for an answer written always or when asked.
  bool prompt_explains(std::string_view old, std::string_view now) const {
    std::string_view longer = old.size() > now.size() ? old : now;
    std::string_view shorter = old.size() > now.size() ? now : old;
    return prompt_changed_ && longer.starts_with(shorter);
  }

  void system_prompt() {
    if (!both("single") || turn_changed_) {
      return;
    }
    std::vector<std::string> old = joints(before("single").body, {"Good morning"});
    std::vector<std::string> now = joints(after("single").body, {"Good morning"});
    if (old.empty() || now.empty() || old[0] == now[0]) {
      return;
    }
    head_changed_ = true;
    Excerpt part = excerpt(old[0], now[0]);
    bool tokens =
        without_bos(old[0], context_.tokens_before) == without_bos(now[0], context_.tokens_after);
    if (tokens) {
      add("template.rendering",
          fmt::format("What stands at the start of every conversation {}.",
                      changed(part.before, part.after)),
          part.before, part.after);
      show_in(before("single").body, after("single").body);
      return;
    }
    add("template.system-prompt",
        fmt::format("The default system prompt, or what stands in its place, {}.",
                    changed(part.before, part.after)),
        part.before, part.after);
    show_in(before("single").body, after("single").body);
  }

  static std::string without_bos(std::string_view text, const Tokens &tokens) {
    std::string bos = token(tokens, "bos_token");
    return std::string(!bos.empty() && text.starts_with(bos) ? text.substr(bos.size()) : text);
  }

  /// Whether a probe's body differs in a way that the plain conversations do not already show.
  bool own_difference(std::string_view probe) const {
    if (!body_differs(probe)) {
      // With add_generation_prompt alone: reasoning switches act in the prompt itself.
      return both(probe) && !prompt_changed_ && before(probe).text != after(probe).text;
    }
    if (!turn_changed_ && !head_changed_) {
      return !(prompt_changed_ && body_differs("single") &&
               prompt_explains(before(probe).body, after(probe).body));
    }
    Excerpt own = excerpt(before(probe).body, after(probe).body);
    for (std::string_view plain : {"single", "multi", "system"}) {
      Excerpt known = excerpt(before(plain).body, after(plain).body);
      if (body_differs(plain) && known.before == own.before && known.after == own.after) {
        return false;
      }
    }
    // The same marks changed around other content: take them out of both before comparing.
    return marks_removed(before(probe).body, true) != marks_removed(after(probe).body, false);
  }

  /// A body without the parts that differ in the plain conversations.
  std::string marks_removed(std::string text, bool old) const {
    for (std::string_view plain : {"single", "multi", "system"}) {
      if (!body_differs(plain)) {
        continue;
      }
      Excerpt part = excerpt(before(plain).body, after(plain).body);
      const std::string &mark = old ? part.before : part.after;
      for (std::size_t at = mark.empty() ? std::string::npos : text.find(mark);
           at != std::string::npos; at = text.find(mark, at)) {
        text.erase(at, mark.size());
      }
    }
    return text;
  }

  void group(std::string kind, std::string_view what,
             std::initializer_list<std::string_view> probes) {
    std::string_view first;
    std::size_t count = 0;
    for (std::string_view probe : probes) {
      explained_.push_back(probe);
      if (own_difference(probe)) {
        first = first.empty() ? probe : first;
        ++count;
      }
    }
    if (first.empty()) {
      return;
    }
    const Rendering &old = before(first);
    const Rendering &now = after(first);
    Excerpt part = old.body != now.body ? excerpt(old.body, now.body) : excerpt(old.text, now.text);
    std::string sentence;
    if (what == "tools") {
      bool had = before("tools").text.find("look_up_train") != std::string::npos;
      bool has = after("tools").text.find("look_up_train") != std::string::npos;
      sentence = had == has ? "Tools are shown to the model differently"
                 : has      ? "The template gained support for tools"
                            : "The template lost support for tools";
    } else {
      bool had = before("thinking-on").text != before("thinking-off").text;
      bool has = after("thinking-on").text != after("thinking-off").text;
      sentence = had == has ? "Reasoning is treated differently"
                 : has      ? "The template gained a switch for reasoning"
                            : "The template lost its switch for reasoning";
    }
    add(std::move(kind),
        fmt::format("{} ({}{}): the rendering {}.", sentence, first, more(count),
                    changed(part.before, part.after)),
        part.before, part.after);
    old.body != now.body ? show_in(old.body, now.body) : show_in(old.text, now.text);
  }

  void rest() {
    const ProbeDifference *first = nullptr;
    std::size_t count = 0;
    for (const ProbeDifference &difference : result_.probes) {
      bool grouped =
          std::find(explained_.begin(), explained_.end(), difference.probe) != explained_.end();
      if (difference.before_failed || difference.after_failed || grouped || !difference.ordinary) {
        continue;
      }
      bool plain = difference.probe.starts_with("single") || difference.probe == "multi" ||
                   difference.probe == "multi-end-assistant";
      if ((plain && (turn_changed_ || head_changed_ || prompt_changed_)) ||
          !own_difference(difference.probe)) {
        continue;
      }
      first = first == nullptr ? &difference : first;
      ++count;
    }
    bool said = std::any_of(
        result_.findings.begin(), result_.findings.end(),
        [](const TemplateFinding &finding) { return finding.kind == "template.rendering"; });
    if (first == nullptr || said) {
      return;
    }
    add("template.rendering",
        fmt::format("Conversations render differently ({}{}): {}.", first->ability, more(count),
                    changed(first->before, first->after)),
        first->before, first->after);
    show_in(before(first->probe).text, after(first->probe).text);
  }

  /// An edit that no ordinary request notices.
  void text_alone() {
    const auto odd = std::find_if(result_.probes.begin(), result_.probes.end(),
                                  [](const ProbeDifference &item) { return !item.ordinary; });
    if (odd == result_.probes.end()) {
      return add("template.text", "The text of the template changed; nothing that it renders did.",
                 "", "");
    }
    std::string what =
        odd->after_failed && !odd->before_failed ? "now fails: " + plain_text(odd->error_after)
        : odd->before_failed && !odd->after_failed
            ? "now renders, where it failed before: " + plain_text(odd->error_before)
        : odd->after_failed ? "fails with another error: " + plain_text(odd->error_after)
                            : "renders differently: " + changed(odd->before, odd->after);
    add("template.text",
        fmt::format("The text of the template changed; nothing that an ordinary request renders "
                    "did. A conversation that none sends ({}) {}.",
                    odd->ability, what),
        odd->before, odd->after);
  }

  void double_bos() {
    bool old = doubles_bos(before("single"), context_.tokens_before, context_.add_bos_token_before);
    bool now = doubles_bos(after("single"), context_.tokens_after, context_.add_bos_token_after);
    if (old == now) {
      return;
    }
    std::string bos = token(now ? context_.tokens_after : context_.tokens_before, "bos_token");
    add("template.double-bos",
        now ? fmt::format("Double BOS: the template writes {} and the tokenizer adds another "
                          "(add_bos_token).",
                          show_rendered(bos))
            : fmt::format("The double BOS is gone: {} stood twice before, once now.",
                          show_rendered(bos)),
        old ? bos + bos : bos, now ? bos + bos : bos);
  }

  std::string_view before_text_;
  std::string_view after_text_;
  const TemplateContext &context_;
  jinja::Limits limits_;
  Renderings before_;
  Renderings after_;
  TemplateComparison result_;
  std::vector<std::string_view> explained_;
  bool prompt_changed_ = false;
  bool turn_changed_ = false;
  bool head_changed_ = false;
};

} // namespace

std::string rendering_digest(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>> &tokens,
                             bool add_bos, const jinja::Limits &limits) {
  jinja::Limits small = limits;
  small.fuel_steps = std::min(limits.fuel_steps, probe_fuel);
  const auto parsed = jinja::parse(text, small);
  if (!parsed)
    return "does not parse";
  const Renderings all = render_all(*parsed, tokens, small);
  std::string made = fmt::format("{} stray\n", stray_delimiters(text).size());
  for (const jinja::Probe &probe : jinja::probe_conversations()) {
    const Rendering &rendering = all.find(probe.id)->second;
    if (probe.ordinary)
      made +=
          rendering.good ? rendering.text + '\0' + rendering.body + '\0' : std::string("\0fails");
    if (probe.id == "single" && doubles_bos(rendering, tokens, add_bos))
      made += "twice";
  }
  return sha256_hex(made);
}

TemplateComparison compare_templates(std::string_view before, std::string_view after,
                                     const TemplateContext &context, const jinja::Limits &limits) {
  return Comparison(before, after, context, limits).run();
}

} // namespace headwater::diff
