package operation

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// rowTypes is one of each.
var rowTypes = []Row{PointRow{}, ReadyRow{}, WaitingRow{}, AnswerRow{}, IntentRow{}, RetryRow{}, OutcomeRow{}, AfterRow{}, FailedRow{}, EngineRow{}, EffectRow{}, HookRow{}, HookedRow{}}

var sameRows = cmp.Options{
	cmp.Comparer(func(a, b payload.Value) bool { return a.Exists() == b.Exists() && a.String() == b.String() }),
	cmpopts.EquateEmpty(),
}

// drawValue draws a JSON value: as parsed text with blanks and escapes of all sorts, or built.
func drawValue(t *rapid.T, depth int) payload.Value {
	if depth > 0 && rapid.Bool().Draw(t, "built") {
		kids := rapid.IntRange(0, 40).Draw(t, "kids")
		if rapid.Bool().Draw(t, "array") {
			items := make([]payload.Value, kids)
			for i := range items {
				items[i] = drawValue(t, depth-2)
			}
			return payload.NewArray(items)
		}
		return payload.NewObject(drawFields(t, kids/8, depth-1)...)
	}
	v, err := payload.ParseString(drawText(t, depth))
	if err != nil {
		t.Fatalf("drew %v", err)
	}
	return v
}

func drawFields(t *rapid.T, n, depth int) []payload.Field {
	fields := make([]payload.Field, n)
	for i := range fields {
		fields[i] = payload.Field{Name: rapid.String().Draw(t, "name") + strconv.Itoa(i), Value: drawValue(t, depth)}
	}
	return fields
}

func drawText(t *rapid.T, depth int) string {
	blank := rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r\n  "})
	scalar := rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1.10", "1e400", "-12345678901234567890.5E-7", `"\u00e9\ud83d\ude00\/"`, `"<é😀>"`, `""`})
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	switch {
	case kind <= 1 || depth <= 0:
		return blank.Draw(t, "blank") + scalar.Draw(t, "scalar")
	case kind == 2:
		return strconv.Quote(strings.Repeat(rapid.StringMatching(`[ -!#-\[\]-~]{1,8}`).Draw(t, "text"), rapid.IntRange(0, 300).Draw(t, "times")))
	}
	var parts []string
	for i := range rapid.IntRange(0, 6).Draw(t, "members") {
		part := drawText(t, depth-1) + blank.Draw(t, "blank")
		if kind == 3 {
			part = blank.Draw(t, "blank") + `"k` + strconv.Itoa(i) + `\u00e9"` + blank.Draw(t, "blank") + ":" + part
		}
		parts = append(parts, part)
	}
	if kind == 3 {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// fill draws every exported field of a struct, also those that were added yesterday.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch at := v.Addr().Interface().(type) {
	case *payload.Value:
		if rapid.IntRange(0, 3).Draw(t, "present") > 0 {
			*at = drawValue(t, 3)
		}
		return
	case *time.Time:
		*at = time.Unix(rapid.Int64Range(-1<<33, 1<<35).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
		return
	case *hookpoints.Verb:
		*at = hookpoints.Verb(rapid.IntRange(int(hookpoints.None), int(hookpoints.Remember)).Draw(t, "verb"))
		return
	case *[]payload.Field:
		if rapid.Bool().Draw(t, "present") {
			*at = drawFields(t, rapid.IntRange(0, 3).Draw(t, "fields"), 2)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), depth)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "items")
		if v.Set(reflect.MakeSlice(v.Type(), n, n)); n == 0 {
			v.SetZero()
		}
		for i := range n {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom([]string{"", "plain", "é\u2028\x00\"\\", strings.Repeat("long ", 500)}), rapid.String()).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 1<<40).Draw(t, "int"))
	default:
		t.Fatalf("no way to draw a %s", v.Type())
	}
}

func drawRow(t *rapid.T) Row {
	v := reflect.New(reflect.TypeOf(rapid.SampledFrom(rowTypes).Draw(t, "type"))).Elem()
	fill(t, v, 3)
	return v.Interface().(Row)
}

func TestEveryRowComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawRow(t)
		e, err := EncodeRow(row)
		if err != nil {
			t.Fatal(err)
		}
		s := shelf{}
		for _, b := range e.Blobs {
			s[b.Hash] = b.Text
		}
		back, err := DecodeRow(e.Key, e.Body, s.fetch)
		if err != nil {
			t.Fatalf("%v\n%s", err, e.Body)
		}
		if d := cmp.Diff(row, back, sameRows); d != "" {
			t.Fatalf("it came back otherwise (-want +got):\n%s", d)
		}
		again, err := EncodeRow(back)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, again); d != "" {
			t.Fatalf("what came back is written otherwise (-first +second):\n%s", d)
		}
	})
}

// Without large values a row still says where its operation stands.
func TestARowWithoutItsLargeValuesSaysWhereItsOperationStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, light Summary
		for range rapid.IntRange(1, 6).Draw(t, "rows") {
			row := drawRow(t)
			e, err := EncodeRow(row)
			if err != nil {
				t.Fatal(err)
			}
			slim, err := DecodeRow(e.Key, e.Body, nil)
			if err != nil {
				t.Fatal(err)
			}
			whole = whole.Advance(row)
			// Only this much has to be kept from row to row.
			light = Summary{Head: light.Head, State: light.State, Status: light.Status, Attempts: light.Attempts, Whole: light.Whole}.Advance(slim)
			if light.State != whole.State || light.Status != whole.Status || light.Attempts != whole.Attempts || light.Whole != whole.Whole || !cmp.Equal(light.Head, whole.Head) || light.Done() != whole.Done() {
				t.Fatalf("after %+v it stands at %+v, want %+v", e.Key, light, whole)
			}
		}
	})
}

// TestTheFormOfRowsStays reads rows as they lie in databases since the first version, and writes
// them the same.
func TestTheFormOfRowsStays(t *testing.T) {
	f, err := os.Open("testdata/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, stages := shelf{}, map[Stage]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		stage, rest, _ := strings.Cut(lines.Text(), " ")
		switch stage {
		case "", "#":
			continue
		case "blob":
			sum := sha256.Sum256([]byte(rest))
			s[hex.EncodeToString(sum[:])] = []byte(rest)
			continue
		}
		number, body, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		k := Key{Op: "op", Stage: Stage(stage), N: n}
		row, err := DecodeRow(k, []byte(body), s.fetch)
		if err != nil {
			t.Errorf("%.120s: %v", lines.Text(), err)
			continue
		}
		e, err := EncodeRow(row)
		if err != nil {
			t.Errorf("%.120s: %v", lines.Text(), err)
			continue
		}
		if e.Key != k || string(e.Body) != body {
			t.Errorf("%+v is written as\n%s\nand was\n%s", k, e.Body, body)
		}
		for _, b := range e.Blobs {
			if _, ok := s[b.Hash]; !ok {
				t.Errorf("%+v gives the new blob %.200s", k, b.Text)
			}
		}
		stages[k.Stage] = true
	}
	if len(stages) != len(rowTypes) {
		t.Errorf("there are rows of the stages %v only", stages)
	}
}

func TestAnEmptyEditIsAnEdit(t *testing.T) {
	for _, edit := range [][]payload.Field{nil, {}, {{Name: "", Value: payload.NewNull()}}} {
		e, err := EncodeRow(AnswerRow{Op: "op", Answer: Answer{Verb: "allow", Edit: edit}})
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRow(e.Key, e.Body, shelf{}.fetch)
		if err != nil {
			t.Fatal(err)
		}
		if got := back.(AnswerRow).Answer.Edit; (got == nil) != (edit == nil) || len(got) != len(edit) {
			t.Errorf("%#v came back as %#v", edit, got)
		}
	}
}

