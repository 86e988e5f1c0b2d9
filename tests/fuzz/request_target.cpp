// A request's target: any bytes are split into segments that are safe to look at, or refused; what
// is split is the same when it is written and split again.

#include "daemon/net/message.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string text(data, data + size);
  const auto target = headwater::net::split_target(text);
  if (!target)
    return 0;
  std::string again;
  for (const std::string &segment : target->segments) {
    if (segment.empty() || segment == "." || segment == ".." ||
        segment.find('\0') != std::string::npos)
      std::abort();
    again += "/" + headwater::net::encode_segment(segment);
  }
  if (again.empty())
    again = "/";
  const auto second = headwater::net::split_target(again);
  if (!second || second->segments != target->segments)
    std::abort();
  return 0;
}
