#include "tests/hub/scripted_hub.hpp"

namespace headwater::hub {
namespace {

TEST(HubClient, ReadsAFileWholeAndChecksItsDigest) {
  ScriptedHub hub;
  const std::string bytes = "{\"a\": 1}\n";
  hub.serve_file(resolve_path("sub/a%20b.json"), bytes);
  const FileEntry good{"sub/a b.json", git_blob_id(bytes), static_cast<std::int64_t>(bytes.size()),
                       ""};
  const Result<std::string> whole = hub.content(good, FilePart::whole);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(*whole, bytes);
  EXPECT_EQ(*net::find_header(hub.seen()[0].headers, "Accept-Encoding"), "identity");
  FileEntry lfs = good;
  lfs.oid = older;
  lfs.sha256 = sha256_hex(bytes);
  EXPECT_TRUE(hub.content(lfs, FilePart::whole));

  FileEntry other = good;
  other.oid = older;
  EXPECT_EQ(hub.content(other, FilePart::whole).error().code, Errc::malformed);
  FileEntry longer = good;
  longer.size += 1;
  EXPECT_EQ(hub.content(longer, FilePart::whole).error().code, Errc::transient);
  FileEntry huge = good;
  huge.size = 1LL << 40;
  const std::size_t before = hub.count();
  EXPECT_EQ(hub.content(huge, FilePart::whole).error().code, Errc::too_large);
  EXPECT_EQ(hub.count(), before);
}

/// A safetensors file: a header of so many bytes, and as much data.
std::string safetensors(std::size_t header, std::size_t data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i)
    bytes += static_cast<char>(header >> (8 * i) & 0xFFU);
  bytes += "{}" + std::string(header - 2, ' ');
  return bytes + std::string(data, 'w');
}

TEST(HubClient, ASafetensorsHeaderCostsAtMostTwoSmallRequests) {
  for (const bool ranges : {true, false}) {
    for (const std::size_t header :
         {std::size_t{2}, std::size_t{99'993}, std::size_t{99'994}, std::size_t{500'000}}) {
      ScriptedHub hub;
      const std::string bytes = safetensors(header, 2'000'000);
      hub.serve_file(resolve_path("w.safetensors"), bytes, ranges);
      const FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(bytes.size()),
                           std::string(64, 'c')};
      const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
      ASSERT_TRUE(got) << header << ": " << got.error().message;
      EXPECT_EQ(*got, bytes.substr(0, header + 8));
      EXPECT_EQ(hub.count(), header <= 99'993 ? 1U : 2U);
      EXPECT_EQ(*net::find_header(hub.seen()[0].headers, "Range"), "bytes=0-100000");
      if (header == 500'000) {
        EXPECT_EQ(*net::find_header(hub.seen()[1].headers, "Range"), "bytes=100001-500007");
      }
    }
  }
}

TEST(HubClient, AHeaderThatCannotBeIsNotAskedFor) {
  ScriptedHub hub;
  std::string bytes = safetensors(1000, 0);
  const std::string small = bytes.substr(0, 500);
  hub.serve_file(resolve_path("w.safetensors"), small);
  FileEntry file{"w.safetensors", older, 500, sha256_hex(small)};
  const Result<std::string> whole = hub.content(file, FilePart::safetensors_header);
  ASSERT_TRUE(whole) << "a small file that is no safetensors is the reader's to name: "
                     << whole.error().message;
  EXPECT_EQ(*whole, small);
  hub.serve_file(resolve_path("w.safetensors"), bytes.substr(0, 4));
  file.size = 4;
  file.sha256 = sha256_hex(bytes.substr(0, 4));
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::malformed);
  file.sha256 = std::string(64, 'c');
  bytes[4] = 1; // 4 GiB and more
  hub.serve_file(resolve_path("w.safetensors"), bytes);
  file.size = 1LL << 40;
  hub.options().retries = 0;
  EXPECT_FALSE(hub.content(file, FilePart::safetensors_header));
  bytes.resize(200'000);
  hub.serve_file(resolve_path("w.safetensors"), bytes);
  const std::size_t before = hub.count();
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::too_large);
  EXPECT_EQ(hub.count(), before + 1);
}

TEST(HubClient, AFileShorterThanItsTreeSays) {
  ScriptedHub hub;
  hub.options().retries = 0;
  hub.serve_file(resolve_path("w.safetensors"), safetensors(200'000, 0).substr(0, 100'001));
  const FileEntry file{"w.safetensors", older, 300'000, std::string(64, 'c')};
  EXPECT_FALSE(hub.content(file, FilePart::safetensors_header));
}

/// A GGUF header with one long string, and data behind it.
std::string gguf(std::size_t text) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i) & 0xFFU);
    return out;
  };
  const std::string key = "general.architecture";
  std::string bytes = "GGUF" + number(3, 4) + number(0, 8) + number(1, 8) + number(key.size(), 8) +
                      key + number(8, 4) + number(text, 8);
  bytes += std::string(text, 'x');
  return bytes;
}

