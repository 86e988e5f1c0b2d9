#include "daemon/cli/plan.hpp"
#include "daemon/cli/table.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace headwater::cli {
namespace {

constexpr int bar_width = 32;
constexpr std::size_t text_width = 96;

/// Terminal styles, all empty without colour.
class Ink {
public:
  explicit Ink(bool colour) : colour_(colour) {}
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string faint(std::string_view text) const { return paint("2", text); }
  std::string good(std::string_view text) const { return paint("32", text); }
  std::string warn(std::string_view text) const { return paint("33", text); }
  std::string bad(std::string_view text) const { return paint("31", text); }
  std::string first(std::string_view text) const { return paint("34", text); }
  std::string second(std::string_view text) const { return paint("36", text); }

private:
  std::string paint(std::string_view code, std::string_view text) const {
    if (!colour_ || text.empty())
      return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }
  bool colour_;
};

std::string repeated(std::string_view mark, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += mark;
  return text;
}

/// Breaks a sentence at spaces; lines after the first are indented.
std::string wrapped(std::string_view text, std::string_view first, std::string_view rest) {
  std::string result(first);
  std::size_t column = first.size();
  std::size_t begin = 0;
  bool fresh = true;
  while (begin < text.size()) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string_view::npos)
      end = text.size();
    const std::string_view word = text.substr(begin, end - begin);
    if (!fresh && column + 1 + word.size() > text_width) {
      result += '\n';
      result += rest;
      column = rest.size();
      fresh = true;
    }
    if (!fresh)
      result += ' ';
    result += word;
    column += word.size() + (fresh ? 0 : 1);
    fresh = false;
    begin = end + 1;
  }
  return result + '\n';
}

std::string bytes(std::int64_t count) {
  return print_bytes(static_cast<double>(count));
}

struct Part {
  std::string_view name;
  std::int64_t bytes;
};

/// Two marks: what stays whatever the batch, and what grows with it.
std::string bar(const Ink &ink, std::int64_t fixed, std::int64_t total, std::int64_t longest) {
  if (longest <= 0 || total <= 0)
    return {};
  const double scale = bar_width / static_cast<double>(longest);
  const int whole = std::max(1, static_cast<int>(static_cast<double>(total) * scale + 0.5));
  const int solid =
      std::clamp(static_cast<int>(static_cast<double>(fixed) * scale + 0.5), 0, whole);
  return ink.first(repeated("█", solid)) + ink.second(repeated("▒", whole - solid)) +
         repeated(" ", bar_width - whole);
}

std::string memory_line(const Ink &ink, std::string_view name, std::int64_t total,
                        const std::vector<Part> &parts, std::int64_t longest) {
  std::string made;
  for (const Part &part : parts) {
    if (part.bytes == 0)
      continue;
    made += fmt::format("{}{} {}", made.empty() ? "" : " + ", part.name, bytes(part.bytes));
  }
  return fmt::format("  {:<15} {:>9}  {}  {}\n", name, bytes(total),
                     bar(ink, parts.front().bytes, total, longest), ink.faint(made));
}

