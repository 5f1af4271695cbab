package bench

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"

	"github.com/perdure/perdure/server"
)

// serverProcess is the state of the child process that is the server.
type serverProcess struct {
	ctx    context.Context
	s      *server.Server
	worker *benchWorker // the worker in this process, nil if it was not requested
}

// serverSpec is the configuration of a server.
type serverSpec struct {
	Data, Store string
	Plain       bool
	OrgsCPU     int // value of server.Config.OrgsCPU
}

// addresses are the addresses and the token of a server.
type addresses struct{ HTTP, GRPC, Socket, Token string }

func serverRole(ctx context.Context, args []string) error {
	if err := moreFiles(); err != nil {
		return err
	}
	var spec serverSpec
	if err := json.Unmarshal([]byte(args[0]), &spec); err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Config{
		Data: spec.Data, Store: spec.Store, StorePlain: spec.Plain, OrgsCPU: spec.OrgsCPU, HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Logger: quietLogger(),
	})
	if err != nil {
		return err
	}
	if err := s.Listen(); err != nil {
		return errors.Join(err, s.Close())
	}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(runCtx) }()
	child := &serverProcess{ctx: runCtx, s: s}
	err = serveRequests(ctx, child.handlers())
	if child.worker != nil {
		child.worker.stop()
	}
	cancel()
	return errors.Join(err, <-ended, s.Close())
}

func quietLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (c *serverProcess) handlers() map[string]handler {
	verbs := map[string]handler{
		"where": on(func(struct{}) (any, error) {
			return addresses{c.s.HTTPAddress(), c.s.GRPCAddress(), c.s.Socket(), c.s.Token()}, nil
		}),
		"work": on(func(spec workerSpec) (any, error) {
			w, err := startWorker(c.ctx, c.s.Dispatch(server.DevOrg), spec)
			c.worker = w
			return nil, err
		}),
	}
	maps.Copy(verbs, processVerbs())
	maps.Copy(verbs, workerHandlers(func() *benchWorker { return c.worker }))
	return verbs
}
