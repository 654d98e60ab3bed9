package control

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Guard returns a handler that keeps the pages that the user's browser shows away from h.
// A page of another origin can send a request; and a page whose own name was made to lead
// to this address (DNS rebinding) is of the same origin. Its requests have that name in
// their Host header. So the server is known by its IP addresses, as localhost, and by the
// given names.
func Guard(h *Control, names ...string) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := origins.Check(r)
		switch {
		case !known(r.Host, names):
			err = refusef(http.StatusForbidden, "the host %q is not one of this server: use its IP address or localhost, or give serve --control-host with the name", r.Host)
		case err != nil:
			err = refusef(http.StatusForbidden, "a web page of %s has made this request, and web pages can't use the control port; "+
				"a program sends neither Origin nor Sec-Fetch-Site", origin(r))
		default:
			h.ServeHTTP(w, r)
			return
		}
		reply(w, nil, err)
	})
}

// origin returns where the page is from that has made a request.
func origin(r *http.Request) string {
	if from := r.Header.Get("Origin"); from != "" {
		return strconv.Quote(from)
	}
	return "another origin"
}

// known reports whether a Host header names this server.
func known(header string, names []string) bool {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	is := func(name string) bool { return strings.EqualFold(name, host) }
	return net.ParseIP(strings.SplitN(host, "%", 2)[0]) != nil || is("localhost") || slices.ContainsFunc(names, is)
}
