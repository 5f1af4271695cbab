package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// recipeBlock is a code block of a recipe. Its first line says what the block is for:
//
//	go file=NAME, text file=NAME   a file
//	sh                             commands, which must succeed
//	sh background                  commands that run until the end of the page
//	text output                    part of what the commands before it print; … is any text of a line
type recipeBlock struct{ what, text string }

var (
	recipeFence = regexp.MustCompile("(?ms)^```([a-z].*?)\n(.*?)^```")
	anyText     = regexp.MustCompile(`…`)
)

func recipeBlocks(t *testing.T, page string) (blocks []recipeBlock) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range recipeFence.FindAllStringSubmatch(string(raw), -1) {
		blocks = append(blocks, recipeBlock{found[1], found[2]})
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no blocks", page)
	}
	return blocks
}

// TestRecipesWorkAsTheyAreWritten runs the commands of each page in docs/recipes. Each page gets an empty
// folder, a Go module and a home folder of its own.
func TestRecipesWorkAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "docs", "recipes", "*.md"))
	if err != nil || len(pages) < 7 {
		t.Fatalf("%d recipes: %v", len(pages), err)
	}
	user := newModuleUser(t, publishModule(t))
	begin := recipeBlocks(t, filepath.Join("..", "docs", "recipes", "README.md"))
	for _, page := range pages {
		if filepath.Base(page) == "README.md" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			c := newRecipeRunner(t, user)
			for _, b := range append(begin[:len(begin):len(begin)], recipeBlocks(t, page)...) {
				c.do(b)
			}
		})
	}
}

// recipeRunner runs the code blocks of one recipe in order.
type recipeRunner struct {
	t      *testing.T
	dir    string
	env    []string
	ports  *strings.Replacer // addresses of the page with those of the test, because the page's may be in use
	grpc   string
	output string
}

func newRecipeRunner(t *testing.T, user moduleUser) *recipeRunner {
	t.Helper()
	http, grpc := freeAddress(t), freeAddress(t)
	home, err := os.MkdirTemp("", "home") // short: the path of a socket has at most some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // home is in the system's temporary folder
	c := &recipeRunner{t: t, dir: t.TempDir(), grpc: grpc}
	c.ports = strings.NewReplacer(
		"perdure dev\n", "perdure dev --addr "+http+" --grpc-addr "+grpc+"\n",
		"127.0.0.1:8080", http, "127.0.0.1:9090", grpc,
	)
	cache := strings.TrimSpace(printed(t, "go", "env", "GOCACHE"))
	c.env = append(user.env[:len(user.env):len(user.env)], "HOME="+home, "GOCACHE="+cache, "XDG_DATA_HOME=", "PERDURE_KEY=",
		"PATH="+filepath.Dir(program(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	return c
}

func (c *recipeRunner) do(b recipeBlock) {
	c.t.Helper()
	_, file, isFile := strings.Cut(b.what, " file=")
	switch {
	case isFile:
		to := filepath.Join(c.dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			c.t.Fatal(err)
		}
		writeFile(c.t, to, c.ports.Replace(b.text))
	case b.what == "sh":
		c.run(b.text)
	case b.what == "sh background":
		c.start(b.text)
	case b.what == "text output":
		want := anyText.ReplaceAllLiteralString(regexp.QuoteMeta(strings.TrimSuffix(b.text, "\n")), `.*`)
		if !regexp.MustCompile(want).MatchString(c.output) {
			c.t.Fatalf("the commands print\n%s\nwithout\n%s", c.output, b.text)
		}
	default:
		c.t.Fatalf("a block is %q; recipeBlock says what there is", b.what)
	}
}

// shell returns the command that runs a code block in the recipe's folder. The command fails at the first
// error in the block.
func (c *recipeRunner) shell(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euc", c.ports.Replace(text))
	cmd.Dir, cmd.Env = c.dir, append(c.env[:len(c.env):len(c.env)], "PWD="+c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func (c *recipeRunner) run(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*patience)
	defer cancel()
	cmd := c.shell(ctx, text)
	said := newOutput()
	cmd.Stdout, cmd.Stderr = said, said
	err := cmd.Start()
	if err == nil {
		// If the block leaves processes of its process group running, they are killed at the end of the test.
		c.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		err = cmd.Wait()
	}
	if c.output = said.String(); err != nil {
		c.t.Fatalf("%v\n%s\nprints\n%s", err, text, c.output)
	}
}

// start starts a code block that runs until the end of the test. If the block starts the server, start
// returns once that server accepts connections. If the block starts a worker, start returns once the
// worker is registered. Programs that the block runs with `go run` are built before: on a busy machine
// that takes longer than the commands wait for them.
func (c *recipeRunner) start(text string) {
	c.t.Helper()
	if strings.Contains(text, "go run") {
		printed := c.output
		c.run("go build ./...\n")
		c.output = printed
	}
	said := newOutput()
	cmd := c.shell(context.Background(), text)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.t.Cleanup(func() {
		select {
		case err := <-ended:
			c.t.Errorf("%s\nends too early, %v:\n%s", text, err, said)
			return
		default:
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		select {
		case <-ended: // go run reports the interrupt as a failure
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			c.t.Errorf("%s\ndoes not end:\n%s", text, said)
		}
	})
	started := c.hasServer
	switch {
	case strings.Contains(text, "PERDURE_KEY="):
		started = c.hasWorker
	case !strings.Contains(text, "perdure dev"):
		return
	}
	eventually(c.t, text, func() bool {
		select {
		case err := <-ended:
			ended <- err // the cleanup receives it again
			c.t.Fatalf("%s\nends, %v:\n%s", text, err, said)
		default:
		}
		return started()
	})
}

// hasServer reports whether the recipe's server accepts connections.
func (c *recipeRunner) hasServer() bool {
	conn, err := net.Dial("tcp", c.grpc)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// hasWorker reports whether a worker other than the server's own is registered.
func (c *recipeRunner) hasWorker() bool {
	listed, err := c.shell(c.t.Context(), "perdure workers --json").Output()
	if err != nil {
		c.t.Fatalf("%v: %s", err, listed)
	}
	var workers client.Page[perdure.WorkerInfo]
	if err := json.Unmarshal(listed, &workers); err != nil {
		c.t.Fatal(err)
	}
	return slices.ContainsFunc(workers.Items, func(w perdure.WorkerInfo) bool { return !w.Embedded })
}