TEST(HubClient, AGgufHeaderIsReadByGrowingRanges) {
  for (const std::size_t text : {std::size_t{5}, std::size_t{1'500'000}, std::size_t{6'000'000}}) {
    ScriptedHub hub;
    const std::string header = gguf(text);
    hub.serve_file(resolve_path("m.gguf"), header + std::string(20'000'000, 'w'));
    const FileEntry file{"m.gguf", older, static_cast<std::int64_t>(header.size() + 20'000'000),
                         std::string(64, 'c')};
    const Result<std::string> got = hub.content(file, FilePart::gguf_header);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_GE(got->size(), header.size());
    EXPECT_LT(got->size(), header.size() + 64);
    EXPECT_EQ(got->substr(0, header.size()), header);
    EXPECT_LE(hub.count(), 3U);
  }
}

TEST(HubClient, FilesMayLiveAtAnotherOriginWhichGetsNoToken) {
  ScriptedHub cdn;
  const std::string bytes = safetensors(100, 1000);
  cdn.serve_file("/blob?sig=1", bytes);
  ScriptedHub hub;
  Response found;
  found.status = 302;
  net::set_header(found.headers, "Location", cdn.endpoint() + "/blob?sig=1");
  net::set_header(found.headers, "X-Linked-ETag", "\"" + sha256_hex(bytes) + "\"");
  hub.on(resolve_path("w.safetensors"), found);
  hub.options().token = "hf_secret";
  FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(bytes.size()),
                 sha256_hex(bytes)};
  const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(net::find_header(cdn.seen()[0].headers, "Authorization"), nullptr);
  EXPECT_NE(net::find_header(cdn.seen()[0].headers, "Range"), nullptr);
  file.sha256 = std::string(64, 'd'); // the tree lists other bytes than the hub now links
  hub.options().retries = 0;
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::transient);
}

TEST(HubClient, WhatCameInAFilesPlaceIsWaitedOutAndWrongBytesAreNotBelieved) {
  const std::string small = safetensors(100, 400);
  const std::string large = safetensors(200'000, 5'000'000);
  const std::string page = "<html>" + std::string(150'000, ' ') + "</html>";
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'c') +
      "\nsize 5208008\n";
  struct Case {
    const char *name;
    const std::string &file;
    std::string body;
    const char *type;
    Errc expected;
  };
  const Case cases[] = {
      {"a page for a small file", small, page, "text/html; charset=utf-8", Errc::transient},
      {"a page for a large file", large, page, "text/html", Errc::transient},
      {"a pointer for a small file", small, pointer, "text/plain", Errc::transient},
      {"a pointer for a large file", large, pointer, "binary/octet-stream", Errc::transient},
      {"zeros for a small file", small, std::string(small.size(), '\0'), "binary/octet-stream",
       Errc::malformed},
      {"more than there is", small, small + "x", "binary/octet-stream", Errc::transient},
  };
  for (const Case &c : cases) {
    ScriptedHub hub;
    hub.options().retries = 0;
    Response response;
    net::set_header(response.headers, "Content-Type", c.type);
    response.body = c.body;
    hub.on(resolve_path("w.safetensors"), response);
    const FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(c.file.size()),
                         sha256_hex(c.file)};
    const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(got.error().code, c.expected) << c.name << ": " << got.error().message;
  }
  ScriptedHub hub;
  Response response;
  net::set_header(response.headers, "Content-Type", "text/html");
  response.body = page;
  hub.on(resolve_path("page.html"), response);
  EXPECT_TRUE(
      hub.content({"page.html", git_blob_id(page), static_cast<std::int64_t>(page.size()), ""},
                  FilePart::whole))
      << "a page is what was asked for";
}

} // namespace
} // namespace headwater::hub
