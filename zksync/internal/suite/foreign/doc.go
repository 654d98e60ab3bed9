// Package foreign runs tests that were written for real ZooKeeper by others, on
// package zktest's server and on real ZooKeeper, and compares what passes: the tests of
// go-zookeeper, which are in the module cache, the tests of kazoo, which are in Debian's
// package python3-kazoo, and a program with the recipes of Curator.
//
// A foreign suite starts its servers as its authors wrote it: it runs the command
// "java" or "zkServer.sh" with a file of configuration, and kills the process when the
// server is to stop. Both commands are the binary of this package's test in the role of
// a server. The role runs Java, or it asks the test to be a member of a zktest.Server
// for as long as the process lives.
//
// Nothing of a foreign suite is in this repository. The file testdata/known.txt lists
// each test that does not pass on both servers, with the reason. A test that fails
// without being in the list fails the run, and so does an entry of the list that is not
// true any more.
package foreign
