#include "daemon/jinja/jinja.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::jinja {
namespace {

namespace fs = std::filesystem;

/// "output", or the error's class, of a template without variables under the default limits.
std::string outcome(std::string_view source, const Limits &limits = {}) {
  auto parsed = parse(source, limits);
  if (!parsed) {
    return parsed.error().error;
  }
  auto rendered = render(*parsed, Variables(), limits, Clock{});
  return rendered ? "output" : rendered.error().error;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

/// The text for each number below `count`, the number in place of '#'.
std::string numbered(std::string_view text, int count) {
  std::string out;
  std::size_t mark = text.find('#');
  for (int i = 0; i < count; ++i) {
    out +=
        std::string(text.substr(0, mark)) + std::to_string(i) + std::string(text.substr(mark + 1));
  }
  return out;
}

struct Hostile {
  const char *name;
  std::string source;
};

class HostileTemplate : public testing::TestWithParam<Hostile> {};

TEST_P(HostileTemplate, EndsWithAnError) {
  std::string got = outcome(GetParam().source);
  EXPECT_NE(got, "output") << GetParam().source.substr(0, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, HostileTemplate,
    testing::Values(
        Hostile{"NestedLoops",
                "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"},
        Hostile{"LongRange", "{% for a in range(999999999999) %}{% endfor %}"},
        Hostile{"LongText", "{{ 'a' * 99999999999 }}"},
        Hostile{"LongList", "{{ [1] * 99999999999 }}"},
        Hostile{"DoublingText", "{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s "
                                "= n.s ~ n.s %}{% endfor %}"},
        Hostile{"DoublingLists", "{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l "
                                 "= [n.l, n.l] %}{% endfor %}{{ n.l }}"},
        Hostile{"ComparingSharedLists", "{% set n = namespace(a=[1], b=[1]) %}{% for i in "
                                        "range(99) %}{% set n.a = [n.a, n.a] %}"
                                        "{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}"},
        Hostile{"HashingSharedTuples", "{% set n = namespace(a=(1,)) %}{% for i in range(99) %}{% "
                                       "set n.a = (n.a, n.a) %}{% endfor %}{{ {n.a: 1} }}"},
        Hostile{"DoublingJson", "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l "
                                "= [n.l, n.l] %}{% endfor %}{{ n.l|tojson }}"},
        Hostile{"HugePower", "{{ 9 ** (9 ** 9) }}"},
        Hostile{"HugeProduct", "{% set n = namespace(x=2**60) %}{% for i in range(60) %}{% set n.x "
                               "= n.x * n.x %}{% endfor %}"},
        Hostile{"LongNumber", "{{ 10 ** 5000 }}"}, Hostile{"WideFormat", "{{ '%999999999d' % 1 }}"},
        Hostile{"WideBraces", "{{ '{:999999999}'.format(1) }}"},
        Hostile{"WideCenter", "{{ 'x'.center(9999999999) }}"},
        Hostile{"WideIndent", "{{ 'a\nb'|indent(9999999999) }}"},
        Hostile{"WideJson", "{{ [1]|tojson(indent=9999999999) }}"},
        Hostile{"ManyReplacements", "{% set a = 'a' * 100000 %}{{ a.replace('a', a) }}"},
        Hostile{"ManyJoins", "{% set a = 'a' * 100000 %}{{ a.join(a) }}"},
        Hostile{"ManyBatches", "{{ [1]|batch(9999999999, 0)|list }}"},
        Hostile{"ManySlices", "{{ [1]|slice(9999999999)|list }}"},
        Hostile{"Tabs", "{{ 'a\tb'.expandtabs(9999999999) }}"},
        Hostile{"SelfRecursion", "{% macro a(n) %}{{ a(n + 1) }}{% endmacro %}{{ a(0) }}"},
        Hostile{"MutualRecursion", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() "
                                   "}}{% endmacro %}{{ a() }}"},
        Hostile{"RecursionThroughDeepBlocks", "{% macro a() %}" + repeated("{% if 1 %}", 90) +
                                                  "{{ a() }}" + repeated("{% endif %}", 90) +
                                                  "{% endmacro %}{{ a() }}"},
        Hostile{"RecursiveLoop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
        Hostile{"FanOut", "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% "
                          "endmacro %}{{ a(60) }}"},
        Hostile{"Parentheses", "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}"},
        Hostile{"Brackets", "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}"},
        Hostile{"LongSum", "{{ 1" + repeated("+1", 50000) + " }}"},
        Hostile{"LongAttributes", "{{ a" + repeated(".a", 50000) + " }}"},
        Hostile{"Nots", "{{ " + repeated("not ", 50000) + "1 }}"},
        Hostile{"Minuses", "{{ " + repeated("-", 50000) + "1 }}"},
        Hostile{"Conditions", "{{ 1" + repeated(" if 1 else 1", 50000) + " }}"},
        Hostile{"NestedIfs", repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000)},
        Hostile{"NestedLoopsInText",
                repeated("{% for a in [1] %}", 60) + repeated("{% endfor %}", 60)},
        Hostile{"Braces", repeated("{", 1 << 20)}, Hostile{"Openings", repeated("{{", 1 << 19)},
        Hostile{"Tags", repeated("{%", 1 << 19)}, Hostile{"Unclosed", "{% for m in messages %}"},
        Hostile{"ManyNames", numbered("{{ a# }}", 60000)},
        Hostile{"ManyMacros", numbered("{% macro m#() %}{% endmacro %}", 20000)},
        Hostile{"ManyBlocks", numbered("{% block b# %}{% endblock %}", 20000)},
        Hostile{"ManyTokens", "{{ [" + repeated("1,", 200000) + "] }}"},
        Hostile{"NamesInNestedScopes", repeated("{% with a=1 %}", 90) + numbered("{{ v# }}", 3900) +
                                           repeated("{% endwith %}", 90)},
        Hostile{"StoresInNestedBranches", repeated("{% if 1 %}", 60) +
                                              numbered("{% set v# = 1 %}", 3900) +
                                              repeated("{% endif %}", 60)},
        Hostile{"NamedCharacters", "{{ '" + repeated("\\N{SNOWMAN}", 20000) + "' }}"},
        Hostile{"NarrowWrap", "{{ ('a' * 3000000)|wordwrap(1) }}"},
        Hostile{"BracketsAroundAddresses", "{{ ('(' * 3000000)|urlize }}"},
        Hostile{"ManyPrecisions", "{% for i in range(99999) %}{{ '%.9999f' % 1e308 }}{% endfor %}"},
        Hostile{"ManyTimes", "{{ strftime_now('%c' * 300000) }}"},
        Hostile{"ManyWords", "{% set a = 'ab ' * 90000 %}{% for i in range(99999) %}{% set b = "
                             "a|wordcount %}{% endfor %}"},
        Hostile{"ManyJsonTexts", "{% set a = 'ab ' * 90000 %}{% for i in range(99999) %}{% set b = "
                                 "a|tojson %}{% endfor %}"},
        Hostile{"ManyEntities", "{% set a = '&' * 300000 %}{% for i in range(99999) %}{% set b = "
                                "a|striptags %}{% endfor %}"},
        Hostile{"Quadratic",
                "{% set a = 'ab' * 200000 %}{% for i in range(99999) %}{{ 'x' in a }}{% endfor %}"},
        Hostile{"ManyEscapes", "{% set a = '<' * 1000000 %}{% for i in range(9999) %}{% set b = "
                               "a|escape %}{% endfor %}"},
        Hostile{"BigSort", "{% set a = range(99999)|list %}{% for i in range(99) %}{% set b = "
                           "a|sort(reverse=true) %}{% endfor %}"},
        Hostile{"AttributeEscape", "{{ ''.__class__.__mro__[1].__subclasses__() }}"},
        Hostile{"InvalidUtf8", "{{ a }}\xff\xfe"}, Hostile{"UnknownTag", "{% frobnicate %}"}),
    [](const testing::TestParamInfo<Hostile> &parameter) {
      return std::string(parameter.param.name);
    });

TEST(Limits, FuelIsConfigurable) {
  Limits limits;
  limits.fuel_steps = 100;
  EXPECT_EQ(outcome("{% for i in range(200) %}{{ i }}{% endfor %}", limits), "LimitExceeded");
  EXPECT_EQ(outcome("{% for i in range(200) %}{{ i }}{% endfor %}"), "output");
}

TEST(Limits, OutputIsBounded) {
  Limits limits;
  limits.output_bytes = 10;
  EXPECT_EQ(outcome("{{ 'x' * 11 }}", limits), "LimitExceeded");
  EXPECT_EQ(outcome("{{ 'x' * 10 }}", limits), "output");
}

TEST(Limits, MemoryIsBounded) {
  Limits limits;
  limits.allocation_bytes = 100'000;
  EXPECT_EQ(outcome("{% set a = 'x' * 200000 %}", limits), "LimitExceeded");
  EXPECT_EQ(outcome("{% set a = 'x' * 200000 %}"), "output");
}

TEST(Limits, CallDepthIsBounded) {
  Limits limits;
  limits.call_depth = 5;
  std::string source =
      "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(8) }}";
  EXPECT_EQ(outcome(source, limits), "RecursionError");
  EXPECT_EQ(outcome(source), "output");
}

TEST(Limits, SourceIsBounded) {
  Limits limits;
  limits.source_bytes = 4;
  EXPECT_EQ(outcome("12345", limits), "LimitExceeded");
}

TEST(Limits, ErrorsSayWhere) {
  auto parsed = parse("a\n{{ 1 }}\n{% frob %}\n");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().line, 3);
  auto bytes = parse("a\nb\xff");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().error, "UnicodeDecodeError");
  EXPECT_EQ(bytes.error().line, 2);
  auto rendered = render(*parse("a\n\n{{ 1 / 0 }}"), Variables(), {}, Clock{});
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().error, "ZeroDivisionError");
  EXPECT_EQ(rendered.error().line, 0);
  EXPECT_EQ(rendered.error().near_line, 3);
}

