//go:build !linux

package main

// argumentsInPlace is false, because it is unknown for other systems.
const argumentsInPlace = false
