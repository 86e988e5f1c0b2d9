#pragma once

#include <iosfwd>
#include <string>

namespace headwater::cli {

/// `headwater render TEMPLATE_OR_FOLDER VARIABLES.json`.
struct RenderOptions {
  std::string template_path;  ///< a template, or a folder with tokenizer files
  std::string variables_path; ///< a JSON object: messages, tools, bos_token, ...
  std::string now;            ///< time that strftime_now shows, RFC 3339; "" = the present
  bool json = false;
};

/// Renders a chat template and writes the prompt, or with --json {"output"} or
/// {"error","message","line"? | "near_line"?}: `line` where the exception itself names one, else
/// the statement that was running. A folder's template is the one its tokenizer finds:
/// chat_template.jinja before tokenizer_config.json before chat_template.json, "tool_use" when the
/// variables have tools. Returns 0, 1 when the template
/// does not render, 2 for bad input.
int run_render(const RenderOptions &options, std::ostream &out, std::ostream &err);

} // namespace headwater::cli
