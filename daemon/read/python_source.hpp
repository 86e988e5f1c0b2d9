#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headwater::read {

/// What a Python file does that a reader of a change wants named, told from its tokens; nothing is
/// run.
struct PythonFacts {
  std::vector<std::string>
      modules; ///< imported top-level modules, sorted; relative ones with their leading dot
  std::vector<std::string>
      reaches; ///< "network", "subprocess", "eval", "pickle", "native code": sorted, each once
  std::vector<std::string> lines; ///< code lines without comments, trailing space and empty lines
};

/// Reads a Python file. Never fails: what is not Python has few facts.
PythonFacts read_python(std::string_view text);

} // namespace headwater::read
