package main

import (
	"os"
	"strings"
	"unsafe"
)

// secretArguments are flags whose values are secrets, or URLs that may hold one.
var secretArguments = []string{"--key", "--store", "--nats"}

// takeArguments returns the arguments of this process, and blanks the secrets
// among them where the system shows them: ps, and /proc/PID/cmdline, which every
// user may read. Between the start and this call they can be seen.
func takeArguments() []string {
	args := make([]string, len(os.Args))
	for i, arg := range os.Args {
		args[i] = strings.Clone(arg)
	}
	for i, secret := range secretParts(args) {
		shown := os.Args[i]
		os.Args[i] = args[i][:len(args[i])-len(secret)] + "..." // what profiles show
		blank(shown[len(shown)-len(secret):])
	}
	return args[1:]
}

// secretParts are the ends of arguments that hold a secret, by the argument's
// index.
func secretParts(args []string) map[int]string {
	parts := map[int]string{}
	for i, arg := range args {
		if i == 0 {
			continue
		}
		for _, flag := range secretArguments {
			if value, found := strings.CutPrefix(arg, flag+"="); found {
				parts[i] = value
			} else if args[i-1] == flag {
				parts[i] = arg
			}
		}
	}
	return parts
}

// blank overwrites text, which lies where the system put the arguments. Those are
// this process's own, writable memory.
func blank(text string) {
	if len(text) == 0 || !argumentsInPlace {
		return
	}
	shown := unsafe.Slice(unsafe.StringData(text), len(text))
	for i := range shown {
		shown[i] = 'x'
	}
}
