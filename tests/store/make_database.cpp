// Writes a small database of this version, to be kept as tests/data/store/vN.db when the version is
// released:
//   make_database tests/data/store/v1.db

#include "store/store.hpp"
#include "tests/store/made.hpp"

#include <cstdio>
#include <filesystem>

int main(int argc, char **argv) {
  using namespace headwater;
  if (argc != 2 || std::filesystem::exists(argv[1])) {
    std::fprintf(stderr, "usage: make_database FILE (which must not exist)\n");
    return 2;
  }
  Result<std::unique_ptr<store::Store>> opened =
      store::Store::open({argv[1], [] { return *parse_time("2026-01-03T00:00:00Z"); }, {}});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 3;
  }
  store::Store &database = **opened;
  store::Watch watch;
  watch.repo = "acme/tiny";
  const Result<void> watched = database.put_watch(watch);
  const Result<store::Repo> repo = database.ensure_repo("acme/tiny", "main");
  const bool written = watched && repo && database.write_revision(store::made_revision(repo->id)) &&
                       database.put_note("note", "value");
  database.close();
  if (!written)
    std::fprintf(stderr, "%s: could not be written\n", argv[1]);
  return written ? 0 : 3;
}
