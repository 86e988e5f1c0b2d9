#include "daemon/diff/effective_templates.hpp"

#include "daemon/diff/sides.hpp"
#include "daemon/read/wanted.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

constexpr std::string_view additional = "additional_chat_templates/";

/// The templates of a JSON key: a text, or a list of named ones.
std::vector<EffectiveTemplate> in_json(const Json &object, const std::string &path) {
  std::vector<EffectiveTemplate> templates;
  const auto at = object.find("chat_template");
  if (at == object.end())
    return templates;
  const std::string place = path + "#/chat_template";
  if (at->is_string()) {
    templates.push_back({"default", at->get<std::string>(), place});
  } else if (at->is_array()) {
    std::size_t i = 0;
    for (const Json &item : *at) {
      const std::string here = place + "/" + std::to_string(i++);
      if (item.is_object() && item.contains("name") && item["name"].is_string() &&
          item.contains("template") && item["template"].is_string())
        templates.push_back(
            {item["name"].get<std::string>(), item["template"].get<std::string>(), here});
    }
  } else if (at->is_object()) {
    for (const auto &[name, text] : at->items())
      if (text.is_string())
        templates.push_back({name, text.get<std::string>(), place + "/" + pointer_key(name)});
  }
  return templates;
}

class Gatherer {
public:
  explicit Gatherer(const Snapshot &snapshot) : snapshot_(snapshot) {}

  EffectiveTemplates run() {
    const std::vector<EffectiveTemplate> config = json_file("tokenizer_config.json");
    const std::vector<EffectiveTemplate> legacy = json_file("chat_template.json");
    const std::vector<EffectiveTemplate> processor = json_file("processor_config.json");
    std::vector<EffectiveTemplate> jinja;
    std::vector<EffectiveTemplate> more;
    for (const FileEntry &file : snapshot_.files) {
      const FileRole role = read::role_of(file.path);
      if (file.path == "chat_template.jinja")
        text_file(file.path, "default", jinja);
      else if (role == FileRole::template_additional && file.path.starts_with(additional))
        text_file(file.path,
                  file.path.substr(additional.size(), file.path.size() - additional.size() - 6),
                  more);
      else if (role == FileRole::template_additional || role == FileRole::template_jinja)
        text_file(file.path, file.path, loose_);
    }
    // transformers' tokenizers: files win over the config's key as a whole; chat_template.json is
    // no file of theirs.
    std::vector<EffectiveTemplate> &tokenizer = out_.tokenizer;
    if (!jinja.empty() || !more.empty()) {
      tokenizer = jinja;
      tokenizer.insert(tokenizer.end(), more.begin(), more.end());
    } else {
      tokenizer = config;
    }
    // A repository that only keeps templates (a collection for servers) has each under its own
    // path.
    tokenizer.insert(tokenizer.end(), loose_.begin(), loose_.end());
    out_.processor = !legacy.empty()                       ? legacy
                     : !processor.empty() && jinja.empty() ? processor
                                                           : tokenizer;
    for (const std::vector<EffectiveTemplate> *list :
         std::initializer_list<const std::vector<EffectiveTemplate> *>{&config, &legacy, &processor,
                                                                       &jinja, &more, &loose_})
      out_.all.insert(out_.all.end(), list->begin(), list->end());
    for (auto *list : {&out_.tokenizer, &out_.processor, &out_.all})
      std::ranges::sort(*list, {}, &EffectiveTemplate::name);
    return std::move(out_);
  }

private:
  std::vector<EffectiveTemplate> json_file(const std::string &path) {
    const Document document = read_document(snapshot_, path);
    // A config that does not parse is told with the tokenizer; here it only means that its
    // templates are not known.
    if (document.state == Document::State::unread || document.state == Document::State::malformed)
      out_.unreadable.emplace_back(path, document.problem);
    return in_json(*document.json, path);
  }

  void text_file(const std::string &path, std::string name, std::vector<EffectiveTemplate> &into) {
    std::string problem;
    if (const std::string *text = bytes_of(snapshot_, path, &problem))
      into.push_back({std::move(name), *text, path});
    else
      out_.unreadable.emplace_back(path, problem);
  }

  const Snapshot &snapshot_;
  EffectiveTemplates out_;
  std::vector<EffectiveTemplate> loose_;
};

} // namespace

EffectiveTemplates effective_templates(const Snapshot &snapshot) {
  return Gatherer(snapshot).run();
}

} // namespace headwater::diff
