package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/garbage"
)

// child is a process that runs this program in one of the roles in the map `roles`. It reads
// requests, each a line of JSON, and answers each with a line of JSON. It ends at the end of its
// input.
type child struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	mu   sync.Mutex // serializes requests
}

// childCommand has the first two arguments of a child's command line. The role and its arguments
// follow.
var childCommand = [2]string{"bench", "child"}

// Child runs the process of a role that Run has started. args are the arguments after "bench
// child". Child returns when standard input or ctx ends.
func Child(ctx context.Context, args []string) error {
	if len(args) == 0 || roles[args[0]] == nil {
		return perdure.FieldErrorf("role", "only perdure bench itself starts its children")
	}
	garbage.Ease(ctx) // as the commands server and worker do
	return roles[args[0]](ctx, args[1:])
}

// roles maps the name of a role to its main function.
var roles = map[string]func(ctx context.Context, args []string) error{
	"server": serverRole, "worker": workerRole, "readers": readersRole, "guests": guestsRole, "attacker": attackerRole,
}

func spawn(ctx context.Context, role string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{role: role, cmd: exec.CommandContext(ctx, self, append([]string{childCommand[0], childCommand[1], role}, args...)...)}
	c.cmd.Stderr = os.Stderr
	// The child gets a process group of its own, so that Ctrl-C in the terminal interrupts only the
	// parent. The parent then ends the child.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<20)
	return c, c.cmd.Start()
}

// childRequest is a request to a child: the name of a handler and its arguments.
type childRequest struct {
	Do   string
	Args json.RawMessage `json:",omitempty"`
}

// childReply is the answer of a child.
type childReply struct {
	Error string
	Value json.RawMessage
}

// ask sends a request to the child and decodes the answer into reply, unless reply is nil.
func (c *child) ask(do string, args, reply any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(c.in).Encode(childRequest{do, raw}); err != nil {
		return fmt.Errorf("%s: %w", c.role, err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s has ended: %w", c.role, err)
	}
	var a childReply
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("%s said %.100q: %w", c.role, line, err)
	}
	if a.Error != "" {
		return fmt.Errorf("%s: %s: %s", c.role, do, a.Error)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(a.Value, reply)
}

// close closes the input of the child, so that the child ends, and waits for the end of the child.
func (c *child) close() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// handler answers one kind of request.
type handler func(args json.RawMessage) (any, error)

// on creates a handler from a function with typed arguments.
func on[T any](do func(T) (any, error)) handler {
	return func(raw json.RawMessage) (any, error) {
		var args T
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, err
		}
		return do(args)
	}
}

// serveRequests is the main loop of a child. It returns at the end of the requests or of ctx.
func serveRequests(ctx context.Context, verbs map[string]handler) error {
	over := make(chan error, 1)
	go func() { over <- handleRequests(verbs) }() // ends with the process at the latest
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return nil
	}
}

func handleRequests(verbs map[string]handler) error {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var q childRequest
		if err := in.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a childReply
		value, err := func() (any, error) {
			if verbs[q.Do] == nil {
				return nil, fmt.Errorf("there is no %q", q.Do)
			}
			return verbs[q.Do](q.Args)
		}()
		if err == nil {
			a.Value, err = json.Marshal(value)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}
