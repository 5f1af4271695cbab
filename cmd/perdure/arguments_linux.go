package main

// argumentsInPlace reports that the strings of os.Args are in the system's memory of the arguments.
const argumentsInPlace = true
