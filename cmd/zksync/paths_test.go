//go:build unix

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// The command refuses the paths that package zksync refuses, and no others.
func TestPathsAsInThePackage(t *testing.T) {
	z := embeddedSite()
	t.Cleanup(z.close)
	s := z.dial(t)
	for _, path := range []string{
		"", "/", "a", "/a", "/a/b", "/a/", "//a", "/a//b", "/.", "/a/..", "/a/./b", "/a.b", "/...", "/zookeeper", "/zookeeper/a", "/zookeepers", "/a/zookeeper",
		"/\x00", "/\x1f", "/ ", "/\x7f", "/\u009f", "/\u00a0", "/\ue000", "/\uf8ff", "/\uf900", "/\uffef", "/\ufff0", "/\U0001f512", "/\xff", "/a,b",
		"/" + strings.Repeat("x", 2047), "/" + strings.Repeat("x", 2048),
	} {
		_, err := s.Inspect(t.Context(), path)
		if ours := checkPath("LOCK", path); (ours != nil) != errors.Is(err, zksync.ErrInvalidPath) {
			t.Errorf("%.40q: %v, and the package says %v", path, ours, err)
		}
	}
}
