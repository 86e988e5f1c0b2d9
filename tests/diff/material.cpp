#include "tests/diff/material.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest = 100'000; ///< a larger file says nothing more and takes long

const char *const own_config =
    R"({"architectures":["AcmeForCausalLM"],"model_type":"acme","hidden_size":4096,"num_hidden_layers":32,
  "num_attention_heads":32,"num_key_value_heads":8,"rms_norm_eps":1e-05,"rope_theta":10000.0,"rope_scaling":{"type":"yarn","factor":4.0},
  "max_position_embeddings":32768,"torch_dtype":"bfloat16","vocab_size":32000,"tie_word_embeddings":false,"eos_token_id":2,
  "text_config":{"sliding_window":null,"layer_types":["a","b","a"],"eos_token_id":[2,3]},
  "quantization_config":{"quant_method":"gptq","bits":4},"auto_map":{"AutoModel":"modeling.M"},"acme_key":{"deep":[1,2,3]}})";
const char *const own_tokenizer =
    R"({"version":"1.0","added_tokens":[{"id":0,"content":"<s>","single_word":false,"lstrip":false,
  "rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
  "decoder":{"type":"ByteLevel"},"model":{"type":"BPE","unk_token":"<s>","vocab":{"<s>":0,"a":1,"b":2,"c":3,"ab":4,"abc":5},
  "merges":["a b","ab c"]}})";
const char *const own_settings =
    R"({"add_bos_token":true,"add_eos_token":false,"bos_token":"<s>","eos_token":"</s>","model_max_length":4096,
  "tokenizer_class":"AcmeTokenizer","clean_up_tokenization_spaces":false,"acme_option":7,"padding_side":"left",
  "added_tokens_decoder":{"0":{"content":"<s>","special":true},"2":{"content":"</s>","special":true}}})";
const char *const own_generation =
    R"({"temperature":0.6,"top_p":0.95,"do_sample":true,"max_new_tokens":512,"eos_token_id":[2,3],"acme":1})";
const char *const own_template =
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";
const char *const own_index =
    R"({"metadata":{"total_size":96},"weight_map":{"model.embed.weight":"model-00001-of-00002.safetensors",
  "model.layers.0.q.weight":"model-00001-of-00002.safetensors","model.layers.1.q.weight":"model-00002-of-00002.safetensors",
  "head.weight":"model-00002-of-00002.safetensors"}})";

std::size_t pick(Random &random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

template <class Items> const auto &any(const Items &items, Random &random) {
  return items[pick(random, items.size())];
}

/// An object, or null for text that is none.
Json document_of(const std::string &text) {
  Result<Json> json = parse_json(text);
  return json ? std::move(*json) : Json();
}

std::string brief(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 100);
}

std::string escaped(const std::string &key) {
  std::string text;
  for (const char c : key)
    text += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return text;
}

/// Pointers to values that are one fact each: scalars and lists, but not what is inside a list.
void leaves(const Json &json, const std::string &at, std::vector<std::string> &out) {
  for (const auto &[key, value] : json.items()) {
    const std::string pointer = at + "/" + escaped(key);
    if (value.is_object() && !value.empty())
      leaves(value, pointer, out);
    else if (!value.is_object() && !(value.is_array() && value.empty()))
      out.push_back(pointer);
  }
}

void change(Json &value, Random &random) {
  if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_number_integer())
    value = value.get<std::int64_t>() + 1 + static_cast<std::int64_t>(pick(random, 7));
  else if (value.is_number())
    value = value.get<double>() * 1.5 + 0.25;
  else if (value.is_string())
    value = value.get<std::string>() + "x";
  else if (value.is_array() && !value.empty())
    change(value[pick(random, value.size())], random);
  else if (value.is_object() && !value.empty())
    change(
        std::next(value.begin(), static_cast<std::ptrdiff_t>(pick(random, value.size()))).value(),
        random);
  else
    value = 7;
}

/// Places that this form of edit cannot take as one fact: a template is edited as text, and NaN has
/// a form of its own.
bool left_out(const std::string &pointer) {
  return pointer.find("chat_template") != std::string::npos ||
         pointer.find("__float__") != std::string::npos;
}

