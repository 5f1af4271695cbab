package supply

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// tracked returns the files of the repository that have the given base name and are not ignored by
// Git.
func tracked(t *testing.T, name string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var all []string
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSpace(file); filepath.Base(file) == name {
			all = append(all, filepath.Join(root, file))
		}
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// locked is a package-lock.json of npm, version 3.
type locked struct {
	LockfileVersion int                `json:"lockfileVersion"`
	Packages        map[string]npmFile `json:"packages"`
}

type npmFile struct {
	Version, Resolved, Integrity string
	Link                         bool
	HasInstallScript             bool
}

// installs are the packages that contain install scripts. npm does not run the scripts
// (--ignore-scripts), and each of these packages works without them.
var installs = []string{
	"node_modules/esbuild", // its script would check that its binary runs
}

func TestEveryNPMPackageHasItsChecksum(t *testing.T) {
	files := tracked(t, "package-lock.json")
	if len(files) < 4 {
		t.Fatalf("only %d lockfiles were found", len(files))
	}
	for _, file := range files {
		for _, wrong := range lockfileFaults(t, read(t, file)) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

// lockfileFaults returns a text for each package whose version, checksum or origin the lockfile
// leaves open.
func lockfileFaults(t *testing.T, text string) []string {
	t.Helper()
	var lock locked
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	if lock.LockfileVersion != 3 || len(lock.Packages) < 2 {
		wrong = append(wrong, "is of another version, or empty")
	}
	for name, p := range lock.Packages {
		if name == "" {
			continue // the project itself
		}
		sum, ok := strings.CutPrefix(p.Integrity, "sha512-")
		if raw, err := base64.StdEncoding.DecodeString(sum); !ok || err != nil || len(raw) != 64 {
			wrong = append(wrong, name+" has no SHA-512")
		}
		if !exact.MatchString(p.Version) {
			wrong = append(wrong, name+" has no version")
		}
		// Without a URL, npm downloads the package from the configured registry.
		if p.Resolved != "" || p.Link {
			wrong = append(wrong, name+" comes from "+p.Resolved+", not from the registry")
		}
		if p.HasInstallScript && !slices.Contains(installs, name) {
			wrong = append(wrong, name+" runs code when it is installed")
		}
	}
	return wrong
}

// exact matches a version in the format of Semantic Versioning 2.0.0, but no range of versions.
var exact = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// alias matches npm:package@version, which installs a package under another name, so that two
// versions of one package can be installed.
var alias = regexp.MustCompile(`^npm:(@[a-z0-9-]+/)?[a-z0-9.-]+@`)

func TestALockfileThatLeavesSomethingOpenIsFound(t *testing.T) {
	sum := "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
	for entry, faults := range map[string]int{
		`{"version":"1.0.0","integrity":"` + sum + `"}`:                                                      0,
		`{"version":"1.0.0"}`:                                                                                1,
		`{"version":"1.0.0","integrity":"sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}`:                                1,
		`{"version":"1.0.0","integrity":"` + sum + `","resolved":"https://registry.example/a.tgz"}`:          1,
		`{"version":"1.0.0","integrity":"` + sum + `","resolved":"git+ssh://git@example.com/a.git#0123456"}`: 1,
		`{"version":"^1.0.0","integrity":"` + sum + `"}`:                                                     1,
		`{"version":"1.0.0","integrity":"` + sum + `","hasInstallScript":true}`:                              1,
		`{"link":true,"resolved":"../elsewhere"}`:                                                            3,
	} {
		if got := lockfileFaults(t, `{"lockfileVersion":3,"packages":{"":{},"node_modules/a":`+entry+`}}`); len(got) != faults {
			t.Errorf("%s: %q", entry, got)
		}
	}
}

func TestNPMDependenciesAreOneVersion(t *testing.T) {
	for _, file := range tracked(t, "package.json") {
		var p struct{ Dependencies, DevDependencies, Overrides, OptionalDependencies map[string]string }
		if err := json.Unmarshal([]byte(read(t, file)), &p); err != nil {
			t.Fatal(err)
		}
		for _, all := range []map[string]string{p.Dependencies, p.DevDependencies, p.Overrides, p.OptionalDependencies} {
			for name, version := range all {
				if !exact.MatchString(alias.ReplaceAllString(version, "")) {
					t.Errorf("%s takes %s in the versions %s", file, name, version)
				}
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), "package-lock.json")); err != nil && len(all) > 0 {
				t.Errorf("%s has dependencies and no lockfile", file)
			}
		}
	}
}

// TestScriptsTakeNothingUnpinned checks that no script downloads something without a pinned
// version, except for the lines in the list `allowed`.
func TestScriptsTakeNothingUnpinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "scripts", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := filepath.Glob(filepath.Join(root, "tools", "*", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(append(files, tools...), filepath.Join(root, ".ci", "run"), filepath.Join(root, "Makefile"))
	if len(files) < 7 {
		t.Fatalf("only %d scripts were found", len(files))
	}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			if found := unpinned.FindString(scriptless.ReplaceAllString(line, "")); found != "" && !slices.Contains(allowed, strings.TrimSpace(line)) {
				t.Errorf("%s: %q takes whatever there is: %s", file, found, strings.TrimSpace(line))
			}
		}
	}
	for _, line := range []string{"npm ci --no-audit", "npm rebuild x", "npm exec x", "yarn add x", "pnpm dlx x", "git clone https://example.com/a", "apt-get install -y x", "go get example.com/a", "docker pull x", "curl -fsSL https://example.com/install | sh", "go install example.com/a@latest", "go run example.com/a@v1", "npm install", "npm i x", "npx -y x", "pip install x", "apt-key add -", "wget x"} {
		if !unpinned.MatchString(line) {
			t.Errorf("%q would not be found", line)
		}
	}
}

