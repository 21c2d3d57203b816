// The parts that FindFirstDiff is made of.
#include <doctest/doctest.h>

#include "known_ops.h"
#include "op_facts.h"
#include "text_diff.h"

namespace opguard::analysis {
namespace {

OpFacts Facts(const std::string& name, const std::string& signature = "",
              std::uint32_t traits = 0) {
  return FactsOf({1, name, "", signature, traits});
}

TEST_CASE("ParseSignature reads names, written and keyword-only arguments") {
  const auto arguments = ParseSignature(
      "aten::sort.values(Tensor self, int dim=-1, int[2] pad=[0, 1], *, Tensor(a!) values, "
      "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))");
  REQUIRE(arguments.size() == 5);
  CHECK(arguments[0].name == "self");
  CHECK(arguments[2].name == "pad");
  CHECK_FALSE(arguments[1].is_keyword_only);
  CHECK(arguments[3].name == "values");
  CHECK(arguments[3].is_written);
  CHECK(arguments[4].is_keyword_only);
}

TEST_CASE("ParseSignature gives nothing for what is no signature") {
  CHECK(ParseSignature("").empty());
  CHECK(ParseSignature("aten::x").empty());
  CHECK(ParseSignature("aten::x(...)").empty());
  CHECK(ParseSignature("aten::x(Tensor self").empty());
  CHECK(ParseSignature("aten::x() -> Tensor").empty());
}

TEST_CASE("FactsOf knows pure writes from updates") {
  CHECK(Facts("aten::uniform_").Overwrites(0));
  CHECK_FALSE(Facts("aten::copy_").Overwrites(1));
  CHECK_FALSE(Facts("aten::add_").Overwrites(0));
  const OpFacts out =
      Facts("aten::mm", "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)");
  CHECK(out.Overwrites(2));
  CHECK_FALSE(out.Overwrites(0));
  CHECK_FALSE(out.Overwrites(40));
  CHECK_FALSE(out.Overwrites(-1));
}

TEST_CASE("FactsOf knows kinds of operators") {
  CHECK(Facts("aten::empty_strided").makes_garbage);
  CHECK(Facts("aten::new_empty").makes_garbage);
  CHECK_FALSE(Facts("aten::zeros").makes_garbage);
  CHECK(Facts("aten::scaled_dot_product_attention").is_matmul);
  CHECK(Facts("aten::conv2d").is_matmul);
  CHECK_FALSE(Facts("aten::_convert_indices_from_coo_to_csr").is_matmul);
  CHECK(Facts("c10d::allreduce_").is_collective);
  CHECK(Facts("aten::dropout", "", store::kDraws).draws);
  CHECK(Facts("aten::relu", "", store::kPointwise).is_trivial);
  CHECK_FALSE(Facts("aten::bernoulli_", "", store::kDraws | store::kPointwise).is_trivial);
}

TEST_CASE("CompareArguments finds changed, missing and extra arguments by name") {
  const auto differences =
      CompareArguments("lr=0.1\neps=1e-08\nfused=True", "lr=0.2\neps=1e-08\nx=1");
  REQUIRE(differences.size() == 3);
  CHECK(differences[0].name == "lr");
  CHECK(differences[0].a == "0.1");
  CHECK(differences[0].b == "0.2");
  CHECK(differences[1].name == "fused");
  CHECK(differences[1].b.empty());
  CHECK(differences[2].name == "x");
  CHECK(differences[2].a.empty());
}

TEST_CASE("CompareInside splits arguments outside brackets and quotes") {
  const InsideDifference difference =
      CompareInside({"aten::f(size=[1, 2], mode=\"a, \\\"b\", p=1)"},
                    {"aten::f(size=[1, 3], mode=\"a, \\\"b\", p=1)"});
  CHECK(difference.line == 0);
  CHECK_FALSE(difference.is_other_call);
  REQUIRE(difference.arguments.size() == 1);
  CHECK(difference.arguments[0].a == "[1, 2]");
  CHECK(difference.arguments[0].where == "aten::f");
}

TEST_CASE("CompareInside tells another call from other arguments") {
  CHECK(CompareInside({"aten::f()"}, {"aten::g()"}).is_other_call);
  CHECK(CompareInside({"aten::f()"}, {"aten::f()", "aten::g()"}).line == 1);
  CHECK(CompareInside({"aten::f()"}, {"aten::f()"}).line == -1);
}

TEST_CASE("KnownExplanation depends on device and arguments") {
  CHECK_FALSE(KnownExplanation("aten::index_put_", "cpu", "accumulate=True").empty());
  CHECK(KnownExplanation("aten::index_put_", "cpu", "accumulate=False").empty());
  CHECK(KnownExplanation("aten::index_add_", "cpu", "").empty());
  CHECK_FALSE(KnownExplanation("aten::index_add_", "cuda:0", "dim=0").empty());
  CHECK_FALSE(KnownExplanation("aten::upsample_bilinear2d_backward", "cuda:1", "").empty());
  CHECK(KnownExplanation("aten::add", "cuda:0", "").empty());
}

}  // namespace
}  // namespace opguard::analysis
