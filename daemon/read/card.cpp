#include "daemon/read/card.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/yaml.h>

namespace headwater::read {
namespace {

constexpr std::size_t max_front_matter = 256U << 10U;
constexpr std::size_t max_depth = 24;
constexpr std::size_t max_events = 50'000;

struct Refusal {};

/// Keeps the scalars of a few top-level keys and nothing else: no tree is ever built, so neither
/// depth nor aliases can blow up.
class TopLevel final : public YAML::EventHandler {
public:
  explicit TopLevel(Card &card) : card_(card) {}

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override { value(""); }
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override { throw Refusal{}; }
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t,
                const std::string &text) override {
    value(text);
  }
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    enter();
  }
  void OnSequenceEnd() override { leave(); }
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    enter();
  }
  void OnMapEnd() override { leave(); }

private:
  void count() {
    if (++events_ > max_events)
      throw Refusal{};
  }
  void enter() {
    count();
    if (++depth_ > max_depth)
      throw Refusal{};
  }
  void leave() {
    --depth_;
    if (depth_ == 1)
      at_key_ = true;
  }
  void value(const std::string &text) {
    count();
    if (depth_ == 1) {
      if (at_key_) {
        key_ = text;
        at_key_ = false;
        return;
      }
      at_key_ = true;
      keep(text);
    } else if (depth_ == 2) {
      keep(text);
    }
  }
  void keep(const std::string &text) {
    if (text.empty())
      return;
    if (key_ == "license")
      card_.licence += card_.licence.empty() ? text : ", " + text;
    else if (key_ == "license_name")
      card_.licence_name = text;
    else if (key_ == "license_link")
      card_.licence_link = text;
    else if (key_ == "base_model")
      card_.base_models.push_back(text);
  }

  Card &card_;
  std::string key_;
  std::size_t depth_ = 0;
  std::size_t events_ = 0;
  bool at_key_ = true;
};

} // namespace

Result<Card> read_card(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  if (!text.starts_with("---"))
    return Card{};
  const std::size_t first = text.find('\n');
  if (first == std::string_view::npos ||
      text.substr(3, first - 3).find_first_not_of(" \t\r") != std::string_view::npos)
    return Card{};
  std::size_t end = first;
  while (true) {
    end = text.find("\n---", end);
    if (end == std::string_view::npos)
      return Card{};
    const std::size_t after = end + 4;
    if (after >= text.size() || text[after] == '\n' || text[after] == '\r' || text[after] == ' ')
      break;
    ++end;
  }
  const std::string_view front =
      end > first ? text.substr(first + 1, end - first) : std::string_view();
  if (front.size() > max_front_matter)
    return fail(Errc::too_large, "the card's front matter is over 256 KB");
  Card card;
  try {
    std::istringstream stream{std::string(front)};
    YAML::Parser parser(stream);
    TopLevel handler(card);
    parser.HandleNextDocument(handler);
  } catch (const Refusal &) {
    return fail(Errc::too_large, "the card's front matter is nested or repeated too much");
  } catch (const YAML::Exception &error) {
    return fail(Errc::malformed, "the card's front matter is not YAML: " + error.msg);
  }
  return card;
}

} // namespace headwater::read
