import { memo, useMemo } from "react";
import { longestColoured } from "../text/code";
import { part, useLoaded } from "./lazily";

const colours = part(() => import("./colours"));

/**
 * Code in the colours of its language. It is plain text if it is very long, if its language is
 * unknown, and until the colours are loaded.
 */
export const Code = memo(function Code({ text, language }: { text: string; language: string }) {
  const wanted = language !== "" && text.length <= longestColoured;
  const loaded = useLoaded(colours, wanted);
  return useMemo(() => loaded?.coloured(text, language) ?? text, [loaded, text, language]);
});

/** A text of JSON in colours. */
export const JSONCode = ({ text }: { text: string }) => <Code text={text} language="json" />;