std::string memory_section(const Plan &plan, const Ink &ink) {
  const PlanMemory &memory = *plan.memory;
  std::string text = ink.bold("Memory") +
                     fmt::format("  batch {}, {} tokens to train, {} to serve, {} model\n",
                                 memory.batch, memory.train_seq, memory.serve_seq, memory.model);
  const std::int64_t longest =
      std::max({memory.full_fine_tune_bytes, memory.lora_bytes, memory.serve_bytes});
  text += memory_line(
      ink, "full fine-tune", memory.full_fine_tune_bytes,
      {{"states", memory.full_states_bytes}, {"activations", memory.full_activation_bytes}},
      longest);
  text += memory_line(ink, "LoRA r16", memory.lora_bytes,
                      {{"base", memory.lora_base_bytes},
                       {"adapters", memory.lora_adapter_bytes},
                       {"activations", memory.lora_activation_bytes}},
                      longest);
  text += memory_line(ink, "serve", memory.serve_bytes,
                      {{"weights", memory.serve_weights_bytes},
                       {"KV cache", memory.kv_cache_bytes},
                       {"recurrent state", memory.recurrent_state_bytes}},
                      longest);
  text += fmt::format("  conservative peak: full fine-tune {}, LoRA {}\n",
                      bytes(memory.conservative_bytes), bytes(memory.lora_conservative_bytes));
  for (const PlanCache &cache : memory.caches) {
    text += fmt::format("  {} {}: {}", cache.layers, cache.layers == 1 ? "layer" : "layers",
                        cache.kind);
    if (cache.bytes_per_token > 0) {
      text += fmt::format(", {:.4g} KB a token", static_cast<double>(cache.bytes_per_token) / 1024);
    }
    text += fmt::format(", {}\n", bytes(cache.bytes));
  }
  return text + '\n';
}

std::string verdict(const Ink &ink, const CardFit &fit) {
  const std::string words = fit.kind == CardFit::Kind::no ? "does not fit" : to_string(fit);
  if (fit.kind == CardFit::Kind::no)
    return ink.faint(words);
  if (fit.kind == CardFit::Kind::two || fit.borderline)
    return ink.warn(words);
  return ink.good(words);
}

std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    result += "  ";
    result += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string card_section(const Plan &plan, const Ink &ink) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanCard &card : plan.cards) {
    rows.push_back(
        {card.card, verdict(ink, card.full), verdict(ink, card.lora), verdict(ink, card.serve)});
  }
  std::string text = ink.bold("Cards") + "  largest batch that fits\n";
  text += indented(format_table({"card", "full fine-tune", "LoRA", "serve"}, rows));
  const auto sharded = [&](std::string_view use, const std::string &need) {
    if (!need.empty())
      text += fmt::format("  {}: sharded, {}, by memory alone\n", use, need);
  };
  sharded("full fine-tune", plan.sharded.full);
  sharded("LoRA", plan.sharded.lora);
  sharded("serve", plan.sharded.serve);
  return text + '\n';
}

std::string finding_section(const Plan &plan, const Ink &ink) {
  std::string text = ink.bold("Findings");
  text += fmt::format("  will it forward-pass: {}\n",
                      forward_passes(plan) ? ink.good("yes") : ink.bad("no"));
  if (plan.findings.empty())
    text += "  none\n";
  for (const PlanFinding &finding : plan.findings) {
    const std::string word = fmt::format("{:<5}", finding.severity);
    const std::string severity = finding.severity == "block"  ? ink.bad(word)
                                 : finding.severity == "warn" ? ink.warn(word)
                                                              : ink.faint(word);
    text += fmt::format("  {} {}\n", severity, ink.bold(finding.id));
    text += wrapped(plain_text(finding.message, 400), "        ", "        ");
    std::string fix = wrapped(plain_text(finding.fix, 400), "        ", "        ");
    fix.pop_back();
    text += ink.faint(fix) + '\n';
  }
  if (!plan.muted.empty())
    text += fmt::format("  accepted: {}\n", fmt::join(plan.muted, ", "));
  return text + '\n';
}

