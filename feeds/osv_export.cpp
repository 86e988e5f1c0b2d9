#include "feeds/osv_export.hpp"

#include "schemas/json.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>
#include <zip.h>

namespace headwater::feeds {
namespace {

std::vector<const store::AdvisoryRecord *>
newest_first(std::span<const store::AdvisoryRecord> records) {
  std::vector<const store::AdvisoryRecord *> sorted;
  sorted.reserve(records.size());
  for (const store::AdvisoryRecord &record : records)
    sorted.push_back(&record);
  std::ranges::sort(sorted, [](const auto *a, const auto *b) {
    if (a->advisory.modified != b->advisory.modified)
      return a->advisory.modified > b->advisory.modified;
    return a->advisory.id < b->advisory.id;
  });
  return sorted;
}

struct SourceFree {
  void operator()(zip_source_t *source) const { zip_source_free(source); }
};
using Source = std::unique_ptr<zip_source_t, SourceFree>;

struct ZipDiscard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, ZipDiscard>;

// 1980-01-01 00:00, the format's first moment: the bytes depend on the records alone.
constexpr zip_uint16_t dos_time = 0;
constexpr zip_uint16_t dos_date = (1U << 5U) | 1U;

std::unexpected<Error> zip_failure(const char *step) {
  return fail(Errc::internal, std::string("the archive of records could not be made: ") + step);
}

bool add_file(zip_t *archive, const store::AdvisoryRecord &record) {
  zip_source_t *content =
      zip_source_buffer(archive, record.osv_json.data(), record.osv_json.size(), 0);
  if (content == nullptr)
    return false;
  const std::string name = record.advisory.id + ".json";
  const zip_int64_t index = zip_file_add(archive, name.c_str(), content, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(content);
    return false;
  }
  const auto at = static_cast<zip_uint64_t>(index);
  return zip_file_set_dostime(archive, at, dos_time, dos_date, 0) == 0 &&
         zip_set_file_compression(archive, at, ZIP_CM_DEFLATE, 6) == 0;
}

} // namespace

std::string osv_list(std::span<const store::AdvisoryRecord> records) {
  OrderedJson list = OrderedJson::array();
  for (const store::AdvisoryRecord *record : newest_first(records))
    list.push_back({{"id", record->advisory.id}, {"modified", record->advisory.modified}});
  return list.dump() + "\n";
}

std::string osv_modified_csv(std::span<const store::AdvisoryRecord> records, bool with_ecosystem) {
  std::string csv;
  for (const store::AdvisoryRecord *record : newest_first(records))
    csv +=
        record->advisory.modified + (with_ecosystem ? ",GIT/" : ",") + record->advisory.id + "\n";
  return csv;
}

Result<std::string> osv_zip(std::span<const store::AdvisoryRecord> records) {
  // An archive without entries is not written by the library; this is its end record.
  if (records.empty())
    return std::string("PK\x05\x06", 4) + std::string(18, '\0');
  zip_error_t error;
  zip_error_init(&error);
  Source buffer(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!buffer)
    return zip_failure("no buffer");
  Archive archive(zip_open_from_source(buffer.get(), ZIP_TRUNCATE, &error));
  if (!archive)
    return zip_failure("not opened");
  zip_source_keep(buffer.get());

  std::vector<const store::AdvisoryRecord *> by_name = newest_first(records);
  std::ranges::sort(by_name, {},
                    [](const auto *record) -> const std::string & { return record->advisory.id; });
  for (const store::AdvisoryRecord *record : by_name)
    if (!add_file(archive.get(), *record))
      return zip_failure("a record was refused");
  if (zip_close(archive.get()) != 0)
    return zip_failure("not closed");
  static_cast<void>(archive.release());

  if (zip_source_open(buffer.get()) != 0)
    return zip_failure("not read back");
  std::string bytes;
  zip_stat_t stat;
  if (zip_source_stat(buffer.get(), &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0)
    bytes.resize(stat.size);
  const zip_int64_t count = zip_source_read(buffer.get(), bytes.data(), bytes.size());
  zip_source_close(buffer.get());
  if (count < 0 || static_cast<std::size_t>(count) != bytes.size())
    return zip_failure("cut short");
  return bytes;
}

std::string osv_ecosystems() {
  return "GIT\n";
}

std::string osv_modified(std::span<const store::AdvisoryRecord> records) {
  std::string newest;
  for (const store::AdvisoryRecord &record : records)
    newest = std::max(newest, record.advisory.modified);
  return newest;
}

} // namespace headwater::feeds
