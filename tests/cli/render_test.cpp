#include "daemon/cli/render.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

class RenderVerb : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("headwater-render-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    write("v.json",
          R"({"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true})");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string &name, const std::string &text) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  Outcome run(const std::string &source, bool json = false, const std::string &now = "",
              const std::string &variables = "v.json") const {
    std::ostringstream out;
    std::ostringstream err;
    const RenderOptions options{source, (folder_ / variables).string(), now, json};
    const int code = run_render(options, out, err);
    return {code, out.str(), err.str()};
  }

  fs::path folder_;
};

TEST_F(RenderVerb, WritesThePromptAndNothingElse) {
  const std::string file =
      write("t.jinja", "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
  const Outcome plain = run(file);
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.out, "<user>hi");
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(run(file, true).out, "{\"output\":\"<user>hi\"}\n");
}

TEST_F(RenderVerb, AnErrorOfSyntaxNamesItsLine) {
  const std::string file = write("t.jinja", "a\n{% if %}");
  const Outcome json = run(file, true);
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(json.out,
            "{\"error\":\"TemplateSyntaxError\",\"message\":\"Expected an expression, got "
            "'end of statement block'\",\"line\":2}\n");
  const Outcome plain = run(file);
  EXPECT_EQ(plain.code, 1);
  EXPECT_EQ(plain.out, "");
  EXPECT_NE(plain.err.find("line 2: TemplateSyntaxError: Expected"), std::string::npos)
      << plain.err;
}

TEST_F(RenderVerb, AnErrorWhileRenderingSaysWhatPythonWould) {
  const std::string file = write("t.jinja", "a\n{{ messages[0].content + 1 }}");
  EXPECT_EQ(run(file, true).out,
            "{\"error\":\"TypeError\",\"message\":\"can only concatenate str (not "
            "\\\"int\\\") to str\",\"near_line\":2}\n");
  EXPECT_NE(run(file).err.find("near line 2: TypeError"), std::string::npos);
}

TEST_F(RenderVerb, ShowsTheTimeThatIsGiven) {
  const std::string file = write("t.jinja", "{{ strftime_now('%d %b %Y %H:%M') }}");
  EXPECT_EQ(run(file, false, "2025-03-04T05:06:07Z").out, "04 Mar 2025 05:06");
  EXPECT_EQ(run(file, false, "yesterday").code, 2);
}

TEST_F(RenderVerb, AFolderGivesTheTemplateThatItsTokenizerFinds) {
  write("processor/chat_template.json", R"({"chat_template": "processor {{ messages|length }}"})");
  EXPECT_EQ(run((folder_ / "processor").string()).out, "processor 1");
  write(
      "m/tokenizer_config.json",
      R"({"bos_token": {"content": "<s>"}, "chat_template": [{"name": "default", "template": "D{{ bos_token }}"},
            {"name": "tool_use", "template": "T{{ tools|length }}"}, {"name": "rag", "template": "R"}]})");
  write("tools.json", R"({"messages": [], "tools": [{}, {}]})");
  const std::string folder = (folder_ / "m").string();
  EXPECT_EQ(run(folder).out, "D<s>");
  EXPECT_EQ(run(folder, false, "", "tools.json").out, "T2");
  write("m/chat_template.jinja", "J{{ bos_token }}");
  EXPECT_EQ(run(folder).out, "J<s>");
  write("m/additional_chat_templates/tool_use.jinja", "A");
  EXPECT_EQ(run(folder, false, "", "tools.json").out, "A");
}

TEST_F(RenderVerb, AFolderWithoutADefaultNamesWhatItHas) {
  write(
      "m/tokenizer_config.json",
      R"({"chat_template": [{"name": "rag", "template": "R"}, {"name": "chat", "template": "C"}]})");
  const Outcome outcome = run((folder_ / "m").string());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("no default template; there are: rag, chat"), std::string::npos)
      << outcome.err;
  write("bare/config.json", "{}");
  EXPECT_NE(run((folder_ / "bare").string()).err.find("no chat template here"), std::string::npos);
}

TEST_F(RenderVerb, BadInputIsTold) {
  const std::string file = write("t.jinja", "x");
  write("list.json", "[]");
  write("broken.json", "{");
  EXPECT_EQ(run(file, false, "", "list.json").code, 2);
  EXPECT_EQ(run(file, false, "", "broken.json").code, 2);
  EXPECT_EQ(run(file, false, "", "missing.json").code, 2);
  EXPECT_EQ(run((folder_ / "missing.jinja").string()).code, 2);
}

} // namespace
} // namespace headwater::cli
