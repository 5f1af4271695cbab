package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
)

// Open opens a server inside a program. Here a client reaches it over its Unix socket.
// docs/embedding.md shows a server with a worker.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := server.Open(context.Background(), server.Config{
		Data: dir, Logger: slog.New(slog.DiscardHandler),
		Catalog: perdure.Catalog{Providers: llm.KnownProviders(), Tools: tool.Infos(tool.Builtin()...)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	if err := s.Listen(); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	c := client.Socket(s.Socket(), s.Token())
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(tool.Name, tool.ReadOnly)
	}
	c.Close()
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// read-file true
	// write-file false
	// edit-file false
	// bash false
	// grep true
	// find true
	// ended: <nil>
}

// Open returns an *OwnedError for a data directory that another server owns.
func ExampleOwnedError() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := server.Config{Data: dir, Logger: slog.New(slog.DiscardHandler)}
	s, err := server.Open(context.Background(), config)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = server.Open(context.Background(), config)
	_, owned := err.(*server.OwnedError)
	fmt.Println("owned:", owned, s.Close())
	// Output: owned: true <nil>
}

// A program that embeds a server can create API keys without a client.
func ExampleServer_CreateKey() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := server.Open(context.Background(), server.Config{Data: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	key, secret, err := s.CreateKey(context.Background(), perdure.DefaultOrg, "for the workers", perdure.KeyWorker)
	fmt.Println(key.Name, key.Role, secret[:4], err)
	// Output: for the workers worker prd_ <nil>
}
