// Readers of one upstream file: what a good one says, and that a broken one is refused.
#include "daemon/read/card.hpp"
#include "daemon/read/gguf.hpp"
#include "daemon/read/python_source.hpp"
#include "daemon/read/safetensors.hpp"
#include "daemon/read/tokenizer.hpp"
#include "daemon/read/wanted.hpp"
#include "daemon/read/weight_index.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

namespace headwater::read {
namespace {

template <class Number> std::string little(Number value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFFU);
  return bytes;
}

std::string safetensors(const std::string &json) {
  return little<std::uint64_t>(json.size()) + json;
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

TEST(Safetensors, HeaderOfScalarsPackedTypesAndEmptyTensorsIsRead) {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},)" + tensor("s", "F32", "[]", "[0,4]") + "," +
      tensor("p", "F4", "[2,4]", "[4,8]") + "," + tensor("e", "I64", "[0,7]", "[8,8]") + "}  ";
  const Result<SafetensorsHeader> header =
      read_safetensors_header(safetensors(json), static_cast<std::int64_t>(json.size()) + 8 + 8);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors[0].elements(), 1);
  EXPECT_EQ(header->tensors[1].elements(), 8);
  EXPECT_EQ(header->tensors[2].elements(), 0);
  EXPECT_EQ(header->data_bytes, 8);
}

TEST(Safetensors, WhatTheFormatForbidsIsRefused) {
  const std::string bad[] = {
      "",
      "{}",
      safetensors("not json"),
      safetensors(" {}"),
      safetensors("[]"),
      safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "," +
                  tensor("a", "F32", "[1]", "[4,8]") + "}"),
      safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "," +
                  tensor("b", "F32", "[1]", "[8,12]") + "}"),
      safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "," +
                  tensor("b", "F32", "[1]", "[2,6]") + "}"),
      safetensors("{" + tensor("a", "F32", "[1]", "[4,0]") + "}"),
      safetensors("{" + tensor("a", "F33", "[1]", "[0,4]") + "}"),
      safetensors("{" + tensor("a", "F32", "[-1]", "[0,4]") + "}"),
      safetensors("{" + tensor("a", "F32", "[2]", "[0,4]") + "}"),
      safetensors("{" + tensor("a", "F4", "[3]", "[0,2]") + "}"),
      safetensors("{" + tensor("a", "F32", "[4294967296,4294967296]", "[0,4]") + "}"),
      safetensors(R"({"__metadata__":{"a":1}})"),
      safetensors(R"({"a":{"dtype":"F32","shape":[1]}})"),
      std::string(8, '\xff'),
      little<std::uint64_t>(100) + "{}",
  };
  for (const std::string &bytes : bad)
    EXPECT_FALSE(read_safetensors_header(bytes)) << bytes;
  const std::string good = safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "}");
  EXPECT_TRUE(read_safetensors_header(good, static_cast<std::int64_t>(good.size()) + 4));
  EXPECT_FALSE(read_safetensors_header(good, static_cast<std::int64_t>(good.size()) + 5))
      << "bytes behind the data";
}

std::string text(const std::string &value) {
  return little<std::uint64_t>(value.size()) + value;
}

std::string gguf_file() {
  std::string bytes =
      "GGUF" + little<std::uint32_t>(3) + little<std::uint64_t>(1) + little<std::uint64_t>(3);
  bytes += text("general.architecture") + little<std::uint32_t>(8) + text("llama");
  bytes += text("llama.context_length") + little<std::uint32_t>(4) + little<std::uint32_t>(4096);
  bytes += text("tokenizer.ggml.tokens") + little<std::uint32_t>(9) + little<std::uint32_t>(8) +
           little<std::uint64_t>(2) + text("<s>") + text("a");
  bytes += text("blk.0.w") + little<std::uint32_t>(2) + little<std::uint64_t>(64) +
           little<std::uint64_t>(3) + little<std::uint32_t>(8) + little<std::uint64_t>(0);
  return bytes;
}

TEST(Gguf, MetadataAndTensorsAreRead) {
  const std::string bytes = gguf_file();
  const Result<GgufHeader> header = read_gguf_header(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(gguf_string(*header, "general.architecture"), "llama");
  EXPECT_EQ(find_metadata(*header, "llama.context_length")->json, "4096");
  EXPECT_EQ(gguf_strings(*header, *find_metadata(*header, "tokenizer.ggml.tokens")).at(1), "a");
  ASSERT_EQ(header->tensors.size(), 1U);
  EXPECT_EQ(header->tensors[0].shape, (std::vector<std::int64_t>{3, 64})) << "in PyTorch's order";
  EXPECT_EQ(header->tensors[0].dtype, "Q8_0");
  EXPECT_EQ(header->data_bytes, 6 * 34);
  EXPECT_EQ(header->header_bytes % 32, 0);
}

TEST(Gguf, SizeOfTheHeaderIsToldFromAPrefix) {
  const std::string bytes = gguf_file();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const Result<std::optional<std::int64_t>> size =
        gguf_header_size(std::string_view(bytes).substr(0, n));
    ASSERT_TRUE(size) << n << " " << size.error().message;
    EXPECT_FALSE(*size) << n;
    EXPECT_FALSE(read_gguf_header(std::string_view(bytes).substr(0, n)));
  }
  EXPECT_EQ(**gguf_header_size(bytes), read_gguf_header(bytes)->header_bytes);
}

