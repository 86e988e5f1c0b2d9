#include "daemon/net/inflate.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <zlib.h>

namespace headwater::net {

struct Inflater::State {
  z_stream stream{};
  bool usable = false;
  bool ended = false; ///< at the end of a member, where another may follow
};

Inflater::Inflater(std::size_t limit) : state_(std::make_unique<State>()), limit_(limit) {
  constexpr int gzip_only = 15 + 16;
  state_->usable = inflateInit2(&state_->stream, gzip_only) == Z_OK;
}

Inflater::~Inflater() {
  if (state_->usable)
    inflateEnd(&state_->stream);
}

Result<void> Inflater::add(std::string_view piece, std::string &out) {
  if (!state_->usable)
    return fail(Errc::internal, "zlib cannot be set up");
  z_stream &stream = state_->stream;
  std::array<unsigned char, 64U << 10U> buffer;
  std::basic_string<unsigned char> input(piece.begin(), piece.end());
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(input.size());
  bool more = true;
  while (more) {
    if (state_->ended) {
      if (stream.avail_in == 0)
        break;
      inflateReset(&stream);
      state_->ended = false;
    }
    stream.next_out = buffer.data();
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return fail(Errc::malformed, "the gzip data is damaged");
    const std::size_t made = buffer.size() - stream.avail_out;
    const std::size_t room = limit_ - std::min(limit_, out.size());
    out.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(std::min(made, room)));
    if (made > room)
      return fail(Errc::too_large, fmt::format("decodes to more than {} bytes", limit_));
    state_->ended = status == Z_STREAM_END;
    more = stream.avail_in > 0 || stream.avail_out == 0;
    if (status == Z_BUF_ERROR && stream.avail_out != 0)
      break;
  }
  return {};
}

bool Inflater::complete() const {
  return state_->ended;
}

} // namespace headwater::net