TEST(Limits, NulIsAnOrdinaryCharacterOfText) {
  auto rendered = render(*parse(std::string_view("a\0b", 3)), Variables(), {}, Clock{});
  ASSERT_TRUE(rendered);
  EXPECT_EQ(rendered->output, std::string("a\0b", 3));
}

TEST(Limits, OneTemplateAndItsVariablesServeManyThreads) {
  auto parsed =
      parse("{% for m in messages %}{{ m.role }}{{ m.content|upper }}{{ d[m.role] }}{% endfor %}");
  ASSERT_TRUE(parsed);
  Variables variables = make_variables(OrderedJson::parse(
      R"({"messages":[{"role":"a","content":"x"},{"role":"b","content":"y"}],"d":{"a":1,"b":2}})"));
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(4);
  for (std::string &output : outputs) {
    threads.emplace_back([&parsed, &variables, &output] {
      for (int i = 0; i < 50; ++i) {
        output = render(*parsed, variables, {}, Clock{})->output;
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const std::string &output : outputs) {
    EXPECT_EQ(output, "aX1bY2");
  }
}

TEST(Limits, BadTemplatesOfTheCorpusGiveErrorsWithAPlace) {
  const std::optional<fs::path> folder = headwater::test::shared_path("corpus/bad");
  if (!folder) {
    GTEST_SKIP() << "no corpus here";
  }
  int seen = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(*folder)) {
    if (entry.path().extension() != ".jinja") {
      continue;
    }
    ++seen;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto parsed = parse(text.str());
    if (!parsed) {
      EXPECT_TRUE(parsed.error().line > 0 || parsed.error().limit ||
                  parsed.error().error == "IndentationError")
          << entry.path() << parsed.error().error;
      continue;
    }
    auto rendered = render(*parsed, Variables(), {}, Clock{});
    // A byte order mark and carriage returns are odd, not wrong.
    bool fine = entry.path().filename() == "crlf-and-bom.jinja";
    EXPECT_EQ(rendered.has_value(), fine) << entry.path();
    if (!rendered) {
      EXPECT_GT(rendered.error().near_line, 0) << entry.path();
    }
  }
  EXPECT_GT(seen, 0);
}

} // namespace
} // namespace headwater::jinja
