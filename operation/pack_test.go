package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

// tester is what testing and rapid have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// shelf keeps blobs by hash.
type shelf map[string][]byte

func (s shelf) put(t tester, blobs []Blob) (fresh int) {
	t.Helper()
	for _, b := range blobs {
		sum := sha256.Sum256(b.Text)
		if hex.EncodeToString(sum[:]) != b.Hash {
			t.Fatalf("blob %s holds another text", b.Hash)
		}
		if _, ok := s[b.Hash]; !ok {
			fresh += len(b.Text)
		}
		s[b.Hash] = b.Text
	}
	return fresh
}

var errGone = errors.New("it is gone")

func (s shelf) fetch(hash string) ([]byte, error) {
	text, ok := s[hash]
	if !ok {
		return nil, errGone
	}
	return text, nil
}

// comesBack packs v, writes it as deep in a row as a value can stand, and reads it again.
func comesBack(t tester, v payload.Value) {
	t.Helper()
	var blobs []Blob
	text, err := appendPacked([]byte(`{"a":[{"b":`), v, &blobs)
	if err != nil {
		t.Fatalf("pack %.100s: %v", v, err)
	}
	body, err := payload.Parse(append(text, "}]}"...))
	if err != nil {
		t.Fatalf("%.100s was packed to what can't be read: %v", v, err)
	}
	s := shelf{}
	s.put(t, blobs)
	got, err := unpack(body.Get("a").At(0).Get("b"), s.fetch)
	if err != nil {
		t.Fatalf("unpack %.100s: %v", v, err)
	}
	if got.String() != v.String() {
		t.Fatalf("%.200s\ncame back as\n%.200s", v, got)
	}
}

// packTexts are JSON texts near the borders between the forms.
func packTexts() []string {
	long := strings.Repeat("x", 1100)
	items := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	message := `{"role":"user","content":"` + strings.Repeat("hello ", 60) + `"}`
	out := []string{`null`, `[]`, `{}`, `""`, `1e400`, ` { "a" : 1 } `, `{"v":1}`, `{"b":"x"}`, `{"o":[]}`, `{"a":[]}`,
		`"` + strings.Repeat("y", inlineValue-2) + `"`, `"` + strings.Repeat("y", inlineValue-1) + `"`, `["` + long + `"]`, `["` + long + `",1]`, `[ "` + long + `",1]`,
		items(chunkItems-1, message), items(chunkItems, message), items(chunkItems+1, message), items(3*chunkItems, message), items(1000, `1`),
		`{"messages":` + items(70, message) + `,"model":"m"}`, `{"messages":` + items(70, message) + `, "model":"m"}`, `{"\u006d":"` + long + `"}`, `{"a":{"b":{"c":["` + long + `",1e400]}}}`,
		`[[["` + long + `",2],3],4]`}
	for _, depth := range []int{inlineDepth, inlineDepth + 1, payload.MaxDepth} {
		out = append(out, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat(`{"k":[1,`, depth/2)+`"`+long+`"`+strings.Repeat("]}", depth/2))
	}
	return out
}

func TestPackedValuesComeBackByteForByte(t *testing.T) {
	for _, text := range packTexts() {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		comesBack(t, v)
		// The same among what was built around it, up to where it would get too deep.
		wrapped := v
		for range apartDepth / 2 {
			wrapped = payload.NewObject(payload.Field{Name: "x", Value: wrapped}, payload.Field{Name: "y", Value: payload.NewArray([]payload.Value{v, payload.NewString("é\x00")})})
			if wrapped.Depth(inlineDepth) > inlineDepth {
				break
			}
			comesBack(t, wrapped)
		}
	}
}

func FuzzPack(f *testing.F) {
	for _, text := range packTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Skip()
		}
		comesBack(t, v)
		comesBack(t, payload.NewArray([]payload.Value{v, payload.NewString(text), v}))
		comesBack(t, payload.NewObject(payload.Field{Name: text, Value: v}, payload.Field{Name: text + "2", Value: v}))
	})
}

func TestPackedTreesComeBackByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { comesBack(t, drawValue(t, 4)) })
}

