import type { ReactNode } from "react";

/**
 * Creates a line icon of 16 × 16. The icons are part of the program, so nothing is loaded from
 * other sites.
 */
function icon(path: ReactNode) {
  return function Icon({ className = "size-4" }: { className?: string }) {
    return (
      <svg
        aria-hidden="true"
        className={`shrink-0 ${className}`}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        {path}
      </svg>
    );
  };
}

export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
export const SearchIcon = icon(<path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM14 14l-3.5-3.5" />);
export const ChevronIcon = icon(<path d="m6 4 4 4-4 4" />);
export const BackIcon = icon(<path d="m10 4-4 4 4 4" />);
export const DownIcon = icon(<path d="M8 3v10m-4-4 4 4 4-4" />);
export const SendIcon = icon(<path d="M8 13V3m-4 4 4-4 4 4" />);
export const ImageIcon = icon(<path d="M2.5 3h11v10h-11zM2.5 11l3.5-3.5 2.5 2.5 2-2 3 3M10 6h.1" />);
export const StopIcon = icon(<rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />);
export const PanelIcon = icon(<path d="M2.5 3.5h11v9h-11zM9.5 3.5v9" />);
export const CloseIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />);
export const CopyIcon = icon(<path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />);
export const CheckIcon = icon(<path d="m3 8.5 3.2 3.2L13 5" />);
export const AlertIcon = icon(<path d="M8 2 1.8 13h12.4L8 2Zm0 4.5v3M8 11.4v.1" />);
export const ThoughtIcon = icon(
  <path d="M8 2a4.2 4.2 0 0 0-2.3 7.7V12h4.6V9.7A4.2 4.2 0 0 0 8 2ZM6.3 14h3.4" />,
);
export const TerminalIcon = icon(<path d="m3 5 3 3-3 3m5 0h5" />);
export const FileIcon = icon(<path d="M4 2h5l3 3v9H4zM9 2v3h3" />);
export const EditIcon = icon(<path d="m3 13 .7-2.8 7-7 2.1 2.1-7 7z" />);
export const ToolIcon = icon(
  <path d="M10 2.6a3.4 3.4 0 0 0-3.3 4.6L2.5 11.4l2.1 2.1 4.2-4.2A3.4 3.4 0 0 0 13.2 5l-2 2-2-.2L9 4.8z" />,
);
export const SunIcon = icon(
  <path d="M8 10.7a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM8 1.5v1M8 13.5v1M1.5 8h1m11 0h1M3.4 3.4l.7.7m7.8 7.8.7.7m0-9.2-.7.7m-7.8 7.8-.7.7" />,
);
export const MoonIcon = icon(<path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z" />);
export const ScreenIcon = icon(<path d="M2 3h12v8H2zM6 14h4" />);
export const RunsIcon = icon(<path d="M2.5 4h11M2.5 8h11M2.5 12h7" />);
export const WorkersIcon = icon(<path d="M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.8h.1M5 11.3h.1" />);
export const AgentIcon = icon(<path d="M3.5 5.5h9v7h-9zM8 5.5V3M6.2 8.5v1m3.6-1v1M1.8 8v2m12.4-2v2" />);
export const QuestionIcon = icon(
  <path d="M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.3-1 .8-1 1.5v.3M8 12.2v.1M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z" />,
);
export const GearIcon = icon(
  <path d="M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4ZM8 1.8v1.7m0 9v1.7M1.8 8h1.7m9 0h1.7M3.6 3.6l1.2 1.2m6.4 6.4 1.2 1.2m0-8.8-1.2 1.2m-6.4 6.4-1.2 1.2" />,
);
export const KeyIcon = icon(
  <path d="M5.5 13a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM7.3 8.7 13 3m-2 2 1.5 1.5" />,
);
