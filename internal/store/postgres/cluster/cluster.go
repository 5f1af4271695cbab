// Package cluster runs a private PostgreSQL server: in a temporary directory, on loopback, from the
// binaries of this machine, with fsync on. Tests and benchmarks use it; a server never does.
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server in a temporary directory, on loopback, with fsync on.
type Cluster struct {
	folder string
	port   int
	owner  *syscall.Credential // the server's user; nil: the user of this process
	server *os.Process
	extra  []string // settings in the form NAME=VALUE
	ended  chan struct{}
	log    *os.File
}

// Start creates a cluster and waits until the server accepts connections. The cluster runs until
// Stop, or until this process ends. Settings have the form NAME=VALUE and override the defaults,
// which are for a small cluster.
func Start(settings ...string) (*Cluster, error) {
	c := &Cluster{extra: settings}
	if err := c.make(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	if err := c.Run(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// PID returns the id of the server's main process, which is the parent of the server's other
// processes.
func (c *Cluster) PID() int { return c.server.Pid }

// URL returns the URL of a database of the cluster.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://perdure@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

func (c *Cluster) make() (err error) {
	if err := c.place(); err != nil {
		return err
	}
	initdb, err := c.command("initdb", "-D", c.data(), "-U", "perdure", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions", "--no-sync")
	if err != nil {
		return err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// place chooses the server's user and port, and creates its directory and log file.
func (c *Cluster) place() (err error) {
	if c.owner, err = unprivileged(); err != nil {
		return err
	}
	if c.folder, err = c.scratch(); err != nil {
		return err
	}
	if c.port, err = freePort(); err != nil {
		return err
	}
	c.log, err = os.Create(filepath.Join(c.folder, "log"))
	return err
}

// scratch creates a directory that the server's user owns and can access. The default temporary
// directory may be inside a directory that only this process's user can access.
func (c *Cluster) scratch() (string, error) {
	var failed error
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		folder, err := os.MkdirTemp(parent, "perdure-postgres-")
		if err == nil {
			if err = c.own(folder); err == nil {
				return folder, nil
			}
			err = errors.Join(err, os.RemoveAll(folder))
		}
		failed = errors.Join(failed, err)
	}
	return "", fmt.Errorf("there is no folder that the user of PostgreSQL can get into: %w", failed)
}

// own changes the owner of a directory to the server's user, and checks that this user can access
// it.
func (c *Cluster) own(folder string) error {
	if c.owner == nil {
		return nil
	}
	if err := os.Chown(folder, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
		return err
	}
	look := exec.Command("ls", folder)
	look.Dir = "/"
	look.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner}
	if out, err := look.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

// unprivileged returns a user for PostgreSQL, which refuses to run as root. It returns nil if this
// process does not run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// debian is the directory in which Debian and Ubuntu install PostgreSQL's programs, with a
// subdirectory for each major version. The programs are not in PATH.
const debian = "/usr/lib/postgresql"

// find returns the path of one of PostgreSQL's programs: the one in PATH, or else the newest
// version in `folder`, which has a subdirectory for each version.
func find(folder, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	installed, globErr := filepath.Glob(folder + "/*/bin/" + name)
	if globErr != nil || len(installed) == 0 {
		return "", fmt.Errorf("PostgreSQL is not installed (scripts/deps.sh does it): %w", err)
	}
	return slices.MaxFunc(installed, func(a, b string) int { return cmp.Compare(major(a), major(b)) }), nil
}

// major returns the major version of PostgreSQL that the path of a program contains. It returns 0
// for 9.6 and for paths without a version, so that these programs count as the oldest.
func major(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// command returns a command that runs one of PostgreSQL's programs: the program in PATH, or the one
// of the newest installed version.
func (c *Cluster) command(name string, args ...string) (*exec.Cmd, error) {
	path, err := find(debian, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = c.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd, nil
}

// Run starts the server and waits until it accepts connections.
func (c *Cluster) Run() error {
	args := []string{
		"-D", c.data(), "-p", strconv.Itoa(c.port), "-k", "", "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "max_wal_size=256MB", "-c", "min_wal_size=32MB",
		"-c", "autovacuum_naptime=5s", "-c", "log_min_messages=warning",
	}
	for _, setting := range c.extra {
		args = append(args, "-c", setting)
	}
	server, err := c.command("postgres", args...)
	if err != nil {
		return err
	}
	server.Stdout, server.Stderr = c.log, c.log
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The kernel sends SIGQUIT to the server (see endWithParent) when the thread that has
		// started the server ends, so this thread must not end.
		runtime.LockOSThread()
		defer close(ended)
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait() // the exit status is not needed
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.server, c.ended = server.Process, ended
	return c.wait()
}

const startTime = 60 * time.Second

// wait polls until the server accepts a connection.
func (c *Cluster) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx, c.URL("postgres"))
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			said, _ := os.ReadFile(c.log.Name())
			return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, bytes.TrimSpace(said))
		}
	}
}

func ping(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Restart stops the server with a signal and starts it again. SIGQUIT stops the server without
// informing its clients, and the next start recovers the database. SIGINT shuts the server down
// cleanly.
func (c *Cluster) Restart(end syscall.Signal) error {
	if err := c.end(end); err != nil {
		return err
	}
	return c.Run()
}

func (c *Cluster) end(signal syscall.Signal) error {
	if c.server == nil {
		return nil
	}
	err := c.server.Signal(signal)
	<-c.ended
	c.server = nil
	return err
}

// Crash stops the server without informing its clients. It does not start it again.
func (c *Cluster) Crash() error { return c.end(syscall.SIGQUIT) }

// Stop stops the server and removes its directory.
func (c *Cluster) Stop() error {
	return errors.Join(c.end(syscall.SIGINT), c.remove())
}

func (c *Cluster) remove() error {
	if c.log != nil {
		_ = c.log.Close() // only the server writes to the file
	}
	return os.RemoveAll(c.folder)
}
