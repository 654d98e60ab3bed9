package demo

import "testing"

func TestDemoClip(t *testing.T) {
	for _, tt := range []struct {
		line, want string
	}{
		{"short", "short"},
		{"123456789", "1234567"},
		{"12\x1b[30;42m345\x1b[0m6789", "12\x1b[30;42m345\x1b[0m67"},
		{"123456\x1b[31m789\x1b[0m", "123456\x1b[31m7\x1b[0m"},
	} {
		if got := clip(tt.line, 7); got != tt.want {
			t.Errorf("%q is clipped to %q, want %q", tt.line, got, tt.want)
		}
	}
}