var (
	unpinned = regexp.MustCompile(`\b(curl|wget|pip3?|pipx|gem|cargo|apt-key|yarn|pnpm|bun)\b|@latest|go (install|run) \S+@|go get\b|` +
		`npm (ci|install|i|add|update|rebuild|exec)\b|npx (-y|--yes)\b|git clone\b|(docker|podman) pull\b|apt(-get)? install\b|apt-get\b.* install\b`)
	// scriptless matches a command that installs the packages of the lockfile without running their
	// install scripts.
	scriptless = regexp.MustCompile(`npm ci --ignore-scripts\b`)
	// allowed are lines of scripts with unpinned downloads; SECURITY.md explains them.
	allowed = []string{
		`"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"`,
	}
)

// TestDebianPackagesAreKnown checks that the script deps.sh checks the version of each Debian
// package that it installs.
func TestDebianPackagesAreKnown(t *testing.T) {
	script := read(t, filepath.Join(root, "scripts", "deps.sh"))
	for _, names := range regexp.MustCompile(`missing\+=\(([^)]*)\)`).FindAllStringSubmatch(script, -1) {
		for _, name := range strings.Fields(strings.Trim(names[1], `"`)) {
			switch name {
			case "$tool", "nodejs": // git, make and bash; a command checks the version of node
			default:
				if !strings.Contains(script, "at_least "+name+" ") {
					t.Errorf("deps.sh installs %s and does not check its version", name)
				}
			}
		}
	}
}

// TestToolsArePinned checks the Go modules of the project and of its tools. Each module must have
// the checksums of its dependencies and replace none of them. The module files that scripts name
// must exist.
func TestToolsArePinned(t *testing.T) {
	mods, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil || len(mods) < 5 {
		t.Fatalf("only %d tools were found: %v", len(mods), err)
	}
	for _, mod := range append(mods, filepath.Join(root, "go.mod")) {
		text := read(t, mod)
		sums := read(t, strings.TrimSuffix(mod, ".mod")+".sum")
		if regexp.MustCompile(`(?m)^\s*replace\b`).MatchString(text) {
			t.Errorf("%s replaces a module", mod)
		}
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+|\S+\.\S+) (v\S+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(sums, m[1]+" "+m[2]+"/go.mod h1:") {
				t.Errorf("%s: no checksum of %s %s", mod, m[1], m[2])
			}
		}
	}
	for _, script := range []string{"deadcode.sh", "format.sh", "lint.sh", "vulncheck.sh"} {
		for _, use := range regexp.MustCompile(`-modfile=(\S+)`).FindAllStringSubmatch(read(t, filepath.Join(root, "scripts", script)), -1) {
			if _, err := os.Stat(filepath.Join(root, use[1])); err != nil && !strings.HasPrefix(use[1], "$") {
				t.Errorf("%s: %v", script, err)
			}
		}
	}
}
