#include "daemon/cli/render.hpp"

#include "daemon/jinja/jinja.hpp"
#include "schemas/json.hpp"
#include "schemas/time.hpp"

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {

namespace {

namespace fs = std::filesystem;

constexpr int exit_fine = 0;
constexpr int exit_does_not_render = 1;
constexpr int exit_bad_input = 2;
constexpr std::size_t most_bytes = 64U << 20U;

Result<std::string> read_text(const fs::path &path) {
  std::error_code failed;
  std::uintmax_t size = fs::file_size(path, failed);
  if (failed) {
    return fail(Errc::bad_input, fmt::format("{}: {}", path.string(), failed.message()));
  }
  if (size > most_bytes) {
    return fail(Errc::bad_input,
                fmt::format("{}: larger than {} bytes", path.string(), most_bytes));
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    return fail(Errc::bad_input, fmt::format("{}: cannot be read", path.string()));
  }
  return text.str();
}

/// What tokenizer_config.json says that matters here.
struct TokenizerConfig {
  OrderedJson json = OrderedJson::object();

  /// A special token, which may be a text or an object with its text under "content".
  void add_tokens(OrderedJson &variables) const {
    for (const char *name : {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token",
                             "cls_token", "mask_token"}) {
      if (variables.contains(name) || !json.contains(name)) {
        continue;
      }
      const OrderedJson &token = json[name];
      if (token.is_string()) {
        variables[name] = token;
      } else if (token.is_object() && token.contains("content") && token["content"].is_string()) {
        variables[name] = token["content"];
      }
    }
  }
};

Result<std::string> pick(const OrderedJson &named, bool tools, const fs::path &folder) {
  if (tools && named.contains("tool_use")) {
    return named["tool_use"].get<std::string>();
  }
  if (named.contains("default")) {
    return named["default"].get<std::string>();
  }
  std::string names;
  for (auto it = named.begin(); it != named.end(); ++it) {
    names += (names.empty() ? "" : ", ") + it.key();
  }
  return fail(Errc::bad_input,
              names.empty()
                  ? fmt::format("{}: no chat template here", folder.string())
                  : fmt::format("{}: no default template; there are: {}", folder.string(), names));
}

/// The template that the tokenizer of a folder uses, as transformers finds it.
Result<std::string> template_of(const fs::path &folder, const TokenizerConfig &config, bool tools) {
  OrderedJson named = OrderedJson::object();
  bool jinja_file = fs::exists(folder / "chat_template.jinja");
  if (jinja_file) {
    Result<std::string> text = read_text(folder / "chat_template.jinja");
    if (!text) {
      return text;
    }
    named["default"] = *text;
  }
  std::error_code failed;
  bool additional = false;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder / "additional_chat_templates", failed)) {
    if (entry.path().extension() == ".jinja") {
      Result<std::string> text = read_text(entry.path());
      if (!text) {
        return text;
      }
      named[entry.path().stem().string()] = *text;
      additional = true;
    }
  }
  // Files beside the config replace what the config has, whole.
  if (!jinja_file && !additional && config.json.contains("chat_template")) {
    const OrderedJson &inside = config.json["chat_template"];
    if (inside.is_string()) {
      named["default"] = inside;
    } else if (inside.is_array()) {
      for (const OrderedJson &item : inside) {
        if (item.is_object() && item.contains("name") && item["name"].is_string() &&
            item.contains("template") && item["template"].is_string()) {
          named[item["name"].get<std::string>()] = item["template"];
        }
      }
    }
  }
  // Last, what a processor alone reads.
  if (named.empty() && fs::exists(folder / "chat_template.json")) {
    Result<std::string> text = read_text(folder / "chat_template.json");
    Result<OrderedJson> json =
        text ? parse_ordered_json(*text) : fail(Errc::bad_input, text.error().message);
    if (!json) {
      return fail(Errc::bad_input, fmt::format("{}: {}", (folder / "chat_template.json").string(),
                                               json.error().message));
    }
    if (json->is_object() && json->contains("chat_template") &&
        (*json)["chat_template"].is_string()) {
      named["default"] = (*json)["chat_template"];
    }
  }
  return pick(named, tools, folder);
}

int bad(std::ostream &err, const std::string &message) {
  err << "headwater render: " << message << '\n';
  return exit_bad_input;
}

int failed_render(const RenderOptions &options, const jinja::TemplateError &error,
                  std::ostream &out, std::ostream &err) {
  if (options.json) {
    OrderedJson answer;
    answer["error"] = error.error;
    answer["message"] = error.message;
    if (error.line != 0) {
      answer["line"] = error.line;
    } else if (error.near_line != 0) {
      answer["near_line"] = error.near_line; // ours: the exception itself names none
    }
    out << answer.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
  } else {
    std::string place = error.line != 0        ? fmt::format(", line {}", error.line)
                        : error.near_line != 0 ? fmt::format(", near line {}", error.near_line)
                                               : "";
    err << "headwater render: " << options.template_path << place << ": " << error.error
        << (error.message.empty() ? "" : ": ") << error.message << '\n';
  }
  return exit_does_not_render;
}

} // namespace

int run_render(const RenderOptions &options, std::ostream &out, std::ostream &err) {
  Result<std::string> variables_text = read_text(options.variables_path);
  if (!variables_text) {
    return bad(err, variables_text.error().message);
  }
  Result<OrderedJson> variables = parse_ordered_json(*variables_text, {most_bytes, 256, 4'000'000});
  if (!variables) {
    return bad(err, fmt::format("{}: {}", options.variables_path, variables.error().message));
  }
  if (!variables->is_object()) {
    return bad(err, fmt::format("{}: not a JSON object", options.variables_path));
  }
  // A probe of a list of probes has its variables under that name.
  if (variables->contains("variables") && (*variables)["variables"].is_object() &&
      !variables->contains("messages")) {
    OrderedJson inner = (*variables)["variables"];
    *variables = std::move(inner);
  }
  Result<std::string> source = fail(Errc::bad_input, "");
  if (fs::is_directory(options.template_path)) {
    TokenizerConfig config;
    fs::path file = fs::path(options.template_path) / "tokenizer_config.json";
    if (fs::exists(file)) {
      Result<std::string> text = read_text(file);
      Result<OrderedJson> parsed =
          text ? parse_ordered_json(*text) : fail(Errc::bad_input, text.error().message);
      if (!parsed) {
        return bad(err, fmt::format("{}: {}", file.string(), parsed.error().message));
      }
      if (parsed->is_object()) {
        config.json = std::move(*parsed);
      }
    }
    bool tools = variables->contains("tools") && !(*variables)["tools"].is_null();
    source = template_of(options.template_path, config, tools);
    config.add_tokens(*variables);
  } else {
    source = read_text(options.template_path);
  }
  if (!source) {
    return bad(err, source.error().message);
  }
  jinja::Clock now =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  if (!options.now.empty()) {
    Result<TimePoint> time = parse_time(options.now);
    if (!time) {
      return bad(err, fmt::format("--now {}: {}", options.now, time.error().message));
    }
    now = *time;
  }
  auto parsed = jinja::parse(*source);
  if (!parsed) {
    return failed_render(options, parsed.error(), out, err);
  }
  auto rendered = jinja::render(*parsed, jinja::make_variables(*variables), {}, now);
  if (!rendered) {
    return failed_render(options, rendered.error(), out, err);
  }
  if (options.json) {
    OrderedJson answer;
    answer["output"] = rendered->output;
    out << answer.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
  } else {
    out << rendered->output;
  }
  return exit_fine;
}

} // namespace headwater::cli