std::string head_section(const Plan &plan, const Ink &ink) {
  const std::string name = plan.repo.empty() ? plan.source : plan.repo;
  std::string text = ink.bold(plain_text(name));
  if (!plan.revision.empty())
    text += " @ " + plain_text(plan.revision, 40);
  text += "\n  " + plain_text(plan.model_type, 80);
  if (!plan.family.empty() && plan.family != plan.model_type) {
    text += fmt::format(", read as {}", plan.family);
  }
  text += fmt::format("; reading {}",
                      plan.reading == "exact" ? ink.good(plan.reading) : ink.warn(plan.reading));
  if (plan.custom_code)
    text += "; the repo brings its own code";
  text += '\n';
  if (!plan.reading_note.empty())
    text += wrapped(plain_text(plan.reading_note, 600), "  ", "  ");
  if (plan.parameters && plan.parameters->total > 0) {
    const PlanParameters &parameters = *plan.parameters;
    text += fmt::format("  {} parameters ({})", ink.bold(print_parameters(parameters.total)),
                        with_thousands(parameters.total));
    if (parameters.active != parameters.total) {
      text += fmt::format(", {} active", print_parameters(parameters.active));
    }
    if (parameters.mtp > 0) {
      text += fmt::format(", {} of them multi-token prediction", print_parameters(parameters.mtp));
    }
    text += '\n';
    if (parameters.published) {
      text += fmt::format("  published: {} ({})\n", with_thousands(*parameters.published),
                          parameters.delta);
    }
  }
  if (plan.parameters && plan.parameters->stored) {
    text += fmt::format("  stored: {} scalars\n", with_thousands(*plan.parameters->stored));
  }
  if (plan.layers > 0) {
    text += fmt::format("  drawn as {} nodes", plan.layers);
    if (plan.context > 0)
      text += fmt::format(", context {} tokens", with_thousands(plan.context));
    text += '\n';
  }
  return text + '\n';
}

std::string shape_text(const std::vector<std::int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

} // namespace

std::string plan_page(const Plan &plan, bool colour) {
  const Ink ink(colour);
  std::string text = head_section(plan, ink);
  if (plan.memory) {
    text += memory_section(plan, ink);
    text += card_section(plan, ink);
  }
  if (plan.cost) {
    text += ink.bold("Cost") + fmt::format("  one run on {}: about ${:.2f}\n\n", plan.cost->card,
                                           plan.cost->one_run_usd);
  }
  if (!plan.structure.empty())
    text += finding_section(plan, ink);
  if (plan.reading == "unknown") {
    text += wrapped("No figure is guessed. Where the weight files are at hand, --reconcile FOLDER "
                    "counts what they hold.",
                    "  ", "  ");
  }
  if (!plan.regime.empty() || !plan.rests_on.empty()) {
    text += ink.bold("What this rests on") + "\n";
    if (!plan.regime.empty())
      text += wrapped(plan.regime, "  - ", "    ");
    for (const std::string &line : plan.rests_on)
      text += wrapped(line, "  - ", "    ");
  }
  if (!plan.tensors.empty()) {
    text += fmt::format("\n{}  {}\n", ink.bold("Tensors"), plan.tensors.size());
    for (const PlanTensor &tensor : plan.tensors) {
      text += fmt::format("  {} {}{}\n", plain_text(tensor.name), shape_text(tensor.shape),
                          tensor.tied_to.empty() ? "" : " = " + plain_text(tensor.tied_to));
    }
  }
  return text;
}

std::string reconciliation_page(const Reconciliation &reconciliation, bool colour) {
  constexpr std::size_t shown = 20;
  const Ink ink(colour);
  std::string text =
      fmt::format("\n{}  {} tensors in {} files, {} as derived\n", ink.bold("Headers"),
                  reconciliation.stored_tensors, reconciliation.files, reconciliation.equal);
  const auto list = [&](std::string_view title, const std::vector<std::string> &names) {
    if (names.empty())
      return;
    text += fmt::format("  {}: {}\n", ink.warn(title), names.size());
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) {
      text += "    " + plain_text(names[i]) + '\n';
    }
    if (names.size() > shown)
      text += fmt::format("    and {} more\n", names.size() - shown);
  };
  list("built, not stored", reconciliation.missing);
  list("stored, not built", reconciliation.extra);
  std::vector<std::string> shapes;
  for (const Reconciliation::OtherShape &other : reconciliation.other_shape) {
    shapes.push_back(fmt::format("{} derived {} stored {}", other.name, shape_text(other.derived),
                                 shape_text(other.stored)));
  }
  list("other shape", shapes);
  if (reconciliation.agrees())
    text += "  " + ink.good("every tensor agrees") + '\n';
  return text;
}

} // namespace headwater::cli
