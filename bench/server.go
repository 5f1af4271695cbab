package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/perdure/perdure/server"
)

// serving is the child that is the server.
type serving struct {
	ctx     context.Context
	s       *server.Server
	worker  *working // in this process, if it was asked to be
	profile *os.File
}

// addresses are where a server is.
type addresses struct{ HTTP, GRPC, Socket, Token string }

// usageOf is what a process has used, and has.
type usageOf struct {
	CPU                  time.Duration // of its own and of the kernel for it
	Heap, Stacks, Others uint64        // bytes in use after a collection
	Goroutines           int
}

func serverRole(ctx context.Context, args []string) error {
	if err := moreFiles(); err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Config{
		Data: args[0], HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	if err := s.Listen(); err != nil {
		return errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	child := &serving{ctx: ctx, s: s}
	err = answering(child.verbs())
	if child.worker != nil {
		child.worker.stop()
	}
	cancel()
	return errors.Join(err, <-ended, s.Close())
}

func (c *serving) verbs() map[string]verb {
	return map[string]verb{
		"where": on(func(struct{}) (any, error) {
			return addresses{c.s.HTTPAddress(), c.s.GRPCAddress(), c.s.Socket(), c.s.Token()}, nil
		}),
		"work": on(func(slots int) (any, error) {
			w, err := work(c.ctx, c.s.Dispatch(server.DevOrg), slots)
			c.worker = w
			return nil, err
		}),
		"said":    on(func(struct{}) (any, error) { return c.worker.said(), nil }),
		"used":    on(func(collect bool) (any, error) { return used(collect), nil }),
		"profile": on(func(path string) (any, error) { return nil, c.profileTo(path) }),
		"heap":    on(func(path string) (any, error) { return nil, heapTo(path) }),
	}
}

// profileTo begins a profile of the CPU; "" ends it.
func (c *serving) profileTo(path string) (err error) {
	if path == "" {
		pprof.StopCPUProfile()
		return c.profile.Close()
	}
	if c.profile, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(c.profile)
}

func heapTo(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// used tells what this process has used. With collect, memory is what is left
// after collections: stacks shrink by half in each.
func used(collect bool) usageOf {
	if collect {
		for range 4 {
			runtime.GC()
		}
		debug.FreeOSMemory()
	}
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
	}
	metrics.Read(samples)
	at := func(i int) uint64 { return samples[i].Value.Uint64() }
	return usageOf{
		CPU:  time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Heap: at(0), Stacks: at(1) + at(2), Others: at(3) + at(4) + at(5), Goroutines: runtime.NumGoroutine(),
	}
}

// moreFiles raises this process's limit of open files as far as it goes.
func moreFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

// files is how many files each process may have open.
func files() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(l.Max)
}
