package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestComposeServicesRun runs the command lines of compose.yaml as processes, in the order of that
// file. The processes create tables and a key, start servers, and run an agent. The test kills one
// server and checks that a run completes at the other server.
func TestComposeServicesRun(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	c, dir, store := composition(t), t.TempDir(), opentest.URL(t)
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo over there\"}\nturn\n  text Done.\n")
	keys := filepath.Join(dir, "keys")
	if err := os.Mkdir(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "nats-url", notifytest.NewNATS(t).URL()+"\n")
	said := []string{
		c.Services["server-1"].Environment["PERDURE_STORE"], store,
		c.Services["server-1"].Environment["PERDURE_NATS_FILE"], filepath.Join(dir, "nats-url"),
		"/keys/", keys + "/", "127.0.0.1:9464", "127.0.0.1:0",
	}
	for _, n := range []string{"1", "2"} {
		said = append(said, "10.231.1.1"+n+":8080", "0.0.0.0:0", "10.231.2.1"+n+":9090", "0.0.0.0:0", "10.231.3.1"+n+":9464", "127.0.0.1:0")
	}
	here := strings.NewReplacer(said...)
	data := func(name string) string { return filepath.Join(dir, name) }
	begin := func(name string) *program {
		t.Helper()
		s := c.Services[name]
		var args []string
		for _, arg := range s.Command {
			args = append(args, here.Replace(arg))
		}
		return launchWith(t, dir, environment(s, here, data(name)), args...)
	}
	begin("migrate").wantEnd(0)
	for range 2 { // the second time the key already exists
		once := c.Services["keys"]
		cmd := exec.CommandContext(t.Context(), once.Entrypoint[0], append(once.Entrypoint[1:], here.Replace(once.Command[0]))...)
		cmd.Dir, cmd.Env = dir, append(clean(dir), environment(once, here, data("once"))...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	admin := strings.TrimSpace(begin("admin-key").wantEnd(0))

	var servers, workers []*program
	var web []string
	for _, name := range []string{"server-1", "server-2"} {
		p := begin(name)
		web = append(web, "http://127.0.0.1:"+port(strings.Fields(p.until("http://"))[1]))
		said = append(said, name+":9090", "127.0.0.1:"+port(strings.Fields(p.until("workers"))[1]))
		p.until("data")
		servers = append(servers, p)
		launchWith(t, dir, environment(c.Services[name], here, data(name)), c.Services[name].Healthcheck.Test[2:]...).wantEnd(0, `"ready"`)
	}
	here = strings.NewReplacer(said...)
	for _, name := range []string{"worker-1", "worker-2"} {
		p := begin(name)
		p.until("bash ")
		workers = append(workers, p)
	}
	launch(t, dir, "run", "--server", web[0], "--key", admin, "--model", "scripted/s", "go").wantEnd(0, "over there", "Done.")
	servers[0].signal(syscall.SIGKILL)
	servers[0].end()
	launch(t, dir, "ready", web[0]).wantEnd(1, "no server answers")
	launch(t, dir, "run", "--server", web[1], "--key", admin, "--model", "scripted/s", "go").wantEnd(0, "over there", "Done.")
	for _, p := range append(workers, servers[1]) {
		p.signal(syscall.SIGTERM)
		p.wantEnd(0)
	}
}

func port(address string) string {
	address = strings.TrimSuffix(address, "/")
	return address[strings.LastIndex(address, ":")+1:]
}
