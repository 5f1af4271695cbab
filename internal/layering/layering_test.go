// Package layering contains the project's import rules, and tests that check the module's imports
// against them. It has no other code.
package layering

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/perdure/perdure"

// rules list which packages of the module each package may import. A name that ends in /... stands
// for all packages below a folder. All packages may import the root. Tests may import anything. A
// package without a rule fails the test.
var rules = map[string][]string{
	"": nil, // the root: the domain types

	// These are the packages of the worker side.
	"agent":                            {"internal/schema", "internal/scope"},
	"worker":                           {"agent", "internal/lru", "internal/schema", "worker/internal/streams", "worker/local", "worker/results"},
	"worker/internal/streams":          {"agent"},
	"worker/local":                     {"internal/disk", "internal/filelock", "internal/pagecheck", "internal/sqlitelog", "worker/results"}, // it opens its own SQLite database
	"worker/results":                   {"internal/lru"},
	"worker/remote":                    {"api/..."},
	"worker/metrics":                   {"worker", "react", "internal/meter"},
	"react":                            {"agent", "llm", "tool", "internal/lru", "internal/response", "internal/schema", "internal/scope"},
	"llm":                              {"internal/dial", "internal/response", "llm/internal/hide"},
	"llm/anthropic":                    {"llm", "llm/internal/adapter"},
	"llm/openai":                       {"llm", "llm/internal/adapter", "llm/internal/gpt"},
	"llm/openairesponses":              {"llm", "llm/internal/adapter", "llm/internal/gpt"},
	"llm/gemini":                       {"llm", "llm/internal/adapter"},
	"llm/internal/adapter":             {"llm"},
	"llm/internal/gpt":                 {"llm", "llm/internal/adapter"},
	"llm/internal/hide":                nil, // pure
	"llm/internal/hide/hidetest":       nil,
	"llm/scripted":                     {"llm"},
	"llm/llmtest":                      {"llm", "llm/..."},
	"tool":                             {"internal/schema", "internal/sandbox", "tool/internal/..."},
	"tool/internal/confine":            {"internal/sandbox", "tool/internal/excerpt", "tool/internal/group", "tool/internal/guarded", "tool/internal/hold", "tool/internal/scratch", "tool/internal/shell"},
	"tool/internal/excerpt":            nil, // pure
	"tool/internal/glob":               nil, // pure
	"tool/internal/group":              {"internal/sandbox", "tool/internal/shell"},
	"tool/internal/guarded":            {"internal/sandbox"},
	"tool/internal/hold":               {"internal/sandbox"},
	"tool/internal/scratch":            nil,
	"tool/internal/shell":              nil,
	"client":                           nil,
	"agent/agenttest":                  {"internal/bubble", "agent", "worker", "react", "llm", "llm/scripted", "tool", "server", "internal/engine", "internal/store", "internal/store/storetest/invariants", "internal/engine/questions"},
	"api/perdure/v1":                   nil,
	"api/perdure/v1/pbconv":            {"api/..."},
	"api/perdure/v1/pbconv/pbconvtest": nil,

	// Server side.
	"internal/rules":                {"internal/store", "internal/response", "internal/rules/validate"}, // pure: see TestDecisionsArePure
	"internal/rules/tenant":         {"internal/rules", "internal/store"},
	"internal/rules/validate":       nil,
	"internal/engine":               {"internal/engine/board", "internal/engine/bulk", "internal/engine/conversations", "internal/engine/definitions", "internal/engine/homes", "internal/engine/kinds", "internal/engine/live", "internal/engine/questions", "internal/engine/retention", "internal/engine/tenants", "internal/engine/uploads", "internal/fair", "internal/rules", "internal/rules/...", "internal/store", "internal/notify"},
	"internal/engine/conversations": {"internal/rules", "internal/store"},
	"internal/engine/board":         {"internal/rules"},
	"internal/engine/bulk":          {"internal/notify", "internal/rules", "internal/rules/tenant", "internal/rules/validate", "internal/store"},
	"internal/engine/definitions":   {"internal/engine/kinds", "internal/engine/questions", "internal/engine/tenants", "internal/rules/tenant", "internal/rules/validate", "internal/store"},
	"internal/engine/homes":         {"internal/store"},
	"internal/engine/kinds":         {"internal/engine/uploads", "internal/lru", "internal/rules/tenant", "internal/rules/validate", "internal/schema", "internal/sharedread", "internal/store"},
	"internal/engine/live":          {"internal/fair", "internal/rules"},
	"internal/engine/questions":     {"internal/engine/homes", "internal/engine/kinds", "internal/rules", "internal/rules/validate", "internal/store"},
	"internal/engine/retention":     {"internal/engine/tenants", "internal/rules", "internal/rules/tenant", "internal/store"},
	"internal/engine/tenants":       {"internal/rules/tenant", "internal/rules/validate", "internal/sealed", "internal/sharedread", "internal/store"},
	"internal/engine/uploads":       {"internal/fair", "internal/rules", "internal/rules/validate", "internal/store"},
	"internal/sharedread":           {"internal/fair"},
	"internal/schema":               {"internal/lru"}, // pure: the worker's side uses it as well
	"internal/scope":                nil,
	"internal/sandbox":              nil, // it runs before main in a child process, so it imports little
	"internal/store":                nil,
	"internal/store/commit":         {"internal/fair", "internal/store", "internal/store/turns"},
	"internal/store/turns":          nil,
	"internal/fair":                 nil,
	"internal/filelock":             nil,
	"internal/store/floodtest":      {"internal/engine", "internal/store"},
	"internal/store/counttest":      {"internal/engine", "internal/store", "internal/store/sql/read", "internal/store/sql/statement"},
	// These are the packages that the SQL stores share.
	"internal/store/sql/statement":         {"internal/store"},
	"internal/store/sql/column":            nil,
	"internal/store/sql/row":               {"internal/store/sql/column", "internal/store/sql/statement"},
	"internal/store/sql/load":              {"internal/store", "internal/store/sql/column", "internal/store/sql/load/contents", "internal/store/sql/load/log", "internal/store/sql/row", "internal/store/sql/statement"},
	"internal/store/sql/load/contents":     {"internal/store", "internal/store/sql/column", "internal/store/sql/row", "internal/store/sql/statement"},
	"internal/store/sql/load/log":          {"internal/store", "internal/store/sql/column", "internal/store/sql/row", "internal/store/sql/statement"},
	"internal/store/sql/load/tenant":       {"internal/store/sql/column", "internal/store/sql/row", "internal/store/sql/statement"},
	"internal/store/sql/cache":             {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/log", "internal/store/sql/load/tenant", "internal/store/sql/row", "internal/store/sql/statement"},
	"internal/store/sql/pick":              {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/tenant", "internal/store/sql/statement"},
	"internal/store/sql/listing":           {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/tenant", "internal/store/sql/statement", "internal/store/sql/trigram"},
	"internal/store/sql/trigram":           nil,
	"internal/store/sql/read":              {"internal/store", "internal/store/sql/column", "internal/store/sql/listing", "internal/store/sql/load", "internal/store/sql/load/contents", "internal/store/sql/load/tenant", "internal/store/sql/read/...", "internal/store/sql/statement", "internal/store/sql/trigram"},
	"internal/store/sql/read/tenant":       {"internal/store", "internal/store/sql/column", "internal/store/sql/load/tenant", "internal/store/sql/read/base", "internal/store/sql/statement"},
	"internal/store/sql/read/audit":        {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/contents", "internal/store/sql/load/log", "internal/store/sql/read/base", "internal/store/sql/statement"},
	"internal/store/sql/read/log":          {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/contents", "internal/store/sql/load/log", "internal/store/sql/read/base", "internal/store/sql/statement"},
	"internal/store/sql/read/work":         {"internal/store", "internal/store/sql/column", "internal/store/sql/load", "internal/store/sql/load/tenant", "internal/store/sql/read/base", "internal/store/sql/statement"},
	"internal/store/sql/read/base":         {"internal/store", "internal/store/sql/statement"},
	"internal/store/sql/apply":             {"internal/store", "internal/store/commit", "internal/store/sql/cache", "internal/store/sql/column", "internal/store/sql/listing", "internal/store/sql/load", "internal/store/sql/load/contents", "internal/store/sql/load/log", "internal/store/sql/load/tenant", "internal/store/sql/pick", "internal/store/sql/row", "internal/store/sql/statement", "internal/store/sql/trigram"},
	"internal/store/sql/catalog":           {"internal/store/sql/apply", "internal/store/sql/cache", "internal/store/sql/listing", "internal/store/sql/load", "internal/store/sql/load/contents", "internal/store/sql/pick", "internal/store/sql/read", "internal/store/sql/read/work", "internal/store/sql/read/log", "internal/store/sql/read/tenant", "internal/store/sql/statement"},
	"internal/store/sql/schema":            nil,
	"internal/store/sqlite":                {"internal/disk", "internal/pagecheck", "internal/sqlitelog", "internal/store", "internal/store/commit", "internal/store/sql/...", "internal/store/sqlite/clock", "internal/store/sqlite/connection", "internal/store/sqlite/lock"},
	"internal/store/sqlite/clock":          nil,
	"internal/store/sqlite/connection":     {"internal/sqlitelog", "internal/store", "internal/store/sql/column", "internal/store/sql/statement", "internal/store/turns"},
	"internal/store/sqlite/lock":           {"internal/filelock"},
	"internal/store/sqlite/sqlitetest":     nil,
	"internal/store/postgres":              {"internal/store", "internal/store/commit", "internal/store/postgres/pipe", "internal/store/sql/...", "internal/store/turns"},
	"internal/store/postgres/pipe":         {"internal/store/sql/statement"},
	"internal/store/postgres/cluster":      nil,
	"internal/store/postgres/postgrestest": {"internal/longtest", "internal/store/postgres/cluster"},
	"internal/store/check":                 {"internal/store"},
	"internal/store/transfer":              {"internal/store", "internal/store/sqlite", "internal/store/postgres", "internal/store/sql/schema"},
	"internal/store/migrationtest":         nil,
	"internal/store/storetest":             {"internal/longtest", "internal/store", "internal/store/storetest/..."},
	"internal/store/storetest/invariants":  {"internal/store"},
	"internal/notify":                      nil,
	"internal/notify/nats":                 {"internal/notify"},
	"internal/notify/notifytest":           {"internal/notify"},
	"internal/log":                         {"internal/fair", "internal/store", "internal/notify"},
	"internal/log/fold":                    {"internal/response"}, // pure
	"internal/durablestream":               {"internal/fair", "internal/store", "internal/notify"},
	"internal/questionfeed":                {"internal/store", "internal/notify"},
	// The packages below internal/face do not import each other.
	"internal/face":           {"internal/durablestream", "internal/log", "internal/questionfeed", "internal/face/...", "internal/health"},
	"internal/face/facetest":  {"client", "internal/engine", "internal/log", "internal/face", "internal/face/front", "internal/notify", "internal/store", "internal/store/opentest"},
	"internal/face/front":     {"internal/engine", "internal/engine/questions", "internal/engine/tenants", "internal/log", "internal/face/problem", "internal/fair", "internal/store"},
	"internal/face/problem":   nil,
	"internal/face/operation": {"internal/face/front", "internal/face/problem"},
	"internal/face/record":    {"internal/log"},
	"internal/face/rest":      {"internal/engine", "internal/engine/bulk", "internal/engine/homes", "internal/engine/retention", "internal/engine/tenants", "internal/log", "internal/face/front", "internal/face/operation", "internal/face/problem", "internal/face/record", "internal/face/title", "internal/health", "internal/store"},
	"internal/face/title":     nil, // pure
	"internal/face/wsmessage": {"internal/face/front"},
	"internal/face/questions": {"internal/engine", "internal/engine/questions", "internal/face/front", "internal/face/operation", "internal/face/problem", "internal/face/record", "internal/face/title", "internal/questionfeed", "internal/sharedread", "internal/store"},
	"internal/face/links":     {"internal/engine", "internal/engine/questions", "internal/face/front", "internal/face/title", "internal/store", "internal/visible"},
	"internal/face/sse":       {"internal/log", "internal/log/fold", "internal/face/front", "internal/face/operation", "internal/face/record", "internal/markdown"},
	"internal/face/ws":        {"internal/engine", "internal/log", "internal/face/front", "internal/face/problem", "internal/face/record", "internal/face/wsmessage", "internal/fair"},
	"internal/face/durable":   {"internal/durablestream", "internal/log", "internal/face/front", "internal/face/problem", "internal/face/record"},
	"internal/face/pages":     {"internal/face/front", "internal/face/operation", "internal/face/problem"},
	"internal/face/openai":    {"internal/engine", "internal/engine/conversations", "internal/engine/questions", "internal/log", "internal/log/fold", "internal/face/front", "internal/face/wsmessage", "internal/fair", "internal/response", "internal/schema", "internal/sealed", "internal/store"},
	"internal/sealed":         nil, // pure
	"internal/dial":           nil, // the worker's side uses it as well
	"internal/webhook":        {"internal/dial", "internal/engine/tenants", "internal/notify", "internal/rules/tenant", "internal/store"},
	"internal/face/grpc":      {"internal/fair", "api/...", "internal/health"},
	"internal/disk":           nil, // pure: the worker's side uses it as well
	"internal/lru":            nil, // pure: the worker's side uses it as well
	"internal/disktest":       nil,
	"internal/pagecheck":      {"internal/disk"},
	"internal/sqlitelog":      {"internal/disk"},
	"internal/health":         nil,
	"internal/ops":            {"internal/disk", "internal/health"},
	"internal/meter":          nil, // pure: the worker's side uses it as well
	"internal/markdown":       nil,
	"internal/visible":        nil, // pure
	"internal/response":       nil,
	"internal/bubble":         nil,
	"internal/garbage":        nil,
	"internal/exampletest":    {"internal/store/sqlite/sqlitetest", "agent", "client", "server", "worker"},
	"internal/longtest":       nil,
	"internal/layering":       nil,
	"internal/contract":       nil,
	"internal/supply":         nil,
	"web":                     nil, // the built pages
	"server":                  {"internal/...", "web"},

	// These are test suites that run on every store.
	"internal/engine/enginetest": {"internal/engine", "internal/engine/questions", "internal/engine/bulk", "internal/longtest", "internal/notify", "internal/store", "internal/store/..."},
	"internal/store/oldstore":    {"client", "server", "internal/rules/tenant", "internal/store", "internal/store/..."},
	"internal/store/opentest":    {"internal/store", "internal/store/..."},
	"internal/log/logtest":       {"internal/...", "worker", "react", "llm", "llm/scripted", "tool"},

	// Programs choose the implementations, such as the store, so they may import everything except
	// test packages.
	"cmd/perdure": {"..."},
	// Of the packages of the command line, only main and the commands may import everything.
	"cmd/perdure/internal/admin":                     {"..."},
	"cmd/perdure/internal/builtin":                   {"llm", "llm/...", "react", "tool", "worker", "worker/local", "worker/metrics", "cmd/perdure/internal/setup", "cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/chat":                      {"client", "cmd/perdure/internal/builtin", "cmd/perdure/internal/connection", "cmd/perdure/internal/editor", "cmd/perdure/internal/lookup", "cmd/perdure/internal/questions", "cmd/perdure/internal/setup", "cmd/perdure/internal/terminal", "cmd/perdure/internal/watcher"},
	"cmd/perdure/internal/connection":                {"client", "cmd/perdure/internal/builtin", "server", "internal/disk", "worker/local", "worker/remote", "cmd/perdure/internal/setup", "cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/connection/connectiontest": {"client"},
	"cmd/perdure/internal/editor":                    {"cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/lookup":                    {"client", "cmd/perdure/internal/connection", "cmd/perdure/internal/setup", "cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/questions":                 {"..."},
	"cmd/perdure/internal/runs":                      {"..."},
	"cmd/perdure/internal/schemas":                   {"cmd/perdure/internal/setup", "cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/serving":                   {"..."},
	"cmd/perdure/internal/setup":                     {"internal/disk", "cmd/perdure/internal/terminal"},
	"cmd/perdure/internal/terminal":                  {"client", "internal/log/fold", "internal/markdown", "internal/visible", "cmd/perdure/internal/terminal/layout"},
	"cmd/perdure/internal/terminal/layout":           {"internal/visible"}, // pure
	"cmd/perdure/internal/terminal/terminaltest":     nil,
	"cmd/perdure/internal/watcher":                   {"client", "cmd/perdure/internal/connection", "cmd/perdure/internal/lookup", "cmd/perdure/internal/questions", "cmd/perdure/internal/setup", "cmd/perdure/internal/terminal"},

	"examples/...":   {"..."},
	"e2e":            {"..."},
	"internal/bench": {"..."},
	"e2e/chaos":      {"llm/scripted"},
}

// rootLibraries are the libraries that the root package may import in addition to the standard
// library.
var rootLibraries = []string{"github.com/google/uuid", "github.com/gowebpki/jcs"}

const (
	prometheus = "github.com/prometheus"
	otelSDK    = "go.opentelemetry.io/otel/sdk"
)

// effects are the packages of locks, clocks, processes and randomness. The functions in
// internal/rules that compute the changes of a command may run twice, so they must not import these
// packages.
var effects = []string{"context", "sync", "os", "io/fs", "net", "log", "runtime", "database/sql", "math/rand", "crypto/rand", prometheus, otelSDK}

// transports are the packages of APIs, databases and telemetry, which the packages that implement
// commands must not import.
var transports = []string{"database/sql", "net/http", "google.golang.org/grpc", "google.golang.org/protobuf", "modernc.org/sqlite", prometheus, otelSDK}

// barred lists for each package the packages outside the module that it must not import.
var barred = map[string][]string{
	"internal/rules":                effects,
	"internal/rules/tenant":         effects,
	"internal/rules/validate":       effects,
	"internal/log/fold":             effects,
	"internal/engine":               transports,
	"internal/engine/board":         transports,
	"internal/engine/conversations": transports,
	"internal/engine/definitions":   transports,
	"internal/engine/kinds":         transports,
	"internal/engine/questions":     transports,
	"internal/engine/retention":     transports,
	"agent":                         {"net/http", "google.golang.org/grpc", "google.golang.org/protobuf", prometheus, otelSDK},
	"worker":                        {"net/http", "google.golang.org/grpc", "google.golang.org/protobuf", "database/sql", prometheus, otelSDK},
	"worker/internal/streams":       {"net/http", "google.golang.org/grpc", "google.golang.org/protobuf", "database/sql", prometheus, otelSDK},
	"worker/remote":                 {prometheus, otelSDK},
	"react":                         {prometheus, otelSDK},
	"llm":                           {prometheus, otelSDK},
	"client":                        {prometheus, otelSDK},
	"internal/store":                {prometheus, otelSDK},
	// Only the programs below cmd decide which trace spans are sent, and where.
	"server":              {otelSDK},
	"internal/face/front": {prometheus, otelSDK},
	"internal/face/grpc":  {prometheus, otelSDK},
	// cmd/perdure/internal/terminal only formats texts. It needs no flags, HTTP or metrics.
	"cmd/perdure/internal/terminal": {"github.com/spf13", "net/http", prometheus, otelSDK},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestPackagesImportOnlyWhatTheirPlaceAllows(t *testing.T) {
	all := packages(t)
	if len(all) < 10 {
		t.Fatalf("only %d packages were found", len(all))
	}
	for _, p := range all {
		name := local(p.ImportPath)
		allowed, known := ruleOf(name)
		if !known {
			t.Errorf("package %s has no place in the house yet; give it a rule", name)
			continue
		}
		for _, imported := range p.Imports {
			if !isOurs(imported) {
				checkForeign(t, name, imported)
				continue
			}
			checkOurs(t, name, local(imported), allowed)
		}
	}
}

func checkOurs(t *testing.T, name, imported string, allowed []string) {
	t.Helper()
	if strings.HasSuffix(imported, "test") && !strings.HasSuffix(name, "test") {
		t.Errorf("%s imports %s, which is for tests", name, imported)
	}
	if imported != "" && !slices.ContainsFunc(allowed, func(rule string) bool { return matches(rule, imported) }) {
		t.Errorf("%s must not import %s", name, imported)
	}
}

func checkForeign(t *testing.T, name, imported string) {
	t.Helper()
	for _, bad := range barred[name] {
		if imported == bad || strings.HasPrefix(imported, bad+"/") {
			t.Errorf("%s must not see %s", name, imported)
		}
	}
	if name == "" && strings.Contains(imported, ".") && !slices.Contains(rootLibraries, imported) {
		t.Errorf("the root package must not import %s", imported)
	}
}

// ruleOf returns the rule of a package: its own, or the rule of a folder above it.
func ruleOf(name string) ([]string, bool) {
	if allowed, ok := rules[name]; ok {
		return allowed, true
	}
	for rule, allowed := range rules {
		if strings.HasSuffix(rule, "/...") && matches(rule, name) {
			return allowed, true
		}
	}
	return nil, false
}

func matches(rule, name string) bool {
	if rule == "..." || rule == name {
		return true
	}
	folder, isFolder := strings.CutSuffix(rule, "/...")
	return isFolder && (name == folder || strings.HasPrefix(name, folder+"/"))
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func local(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }
