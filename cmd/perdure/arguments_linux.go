package main

// argumentsInPlace says that the strings of os.Args lie where the system put them.
const argumentsInPlace = true
