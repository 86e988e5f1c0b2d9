#pragma once

#include "schemas/json.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The Jinja of chat templates: what transformers' sandboxed, immutable jinja2 environment renders
/// (trim_blocks, lstrip_blocks, loop controls, generation blocks), with Python's values and errors.
/// Pure: no file, no clock, no import; every run is bounded by Limits.
namespace headwater::jinja {

/// Bounds on one parse and one render. A run that crosses one ends with TemplateError::limit set.
struct Limits {
  std::size_t source_bytes = 512U << 10U;
  std::size_t tokens = 60'000;           ///< of one template
  std::size_t names = 4'000;             ///< different names and texts of one template
  std::int64_t parse_steps = 10'000'000; ///< look-ups while its names are resolved
  std::int64_t fuel_steps =
      250'000; ///< one an evaluated node; bulk work costs in proportion to its bytes
  std::size_t output_bytes = 4U << 20U;
  std::size_t allocation_bytes = 24U << 20U; ///< all values made during one render
  int call_depth = 195;                      ///< macro calls and recursive loops inside each other
};

/// What jinja2 (or Python below it) would have raised.
struct TemplateError {
  std::string error;   ///< class name: "TemplateSyntaxError", "UndefinedError", "TypeError", ...
  std::string message; ///< the exception's text
  int line = 0;        ///< where jinja2's exception itself names a line (errors of syntax), else 0
  int near_line = 0;   ///< line of the statement that was running, 0 when unknown
  bool limit = false;  ///< one of our Limits was crossed, or nesting too deep
};

/// Half-open range of code points of the output.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Rendered {
  std::string output;           ///< UTF-8
  std::vector<Span> generation; ///< what `{% generation %}` blocks marked, in order of rendering
};

struct Program;
struct VariableSet;

/// A parsed template: immutable, cheap to copy; any number of threads may render it at once.
class Template {
public:
  explicit Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  [[nodiscard]] const Program &program() const { return *program_; }

private:
  std::shared_ptr<const Program> program_;
};

/// The values a template is given (messages, tools, bos_token, ...): immutable, cheap to copy.
class Variables {
public:
  Variables();
  explicit Variables(std::shared_ptr<const VariableSet> set) : set_(std::move(set)) {}
  [[nodiscard]] const VariableSet &set() const { return *set_; }

private:
  std::shared_ptr<const VariableSet> set_;
};

/// The local time that `strftime_now` shows.
using Clock = std::chrono::sys_time<std::chrono::microseconds>;

/// Parses and checks a template. Errors: those jinja2 raises while it compiles, with their line.
std::expected<Template, TemplateError> parse(std::string_view source, const Limits &limits = {});

/// The variables of one conversation from a JSON object, key order kept; anything but an object
/// gives none.
Variables make_variables(const OrderedJson &object);

/// Renders. Errors: those jinja2 or Python raise while the template runs, and crossed limits.
std::expected<Rendered, TemplateError>
render(const Template &chat_template, const Variables &variables, const Limits &limits, Clock now);

} // namespace headwater::jinja
