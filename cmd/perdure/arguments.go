package main

import (
	"os"
	"strings"
	"unsafe"
)

// secretArguments are the flags whose values are secrets, or URLs that may contain a secret.
var secretArguments = []string{"--key", "--store", "--nats"}

// takeArguments returns the arguments of this process. It overwrites the secrets among them in
// memory, because every user can read them with ps or in /proc/PID/cmdline. The secrets are visible
// from the start of the process until this call.
func takeArguments() []string {
	args := make([]string, len(os.Args))
	for i, arg := range os.Args {
		args[i] = strings.Clone(arg)
	}
	for i, secret := range secretParts(args) {
		shown := os.Args[i]
		os.Args[i] = args[i][:len(args[i])-len(secret)] + "..." // runtime profiles contain os.Args
		blank(shown[len(shown)-len(secret):])
	}
	return args[1:]
}

// secretParts returns the secret at the end of each argument that has one, by the argument's index.
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

// blank overwrites a text in place. The text is in the memory of the process's arguments, which is
// writable.
func blank(text string) {
	if len(text) == 0 || !argumentsInPlace {
		return
	}
	shown := unsafe.Slice(unsafe.StringData(text), len(text))
	for i := range shown {
		shown[i] = 'x'
	}
}
