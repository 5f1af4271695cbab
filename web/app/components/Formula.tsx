import { memo, useMemo } from "react";
import { formulaOf } from "../text/math";
import { part, useLoaded } from "./lazily";

const mathml = part(() => import("./mathml"));

/** A formula. Until it can be drawn, and if it is wrong, its source is shown. */
export const Formula = memo(function Formula({ source }: { source: string }) {
  const loaded = useLoaded(mathml, true);
  const formula = useMemo(() => formulaOf(source), [source]);
  const drawn = useMemo(() => loaded?.drawnFormula(formula) ?? null, [loaded, formula]);
  if (drawn === null) return <span className="whitespace-pre-wrap">{source}</span>;
  if (!formula.display) return <span className="formula">{drawn}</span>;
  return (
    <span className="formula scrolled" tabIndex={0} role="group" aria-label="Formula">
      {drawn}
    </span>
  );
});
