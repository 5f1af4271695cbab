import { type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { hasWords, wordsIn } from "../text/words";
import { SearchIcon } from "./icons";
import { useSlash } from "./slash";
import { inputClass } from "./ui";

/** A field for a search. `/` puts the focus on it, and Escape clears it. */
export function SearchField({
  label,
  placeholder,
  value,
  onChange,
  field,
}: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  field?: RefObject<HTMLInputElement | null>;
}) {
  const own = useRef<HTMLInputElement>(null);
  const input = field ?? own;
  useSlash(input);
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || value === "") return;
    e.preventDefault();
    onChange("");
  };
  return (
    <div className="relative min-w-48 flex-1">
      <SearchIcon className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-faint" />
      <input
        ref={input}
        type="search"
        aria-label={label}
        aria-keyshortcuts="/"
        placeholder={`${placeholder} ( / )`}
        value={value}
        onChange={(e) => onChange(e.target.value)}
        onKeyDown={onKey}
        className={`${inputClass} pl-9`}
      />
    </div>
  );
}

/** A search among what a page shows. */
export interface Search {
  text: string;
  /** Whether anything is searched for. */
  on: boolean;
  set: (text: string) => void;
  /** Shows everything again, with the focus on the field. */
  clear: () => void;
  /** Reports whether the texts have every word of the search, together. */
  fits: (...texts: (string | null | undefined)[]) => boolean;
  field: RefObject<HTMLInputElement | null>;
}

export function useSearch(): Search {
  const [text, set] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const words = wordsIn(text);
  return {
    text,
    on: words.length > 0,
    set,
    clear: () => {
      set("");
      field.current?.focus();
    },
    fits: (...texts) => hasWords(texts.filter(Boolean).join("\n"), words),
    field,
  };
}

/** The field of a search, with the number of what was found, for all and for whom it is read out. */
export function PageSearch({
  search,
  label,
  placeholder,
  found,
  of,
}: {
  search: Search;
  label: string;
  placeholder: string;
  found: number;
  of: number;
}) {
  return (
    <search className="mb-4 flex items-center">
      <SearchField
        label={label}
        placeholder={placeholder}
        value={search.text}
        onChange={search.set}
        field={search.field}
      />
      <span
        role="status"
        className={`text-xs whitespace-nowrap text-faint tabular-nums ${search.on ? "ml-3" : ""}`}
      >
        {search.on && `${found} of ${of}`}
      </span>
    </search>
  );
}

/** Says that nothing fits a search, and offers to clear it. */
export function Unmatched({ what, search }: { what: string; search: Search }) {
  return (
    <p className="text-sm text-faint">
      No {what} is like that.{" "}
      <button
        type="button"
        onClick={search.clear}
        className="text-accent-strong underline underline-offset-2"
      >
        Clear the search
      </button>
    </p>
  );
}
