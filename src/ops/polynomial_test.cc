#include "ops/polynomial.h"

#include <gtest/gtest.h>

#include "ops/proof.h"

namespace etch {
namespace {

Polynomial u(const char* name) { return Polynomial(Unknown{0, name}); }

TEST(Polynomial, NormalFormMakesEqualThingsEqual) {
  const Polynomial a = u("a"), b = u("b");
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(a - a, Polynomial(0));
  EXPECT_EQ((2 * a + 3).print(), "2*a + 3");
  EXPECT_EQ((a * b - 1).print(), "a*b - 1");
  EXPECT_EQ((-a).print(), "-a");
}

TEST(Polynomial, OverflowIsMarkedAndStays) {
  const Polynomial big(INT64_MAX);
  EXPECT_TRUE((big + 1).overflowed());
  EXPECT_TRUE((big * 2 - big).overflowed());
  EXPECT_FALSE((big - 1).overflowed());
  Polynomial p = u("a") + u("b") + u("c");
  for (int i = 0; i < 6; ++i) p = p * p;
  EXPECT_TRUE(p.overflowed());
}

TEST(Polynomial, DividesWhatIsAMultiple) {
  Polynomial q;
  const Polynomial a = u("a"), b = u("b");
  ASSERT_TRUE(divide_exactly(2 * a * b + 4 * b, 2 * b, q));
  EXPECT_EQ(q, a + 2);
  ASSERT_TRUE(divide_exactly((a + 1) * b, a + 1, q));
  EXPECT_EQ(q, b);
  EXPECT_FALSE(divide_exactly(a, b, q));
  EXPECT_FALSE(divide_exactly(Polynomial(7), Polynomial(2), q));
  EXPECT_FALSE(divide_exactly(a, Polynomial(0), q));
  EXPECT_TRUE(divide_exactly(Polynomial(INT64_MIN + 1), Polynomial(-1), q));
}

TEST(Proof, AQuotientTimesItsDivisorIsTheDividend) {
  Proof proof;
  const Polynomial d_inner = u("d_inner"), n_mem = u("n_mem"), n_groups = u("n_groups"), d = u("d");
  const Polynomial wide = proof.assume_divides(d_inner, n_mem);
  EXPECT_EQ(wide.print(), "d_inner / n_mem");
  EXPECT_EQ(proof.equal(n_mem * wide, d_inner), Answer::proved);
  EXPECT_EQ(proof.equal(wide, d_inner), Answer::refuted);
  const Polynomial share = proof.assume_divides(n_mem, n_groups);
  Polynomial q;
  ASSERT_TRUE(proof.quotient(2 * n_groups * d + 2 * n_mem * d, n_groups, q));
  EXPECT_EQ(proof.equal(q, 2 * d + 2 * share * d), Answer::proved);
  ASSERT_TRUE(proof.quotient(d_inner, wide, q));
  EXPECT_EQ(proof.equal(q, n_mem), Answer::proved);
}

TEST(Proof, RequiredEquationsAreUsed) {
  Proof proof;
  const Unknown d_head{2, "d_head"};
  proof.assume_equal(u("n_rot"), Polynomial(d_head));
  EXPECT_EQ(proof.equal(u("n_rot") * 2, Polynomial(d_head) * 2), Answer::proved);
  EXPECT_EQ(proof.equal(u("a"), u("b")), Answer::refuted);
  EXPECT_EQ(proof.equal(u("n_rot"), u("b")), Answer::refuted);
}

TEST(Proof, AQuotientIsKnownByAnotherNameOfItsDividend) {
  Proof proof;
  const Unknown n_rot{3, "n_rot"}, d_head{2, "d_head"};
  proof.assume_divides(Polynomial(n_rot), 2);
  proof.assume_equal(Polynomial(n_rot), Polynomial(d_head));
  Polynomial q;
  EXPECT_TRUE(proof.quotient(Polynomial(n_rot), 2, q));
  EXPECT_TRUE(proof.quotient(Polynomial(d_head), 2, q));
}

TEST(Proof, WhatIsTiedToADependentUnknownIsOpen) {
  Proof proof;
  const Unknown d_head{2, "d_head"};
  proof.set_dependent(d_head);
  proof.assume_equal(u("n_rot"), Polynomial(d_head));
  EXPECT_EQ(proof.equal(u("n_rot"), u("b")), Answer::open);
  EXPECT_EQ(proof.equal(Polynomial(d_head), u("b")), Answer::open);
}

}  // namespace
}  // namespace etch
