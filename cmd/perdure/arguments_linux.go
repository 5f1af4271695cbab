package main

// argumentsInPlace reports whether the strings of os.Args are in the memory that ps and
// /proc/PID/cmdline show.
const argumentsInPlace = true
