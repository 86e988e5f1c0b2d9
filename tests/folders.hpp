#pragma once

#include <filesystem>
#include <optional>

/// Where the tests find what they read. The paths are in one generated file, so that no other
/// object file differs between two checkouts and the compiler's cache serves both.
namespace headwater::test {

/// The checkout.
std::filesystem::path source_folder();

/// The folder of shared material: HEADWATER_SHARED, else ../shared beside the checkout; nothing
/// where it is not there, or where HEADWATER_SHARED is set and empty.
std::optional<std::filesystem::path> shared_folder();

/// A file or folder of the shared material, nothing where it is not there.
std::optional<std::filesystem::path> shared_path(const std::filesystem::path &inside);

} // namespace headwater::test