/// JSON text with the keys in another order at every depth, in a random form: indented or not,
/// ASCII alone or not, whole numbers with a point or without.
class Writer {
public:
  explicit Writer(Random &random)
      : random_(random), indent_(pick(random, 4) * 2), ascii_(pick(random, 4) == 0),
        tab_(pick(random, 2) == 0) {}

  std::string operator()(const Json &json) {
    write(json, 0);
    return std::move(text_);
  }

private:
  void line(std::size_t depth) {
    if (indent_ > 0)
      text_ += "\n" + std::string(depth * indent_, tab_ ? '\t' : ' ');
  }

  void scalar(const Json &json) {
    if (json.is_number_float()) {
      const double number = json.get<double>();
      if (number > -1e15 && number < 1e15 &&
          number == static_cast<double>(static_cast<std::int64_t>(number)) &&
          pick(random_, 2) == 0) {
        text_ += std::to_string(static_cast<std::int64_t>(number));
        return;
      }
    }
    text_ += json.dump(-1, ' ', ascii_, Json::error_handler_t::replace);
  }

  void write(const Json &json, std::size_t depth) {
    if (!json.is_structured() || json.empty())
      return scalar(json);
    std::vector<Json::const_iterator> items;
    for (auto at = json.begin(); at != json.end(); ++at)
      items.push_back(at);
    if (json.is_object())
      std::ranges::shuffle(items, random_);
    text_ += json.is_object() ? '{' : '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      text_ += i > 0 ? "," : "";
      line(depth + 1);
      if (json.is_object())
        text_ += Json(items[i].key()).dump(-1, ' ', ascii_) + (indent_ > 0 ? ": " : ":");
      write(*items[i], depth + 1);
    }
    line(depth);
    text_ += json.is_object() ? '}' : ']';
  }

  Random &random_;
  std::size_t indent_;
  bool ascii_;
  bool tab_;
  std::string text_;
};

void save_config_again(Json &json) {
  if (json.contains("torch_dtype") && !json.contains("dtype")) {
    json["dtype"] = json["torch_dtype"];
    json.erase("torch_dtype");
  }
  const bool has_scaling = json.contains("rope_scaling") && json["rope_scaling"].is_object();
  if (!json.contains("rope_parameters") && !json.contains("rope_local_base_freq") &&
      (has_scaling || json.contains("rope_theta"))) {
    Json rope = has_scaling ? json["rope_scaling"] : Json{{"rope_type", "default"}};
    if (rope.contains("type") && !rope.contains("rope_type")) {
      rope["rope_type"] = rope["type"];
      rope.erase("type");
    }
    if (json.contains("rope_theta") && !rope.contains("rope_theta"))
      rope["rope_theta"] = json["rope_theta"];
    json.erase("rope_scaling");
    json.erase("rope_theta");
    json["rope_parameters"] = rope;
  }
  json["transformers_version"] = "99.0.0";
}

/// What a newer library writes when it saves the same thing again.
void save_again(const std::string &path, Json &json) {
  if (path == "config.json") {
    save_config_again(json);
    if (json.contains("text_config") && json["text_config"].is_object())
      save_config_again(json["text_config"]);
  } else if (path == "tokenizer.json" && json.contains("model") && json["model"].is_object() &&
             json["model"].contains("merges")) {
    for (Json &merge : json["model"]["merges"])
      if (merge.is_string()) {
        const std::string text = merge;
        merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
      }
  } else if (path == "generation_config.json") {
    if (json.contains("eos_token_id") && json["eos_token_id"].is_number())
      json["eos_token_id"] = Json::array({json["eos_token_id"]});
    json["transformers_version"] = "99.0.0";
  }
}

/// Where text can be put into a template without touching its code: before an opening brace that
/// ends a piece of text.
std::vector<std::size_t> text_places(const std::string &text) {
  std::vector<std::size_t> places;
  bool outside = true;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (outside && text[i] == '{' &&
        (text[i + 1] == '{' || text[i + 1] == '%' || text[i + 1] == '#')) {
      places.push_back(i);
      outside = false;
    } else if (!outside && (text[i] == '}' || text[i] == '%' || text[i] == '#') &&
               text[i + 1] == '}') {
      outside = true;
      ++i;
    }
  }
  return places;
}

