// Package bench is the command "zksync bench": it measures locks on the user's own
// ZooKeeper, and prints a table or JSON.
//
// Everything that it makes is below one node of its own. That node and all below it are
// deleted at the end, also after an error or a signal. Until then they are containers
// and ephemeral nodes, so that the servers delete them if the program is killed.
package bench
