"""What an op's record holds, one case a function of the program; expected values by hand."""
import pytest
from core_trace import FINGERPRINTED, THREW, UNREADABLE, VIEW, record

PROGRAM = """
import numpy, torch, torch.nn as nn
torch.manual_seed(3)
a, b = torch.randn(3, 4), torch.randn(4, 2)

def case_plain():
    torch.mm(a, b)
def case_scalar():
    a * 0.5
    torch.add(a, 1, alpha=2)
    torch.sum(a, dim=[0, 1], dtype=torch.float64)
    torch.full((2,), 7.0)
    torch.nn.functional.pad(a, (1, 1), mode="constant")
    torch.einsum("ij,jk->ik", a, b)
def case_inplace():
    x = torch.zeros(3)
    x.add_(1)
    torch.add(x, x, out=torch.empty(3))
def case_foreach():
    torch._foreach_add_([torch.zeros(2), torch.zeros(3)], 1.0)
def case_list():
    torch.cat([torch.zeros(2), torch.ones(2)])
    torch.split(torch.arange(4), 2)
def case_view():
    a.t()
    a.contiguous()
    a.reshape(4, 3)[1:, ::2]
    nn.functional.dropout(a, 0.5, training=False)
def case_optional():
    nn.functional.layer_norm(a, (4,))
    a[:, torch.tensor([0])]
def case_throws():
    try:
        torch.mm(a, a)
    except RuntimeError:
        pass
    torch.mm(a, b)
def case_rng():
    torch.rand(2)
    nn.functional.dropout(a, 0.5)
    nn.functional.dropout(a, 0.5, training=False)
    torch.rand(2, generator=torch.Generator().manual_seed(5))
def case_batch_norm():
    norm = nn.BatchNorm1d(4)
    norm(a)
def case_from_numpy():
    array = numpy.zeros(4, dtype=numpy.float32)
    one, two, part = (torch.from_numpy(x) for x in (array, array, array[2:]))
    one.add_(1); two.add_(1); part.add_(1)
def case_sparse():
    sparse = torch.eye(3).to_sparse()
    sparse + sparse
    torch.sparse.mm(sparse, a)
def case_nested():
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    nested * 2
def case_meta():
    torch.empty(3, device="meta") + 1
def case_fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        torch.ones(3) + torch.ones(3)
def case_vmap():
    torch.vmap(lambda x: x * 2)(a)
def case_statistics():
    torch.tensor([0.0, -1.0, float("nan"), float("inf"), 3.0]) * 1
    torch.tensor([True, False]) & True
def case_conj():
    z = torch.complex(a, a)
    torch.view_as_real(z.conj().resolve_conj())
    z.conj() * 1
def case_bytes():
    (torch.arange(6).reshape(2, 3).t() + 0).contiguous()
def case_script():
    @torch.jit.script
    def double(x, y):
        x.add_(1.5)
        return torch.mm(x, y) * 2 + 1
    for _ in range(3):
        double(torch.ones(2, 2), torch.ones(2, 2))
def case_inference():
    with torch.inference_mode():
        x = torch.ones(3)
        x.mul_(2)
        x + 1
def case_empty():
    torch.zeros(0, 3) + 1
def case_cow():
    lazy = torch._lazy_clone(a)
    lazy + 1
    print("cow", torch._C._is_cow_tensor(lazy))
def case_resized():
    x = torch.ones(4)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(16)
    x.fill_(2)
for name, case in list(globals().items()):
    if name.startswith("case_"):
        case()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    done, (trace,) = record(PROGRAM, tmp_path_factory.mktemp("ops"))
    trace.stdout = done.stdout
    return trace


def names(trace, case):
    return [op.name for op in trace.inside(case)]


def test_inputs_and_outputs_of_a_plain_op(recorded):
    (op,) = recorded.inside("case_plain")
    assert (op.name, op.arguments, list(op.tensors)) == ("aten::mm", "", ["in0", "in1", "out0"])
    assert op.tensors["out0"].sizes == "[3, 2]"
    assert {t.state for t in op.tensors.values()} == {FINGERPRINTED}
    assert op.lines[0][0].endswith("program.py")
    assert op.functions == ["case_plain", "<module>"]


def test_arguments_are_canonical_text(recorded):
    ops = recorded.inside("case_scalar")
    assert [(op.name, op.arguments) for op in ops] == [
        ("aten::mul.Tensor", "other=0.5"), ("aten::add.Tensor", "other=1\nalpha=2"),
        ("aten::sum.dim_IntList", "dim=[0, 1]\nkeepdim=False\ndtype=torch.float64"),
        ("aten::full", "size=[2]\nfill_value=7.0\ndtype=None\nlayout=None\ndevice=cpu\n"
                       "pin_memory=False"),
        ("aten::pad", 'pad=[1, 1]\nmode="constant"\nvalue=None'),
        ("aten::einsum", 'equation="ij,jk->ik"\npath=None')]
    assert list(ops[0].tensors) == ["in0", "out0"]


def test_in_place_and_out_results_are_outputs(recorded):
    add, out = recorded.inside("case_inplace")[1], recorded.inside("case_inplace")[-1]
    assert (add.name, list(add.tensors)) == ("aten::add_.Tensor", ["in0", "out0"])
    assert add.tensors["in0"].storage == add.tensors["out0"].storage
    assert add.tensors["out0"].state == FINGERPRINTED
    assert add.tensors["in0"].fingerprint != add.tensors["out0"].fingerprint
    assert (out.name, list(out.tensors)) == ("aten::add.out", ["in0", "in1", "in3", "out0"])


def test_arguments_written_without_being_returned_are_mutated(recorded):
    op = recorded.inside("case_foreach")[-1]
    assert op.name == "aten::_foreach_add_.Scalar"
    assert list(op.tensors) == ["in0[0]", "in0[1]", "mut0[0]", "mut0[1]"]
    assert op.tensors["mut0[0]"].statistic == (0, 0, 0, 1.0, 1.0)


def test_list_items_have_slots(recorded):
    assert list(recorded.one("case_list", "aten::cat").tensors) == ["in0[0]", "in0[1]", "out0"]
    split = recorded.one("case_list", "aten::split")
    assert list(split.tensors) == ["in0", "out0[0]", "out0[1]"]
    assert split.tensors["out0[1]"].state == VIEW


def test_an_output_that_aliases_an_unwritten_input_is_a_view(recorded):
    for op in recorded.inside("case_view"):
        assert op.tensors["out0"].state == VIEW, op
        assert op.tensors["out0"].fingerprint is None
        assert op.tensors["out0"].storage == op.tensors["in0"].storage


def test_absent_optional_tensors_are_none(recorded):
    norm = recorded.one("case_optional", "aten::layer_norm")
    assert "weight=None\nbias=None" in norm.arguments
    index = recorded.one("case_optional", "aten::index")
    assert [slot for slot in index.tensors if slot.startswith("in1")] == ["in1[1]"]


def test_an_op_that_throws_has_no_outputs_and_the_next_one_is_whole(recorded):
    threw, good = recorded.inside("case_throws")
    assert (threw.flags & THREW, list(threw.tensors)) == (THREW, ["in0", "in1"])
    assert (good.flags, list(good.tensors)) == (0, ["in0", "in1", "out0"])


def test_ops_that_draw_have_generator_states(recorded):
    ops = [op for op in recorded.inside("case_rng") if op.name.split(".")[0] in (
        "aten::rand", "aten::dropout")]
    rand, dropout, evaluated, own = ops
    assert rand.rng[:2] == ("cpu", 3) and own.rng[:2] == ("cpu", 5)
    assert rand.rng[3] == dropout.rng[2]  # after the one, before the other
    assert dropout.rng[2] != dropout.rng[3]
    assert evaluated.rng is None
    assert {op.name for op in recorded.ops if op.rng} >= {"aten::rand", "aten::dropout"}


def test_running_statistics_are_mutated_though_the_schema_is_silent(recorded):
    op = recorded.one("case_batch_norm", "aten::batch_norm")
    assert {"mut3", "mut4"} <= set(op.tensors)
    assert op.tensors["mut3"].fingerprint != op.tensors["in3"].fingerprint
    assert op.module == "BatchNorm1d" and op.phase == "forward"


def test_two_storages_over_the_same_memory_are_aliases(recorded):
    one, two, part = [op.tensors["in0"].storage for op in recorded.inside("case_from_numpy")
                      if op.name == "aten::add_.Tensor"]
    assert recorded.aliases[one] == 0
    assert recorded.aliases[two] == one
    assert recorded.aliases[part] in (one, two)
    assert len({one, two, part}) == 3


@pytest.mark.parametrize("case", ["case_sparse", "case_nested", "case_vmap"])
def test_of_wrappers_the_plain_inner_calls_are_recorded(recorded, case):
    assert int(recorded.facts["skipped.wrapper"]) > 0
    inner = [op for op in recorded.inside(case) if op.flags & 4]
    assert inner or case == "case_sparse"
    for op in recorded.inside(case):
        assert all(t.state != UNREADABLE for t in op.tensors.values())


@pytest.mark.parametrize("case", ["case_meta", "case_fake"])
def test_fake_calls_are_left_out_and_counted(recorded, case):
    assert names(recorded, case) == []
    assert int(recorded.facts["skipped.fake"]) > 0


def test_statistics(recorded):
    floats = recorded.one("case_statistics", "aten::mul").tensors["out0"].statistic
    assert floats == (1, 1, 1, -1.0, float("inf"))
    assert recorded.one("case_statistics", "aten::__and__").tensors["out0"].statistic[2] == 1


def test_conjugate_views_say_so(recorded):
    layouts = {t.layout for op in recorded.inside("case_conj") for t in op.tensors.values()}
    assert layouts == {"strided", "strided conj"}


def test_equal_content_has_equal_fingerprints_whatever_the_strides(recorded):
    add, contiguous = recorded.inside("case_bytes")[-2:]
    assert contiguous.name == "aten::contiguous"
    assert contiguous.tensors["in0"].strides != contiguous.tensors["out0"].strides
    assert contiguous.tensors["in0"].fingerprint == contiguous.tensors["out0"].fingerprint
    assert add.tensors["out0"].fingerprint == contiguous.tensors["in0"].fingerprint


def test_boxed_calls_have_their_own_arguments(recorded):
    ops = recorded.inside("case_script")
    last = [op for op in ops if op.name == "aten::mm"][-1]
    assert [t.sizes for t in last.tensors.values()] == ["[2, 2]"] * 3
    adds = [op for op in ops if op.name == "aten::add_.Scalar" or "add_" in op.name]
    assert adds and all("1.5" in op.arguments for op in adds)
    assert all(op.tensors["out0"].statistic[3:] == (2.5, 2.5) for op in adds)


def test_inference_tensors_are_read(recorded):
    ops = recorded.inside("case_inference")
    assert [op.tensors["out0"].statistic[3] for op in ops] == [1.0, 2.0, 3.0]


def test_empty_tensors_are_fingerprinted(recorded):
    add = recorded.one("case_empty", "aten::add")
    assert add.tensors["in0"].fingerprint is not None
    assert add.tensors["out0"].statistic == (0, 0, 0, None, None)


def test_copy_on_write_memory_stays_unmaterialised(recorded):
    assert "cow True" in recorded.stdout


def test_memory_that_moved_is_still_the_same_storage(recorded):
    ones, fill = recorded.inside("case_resized")
    assert ones.tensors["out0"].storage == fill.tensors["in0"].storage


def test_the_program_is_a_source(recorded):
    import hashlib

    ((path, (digest, size)),) = [item for item in recorded.sources.items()
                                 if item[0].endswith("program.py")]
    with open(path, "rb") as file:
        text = file.read()
    assert (digest, size) == (hashlib.sha256(text).hexdigest(), len(text))


def test_frames_of_the_shim_are_left_out(recorded):
    assert not [line for op in recorded.ops for line in op.lines if "opguard_shim" in line[0]]