TEST(Gguf, CountsThatNoFileCanHoldAreRefused) {
  const std::string head = "GGUF" + little<std::uint32_t>(3);
  EXPECT_FALSE(gguf_header_size(head + std::string(16, '\xff')));
  EXPECT_FALSE(gguf_header_size("GGUF" + little<std::uint32_t>(1) + std::string(16, '\0')));
  std::string nested = head + little<std::uint64_t>(0) + little<std::uint64_t>(1) + text("a") +
                       little<std::uint32_t>(9);
  for (int i = 0; i < 1000; ++i)
    nested += little<std::uint32_t>(9) + little<std::uint64_t>(1);
  EXPECT_FALSE(gguf_header_size(nested));
  EXPECT_FALSE(gguf_header_size("GGUX" + std::string(20, '\0')));
}

TEST(WeightIndex, NamesFilesInsideItsFolderOnly) {
  const Result<WeightIndex> index =
      read_weight_index(R"({"metadata":{"total_size":12.0},"weight_map":{"b":"x/2","a":"1"}})");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->weight_map.front().first, "a");
  EXPECT_EQ(index->total_size, 12);
  for (const char *file : {"../x", "/x", "a/../../x", "a//b", "", "a\\\\b"})
    EXPECT_FALSE(read_weight_index(std::string(R"({"weight_map":{"a":")") + file + "\"}}")) << file;
  EXPECT_FALSE(read_weight_index(R"({"weight_map":[]})"));
}

TEST(Tokenizer, FormsOfMergesAndVocabulariesAreOne) {
  const char *const strings = R"({"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}})";
  const char *const pairs =
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}})";
  const Result<TokenizerFacts> first = read_tokenizer_json(strings);
  const Result<TokenizerFacts> second = read_tokenizer_json(pairs);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->merges, second->merges);
  EXPECT_NE(first->merges_as_pairs, second->merges_as_pairs);
  const Result<TokenizerFacts> unigram = read_tokenizer_json(
      R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.5]]}})");
  ASSERT_TRUE(unigram);
  EXPECT_EQ(unigram->vocabulary[1].id, 1);
  EXPECT_EQ(unigram->vocabulary[1].score, -1.5);
  for (const char *bad :
       {"", "[]", "{}", R"({"model":{"vocab":{"a":"0"}}})", R"({"model":{"vocab":{"a":-1}}})",
        R"({"model":{"merges":["a"]}})", R"({"model":{"merges":[["a"]]}})",
        R"({"model":{},"added_tokens":[{"content":"a"}]})"})
    EXPECT_FALSE(read_tokenizer_json(bad)) << bad;
}

TEST(Tokenizer, OtherFormatsGiveTheSameFacts) {
  EXPECT_EQ(read_tiktoken("YQ== 0\nYg== 7\n")->vocabulary[1].id, 7);
  EXPECT_FALSE(read_tiktoken("not a line\n"));
  EXPECT_EQ(read_merges("#version: 0.2\na b\nab c\n")->merges.size(), 2U);
  EXPECT_EQ(read_vocabulary_lines("[PAD]\r\na\n")->vocabulary[1].text, "a");
  EXPECT_EQ(read_vocabulary_json(R"({"a":3})")->vocabulary[0].id, 3);
  const Result<TokenizerFacts> tekken = read_tekken(
      R"({"config":{"pattern":"x","version":"v3"},"vocab":[{"rank":0,"token_bytes":"YQ==","token_str":"a"}],"special_tokens":[{"rank":0,"token_str":"<s>"}]})");
  ASSERT_TRUE(tekken);
  EXPECT_EQ(part_of(*tekken, "config.pattern"), "\"x\"");
  EXPECT_EQ(tekken->added.size(), 1U);
}

