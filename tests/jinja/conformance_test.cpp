#include "daemon/jinja/jinja.hpp"
#include "tests/folders.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::jinja {
namespace {

const Clock table_time = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} +
                         std::chrono::hours{3} + std::chrono::minutes{4} + std::chrono::seconds{5} +
                         std::chrono::microseconds{678};

/// What a case shows: the output with its spans, or the error as jinja2 has it. Python's own
/// compiler names a line of generated code in its message, which says nothing about a template.
std::string shown(const OrderedJson &row) {
  if (row.contains("output")) {
    std::string spans = row.contains("spans") ? row["spans"].dump() : "[]";
    return "output: " + row["output"].get<std::string>() + " spans: " + spans;
  }
  auto error = row["error"].get<std::string>();
  auto message = row["message"].get<std::string>();
  if (std::size_t at = message.find(" (<template>, line "); at != std::string::npos) {
    message.resize(at);
  }
  return error + ": " + message + " line " + std::to_string(row.value("line", 0));
}

OrderedJson ours(const std::string &source, const Variables &variables) {
  OrderedJson row;
  auto failed = [&](const TemplateError &error) {
    row["error"] = error.error;
    row["message"] = error.message;
    row["line"] = error.line;
    return row;
  };
  auto parsed = parse(source);
  if (!parsed) {
    return failed(parsed.error());
  }
  auto rendered = render(*parsed, variables, {}, table_time);
  if (!rendered) {
    return failed(rendered.error());
  }
  row["output"] = rendered->output;
  if (!rendered->generation.empty()) {
    row["spans"] = OrderedJson::array();
    for (const Span &span : rendered->generation) {
      row["spans"].push_back({span.begin, span.end});
    }
  }
  return row;
}

TEST(Conformance, EachCaseGivesWhatJinja2Gives) {
  std::ifstream in(headwater::test::source_folder() / "tests/data/jinja/conformance.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  Variables variables = make_variables(OrderedJson::parse(line, nullptr, false)["variables"]);
  int total = 0;
  int same = 0;
  while (std::getline(in, line)) {
    OrderedJson row = OrderedJson::parse(line, nullptr, false);
    ASSERT_FALSE(row.is_discarded());
    auto source = row["template"].get<std::string>();
    std::string want = shown(row);
    std::string got = shown(ours(source, variables));
    ++total;
    same += static_cast<int>(want == got);
    EXPECT_EQ(want, got) << source;
  }
  std::printf("%d of %d cases as jinja2 has them\n", same, total);
  EXPECT_GE(total, 500);
}

} // namespace
} // namespace headwater::jinja