std::string card(const std::string &licence, const std::string &prose) {
  return fmt::format("---\nlicense: {}\ntags:\n- text\n---\n{}\n", licence, prose);
}

struct Tensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

/// A whole small checkpoint in `shards` files with its index. The tensors of a file lie in the
/// order of the list.
Revision checkpoint(const std::vector<Tensor> &tensors, std::size_t shards) {
  Revision files;
  Json map = Json::object();
  std::int64_t total = 0;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::vector<std::tuple<std::string, std::string, std::vector<std::int64_t>>> rows;
    const std::string path =
        shards == 1 ? "model.safetensors"
                    : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
    for (std::size_t i = shard; i < tensors.size(); i += shards) {
      rows.emplace_back(tensors[i].name, tensors[i].dtype, tensors[i].shape);
      map[tensors[i].name] = path;
    }
    const auto [header, size] = safetensors_header(rows);
    files[path] = header + std::string(static_cast<std::size_t>(size) - header.size(), '\1');
    total += size - static_cast<std::int64_t>(header.size());
  }
  if (shards > 1)
    files["model.safetensors.index.json"] =
        Json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2);
  return files;
}

std::vector<Tensor> some_tensors(Random &random) {
  constexpr auto dtypes = std::to_array<const char *>({"BF16", "F16", "F32", "I8"});
  std::vector<Tensor> tensors;
  const std::size_t layers = 2 + pick(random, 6);
  const std::string dtype = any(dtypes, random);
  tensors.push_back({"model.embed_tokens.weight", dtype, {40, 8}});
  for (std::size_t i = 0; i < layers; ++i) {
    tensors.push_back({fmt::format("model.layers.{}.self_attn.q_proj.weight", i), dtype, {8, 8}});
    tensors.push_back({fmt::format("model.layers.{}.mlp.up_proj.weight", i), dtype, {24, 8}});
    tensors.push_back({fmt::format("model.layers.{}.input_layernorm.weight", i), "F32", {8}});
  }
  tensors.push_back({"lm_head.weight", dtype, {40, 8}});
  return tensors;
}

std::optional<Rewrite> edit_tensor(Random &random) {
  std::vector<Tensor> tensors = some_tensors(random);
  Rewrite edit{"tensor of a header", "", checkpoint(tensors, 1), {}, "model.safetensors"};
  const std::size_t at = pick(random, tensors.size());
  edit.what = tensors[at].name;
  switch (pick(random, 5)) {
  case 0:
    tensors[at].name += ".x";
    break;
  case 1:
    tensors[at].dtype = tensors[at].dtype == "F32" ? "BF16" : "F32";
    break;
  case 2:
    tensors[at].shape.front() += 8;
    break;
  case 3:
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(at));
    break;
  default:
    tensors.push_back({"model.extra.weight", "F32", {4, 4}});
  }
  edit.after = checkpoint(tensors, 1);
  return edit;
}

std::optional<Rewrite> edit_licence(Random &random) {
  constexpr auto licences = std::to_array<const char *>(
      {"mit", "apache-2.0", "cc-by-nc-4.0", "llama3.1", "gemma", "other", "openrail", "gpl-3.0"});
  const std::string from = any(licences, random);
  const std::string to = any(licences, random);
  if (from == to)
    return std::nullopt;
  return Rewrite{"licence of a card",
                 from + " -> " + to,
                 {{"README.md", card(from, "Text.")}},
                 {{"README.md", card(to, "Text.")}},
                 "README.md#/license",
                 true};
}

std::optional<Rewrite> edit_index(const std::string &path, const std::string &text,
                                  Random &random) {
  Json index = document_of(text);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].size() < 2)
    return std::nullopt;
  Rewrite edit{"index file", "", {{path, text}}, {}, path};
  Json &map = index["weight_map"];
  const auto at = std::next(map.begin(), static_cast<std::ptrdiff_t>(pick(random, map.size())));
  const std::string key = at.key();
  const std::string file = at.value();
  edit.what = key;
  switch (pick(random, 3)) {
  case 0:
    map.erase(key);
    break;
  case 1:
    map[key] = map.begin().value() == Json(file) ? Json("extra.safetensors") : map.begin().value();
    break;
  default:
    map.erase(key);
    map[key + ".renamed"] = file;
  }
  edit.after = {{path, index.dump(2)}};
  return edit;
}

