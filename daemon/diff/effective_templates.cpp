#include "daemon/diff/effective_templates.hpp"

#include "daemon/diff/sides.hpp"
#include "daemon/diff/tokenizer_class.hpp"
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
  explicit Gatherer(const Side &side) : side_(side) {}

  EffectiveTemplates run() {
    const std::vector<EffectiveTemplate> config = json_file("tokenizer_config.json");
    const std::vector<EffectiveTemplate> legacy = json_file("chat_template.json");
    const std::vector<EffectiveTemplate> processor = json_file("processor_config.json");
    std::vector<EffectiveTemplate> jinja;
    std::vector<EffectiveTemplate> more;
    for (const FileEntry &file : side_.snapshot.files) {
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
    const Document &document = read_document(side_, path);
    // A config that does not parse is told with the tokenizer; here it only means that its
    // templates are not known.
    if (document.state == Document::State::unread || document.state == Document::State::malformed)
      out_.unreadable.emplace_back(path, document.problem);
    return in_json(*document.json, path);
  }

  void text_file(const std::string &path, std::string name, std::vector<EffectiveTemplate> &into) {
    std::string problem;
    if (const std::string *text = bytes_of(side_, path, &problem))
      into.push_back({std::move(name), *text, path});
    else
      out_.unreadable.emplace_back(path, problem);
  }

  const Side &side_;
  EffectiveTemplates out_;
  std::vector<EffectiveTemplate> loose_;
};

std::vector<std::pair<std::string, std::string>> special_tokens(const Side &side) {
  std::vector<std::pair<std::string, std::string>> tokens;
  const Document &map = read_document(side, "special_tokens_map.json");
  const Document &config = read_document(side, "tokenizer_config.json");
  for (const char *key :
       {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"})
    for (const Json *source : {config.json.get(), map.json.get()}) {
      const auto at = source->find(key);
      if (at == source->end())
        continue;
      const Json &value = at->is_object() && at->contains("content") ? (*at)["content"] : *at;
      if (value.is_string()) {
        tokens.emplace_back(key, value.get<std::string>());
        break;
      }
    }
  return tokens;
}

bool adds_bos(const Side &side) {
  const Document &config = read_document(side, "tokenizer_config.json");
  const auto at = config.json->find("add_bos_token");
  if (at != config.json->end() && at->is_boolean())
    return at->get<bool>();
  const auto type = config.json->find("tokenizer_class");
  return type != config.json->end() && type->is_string() &&
         adds_bos_by_default(type->get_ref<const std::string &>()).value_or(false);
}

} // namespace

EffectiveTemplates effective_templates(const Side &side) {
  return Gatherer(side).run();
}

TemplateTokens template_tokens(const Side &side) {
  return {special_tokens(side), adds_bos(side)};
}

} // namespace headwater::diff
