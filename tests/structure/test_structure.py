"""What the documents promise of the tree: dependency edges, codes, links, versions."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = (".cc", ".h", ".in")

# Folder -> what a source there may not include. Edges of ARCHITECTURE.md.
FORBIDDEN = {
    "analysis/store": r"torch/|ATen/|c10/|nlohmann/|fmt/|opguard/analysis/|hwy/|spdlog/|CLI/",
    "analysis/src": r"torch/|ATen/|c10/|nlohmann/|sqlite3\.h|zstd\.h|spdlog/|iostream|CLI/",
    "analysis/include": r"torch/|ATen/|c10/|nlohmann/|sqlite3\.h|zstd\.h|spdlog/|fmt/",
    "mcp-server": r"torch/|ATen/|c10/|sqlite3\.h|zstd\.h|hwy/",
    "mcp-server/src/protocol": r"opguard/analysis/|tools/|runner/|render/|cli/|transport/",
    "mcp-server/src/transport": r"opguard/analysis/|tools/|runner/|render/|cli/",
    "mcp-server/src/runner": r"protocol/|tools/|render/|cli/",
    "capture/src/fingerprint": r"torch/|ATen/|c10/|sqlite3\.h|opguard/store/",
    "capture/src/write": r"torch/|ATen/|c10/|sqlite3\.h|hwy/|opguard/analysis/",
    "capture/src/torch": r"sqlite3\.h|opguard/analysis/|nlohmann/|fmt/|hwy/|zstd\.h",
}


def tracked(*suffixes, under=""):
    listed = subprocess.check_output(["git", "ls-files", "--cached", "--others",
                                      "--exclude-standard", under or "."], cwd=ROOT,
                                     encoding="utf-8")
    return [path for path in listed.splitlines()
            if path.endswith(suffixes) and os.path.exists(os.path.join(ROOT, path))]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("folder", sorted(FORBIDDEN))
def test_dependencies_point_one_way(folder):
    include = re.compile(r'^\s*#\s*include\s*[<"](?:%s)' % FORBIDDEN[folder], re.MULTILINE)
    sources = [path for path in tracked(*SOURCES, under=folder) if "_test" not in path
               and "/tests/" not in path and "/benchmarks/" not in path]
    assert sources
    assert [path for path in sources if include.search(text_of(path))] == []


def test_only_the_store_calls_sqlite():
    callers = {path for path in tracked(*SOURCES) if re.search(r"\bsqlite3_\w+\(", text_of(path))}
    assert callers and all(path.startswith("analysis/store/") for path in callers)


def test_torch_is_in_no_header_of_the_interface():
    headers = tracked(".h", under="capture/include") + tracked(".h", under="analysis")
    assert [path for path in headers if re.search(r"#include <(torch|ATen|c10)/", text_of(path))] == []


def test_every_error_code_is_documented():
    names = re.findall(r'return "([a-z_]+)";', text_of("analysis/store/src/result.cc"))
    documented = text_of("schemas/errors.md")
    assert len(names) >= 12 and [name for name in names if "`%s`" % name not in documented] == []


def test_every_note_is_documented():
    documented = text_of("schemas/errors.md")
    written = set()
    for path in tracked(".cc", ".h", ".py", under="capture"):
        written |= set(re.findall(
            r'(?:AddNote\([^";]*|Disable\([^";]*|Disable\([^"]*"\w+" : |NotCaptured\(|\.note\(|'
            r'notes\.write\(config, )"([a-z]+_[a-z_]+)"', text_of(path)))
    assert {"internal_error", "no_library", "io_error"} <= written
    assert [code for code in sorted(written) if "`%s`" % code not in documented] == []


def test_links_of_the_documents_lead_somewhere():
    broken = []
    for path in tracked(".md"):
        for target in re.findall(r"\]\(([^)#\s]+)", text_of(path)):
            if not re.match(r"https?:", target) and not os.path.exists(
                    os.path.join(ROOT, os.path.dirname(path), target)):
                broken.append((path, target))
    assert broken == []


def test_shim_and_project_have_one_version():
    project = re.search(r"project\(opguard VERSION ([\d.]+)", text_of("CMakeLists.txt")).group(1)
    assert 'VERSION = "%s"' % project in text_of("capture/python/opguard_shim/__init__.py")


def test_the_license_is_apache():
    assert "Apache License" in text_of("LICENSE")[:200]