std::optional<Rewrite> edit_template(const std::string &path, const std::string &text,
                                     Random &random) {
  const std::vector<std::size_t> places = text_places(text);
  if (places.empty())
    return std::nullopt;
  const std::size_t at = any(places, random);
  Rewrite edit{"template",
               fmt::format("{} at {}: {}", path, at, text.substr(at, 60)),
               {{"config.json", "{}"}, {path, text}},
               {},
               path};
  std::string changed = text;
  changed.insert(at, "Zq");
  edit.after = {{"config.json", "{}"}, {path, changed}};
  return edit;
}

std::optional<Rewrite> edit_vocabulary(Random &random) {
  Json tokenizer = Json::parse(own_tokenizer);
  for (int i = 0; i < 200; ++i)
    tokenizer["model"]["vocab"][fmt::format("t{}", i)] = 6 + i;
  for (int i = 0; i < 50; ++i)
    tokenizer["model"]["merges"].push_back(fmt::format("t{} t{}", i, i + 1));
  Json edited = tokenizer;
  Json &model = edited["model"];
  const std::size_t at = pick(random, 48);
  Rewrite edit{"vocabulary", fmt::format("at {}", at),      {{"tokenizer.json", tokenizer.dump(1)}},
               {},           "tokenizer.json#/model/vocab", true};
  switch (pick(random, 6)) {
  case 0:
    std::swap(model["vocab"][fmt::format("t{}", at)], model["vocab"][fmt::format("t{}", at + 1)]);
    break;
  case 1:
    model["vocab"].erase(fmt::format("t{}", at));
    break;
  case 2:
    model["vocab"]["new"] = 206;
    break;
  case 3:
    std::swap(model["merges"][at], model["merges"][at + 1]);
    edit.place = fmt::format("tokenizer.json#/model/merges/{}", at);
    break;
  case 4:
    model["merges"].erase(at);
    edit.place = fmt::format("tokenizer.json#/model/merges/{}", at);
    break;
  default:
    edited["added_tokens"][0]["special"] = false;
    edit.place = "tokenizer.json#/added_tokens/0/special";
  }
  edit.after = {{"tokenizer.json", edited.dump(1)}};
  return edit;
}

std::optional<Rewrite> edit_document(const std::string &path, const std::string &text,
                                     Random &random) {
  const Json json = document_of(text);
  if (!json.is_object())
    return std::nullopt;
  std::vector<std::string> pointers;
  leaves(json, "", pointers);
  std::erase_if(pointers, left_out);
  if (pointers.empty())
    return std::nullopt;
  const std::string pointer = any(pointers, random);
  const Json::json_pointer at(pointer);
  Json edited = json;
  change(edited[at], random);
  // A token that the template writes is a fact of the tokenizer and of the template.
  const bool in_template =
      json.contains("chat_template") && pointer.find("_token") != std::string::npos;
  Rewrite edit{path,
               fmt::format("{}: {} -> {}", pointer, brief(json[at]), brief(edited[at])),
               {{path, text}},
               {{path, edited.dump(2)}},
               path + "#" + pointer,
               !in_template};
  return edit;
}

std::optional<Rewrite> move_template(const std::string &text, Random &random) {
  Json settings = Json::parse(own_settings);
  const Revision out{{"config.json", own_config},
                     {"tokenizer_config.json", settings.dump(2)},
                     {"chat_template.jinja", text}};
  settings["chat_template"] = text;
  const Revision in{{"config.json", own_config}, {"tokenizer_config.json", settings.dump(2)}};
  const bool outwards = pick(random, 2) == 0;
  return Rewrite{"moved template", text.substr(0, 60), outwards ? in : out, outwards ? out : in};
}