func TestWhatCouldNotBeReadAgainIsRefused(t *testing.T) {
	nest := func(v payload.Value, levels int) payload.Value {
		for range levels {
			v = payload.NewArray([]payload.Value{v})
		}
		return v
	}
	comesBack(t, nest(payload.NewInt(1), payload.MaxDepth))
	for _, v := range []payload.Value{nest(payload.NewInt(1), payload.MaxDepth+1), nest(payload.NewString(strings.Repeat("x", 5000)), payload.MaxDepth+1), nest(payload.NewInt(1), 3*payload.MaxDepth)} {
		if _, err := pack(v, new([]Blob)); err == nil || !strings.Contains(err.Error(), "nested deeper than 256 levels") {
			t.Errorf("got %v", err)
		}
		if _, err := EncodeRow(OutcomeRow{Op: "op", N: 3, Value: v}); err == nil || !strings.Contains(err.Error(), `row op/outcome/3: member "value"`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestABlobIsTheTextAsItCame(t *testing.T) {
	text := `{ "spaced" : "` + strings.Repeat("x", 2000) + `" }`
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	var blobs []Blob
	packed, err := pack(v, &blobs)
	if err != nil || len(blobs) != 1 || string(blobs[0].Text) != text || packed.Get("b").Text() != blobs[0].Hash {
		t.Errorf("got %s with %d blobs, %v", packed, len(blobs), err)
	}
}

func TestUnpackSaysWhatIsWrong(t *testing.T) {
	good, damaged := sha256.Sum256([]byte(`[1]`)), sha256.Sum256([]byte(`other`))
	s := shelf{hex.EncodeToString(good[:]): []byte(`[1]`), hex.EncodeToString(damaged[:]): []byte(`text`)}
	notJSON := sha256.Sum256([]byte(`{`))
	s[hex.EncodeToString(notJSON[:])] = []byte(`{`)
	for text, want := range map[string]string{
		`{}`:                                  "none of the forms",
		`1`:                                   "none of the forms",
		`{"b":"gone"}`:                        "gone",
		`{"b":"` + hexOf(damaged) + `"}`:      "the database is damaged",
		`{"b":"` + hexOf(notJSON) + `"}`:      "not one JSON value",
		`{"o":[["a"]]}`:                       "1 parts, want 2",
		`{"o":[["a",{"v":1},2]]}`:             "3 parts, want 2",
		`{"o":[["a",{}]]}`:                    "none of the forms",
		`{"o":[["a",{"v":1}],["a",{"v":2}]]}`: `"a" twice`,
		`{"a":["gone"]}`:                      "gone",
		`{"a":[[{}]]}`:                        "none of the forms",
		`{"a":["` + hexOf(good) + `"]}`:       "none of the forms",
	} {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpack(v, s.fetch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %s, %v, want an error with %q", text, got, err, want)
		}
	}
}

func hexOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

// A run sends its whole conversation with each model call. Each message is to be stored once.
func TestAConversationIsStoredOnce(t *testing.T) {
	const calls = 100
	var messages []payload.Value
	say := func(role string, n, size int) {
		content := strings.Repeat(fmt.Sprintf("%s %d says; ", role, n), size/20)
		v, err := payload.From(map[string]any{"role": role, "content": content})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, v)
	}
	tools := payload.NewString(strings.Repeat("a tool with its schema ", 400))
	s := shelf{}
	var bodies, blobs, naive [2]int // of the first and the second half
	content := 0
	for n := range calls {
		say("user", n, 300)
		say("assistant", n, 900)
		say("tool", n, 2400)
		for _, m := range messages[len(messages)-3:] {
			content += m.Size()
		}
		request := payload.NewObject(payload.Field{Name: "model", Value: payload.NewString("m")}, payload.Field{Name: "tools", Value: tools},
			payload.Field{Name: "messages", Value: payload.NewArray(append([]payload.Value(nil), messages...))})
		row := IntentRow{State: Running, Decided: Decided{Head: Head{ID: fmt.Sprint("call-", n), Kind: "model.chat"}, Original: request, Final: request}}
		e, err := EncodeRow(row)
		if err != nil {
			t.Fatal(err)
		}
		half := n * 2 / calls
		bodies[half] += len(e.Body)
		naive[half] += 2 * request.Size()
		blobs[half] += s.put(t, e.Blobs)
		back, err := DecodeRow(e.Key, e.Body, s.fetch)
		if err != nil {
			t.Fatal(err)
		}
		if got := back.(IntentRow).Final.String(); got != request.String() {
			t.Fatalf("call %d came back as %.200s", n, got)
		}
	}
	total := bodies[0] + bodies[1] + blobs[0] + blobs[1]
	t.Logf("%d calls, %d messages of %d bytes: %d bytes of rows and %d of blobs (%.1f times the messages), against %d as sent; second half to first %.2f",
		calls, len(messages), content, bodies[0]+bodies[1], blobs[0]+blobs[1], float64(total)/float64(content), naive[0]+naive[1], float64(bodies[1]+blobs[1])/float64(bodies[0]+blobs[0]))
	if total > 4*content {
		t.Errorf("%d bytes are stored for messages of %d", total, content)
	}
	if second, first := bodies[1]+blobs[1], bodies[0]+blobs[0]; second > 2*first {
		t.Errorf("the second half of the calls takes %d bytes, the first %d: that grows with the conversation", second, first)
	}
	count := map[string]int{}
	for _, text := range s {
		for n := range calls {
			if strings.Contains(string(text), fmt.Sprintf("tool %d says; tool %d says; ", n, n)) {
				count[fmt.Sprint(n)]++
			}
		}
	}
	for n := range calls {
		if c := count[fmt.Sprint(n)]; c != 1 {
			t.Errorf("the tool message of call %d is stored %d times", n, c)
		}
	}
}
