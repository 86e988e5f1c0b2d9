#pragma once

#include "daemon/hub/client.hpp"
#include "daemon/net/server.hpp"
#include "schemas/digest.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

/// A hub that answers from a script, and what its tests ask for.
namespace headwater::hub {

using net::Request;
using net::Response;

inline const std::string sha(40, 'a');
inline const std::string older(40, 'b');

/// A hub that answers from a script: by "METHOD target" a list of answers, the last of which
/// repeats.
class ScriptedHub {
public:
  ScriptedHub() {
    Result<std::unique_ptr<net::Server>> server =
        net::Server::start({}, [this](const Request &request) { return answer(request); });
    EXPECT_TRUE(server);
    server_ = std::move(*server);
    options_.endpoint = endpoint();
    options_.first_backoff_ms = 1;
  }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }
  HubOptions &options() { return options_; }

  void on(const std::string &target, Response response) {
    const std::lock_guard lock(mutex_);
    script_[target].push_back(std::move(response));
  }
  void on_json(const std::string &target, std::string body, int status = 200) {
    on(target, json(std::move(body), status));
  }

  static Response json(std::string body, int status = 200) {
    Response response;
    response.status = status;
    net::set_header(response.headers, "Content-Type", "application/json");
    response.body = std::move(body);
    return response;
  }
  static Response error(int status, const std::string &code, const std::string &message) {
    Response response;
    response.status = status;
    if (!code.empty())
      net::set_header(response.headers, "X-Error-Code", code);
    if (!message.empty())
      net::set_header(response.headers, "X-Error-Message", message);
    return response;
  }

  /// Serves `bytes` under the path as the real hub does, ranges included.
  void serve_file(const std::string &target, std::string bytes, bool ranges = true) {
    const std::lock_guard lock(mutex_);
    files_[target] = {std::move(bytes), ranges};
  }

  std::vector<Request> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t count() const { return seen().size(); }

  /// Runs one call of a client made with the options to its end.
  template <class T>
  Result<T> call(const std::function<boost::asio::awaitable<Result<T>>(Client &)> &what) {
    boost::asio::io_context io;
    const std::unique_ptr<Client> client = Client::make(io.get_executor(), options_);
    std::optional<Result<T>> result;
    boost::asio::co_spawn(io, what(*client),
                          [&result](const std::exception_ptr &failed, Result<T> value) {
                            if (failed)
                              std::rethrow_exception(failed);
                            result = std::move(value);
                          });
    while (!result && io.run_one() > 0) {
    }
    return std::move(*result);
  }

  Result<RepoFacts> repo(const std::string &name = "acme/tiny",
                         const std::string &revision = "main") {
    return call<RepoFacts>([&](Client &client) { return client.repo(name, revision); });
  }
  Result<std::string> content(const FileEntry &file, FilePart part) {
    return call<std::string>(
        [&](Client &client) { return client.content("acme/tiny", sha, file, part); });
  }
  Result<std::vector<FileEntry>> tree() {
    return call<std::vector<FileEntry>>(
        [&](Client &client) { return client.tree("acme/tiny", sha); });
  }
  Result<CommitList> commits(std::size_t limit, const std::string &until = {}) {
    return call<CommitList>(
        [&](Client &client) { return client.commits("acme/tiny", "main", limit, until); });
  }

  std::function<void()> on_answer; ///< before each answer

private:
  struct File {
    std::string bytes;
    bool ranges = true;
  };

  Response answer(const Request &request) {
    const std::lock_guard lock(mutex_);
    if (on_answer)
      on_answer();
    seen_.push_back(request);
    if (const auto file = files_.find(request.target); file != files_.end())
      return part_of(file->second, request);
    // Queries are long: a script may name the path alone.
    auto found = script_.find(request.target);
    if (found == script_.end())
      found = script_.find(request.target.substr(0, request.target.find('?')));
    if (found == script_.end())
      return error(404, "", "");
    Response response = found->second.front();
    if (found->second.size() > 1)
      found->second.erase(found->second.begin());
    return response;
  }

  static Response part_of(const File &file, const Request &request) {
    Response response;
    const std::string *range = net::find_header(request.headers, "Range");
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (range == nullptr || !file.ranges ||
        std::sscanf(range->c_str(), "bytes=%llu-%llu", &begin, &end) != 2) {
      response.body = file.bytes;
      return response;
    }
    if (begin >= file.bytes.size()) {
      response.status = 416;
      return response;
    }
    end = std::min<unsigned long long>(end, file.bytes.size() - 1);
    response.status = 206;
    net::set_header(response.headers, "Content-Range",
                    fmt::format("bytes {}-{}/{}", begin, end, file.bytes.size()));
    response.body = file.bytes.substr(begin, end - begin + 1);
    return response;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Response>> script_;
  std::map<std::string, File> files_;
  std::vector<Request> seen_;
  HubOptions options_;
  std::unique_ptr<net::Server> server_;
};

inline const std::string facts_path = "/api/models/acme/tiny/revision/main";
inline std::string resolve_path(const std::string &path) {
  return "/acme/tiny/resolve/" + sha + "/" + path;
}

} // namespace headwater::hub
