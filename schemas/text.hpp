#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headwater {

/// Upstream text as HTML content or a quoted attribute: & < > " ' escaped, invalid UTF-8 replaced,
/// controls as \u{...}.
std::string escape_html(std::string_view text);

/// Upstream text for plain text and terminals: control, bidi and zero-width characters as \u{...},
/// invalid UTF-8 replaced, cut at `limit` code points with an ellipsis.
std::string plain_text(std::string_view text, std::size_t limit = 200);

/// Upstream text inside Markdown: a fence longer than any run of backticks in it, info word after
/// the opening fence.
std::string markdown_fence(std::string_view text, std::string_view info = "");

/// Upstream text as an inline Markdown code span on one line, delimiters longer than any run of
/// backticks in it.
std::string markdown_code(std::string_view text);

/// Text with Markdown's own characters escaped, on one line.
std::string markdown_text(std::string_view text);

/// "1.03 GB", "16.8 MB": bytes with GB = 1e9, three significant digits.
std::string human_bytes(double bytes);

/// 1234567 -> "1,234,567".
std::string with_thousands(long long number);

} // namespace headwater
