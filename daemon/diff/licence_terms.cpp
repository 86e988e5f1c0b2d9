#include "daemon/diff/licence_terms.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace headwater::diff {
namespace {

constexpr LicenceTerms free_terms{false, false, false, 0, false};
constexpr LicenceTerms permissive{false, false, false, 0, true};
constexpr LicenceTerms weak{false, false, false, 1, true};
constexpr LicenceTerms share_alike{false, false, false, 2, true};
constexpr LicenceTerms network{false, false, false, 3, true};
constexpr LicenceTerms restricted{false, false, true, 0, true};
constexpr LicenceTerms research{true, false, true, 0, true};
constexpr LicenceTerms non_commercial{true, false, false, 0, true};
constexpr LicenceTerms non_commercial_alike{true, false, false, 2, true};
constexpr LicenceTerms non_commercial_fixed{true, true, false, 0, true};
constexpr LicenceTerms fixed{false, true, false, 0, true};

constexpr auto known = std::to_array<std::pair<std::string_view, LicenceTerms>>({
    {"cc0-1.0", free_terms},
    {"unlicense", free_terms},
    {"wtfpl", free_terms},
    {"pddl", free_terms},
    {"0bsd", free_terms},
    {"mit-0", free_terms},
    {"mit", permissive},
    {"apache-2.0", permissive},
    {"bsd", permissive},
    {"bsd-2-clause", permissive},
    {"bsd-3-clause", permissive},
    {"isc", permissive},
    {"zlib", permissive},
    {"bsl-1.0", permissive},
    {"artistic-2.0", permissive},
    {"afl-3.0", permissive},
    {"ms-pl", permissive},
    {"cc-by-4.0", permissive},
    {"cc-by-3.0", permissive},
    {"cc-by-2.0", permissive},
    {"cc-by-2.5", permissive},
    {"cc", permissive},
    {"odc-by", permissive},
    {"cdla-permissive-1.0", permissive},
    {"cdla-permissive-2.0", permissive},
    {"ncsa", permissive},
    {"postgresql", permissive},
    {"mpl-2.0", weak},
    {"lgpl", weak},
    {"lgpl-2.1", weak},
    {"lgpl-3.0", weak},
    {"lgpl-lr", weak},
    {"epl-1.0", weak},
    {"epl-2.0", weak},
    {"cdla-sharing-1.0", share_alike},
    {"odbl", share_alike},
    {"cc-by-sa-3.0", share_alike},
    {"cc-by-sa-4.0", share_alike},
    {"gpl", share_alike},
    {"gpl-2.0", share_alike},
    {"gpl-3.0", share_alike},
    {"eupl-1.1", share_alike},
    {"eupl-1.2", share_alike},
    {"gfdl", share_alike},
    {"agpl-3.0", network},
    {"osl-3.0", network},
    {"ofl-1.1", weak},
    {"lppl-1.3c", weak},
    {"openrail", restricted},
    {"openrail++", restricted},
    {"creativeml-openrail-m", restricted},
    {"bigscience-openrail-m", restricted},
    {"bigcode-openrail-m", restricted},
    {"bigscience-bloom-rail-1.0", restricted},
    {"llama2", restricted},
    {"llama3", restricted},
    {"llama3.1", restricted},
    {"llama3.2", restricted},
    {"llama3.3", restricted},
    {"llama4", restricted},
    {"gemma", restricted},
    {"h-research", research},
    {"intel-research", research},
    {"fair-noncommercial-research-license", research},
    {"apple-amlr", research},
    {"apple-ascl", permissive},
    {"cc-by-nc-2.0", non_commercial},
    {"cc-by-nc-3.0", non_commercial},
    {"cc-by-nc-4.0", non_commercial},
    {"cc-by-nc-sa-2.0", non_commercial_alike},
    {"cc-by-nc-sa-3.0", non_commercial_alike},
    {"cc-by-nc-sa-4.0", non_commercial_alike},
    {"cc-by-nc-nd-3.0", non_commercial_fixed},
    {"cc-by-nc-nd-4.0", non_commercial_fixed},
    {"cc-by-nd-4.0", fixed},
    {"deepfloyd-if-license", research},
    {"c-uda", restricted},
    {"etalab-2.0", permissive},
    {"open-mdw", permissive},
});

constexpr auto spellings = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"apache 2.0", "apache-2.0"},
    {"apache2", "apache-2.0"},
    {"apache-2", "apache-2.0"},
    {"apache license 2.0", "apache-2.0"},
    {"apache", "apache-2.0"},
    {"mit license", "mit"},
    {"gplv3", "gpl-3.0"},
    {"gpl-3", "gpl-3.0"},
    {"agplv3", "agpl-3.0"},
    {"cc by 4.0", "cc-by-4.0"},
    {"cc by-nc 4.0", "cc-by-nc-4.0"},
    {"cc-by-nc", "cc-by-nc-4.0"},
    {"cc-by", "cc-by-4.0"},
    {"cc-by-nc-sa", "cc-by-nc-sa-4.0"},
    {"cc-by-sa", "cc-by-sa-4.0"},
    {"bsd-3", "bsd-3-clause"},
    {"cc0", "cc0-1.0"},
});

} // namespace

std::string licence_name(std::string_view text) {
  std::string name;
  for (const char c : text)
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t first = name.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    return {};
  name = name.substr(first, name.find_last_not_of(" \t\r\n") - first + 1);
  const auto row = std::ranges::find(spellings, std::string_view(name),
                                     [](const auto &entry) { return entry.first; });
  return row != spellings.end() ? std::string(row->second) : name;
}

std::optional<LicenceTerms> licence_terms(std::string_view name) {
  const auto row = std::ranges::find(known, name, [](const auto &entry) { return entry.first; });
  return row != known.end() ? std::optional(row->second) : std::nullopt;
}

} // namespace headwater::diff
