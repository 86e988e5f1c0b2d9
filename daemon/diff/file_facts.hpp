#pragma once

#include "daemon/diff/facts.hpp"

namespace headwater::diff {

/// A fact of that value; with `under`, it comes and goes with that object.
Fact value_of(std::string value, std::string under = {});

/// What one file says by itself. Pure.
std::shared_ptr<const FileFacts> read_file_facts(const Snapshot &snapshot, const FileEntry &file);

/// What follows from several files together: special tokens, stops, defaults of generation,
/// templates. `facts` holds the files; `known` may have rendered templates already.
void add_facts_of_several(const Snapshot &snapshot, Facts &facts, const Facts *known);

} // namespace headwater::diff
