import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import type { APIKey, KeyRole, NewKey } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { api, mayBeAdmin, signOut, useAccess } from "../api/client";
import { keysQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { MoonIcon, ScreenIcon, SunIcon } from "../components/icons";
import { type Search, SearchField, Unmatched, useSearch } from "../components/SearchField";
import { Page } from "../components/Shell";
import {
  Banner,
  Button,
  Card,
  Confirm,
  CopyButton,
  Empty,
  ErrorBanner,
  Field,
  inputClass,
  Skeleton,
} from "../components/ui";
import { shortId } from "../text/format";
import { setTheme, type Theme, useTheme } from "../theme";
import { Grants } from "./Grants";
import { Sessions } from "./Sessions";
import { Webhooks } from "./Webhooks";

export function SettingsPage() {
  const { org, role } = useAccess();
  const search = useSearch();
  return (
    <Page title="Settings" narrow>
      <search className="mb-5 flex">
        <SearchField
          label="Search the settings"
          placeholder={mayBeAdmin(role) ? "Key, webhook, approval or session" : "Approval or session"}
          value={search.text}
          onChange={search.set}
          field={search.field}
        />
      </search>
      <div className="space-y-5">
        {!search.on && (
          <Card title="Look">
            <ThemeChoice />
          </Card>
        )}
        {!search.on && role !== "approver" && (
          <Card>
            <Link
              to="/ai/workers"
              className="text-sm font-medium text-accent-strong underline underline-offset-2"
            >
              Workers and queues
            </Link>
            <p className="mt-0.5 text-sm text-faint">
              Which workers are connected, and what waits in queues.
            </p>
          </Card>
        )}
        <Keys search={search} />
        <Webhooks search={search} />
        <Grants search={search} />
        <Sessions search={search} />
        {!search.on && (
          <Card title="This browser">
            <div className="flex flex-wrap items-center justify-between gap-3">
              <p className="text-sm text-soft">
                Signed in to the org <code className="font-mono">{org}</code>. The API is described at{" "}
                <a href="/docs" className="text-accent-strong underline underline-offset-2">
                  /docs
                </a>
                .
              </p>
              <SignOut />
            </div>
          </Card>
        )}
      </div>
    </Page>
  );
}

function SignOut() {
  const leave = useMutation({ mutationFn: signOut });
  return (
    <div className="flex flex-wrap items-center gap-3">
      {leave.isError && <span className="text-xs text-bad">{leave.error.message}</span>}
      <Button onClick={() => leave.mutate()} disabled={leave.isPending}>
        Sign out
      </Button>
    </div>
  );
}

const themes: { value: Theme; label: string; icon: ReactNode }[] = [
  { value: "system", label: "As the system", icon: <ScreenIcon /> },
  { value: "light", label: "Light", icon: <SunIcon /> },
  { value: "dark", label: "Dark", icon: <MoonIcon /> },
];

function ThemeChoice() {
  const theme = useTheme();
  return (
    <fieldset className="grid grid-cols-3 gap-2">
      <legend className="sr-only">Theme</legend>
      {themes.map((t) => (
        <label
          key={t.value}
          className="flex cursor-pointer items-center justify-center gap-2 rounded-lg border border-line-strong px-3 py-2.5 text-sm has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="theme"
            className="sr-only"
            checked={theme === t.value}
            onChange={() => setTheme(t.value)}
          />
          {t.icon}
          {t.label}
        </label>
      ))}
    </fieldset>
  );
}

function Keys({ search }: { search: Search }) {
  const queries = useQueryClient();
  const keys = useQuery(keysQuery());
  const [made, setMade] = useState<NewKey | null>(null);
  const found = keys.data?.filter((k) => search.fits(k.name, k.role, k.id, k.revokedAt && "revoked")) ?? [];
  const refused = keys.error instanceof PerdureError && keys.error.code === "permission_denied";
  const again = () => void queries.invalidateQueries({ queryKey: ["keys"] });
  return (
    <Card title="API keys">
      {refused ? (
        <p className="text-sm text-faint">Only a key of role admin may see and make keys.</p>
      ) : (
        <div className="space-y-5">
          {made && <Secret made={made} onClose={() => setMade(null)} />}
          <div hidden={search.on}>
            <NewKeyForm
              onMade={(k) => {
                setMade(k);
                again();
              }}
            />
          </div>
          {keys.isPending && <Skeleton rows={2} />}
          {keys.isError && (
            <ErrorBanner
              error={keys.error}
              what="The keys cannot be read"
              retry={() => void keys.refetch()}
            />
          )}
          {keys.data?.length === 0 && (
            <Empty title="No keys yet">Programs, workers and other people sign in with keys.</Empty>
          )}
          {(keys.data?.length ?? 0) > 0 && found.length === 0 && <Unmatched what="key" search={search} />}
          {found.length > 0 && (
            <ul aria-label="API keys" className="divide-y divide-line rounded-lg border border-line">
              {found.map((k) => (
                <KeyRow key={k.id} of={k} onChange={again} />
              ))}
            </ul>
          )}
        </div>
      )}
    </Card>
  );
}

/** Shows a new key's secret, once. */
function Secret({ made, onClose }: { made: NewKey; onClose: () => void }) {
  return (
    <Banner
      tone="warn"
      title={`The key ${made.name}: copy it now, it is not shown again`}
      action={<Button onClick={onClose}>Done</Button>}
    >
      <span className="flex items-center gap-1">
        <code className="font-mono text-[13px] break-all">{made.key}</code>
        <CopyButton text={made.key} label="Copy the key" />
      </span>
    </Banner>
  );
}

function NewKeyForm({ onMade }: { onMade: (key: NewKey) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<KeyRole>("client");
  const make = useMutation({
    mutationFn: () => api().keys.create({ name: name.trim(), role }),
    onSuccess: (key) => {
      setName("");
      onMade(key);
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    make.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <div className="min-w-40 flex-1">
        <Field label="Name" error={make.isError ? make.error.message : undefined}>
          {(props) => (
            <input
              {...props}
              required
              value={name}
              onChange={(e) => setName(e.target.value)}
              className={inputClass}
            />
          )}
        </Field>
      </div>
      <Field label="Role">
        {(props) => (
          <select
            {...props}
            value={role}
            onChange={(e) => setRole(e.target.value as KeyRole)}
            className={inputClass}
          >
            <option value="client">client: uses the API</option>
            <option value="approver">approver: answers questions</option>
            <option value="worker">worker: runs agents</option>
            <option value="admin">admin: also makes keys</option>
          </select>
        )}
      </Field>
      <Button type="submit" look="primary" className="h-[38px]" disabled={!name.trim() || make.isPending}>
        Make a key
      </Button>
    </form>
  );
}

function KeyRow({ of, onChange }: { of: APIKey; onChange: () => void }) {
  const [asks, setAsks] = useState(false);
  const revoke = useMutation({
    mutationFn: () => api().keys.revoke(of.id),
    onSuccess: onChange,
    onSettled: () => setAsks(false),
  });
  return (
    <li className="flex items-center gap-3 px-4 py-2.5 text-sm">
      <span
        className={`min-w-0 flex-1 truncate font-medium ${of.revokedAt ? "text-faint line-through" : ""}`}
      >
        {of.name}
      </span>
      <span className="font-mono text-xs text-faint" title={of.id}>
        {shortId(of.id)}
      </span>
      <span className="text-xs text-faint">{of.role}</span>
      <span className="w-24 text-right text-xs text-faint max-sm:hidden">
        <Ago at={of.createdAt} />
      </span>
      {of.revokedAt ? (
        <span className="w-20 text-right text-xs text-faint">revoked</span>
      ) : (
        <Button look="danger" onClick={() => setAsks(true)} aria-label={`Revoke ${of.name}`}>
          Revoke
        </Button>
      )}
      {revoke.isError && <span className="text-xs text-bad">{revoke.error.message}</span>}
      <Confirm
        open={asks}
        title={`Revoke ${of.name}?`}
        action="Revoke"
        busy={revoke.isPending}
        onConfirm={() => revoke.mutate()}
        onClose={() => setAsks(false)}
      >
        Whoever uses it is refused within 5 seconds, open streams too.
      </Confirm>
    </li>
  );
}