std::optional<Rewrite> cut_shards(Random &random) {
  std::vector<Tensor> tensors = some_tensors(random);
  const Revision before = checkpoint(tensors, 1 + pick(random, 4));
  std::ranges::shuffle(tensors, random);
  return Rewrite{"shards cut otherwise", fmt::format("{} tensors", tensors.size()), before,
                 checkpoint(tensors, 1 + pick(random, 4))};
}

} // namespace

Material::Material() {
  documents_ = {{"config.json", "", own_config},
                {"tokenizer.json", "", own_tokenizer},
                {"tokenizer_config.json", "", own_settings},
                {"generation_config.json", "", own_generation}};
  templates_ = {{"chat_template.jinja", "", own_template}};
  indexes_ = {{"model.safetensors.index.json", "", own_index}};
  const std::string shared = shared_folder();
  if (shared.empty())
    return;
  const std::string corpus = shared + "/corpus";
  for (const auto &entry : fs::directory_iterator(corpus + "/configs"))
    documents_.push_back({"config.json", entry.path().string()});
  for (const auto &entry : fs::recursive_directory_iterator(corpus + "/tokenizers")) {
    const std::string name = entry.path().filename().string();
    constexpr auto read = std::to_array<std::string_view>(
        {"config.json", "tokenizer_config.json", "generation_config.json", "tokenizer.json",
         "special_tokens_map.json", "added_tokens.json"});
    if (std::ranges::find(read, name) != read.end() && entry.file_size() < largest)
      for (int weight = 0; weight < 4; ++weight) // as often as the many configs
        documents_.push_back({name, entry.path().string()});
  }
  for (const auto &entry : fs::directory_iterator(corpus + "/templates"))
    templates_.push_back({"chat_template.jinja", entry.path().string()});
  for (const auto &entry : fs::directory_iterator(corpus + "/manifests"))
    if (entry.path().string().find(".index.json") != std::string::npos)
      indexes_.push_back({entry.path().string().find(".bin.index") != std::string::npos
                              ? "pytorch_model.bin.index.json"
                              : "model.safetensors.index.json",
                          entry.path().string()});
  const auto by_file = [](const Source &a, const Source &b) { return a.file < b.file; };
  for (std::vector<Source> *sources : {&documents_, &templates_, &indexes_})
    std::ranges::stable_sort(*sources, by_file);
}

std::string Material::text_of(const Source &source) const {
  return source.file.empty() ? source.text : read_file(source.file);
}

std::optional<Rewrite> Material::edit(Random &random) const {
  const std::size_t sort = pick(random, 12);
  if (sort == 0)
    return edit_tensor(random);
  if (sort == 1)
    return edit_licence(random);
  if (sort == 2)
    return edit_vocabulary(random);
  if (sort == 3) {
    const Source &source = any(templates_, random);
    return edit_template(source.path, text_of(source), random);
  }
  if (sort == 4) {
    const Source &source = any(indexes_, random);
    return edit_index(source.path, text_of(source), random);
  }
  const Source &source = any(documents_, random);
  std::optional<Rewrite> edit = edit_document(source.path, text_of(source), random);
  if (edit)
    edit->what = source.file + " " + edit->what;
  return edit;
}

std::optional<Rewrite> Material::same(Random &random) const {
  const std::size_t sort = pick(random, 10);
  if (sort == 0)
    return cut_shards(random);
  if (sort == 1)
    return move_template(text_of(any(templates_, random)), random);
  if (sort == 2)
    return Rewrite{"README prose",
                   "",
                   {{"README.md", card("mit", "Before.")}},
                   {{"README.md", card("mit", "After, longer.")}}};
  const Source &source = sort == 3 ? any(indexes_, random) : any(documents_, random);
  const std::string text = text_of(source);
  Json json = document_of(text);
  if (!json.is_object())
    return std::nullopt;
  const bool again = pick(random, 3) == 0;
  if (again)
    save_again(source.path, json);
  return Rewrite{(again ? "saved again: " : "written otherwise: ") + source.path,
                 source.file,
                 {{source.path, text}},
                 {{source.path, Writer(random)(json)}}};
}

} // namespace headwater::diff::test
