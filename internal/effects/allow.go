package effects

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// CheckURL says what is wrong with an entry of webhooks.allow: it is the beginning of a URL, with
// https, or with http on this machine.
func CheckURL(entry string) error {
	u, err := url.Parse(entry)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("an entry is no URL with a host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(entry, "#"):
		return errors.New("an entry has a user, a query or a fragment, and may have none")
	case strings.ContainsAny(u.Host, "*?"):
		return errors.New("an entry has a pattern as its host, and hosts are compared as they are")
	case !plain(u):
		return errors.New("an entry has a path with dots or escapes in it")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("an entry needs https; http is for this machine only, as http://127.0.0.1:PORT/")
}

// Allowed reports whether one of the entries is the beginning of a URL: the same scheme, host and port,
// and a path that is the entry's or lies below it.
func Allowed(entries []string, u *url.URL) bool {
	if !plain(u) {
		return false
	}
	for _, entry := range entries {
		e, err := url.Parse(entry)
		if err != nil || CheckURL(entry) != nil {
			continue
		}
		if e.Scheme == u.Scheme && strings.EqualFold(e.Hostname(), u.Hostname()) && port(e) == port(u) && below(u.Path, e.Path) {
			return true
		}
	}
	return false
}

// plain reports whether servers can't read a URL's path in another way than it is compared.
func plain(u *url.URL) bool {
	p := u.Path
	return (p == "" || path.Clean(p) == strings.TrimSuffix(p, "/") || p == "/") && u.EscapedPath() == p && !strings.ContainsAny(p, "\\;")
}

func below(p, top string) bool {
	top = strings.TrimSuffix(top, "/")
	return p == top || strings.HasPrefix(p, top+"/")
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
