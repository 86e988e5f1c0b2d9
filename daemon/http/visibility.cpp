#include "daemon/http/visibility.hpp"

namespace headwater::http {

bool may_show(const store::Repo &repo) {
  return repo.publish || (repo.visibility == store::Visibility::open && !repo.facts.name.empty());
}

} // namespace headwater::http
