package screen

// cursor is a selected line, which stays the same one when lines come and go. The zero
// value is at the first line.
type cursor struct {
	at  int
	key string // of the line at at; "": of none
	top int    // the first line on the screen
}

// follow moves the cursor to where its line is now. If the line is gone, the cursor stays
// at its place.
func (c *cursor) follow(n int, key func(i int) string) {
	if c.key != "" && (c.at >= n || key(c.at) != c.key) {
		for i := range n {
			if key(i) == c.key {
				c.at = i
				break
			}
		}
	}
	c.move(0, n, key)
}

// move moves the cursor by a number of lines.
func (c *cursor) move(by, n int, key func(i int) string) {
	c.at = max(min(c.at+by, n-1), 0)
	if c.key = ""; n > 0 {
		c.key = key(c.at)
	}
}

// window returns which lines are on a screen with room for height of them.
func (c *cursor) window(n, height int) (from, to int) {
	height = max(height, 1)
	c.top = min(c.top, c.at)
	if c.at >= c.top+height {
		c.top = c.at - height + 1
	}
	c.top = max(min(c.top, n-height), 0)
	return c.top, min(c.top+height, n)
}
