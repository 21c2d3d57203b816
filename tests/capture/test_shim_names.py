"""Module names, without torch: the walk needs only _modules."""
import gc
import sys

import pytest
from shim_process import SHIM

sys.path.insert(0, SHIM)
from opguard_shim import masking, module_names, packages, revision  # noqa: E402


class Module:
    def __init__(self, **children):
        self._modules = children


class Sequential(Module):
    pass


class DistributedDataParallel(Module):
    pass


class OptimizedModule(Module):
    pass


class GPT(Module):
    pass


class ReLU(Module):
    pass


@pytest.fixture
def table():
    texts = []

    def intern(name, class_name):
        text = "%s:%s" % (name, class_name)
        if text not in texts:
            texts.append(text)
        return texts.index(text) + 1

    names = module_names.ModuleNames(intern)
    names.text = lambda module: texts[names.ids[id(module)] - 1]
    return names


def test_names_are_those_of_named_modules(table):
    leaf, block = Module(), Sequential()
    block._modules = {"0": leaf, "none": None}
    model = GPT(h=block, head=leaf)
    table.add(model, None, model)
    assert [table.text(m) for m in (model, block, leaf)] == [
        "GPT:GPT", "h:Sequential", "h.0:Module"]


def test_wrappers_do_not_show_in_names(table):
    leaf = Module()
    model = GPT(fc=leaf)
    wrapped = OptimizedModule(_orig_mod=DistributedDataParallel(module=model))
    table.add(wrapped, None, wrapped)
    assert table.text(wrapped) == "GPT:OptimizedModule"
    assert table.text(model) == "GPT:GPT"
    assert table.text(leaf) == "fc:Module"


def test_wrapping_a_known_model_keeps_its_names(table):
    model, other = GPT(fc=Module()), GPT(fc=Module())
    for root in (model, other):
        table.add(root, None, root)
    wrapped = OptimizedModule(_orig_mod=model)
    table.add(wrapped, None, wrapped)
    assert table.text(model._modules["fc"]) == "fc:Module"


def test_a_second_live_model_gets_its_class_in_front(table):
    first, second, third = GPT(fc=Module()), GPT(fc=Module()), Sequential(fc=Module())
    for root in (first, second, third):
        table.add(root, None, root)
    assert table.text(first._modules["fc"]) == "fc:Module"
    assert table.text(second._modules["fc"]) == "GPT#2.fc:Module"
    assert table.text(third._modules["fc"]) == "Sequential.fc:Module"


def test_a_model_made_anew_gets_the_same_names(table):
    for _ in range(3):
        model = GPT(fc=Module())
        table.add(model, None, model)
        assert table.text(model._modules["fc"]) == "fc:Module"
        del model
        gc.collect()
        assert not table.ids


def test_a_part_called_first_is_renamed_by_the_whole(table):
    part = Sequential(fc=Module())
    model = GPT(encoder=part)
    table.add(part, None, part)
    assert table.text(part._modules["fc"]) == "fc:Module"
    table.add(model, None, model)
    assert table.text(part._modules["fc"]) == "encoder.fc:Module"


def test_modules_added_later_are_found(table):
    blocks = Sequential()
    model = GPT(h=blocks)
    table.add(model, None, model)
    late, deep = Module(), Module()
    blocks._modules["0"] = late
    table.add(late, model, model)
    assert table.text(late) == "h.0:Module"
    late._modules["inner"] = Module(deep=deep)
    table.add(deep, model, model)
    assert table.text(deep) == "h.0.inner.deep:Module"


def test_modules_made_in_forward_are_named_after_their_caller_without_new_walks(
        table, monkeypatch):
    block = Sequential()
    model = GPT(h=block)
    table.add(model, None, model)
    walks = []
    walk = module_names._walk
    monkeypatch.setattr(module_names, "_walk", lambda *a: walks.append(1) or walk(*a))
    for _ in range(4):
        relu = ReLU()
        table.add(relu, block, model)
        assert table.text(relu) == "h.<ReLU>:ReLU"
    assert len(walks) == 1


def test_secrets_are_masked():
    assert masking.variable("NCCL_AUTH_TOKEN", "x") == "***"
    assert masking.variable("TORCH_HOME", "https://me:pw@host/x") == "https://***@host/x"
    assert masking.arguments(
        ["t.py", "--hf-token", "abc", "--api-key=k", "--max-tokens", "7", "--lr=0.1", "x"]) == [
            "t.py", "--hf-token", "***", "--api-key=***", "--max-tokens", "7", "--lr=0.1", "x"]


def test_revision_outside_a_work_tree_is_empty(tmp_path):
    assert revision.commit(str(tmp_path)) == ""
    assert revision.dirty_digest(str(tmp_path)) == ""


def test_versions_of_imported_packages():
    assert packages.imported()["pytest"] == pytest.__version__
