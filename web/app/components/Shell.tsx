import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { PerdureError } from "../../client/src/index";
import { useAccess } from "../api/client";
import { inboxQuery } from "../api/queries";
import mark from "../mark.svg";
import { SignInPage } from "../pages/SignInPage";
import { noticesWanted, useNotices } from "../questions/notices";
import { setTheme, useTheme } from "../theme";
import {
  AgentIcon,
  GearIcon,
  MoonIcon,
  PlusIcon,
  QuestionIcon,
  RunsIcon,
  SunIcon,
  WorkersIcon,
} from "./icons";
import { buttonClass, IconButton } from "./ui";

/** The common frame of all pages: the navigation, or the sign-in if it is required. */
export function Shell() {
  const { state, role } = useAccess();
  const queries = useQueryClient();
  useEffect(() => {
    if (state === "out") queries.clear(); // the next user may be another one
  }, [state, queries]);
  return (
    <div className="flex h-dvh flex-col">
      <a
        href="#main"
        className="absolute left-2 z-50 -translate-y-16 rounded-lg bg-accent px-3 py-2 text-accent-ink focus:translate-y-2"
      >
        Skip to content
      </a>
      <Header signedIn={state === "in"} asked={role === "approver"} />
      {state === "in" && <Offline />}
      <main id="main" className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
        {state === "out" && <SignInPage />}
        {state === "in" && (role === "approver" ? <ApproverOutlet /> : <Outlet />)}
      </main>
    </div>
  );
}

/** Says at once that the server cannot be reached. What the page shows then is old. */
function Offline() {
  // The navigation reads the same query all the time. Each failed attempt counts, also while it is repeated.
  const { failureReason, refetch } = useQuery(inboxQuery(false));
  useEffect(() => {
    const look = () => void refetch();
    for (const e of ["online", "offline"]) addEventListener(e, look);
    return () => {
      for (const e of ["online", "offline"]) removeEventListener(e, look);
    };
  }, [refetch]);
  const cut = failureReason instanceof PerdureError && failureReason.code === "unavailable";
  return (
    <p role="status" className={cut ? "bg-warn-soft px-4 py-1.5 text-center text-sm text-warn" : "sr-only"}>
      {cut && "Offline: the server does not answer. What you see may be old."}
    </p>
  );
}

const inbox = "/ai/questions";

/** The pages of an approver, whose key reaches only questions. */
function ApproverOutlet() {
  const { pathname } = useLocation();
  const led = ![inbox, "/ai/settings"].includes(pathname);
  useEffect(() => {
    if (led) location.replace(inbox); // the router may still be loading the other page
  }, [led]);
  return led ? null : <Outlet />;
}

/** The navigation. With `asked`, it has only what an approver can reach. */
function Header({ signedIn, asked }: { signedIn: boolean; asked: boolean }) {
  return (
    <header className="z-10 flex h-14 shrink-0 items-center gap-1 border-b border-line bg-surface px-3 sm:gap-2 sm:px-5">
      <Link
        to="/ai/runs"
        search={{}}
        className="mr-1 flex shrink-0 items-center gap-2 font-semibold tracking-tight max-[379px]:hidden sm:mr-4"
      >
        <img src={mark} alt="" className="size-6" />
        <span className="max-sm:sr-only">Perdure</span>
      </Link>
      {signedIn && (
        <nav aria-label="Main" className="flex items-center gap-0.5">
          {!asked && (
            <>
              <NavLink to="/ai/runs" icon={<RunsIcon />}>
                Runs
              </NavLink>
              <NavLink to="/ai/agents" icon={<AgentIcon />}>
                Agents
              </NavLink>
              <span className="max-sm:hidden">
                <NavLink to="/ai/workers" icon={<WorkersIcon />}>
                  Workers
                </NavLink>
              </span>
            </>
          )}
          <NavLink to={inbox} icon={<QuestionIcon />}>
            Questions
            <OpenCount />
          </NavLink>
          <NavLink to="/ai/settings" icon={<GearIcon />}>
            Settings
          </NavLink>
        </nav>
      )}
      <div className="flex-1" />
      {/* On a phone the settings have the theme: the count of questions needs the place. */}
      <span className={signedIn ? "max-sm:hidden" : ""}>
        <ThemeButton />
      </span>
      {signedIn && !asked && (
        <Link
          to="/ai/runs/new"
          search={{}}
          className={buttonClass("primary", "max-sm:px-2.5")}
          aria-label="New run"
        >
          <PlusIcon />
          <span className="max-sm:sr-only">New run</span>
        </Link>
      )}
    </header>
  );
}

/** The number of open questions, in the navigation. */
function OpenCount() {
  const { data } = useQuery({ ...inboxQuery(false), refetchIntervalInBackground: noticesWanted() });
  useNotices(data?.items);
  if (!data?.open) return null;
  return (
    <span className="rounded-full bg-warn px-1.5 text-xs font-medium text-surface">
      {data.open}
      {data.openMore ? "+" : ""}
      <span className="sr-only"> open</span>
    </span>
  );
}

function NavLink({ to, icon, children }: { to: string; icon: ReactNode; children: ReactNode }) {
  return (
    <Link
      to={to}
      className="flex h-9 items-center gap-1.5 rounded-lg px-1.5 text-sm text-soft transition-colors hover:bg-sunken hover:text-ink sm:px-3"
      activeProps={{ className: "bg-sunken font-medium !text-ink" }}
    >
      <span className="max-sm:hidden">{icon}</span>
      {children}
    </Link>
  );
}

function ThemeButton() {
  const theme = useTheme();
  const isDark =
    theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  return (
    <IconButton
      label={isDark ? "Use the light theme" : "Use the dark theme"}
      onClick={() => setTheme(isDark ? "light" : "dark")}
    >
      {isDark ? <SunIcon /> : <MoonIcon />}
    </IconButton>
  );
}

/** The number of open questions as the beginning of a title. It asks nothing of the server itself. */
function useOpenCount(): string {
  const { data } = useQuery({ ...inboxQuery(false), enabled: false });
  return data?.open ? `(${data.open}${data.openMore ? "+" : ""}) ` : "";
}

/** A page of rows and forms, with its title. */
export function Page({
  title,
  lead,
  actions,
  children,
  narrow = false,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  narrow?: boolean;
}) {
  const open = useOpenCount();
  return (
    <div className={`mx-auto w-full px-4 py-6 sm:px-6 sm:py-8 ${narrow ? "max-w-3xl" : "max-w-6xl"}`}>
      <title>{`${open}${title} · Perdure`}</title>
      <div className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1">
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          {lead && <p className="mt-0.5 text-sm text-faint">{lead}</p>}
        </div>
        {actions}
      </div>
      {children}
    </div>
  );
}
