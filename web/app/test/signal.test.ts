import { expect, test } from "vitest";
import { declaredBy, isUndeclared, matchesName, undeclaredText } from "../fold/signal";

const order = declaredBy("order", [{ name: "shipped" }, { name: "approval.*" }]);

test("a name that a kind does not register is told from the others", () => {
  for (const name of ["shiped", "approval", "approval.a.b", "Shipped"])
    expect(isUndeclared(name, order), name).toBe(true);
  for (const name of ["shipped", "approval.a", "userMessage", "perdure.interrupt"])
    expect(isUndeclared(name, order), name).toBe(false);
  expect(isUndeclared("any", declaredBy("free", undefined)), "a kind without signals").toBe(false);
});

test("the nearest name is offered, and none that is not similar", () => {
  expect(undeclaredText("shiped", order)).toBe(
    "The kind order does not declare a signal shiped. Did you mean shipped?",
  );
  expect(undeclaredText("aproval.rent", order)).toContain("Did you mean approval.rent?");
  expect(undeclaredText("refund", order)).toBe("The kind order does not declare a signal refund.");
});

test("patterns match by segments", () => {
  for (const [pattern, name] of [
    ["a.*.c", "a.b.c"],
    ["a.**", "a.b.c"],
    ["**.c", "a.b.c"],
    ["**", "a"],
    ["a", "a"],
  ] as const)
    expect(matchesName(pattern, name), `${pattern} ${name}`).toBe(true);
  for (const [pattern, name] of [
    ["a.*", "a"],
    ["a.*", "a.b.c"],
    ["a.**", "a"],
    ["a.**.c", "a.c"],
    ["a", "b"],
  ] as const)
    expect(matchesName(pattern, name), `${pattern} ${name}`).toBe(false);
});
