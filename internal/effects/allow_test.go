package effects_test

import (
	"net/url"
	"testing"

	"agentd/internal/effects"
)

func TestAWebhookIsAllowedByTheBeginningOfItsURL(t *testing.T) {
	for _, c := range []struct {
		entry, url string
		want       bool
	}{
		{"https://example.org", "https://example.org", true},
		{"https://example.org", "https://example.org/any/path?a=b", true},
		{"https://example.org/", "https://EXAMPLE.org:443/x", true},
		{"https://example.org:8443/", "https://example.org/x", false},
		{"https://example.org/", "http://example.org/x", false},
		{"https://example.org/", "https://example.org.evil.example/x", false},
		{"https://example.org/", "https://sub.example.org/x", false},
		{"https://example.org/hooks", "https://example.org/hooks", true},
		{"https://example.org/hooks", "https://example.org/hooks/x", true},
		{"https://example.org/hooks/", "https://example.org/hooks", true},
		{"https://example.org/hooks", "https://example.org/hooksmith", false},
		{"https://example.org/hooks", "https://example.org/other", false},
		{"https://example.org/hooks", "https://example.org/hooks/../other", false},
		{"https://example.org/hooks", "https://example.org/hooks/%2e%2e/other", false},
		{"https://example.org/hooks", "https://example.org/hooks//x", false},
		{"https://example.org/hooks", `https://example.org/hooks\..\other`, false},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/x", true},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8081/x", false},
		{"http://[::1]/", "http://[::1]:80/x", true},
		{"http://example.org/", "http://example.org/", false},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := effects.Allowed([]string{"https://other.example/", c.entry}, u); got != c.want {
			t.Errorf("%s allows %s: %v", c.entry, c.url, got)
		}
		if effects.Allowed(nil, u) {
			t.Errorf("nothing allows %s", c.url)
		}
	}
}
