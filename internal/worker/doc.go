// Package worker runs scripts in a process of its own that can do nothing but compute: the second wall,
// for scripts that aren't trusted and for those that ask for it.
//
// The process is the same program run again. Before it sees a script it has given up everything: it can
// open no file, make no socket, start no process, signal nobody, and use no more memory than its cap. It
// speaks through one pair of sockets, in frames, and what it says is checked as if somebody hostile said
// it. One that dies, lies or is late is killed, and its hook has failed.
package worker