func TestTextThatIsNotUnicodeStaysReadable(t *testing.T) {
	row := OutcomeRow{Op: "op", Status: "bad \xff\xfe", Value: payload.NewString(strings.Repeat("\xc3(", 2000))}
	e, err := EncodeRow(row)
	if err != nil {
		t.Fatal(err)
	}
	s := shelf{}
	s.put(t, e.Blobs)
	back, err := DecodeRow(e.Key, e.Body, s.fetch)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.(OutcomeRow); got.Status != "bad \ufffd\ufffd" || got.Value.Text() != strings.Repeat("\ufffd(", 2000) {
		t.Errorf("got %q", got.Status)
	}
	if again, err := EncodeRow(back); err != nil || string(again.Body) != string(e.Body) {
		t.Errorf("what came back is another row: %v", err)
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		stage Stage
		body  string
		says  string
		is    error
	}{
		{StOutcome, `{`, "row op/outcome/7", payload.ErrNotJSON},
		{StOutcome, `{"status":"a","status":"b"}`, "duplicate", payload.ErrNotJSON},
		{"dream", `{}`, `the stage "dream" is unknown to this agentd`, nil},
		{StIntent, `{}`, "began", nil},
		{StIntent, `{"began":"yesterday"}`, "began", nil},
		{StOutcome, `{"value":{"b":"00"}}`, `member "value"`, errGone},
		{StOutcome, `{"value":{}}`, "none of the forms", nil},
		{StAfter, `{"records":{}}`, `member "records"`, nil},
		{StAfter, `{"facts":[{"key":"k","value":{"b":"00"}}]}`, `member "facts": member "value"`, errGone},
		{StWaiting, `{"began":"2026-01-01T00:00:00Z","question":{"input":{"b":"00"}}}`, `member "question": member "input"`, errGone},
		{StEffect, `{}`, "began", nil},
	} {
		row, err := DecodeRow(Key{"op", c.stage, 7}, []byte(c.body), shelf{}.fetch)
		if err == nil || row != nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "row op/"+string(c.stage)+"/7") || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s %s gave %v, %v, want an error with %q", c.stage, c.body, row, err, c.says)
		}
	}
}

func TestAnnotationsThatCouldNotBeReadAgainAreRefused(t *testing.T) {
	row := func(levels int) Row {
		v := payload.NewInt(1)
		for range levels {
			v = payload.NewObject(payload.Field{Name: "k", Value: v})
		}
		return AfterRow{Op: "op", Chained: Chained{Records: []hookpoints.Record{{BindingID: "project/deep", Annotations: v}}}}
	}
	e, err := EncodeRow(row(inlineDepth))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeRow(e.Key, e.Body, nil); err != nil {
		t.Error(err)
	}
	if _, err := EncodeRow(row(inlineDepth + 1)); err == nil || !strings.Contains(err.Error(), "the annotations of project/deep") {
		t.Errorf("got %v", err)
	}
}

type alien struct{}

func (alien) Key() Key { return Key{} }

func TestARowOfAnotherTypeIsRefused(t *testing.T) {
	if _, err := EncodeRow(alien{}); err == nil || !strings.Contains(err.Error(), "operation.alien") {
		t.Errorf("got %v", err)
	}
}

// FuzzDecodeRow reads anything: "@" in a body stands for the hash of the blob.
func FuzzDecodeRow(f *testing.F) {
	text, err := os.ReadFile("testdata/rows.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if parts := strings.SplitN(strings.TrimSpace(line), " ", 3); len(parts) == 3 && parts[0] != "#" {
			f.Add(parts[0], 0, parts[2], `[{"v":1}]`)
		}
	}
	f.Add("outcome", 1, `{"value":{"b":"@"}}`, `{"large":[1e400, 2]}`)
	f.Add("after", 0, `{"effective":{"a":["@",[{"v":2}]]}}`, `[{"v":1},{"b":"@"},{"o":[["k",{"v":3}]]}]`)
	f.Add("intent", 0, `{"began":"2026-01-01T00:00:00Z","final":{"o":[["a",{"b":"@"}],["b",{"v":null}]]},"deltas":[{"set":{"b":"@"}}]}`, `{}`)
	f.Fuzz(func(t *testing.T, stage string, n int, body, blob string) {
		sum := sha256.Sum256([]byte(blob))
		hash := hex.EncodeToString(sum[:])
		s := shelf{hash: []byte(blob)}
		k := Key{"op", Stage(stage), n}
		text := []byte(strings.ReplaceAll(body, "@", hash))
		_, _ = DecodeRow(k, text, nil)
		row, err := DecodeRow(k, text, s.fetch)
		if err != nil {
			return
		}
		e, err := EncodeRow(row)
		if err != nil {
			return // such as one that is nested too deep
		}
		s.put(t, e.Blobs)
		again, err := DecodeRow(e.Key, e.Body, s.fetch)
		if err != nil {
			t.Fatalf("what was read can't be read again: %v\n%s", err, e.Body)
		}
		if d := cmp.Diff(fmt.Sprint(row), fmt.Sprint(again)); d != "" {
			t.Fatalf("it came back otherwise (-want +got):\n%s", d)
		}
	})
}
