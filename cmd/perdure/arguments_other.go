//go:build !linux

package main

// argumentsInPlace is false: on other systems than Linux it is unknown where the strings of os.Args
// are.
const argumentsInPlace = false