TEST(Tokenizer, SentencepiecePiecesScoresAndFlagsAreRead) {
  const std::string piece =
      std::string("\x0a\x01") + "a" + "\x15" + std::string("\x00\x00\x80\xbf", 4) + "\x18\x02";
  const std::string trainer =
      "\x18\x02" + std::string("\x98\x02\x01", 3); // model_type 2, byte_fallback true
  const std::string bytes = "\x0a" + std::string(1, static_cast<char>(piece.size())) + piece +
                            "\x12" + std::string(1, static_cast<char>(trainer.size())) + trainer;
  const Result<TokenizerFacts> facts = read_sentencepiece(bytes);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->vocabulary[0].text, "a");
  EXPECT_EQ(facts->vocabulary[0].score, -1);
  EXPECT_EQ(facts->vocabulary[0].type, 2);
  EXPECT_EQ(part_of(*facts, "trainer_spec.byte_fallback"), "true");
  for (std::size_t n = 0; n + 1 < bytes.size(); ++n)
    static_cast<void>(read_sentencepiece(bytes.substr(0, n)));
  EXPECT_FALSE(read_sentencepiece("text"));
}

TEST(Card, FrontMatterIsReadWithinBounds) {
  const Result<Card> card =
      read_card("---\nlicense: other\nlicense_name: own\nbase_model:\n- a/b\n- c/d\nwidget:\n- "
                "text: 'license: no'\n---\nlicense: not this\n");
  ASSERT_TRUE(card);
  EXPECT_EQ(card->licence, "other");
  EXPECT_EQ(card->licence_name, "own");
  EXPECT_EQ(card->base_models, (std::vector<std::string>{"a/b", "c/d"}));
  EXPECT_TRUE(read_card("# No front matter\n")->licence.empty());
  EXPECT_FALSE(read_card("---\na: &x [1]\nb: *x\n---\n")) << "aliases are refused";
  EXPECT_FALSE(read_card("---\na: " + std::string(100, '[') + "\n---\n"));
  EXPECT_FALSE(read_card("---\n" + std::string(300'000, 'a') + "\n---\n"));
}

TEST(Python, ImportsReachesAndCodeLinesAreTold) {
  const PythonFacts facts =
      read_python("# import os\nimport torch, requests.adapters as r\nfrom .local import x\ns = "
                  "'import pickle'  # eval(\nsubprocess = 1\n"
                  "def f():\n    return eval('1')\n\n");
  EXPECT_EQ(facts.modules, (std::vector<std::string>{".local", "requests", "torch"}));
  EXPECT_EQ(facts.reaches, (std::vector<std::string>{"eval", "network"}));
  EXPECT_EQ(facts.lines.size(), 6U);
  EXPECT_TRUE(read_python("model.eval()\n").reaches.empty()) << "a method is not the built-in";
}

TEST(Wanted, EachFileIsReadAsFarAsItsRoleAsks) {
  const auto part = [](const char *path, std::int64_t size = 100) {
    return wanted_part({path, "", size});
  };
  EXPECT_EQ(part("config.json"), FilePart::whole);
  EXPECT_EQ(part("unet/config.json"), FilePart::whole);
  EXPECT_EQ(part("model-00001-of-00002.safetensors", 5'000'000'000), FilePart::safetensors_header);
  EXPECT_EQ(part("m.gguf", 5'000'000'000), FilePart::gguf_header);
  EXPECT_EQ(part("pytorch_model.bin"), FilePart::none);
  EXPECT_EQ(part("tokenizer.json", 30'000'000), FilePart::whole);
  EXPECT_EQ(part("config.json", 30'000'000), FilePart::none);
  EXPECT_EQ(part("onnx/config.json"), FilePart::none);
  EXPECT_EQ(part("modeling_x.py"), FilePart::whole);
  EXPECT_EQ(part("image.png"), FilePart::none);
}

TEST(Shared, EveryTokenizerAndHeaderOfTheCorpusIsRead) {
  const auto corpus = headwater::test::shared_path("corpus");
  if (!corpus)
    GTEST_SKIP() << "no shared material";
  std::map<FileRole, std::size_t> count;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(*corpus)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("/bad/") != std::string::npos ||
        path.ends_with(".gz") || entry.file_size() > 8'000'000)
      continue;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream stream;
    stream << file.rdbuf();
    const std::string bytes = std::move(stream).str();
    if (bytes.starts_with("version https://git-lfs"))
      continue;
    const FileRole role = role_of(entry.path().filename().string());
    const auto readable = [&](const auto &result) {
      ++count[role];
      EXPECT_TRUE(result) << path << ": " << (result ? "" : result.error().message);
    };
    switch (role) {
    case FileRole::tokenizer_json:
      readable(read_tokenizer_json(bytes));
      break;
    case FileRole::sentencepiece:
      readable(read_sentencepiece(bytes));
      break;
    case FileRole::safetensors:
      readable(read_safetensors_header(bytes));
      break;
    default:
      break;
    }
  }
  for (const FileRole role :
       {FileRole::tokenizer_json, FileRole::sentencepiece, FileRole::safetensors})
    EXPECT_GT(count[role], 0U) << "no file of role " << static_cast<int>(role) << " was read";
}

} // namespace
} // namespace headwater::read
