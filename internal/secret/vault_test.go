package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
	"agentd/internal/secret"
)

func put(t testing.TB, v *secret.Vault, session, value string) string {
	t.Helper()
	h, err := v.Put(session, "key", value)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// reveal opens a text.
func reveal(t testing.TB, s *secret.Session, text string) string {
	t.Helper()
	found, err := s.Handles(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	at := 0
	for _, h := range found {
		b.WriteString(text[at:h.Start] + h.Value)
		at = h.End
	}
	return b.String() + text[at:]
}

func TestASessionOpensItsOwnHandlesOnly(t *testing.T) {
	v := secret.New(nil)
	h := put(t, v, "s1", "hunter22")
	if got := reveal(t, v.In("s1"), "<"+h+"> and "+h+h); got != "<hunter22> and hunter22hunter22" {
		t.Error(got)
	}
	for name, c := range map[string]struct{ session, text string }{
		"another session": {"s2", h},
		"a made-up one":   {"s1", "secret:key:aaaaaaaaaaaaaaaa"},
		"one of two":      {"s1", h + " secret:key:aaaaaaaaaaaaaaaa"},
	} {
		if _, err := v.In(c.session).Handles(c.text); !errors.Is(err, secret.ErrSealed) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := v.In("s2").Mask("x hunter22"); got != "x "+h { // kept from everybody
		t.Error(got)
	}
	if v.Opens("s2", h) || !v.Opens("s1", h) || v.Opens("s1", h+"x") {
		t.Error("who opens what is wrong")
	}
	for _, text := range []string{"secret: none", "secret:key:short", "the secret:key: is", "Secret:key:aaaaaaaaaaaaaaaa"} {
		if got := reveal(t, v.In("s1"), text); got != text {
			t.Error(got)
		}
	}
}

func TestWhatIsForgottenNeitherOpensNorMasks(t *testing.T) {
	v := secret.New(nil)
	a, b := put(t, v, "s1", "hunter22"), put(t, v, "s2", "sesame33")
	v.ForgetSession("s1")
	if v.Opens("s1", a) || v.Mask("hunter22 sesame33") != "hunter22 "+b {
		t.Error(v.Mask("hunter22 sesame33"))
	}
	v.Forget(b)
	if v.Opens("s2", b) || v.Mask("sesame33") != "sesame33" {
		t.Error("it is there still")
	}
}

func TestHandlesStayWhatTheyAre(t *testing.T) {
	v := secret.New(nil)
	h := put(t, v, "s", "hunter22")
	other := put(t, v, "s", "secret")
	if got := v.Mask(h + " secret hunter22"); got != h+" "+other+" "+h {
		t.Error(got)
	}
}

func TestAFullVaultForgetsTheOldest(t *testing.T) {
	v := secret.New(nil)
	first := put(t, v, "s", "value-0")
	second := put(t, v, "s", "value-1")
	for i := 2; i <= 1000; i++ {
		put(t, v, "s", fmt.Sprint("value-", i))
	}
	if v.Opens("s", first) || !v.Opens("s", second) {
		t.Error("the wrong one was forgotten")
	}
}

func TestMaskFindsTheFormsOfAValue(t *testing.T) {
	v := secret.New(nil)
	value := "first \"line\"\nsecond line é\nx"
	h := put(t, v, "s", value)
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a " + value + " b", string(quoted), "> first \"line\"\n> second line é", "x: " + `first \"line\"\nsecond line é\nx`} {
		masked := v.Mask(text)
		if strings.Contains(masked, "second line") || strings.Contains(masked, `"line`) || strings.Contains(masked, `line\"`) || !strings.Contains(masked, h) {
			t.Errorf("%s is masked as %s", text, masked)
		}
		if again := reveal(t, v.In("s"), masked); again != text {
			t.Errorf("%s comes back as %s", text, again)
		}
	}
}

func TestMaskReachesAllOfAValue(t *testing.T) {
	v := secret.New(nil)
	h := put(t, v, "s", "12345")
	in, err := payload.ParseString(`{"a":["x12345",{"12345":1234567,"n":1.50}],"b":[true,null,{}],"x12345":1,"x` + h + `":2}`)
	if err != nil {
		t.Fatal(err)
	}
	got := v.MaskValue(in)
	want := `{"a":["x` + h + `",{"` + h + `":"` + h + `67","n":1.50}],"b":[true,null,{}],"x` + h + `":1,"x` + h + `_":2}`
	if got.String() != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := payload.ParseString(got.String()); err != nil {
		t.Error(err)
	}
}

// TestMaskedTextsComeBack: no text that is masked holds a value, and opening it gives it back.
func TestMaskedTextsComeBack(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("AB\n\"\\É")), 4, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		v := secret.New(nil)
		values := rapid.SliceOfN(letters, 1, 4).Draw(rt, "values")
		for _, value := range values {
			put(t, v, "s", value)
		}
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(letters, rapid.SampledFrom(values)), 0, 8).Draw(rt, "pieces"), "")
		masked := v.Mask(text)
		for _, value := range values {
			if strings.Contains(masked, value) {
				rt.Fatalf("%q holds %q", masked, value)
			}
		}
		if again := reveal(t, v.In("s"), masked); again != text {
			rt.Fatalf("%q is masked as %q and comes back as %q", text, masked, again)
		}
	})
}

func TestNoVaultIsPrintedWhole(t *testing.T) {
	v := secret.New(bytes.NewReader(make([]byte, 20)))
	h := put(t, v, "s", "hunter22")
	if h != "secret:key:aaaaaaaaaaaaaaaa" {
		t.Error(h)
	}
	opens, err := v.In("s").Handles(h)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"vault": v})
	for _, printed := range []string{fmt.Sprint(v), fmt.Sprintf("%+v %#v %+v", v, v, v.In("s")), fmt.Sprint(opens), fmt.Sprintf("%#v", opens), string(text), fmt.Sprint(err)} {
		if strings.Contains(printed, "hunter22") {
			t.Error(printed)
		}
	}
	if _, err := v.Put("s", "a b", "hunter22"); err == nil || strings.Contains(err.Error(), "hunter22") {
		t.Error(err)
	}
	if _, err := v.Put("s", "key", ""); err == nil {
		t.Error("nothing was kept as a secret")
	}
	if _, err := secret.New(bytes.NewReader(nil)).Put("s", "key", "hunter22"); err == nil {
		t.Error("a handle was made of nothing")
	}
}

func TestManyUseAVaultAtOnce(t *testing.T) {
	v := secret.New(nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := fmt.Sprint("s", i)
			for j := range 20 {
				h := put(t, v, s, fmt.Sprintf("value-%d-%d-", i, j))
				if got := reveal(t, v.In(s), v.Mask(h)); got != fmt.Sprintf("value-%d-%d-", i, j) {
					t.Error(got)
				}
				v.ForgetSession(s)
			}
		})
	}
	wg.Wait()
}
