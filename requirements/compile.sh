#!/usr/bin/env bash
# Pin demo.in and dev.in for Python 3.11 to 3.14 on every platform, with hashes and without naming a registry.
# Needs uv. Extra arguments go to it, for example --upgrade.
set -euo pipefail
cd "$(dirname "$0")/.."
for group in demo dev; do
  constraint=()
  [ "$group" = dev ] && constraint=(--constraint requirements/demo.txt)
  uv pip compile "requirements/$group.in" --output-file "requirements/$group.txt" \
    --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
    --no-emit-package hindsight-adapter-core --no-emit-package hindsight-haystack --no-emit-package hindsight-llamaindex \
    --no-emit-package hindsight-langchain --no-emit-package hindsight-server "${constraint[@]}" "$@"
done
