#include "daemon/http/visibility.hpp"

namespace headwater::http {

bool may_show(const store::Repo &repo) {
  if (repo.publish)
    return true;
  const RepoFacts &facts = repo.facts;
  return repo.is_public() && !facts.name.empty() && !facts.is_private && !facts.disabled &&
         facts.gate == Gate::open;
}

} // namespace headwater::http
