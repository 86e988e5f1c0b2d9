#include "daemon/jinja/probes.hpp"

#include "daemon/jinja/probes_data.hpp"

#include <nlohmann/json.hpp>

namespace headwater::jinja {

const std::vector<Probe> &probe_conversations() {
  static const std::vector<Probe> probes = [] {
    std::vector<Probe> list;
    OrderedJson rows = OrderedJson::parse(probes_json, nullptr, false);
    for (const OrderedJson &row : rows) {
      list.push_back({row.value("id", ""), row.value("ability", ""), row.value("ordinary", true),
                      row["variables"].dump()});
    }
    return list;
  }();
  return probes;
}

} // namespace headwater::jinja
