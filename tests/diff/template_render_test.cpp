#include "daemon/diff/template_render.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace headwater::diff {
namespace {

/// A ChatML template of our own with a place for each part that a test changes.
std::string chatml(const std::string &head, const std::string &close, const std::string &prompt) {
  return head + "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}" + close +
         "\n{% endfor %}{% if add_generation_prompt %}" + prompt + "{% endif %}";
}

const std::string plain = chatml("{{ bos_token }}", "<|im_end|>", "<|im_start|>assistant\n");

TemplateContext tokens() {
  TemplateContext context;
  context.tokens_before = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  context.tokens_after = context.tokens_before;
  return context;
}

std::string kinds(const TemplateComparison &comparison) {
  std::string out;
  for (const TemplateFinding &finding : comparison.findings) {
    out += (out.empty() ? "" : " ") + finding.kind;
  }
  return out;
}

struct Case {
  const char *name;
  std::string before;
  std::string after;
  std::string kinds;
  std::string says; ///< part of the first sentence
};

class TemplateEdit : public testing::TestWithParam<Case> {};

TEST_P(TemplateEdit, IsToldByWhatItRenders) {
  const Case &edit = GetParam();
  TemplateComparison comparison = compare_templates(edit.before, edit.after, tokens());
  EXPECT_EQ(kinds(comparison), edit.kinds);
  ASSERT_EQ(comparison.findings.empty(), edit.kinds.empty());
  if (!comparison.findings.empty()) {
    EXPECT_NE(comparison.findings[0].sentence.find(edit.says), std::string::npos)
        << comparison.findings[0].sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TemplateEdit,
    testing::Values(
        Case{"Same", plain, plain, "", ""},
        Case{"CommentAlone", plain, "{# note #}" + plain, "template.text",
             "nothing that it renders"},
        Case{"PromptGainsThink", plain,
             chatml("{{ bos_token }}", "<|im_end|>", "<|im_start|>assistant\n<think>\n"),
             "template.generation-prompt", "gained suffix `<think>\\n`"},
        Case{"PromptWrittenAlways",
             chatml("{{ bos_token }}", "<|im_end|>", "") + "{{ '<|im_start|>assistant\\n' }}",
             plain, "template.generation-prompt-unasked", "no longer written"},
        Case{"StrayDelimiter", plain, "{- bos_token -}}" + plain.substr(plain.find("{% for")),
             "template.does-not-parse", "does not lex (stray `}}`"},
        Case{"Unclosed", plain, plain + "{% if x %}", "template.does-not-parse", "does not parse"},
        Case{"Mended", plain + "{% if x %}", plain, "template.parses-again", "parses again"},
        Case{"BothBroken", plain + "{% if x %}", plain + "{% if y %}", "template.text",
             "does not parse"},
        Case{"TurnMarker", plain, chatml("{{ bos_token }}", "<|eot|>", "<|im_start|>assistant\n"),
             "template.turn-marker", "between turns"},
        Case{"DefaultSystemPrompt", plain,
             chatml("{{ bos_token }}{% if messages and messages[0].role != 'system' "
                    "%}<|im_start|>system\nBe kind."
                    "<|im_end|>\n{% endif %}",
                    "<|im_end|>", "<|im_start|>assistant\n"),
             "template.system-prompt", "default system prompt"},
        Case{"ToolsGained", plain,
             chatml("{{ bos_token }}{% if tools %}<tools>{{ tools|tojson }}</tools>{% endif %}",
                    "<|im_end|>", "<|im_start|>assistant\n"),
             "template.tools", "gained support for tools"},
        Case{"ToolsLost",
             chatml("{{ bos_token }}{% if tools %}<tools>{{ tools|tojson }}</tools>{% endif %}",
                    "<|im_end|>", "<|im_start|>assistant\n"),
             plain, "template.tools", "lost support for tools"},
        Case{"ReasoningSwitch", plain,
             chatml("{{ bos_token }}", "<|im_end|>",
                    "<|im_start|>assistant\n{% if enable_thinking is defined and not "
                    "enable_thinking %}<think></think>"
                    "{% endif %}"),
             "template.reasoning", "gained a switch for reasoning"},
        Case{"WhiteSpace", plain,
             chatml("{{ bos_token }}", "<|im_end|>\n", "<|im_start|>assistant\n"),
             "template.whitespace", "Only white space"},
        Case{"Raises", plain,
             "{% if messages and messages[0].role == 'system' %}{{ raise_exception('no system') "
             "}}{% endif %}" +
                 plain,
             "template.raises", "no system"},
        Case{"RaisesWithoutAnyMessage", plain,
             "{{ bos_token }}{% if messages[0].role == 'system' %}{% endif %}" +
                 plain.substr(plain.find("{% for")),
             "template.text", "no message at all) now fails: UndefinedError"},
        Case{"RaisesForUnknownRoles", plain,
             "{% for m in messages if m.role not in ['user', 'assistant', 'system', 'tool', "
             "'developer'] %}{{ raise_exception('unknown role') }}{% endfor %}" +
                 plain,
             "template.text", "an ordinary request"},
        Case{"NoLongerRaises",
             "{% if messages and messages[0].role == 'system' %}{{ raise_exception('no system') "
             "}}{% endif %}" +
                 plain,
             plain, "template.renders-again", "failed before"},
        Case{"Rendering", plain,
             "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ "
             "m.content|replace('漢', '汉') }}"
             "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% "
             "endif %}",
             "template.rendering", "render differently"}),
    [](const testing::TestParamInfo<Case> &parameter) {
      return std::string(parameter.param.name);
    });

TEST(TemplateCompare, BosIsDoubledWhenTheTokenizerAddsOneToo) {
  TemplateContext context = tokens();
  context.add_bos_token_after = true;
  TemplateComparison there = compare_templates(plain, plain, context);
  ASSERT_EQ(kinds(there), "template.double-bos");
  EXPECT_NE(there.findings[0].sentence.find("Double BOS"), std::string::npos);
  std::swap(context.add_bos_token_before, context.add_bos_token_after);
  TemplateComparison back = compare_templates(plain, plain, context);
  ASSERT_EQ(kinds(back), "template.double-bos");
  EXPECT_NE(back.findings[0].sentence.find("gone"), std::string::npos);
}

TEST(TemplateCompare, BalancedBracesOfAnExampleAreNoStrayDelimiter) {
  TemplateComparison comparison =
      compare_templates(plain, plain + "{# c #}{\"a\": {\"b\": {}}}", tokens());
  EXPECT_EQ(kinds(comparison).find("does-not-parse"), std::string::npos) << kinds(comparison);
}

TEST(TemplateCompare, ProbesSayWhichConversationsDiffer) {
  TemplateComparison comparison = compare_templates(
      plain, chatml("{{ bos_token }}", "<|im_end|>", "<|im_start|>model\n"), tokens());
  ASSERT_FALSE(comparison.probes.empty());
  EXPECT_EQ(comparison.probes[0].probe, "single");
  EXPECT_EQ(comparison.probes[0].before, "assistant");
  EXPECT_EQ(comparison.probes[0].after, "model");
}

TEST(TemplateCompare, AFindingShowsTheRenderedPromptOfBothSides) {
  TemplateComparison comparison = compare_templates(
      plain, chatml("{{ bos_token }}", "<|im_end|>", "<|im_start|>assistant\n<think>\n"), tokens());
  ASSERT_EQ(comparison.findings.size(), 1U);
  EXPECT_EQ(comparison.findings[0].after, "<think>\n");
  const std::string prompt = "<s><|im_start|>user\nGood morning<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(comparison.findings[0].prompt_before, prompt);
  EXPECT_EQ(comparison.findings[0].prompt_after, prompt + "<think>\n");
  TemplateComparison failing = compare_templates(plain, "{{ raise_exception('no') }}", tokens());
  ASSERT_FALSE(failing.findings.empty());
  EXPECT_NE(failing.findings[0].prompt_before.find("Good morning"), std::string::npos);
  EXPECT_EQ(failing.findings[0].prompt_after, "TemplateError: no");
}

TEST(TemplateCompare, LongRenderingsAreCutToWhatSurroundsTheDifference) {
  const std::string filler(3000, 'x');
  TemplateComparison comparison = compare_templates(
      filler + plain, filler + chatml("{{ bos_token }}", "<|eot|>", "<|im_start|>assistant\n"),
      tokens());
  ASSERT_FALSE(comparison.findings.empty());
  EXPECT_LT(comparison.findings[0].prompt_before.size(), 2000U);
  EXPECT_TRUE(comparison.findings[0].prompt_before.starts_with("\u2026"));
  EXPECT_NE(comparison.findings[0].prompt_after.find("<|eot|>"), std::string::npos);
}

TEST(TemplateCompare, HostileTemplateEnds) {
  std::string endless =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  TemplateComparison comparison = compare_templates(plain, endless, tokens());
  ASSERT_FALSE(comparison.findings.empty());
  EXPECT_EQ(comparison.findings[0].kind, "template.raises");
}

} // namespace
} // namespace headwater::diff
