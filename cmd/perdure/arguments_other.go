//go:build !linux

package main

// argumentsInPlace is not known of other systems.
const argumentsInPlace = false
