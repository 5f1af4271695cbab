package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// gitRepo creates a repository at dir. Its configuration makes git run a command that creates the
// file `ran`.
func gitRepo(t *testing.T, dir, ran string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "config", "core.fsmonitor", "touch " + ran + "; false"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestNoCommandPlantsARepositoryUnseen checks a command that plants a program that git would run
// outside the sandbox. The result reports the change, whether the command is confined or not.
func TestNoCommandPlantsARepositoryUnseen(t *testing.T) {
	longtest.Skip(t, "seconds")
	attacks := map[string]string{
		"a file that leads elsewhere": "mv .git old && mv evil/.git led && echo 'gitdir: led' > .git",
		"a symlink":                   "mv .git old && ln -s evil/.git .git",
		"a common folder":             "echo ../evil/.git > .git/commondir",
		"a bare repository":           "mkdir b && cp -r evil/.git/. b && git --git-dir=b config core.bare true",
		"the workspace as bare":       "mv .git old && cp -r evil/.git/. . && git --git-dir=. config core.bare false && git --git-dir=. config core.worktree .",
		"a submodule of two names":    "mkdir -p .git/modules/a && cp -r evil/.git .git/modules/a/b",
		"a worktree":                  "git init -q w && rm -rf w/.git && mkdir -p .git/worktrees/w && cp -r evil/.git/. .git/worktrees/w && echo \"gitdir: ../.git/worktrees/w\" > w/.git",
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			for _, o := range []WorkspaceOptions{{}, {Unconfined: true}} {
				w := openWorkspace(t, o)
				gitRepo(t, filepath.Join(w.Dir(), "evil"), filepath.Join(w.Dir(), "ran"))
				gitRepo(t, w.Dir(), "/dev/null")
				r := sh(t, w, attack)
				wantText(t, r, r.IsError, "[changed: ")
			}
		})
	}
}

// TestChangesOfLinkedRepositoriesAreTold checks that the result of a command reports a change in a
// repository to which a .git file leads.
func TestChangesOfLinkedRepositoriesAreTold(t *testing.T) {
	w := openWorkspace(t, WorkspaceOptions{Unconfined: true})
	gitRepo(t, filepath.Join(w.Dir(), "real"), "/dev/null")
	if err := os.Rename(filepath.Join(w.Dir(), "real", ".git"), filepath.Join(w.Dir(), "elsewhere")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(w.Dir(), "real", ".git"), "gitdir: ../elsewhere\n")
	wantOK(t, sh(t, w, "echo '[core]' >> elsewhere/config"), "[changed: ", "elsewhere/config")
}

// TestFileToolsWriteNothingThatRunsLater checks that file tools refuse to write files that programs
// outside the sandbox later run. File tools themselves run outside the sandbox.
func TestFileToolsWriteNothingThatRunsLater(t *testing.T) {
	w := openWorkspace(t, WorkspaceOptions{})
	t.Setenv("HOME", w.Dir())
	gitRepo(t, w.Dir(), "/dev/null")
	put(t, filepath.Join(w.Dir(), ".bashrc"), "good")
	for link, to := range map[string]string{"g": ".git", "h": ".git/hooks", "c": ".git/config", "rc": ".bashrc"} {
		if err := os.Symlink(to, filepath.Join(w.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	config := content(t, filepath.Join(w.Dir(), ".git", "config"))
	for _, path := range []string{
		".git/config", ".git/hooks/pre-commit", ".git/commondir", ".git/new/x", "g/config", "h/post-checkout", "c",
		"sub/.git", "sub/.git/config", ".bashrc", ".zshenv", "rc", ".ssh/authorized_keys", ".local/bin/ls", w.Dir() + "/.git/config",
	} {
		wantError(t, use(t, w, "write-file", args{"path": path, "content": "evil"}), errRunsLater.Error())
	}
	wantError(t, use(t, w, "edit-file", args{"path": "g/config", "oldString": "bare", "newString": "evil", "replaceAll": true}), errRunsLater.Error())
	if got := content(t, filepath.Join(w.Dir(), ".git", "config")); got != config {
		t.Errorf("the configuration is %q", got)
	}
	for _, path := range []string{"sub/.git", ".zshenv", ".ssh", ".local", ".git/commondir"} {
		if _, err := os.Lstat(filepath.Join(w.Dir(), path)); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	for _, path := range []string{".gitignore", "sub/config", "hooks/x", ".github/workflows/ci.yml"} {
		wantOK(t, use(t, w, "write-file", args{"path": path, "content": "good"}))
	}
}
