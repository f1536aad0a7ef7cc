package builtins

import (
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// BenchmarkCharge shows how long a charged unit of fuel takes in calls that are as bad as we know;
// more than 16 ns means that the charge is too low.
func BenchmarkCharge(b *testing.B) {
	s, long := payload.NewString, strings.Repeat
	words := long("some words here\n", 300)
	list := payload.NewStrings(strings.Fields(words))
	for _, c := range []struct {
		name, call string
		args       []payload.Value
	}{
		{"groups", "re.groups", []payload.Value{s(long("(a?)", 99) + "b"), s(long("a", 300))}},
		{"alive", "re.match", []payload.Value{s("[a-z]{40}9"), s(long("a", 2000))}},
		{"dots", "re.find", []payload.Value{s("(?:.*){20}z"), s(long("a", 2000))}},
		{"words", "re.find_all", []payload.Value{s(`\w+`), s(words)}},
		{"letters", "re.find_all", []payload.Value{s("[a-z]"), s(words)}},
		{"windows", "re.find_all", []payload.Value{s("so(me|m)[a-z ]{0,20}9"), s(words)}},
		{"empty", "re.replace", []payload.Value{s("x*"), s(words), s("-")}},
		{"names", "re.replace", []payload.Value{s(`(\w)(\w)`), s(words), s("$2$1$2$1")}},
		{"fold", "re.match", []payload.Value{s(`(?i)[A-\x{1e900}][B-\x{1e900}]`), s("x")}},
		{"classes", "re.match", []payload.Value{s("[" + long(`\pL`, 16) + "]"), s("x")}},
		{"size", "re.match", []payload.Value{s("x{1000}y{1000}z{1000}"), s("x")}},
		{"stars", "glob.match", []payload.Value{s(long("*a", 20)), s(long("a", 1000) + "b")}},
		{"fields", "text.fields", []payload.Value{s(long("a ", 3000))}},
		{"lines", "text.lines", []payload.Value{s(words)}},
		{"contains", "text.contains_any", []payload.Value{s(words), payload.NewStrings([]string{"nowhere", "herex", "ss", "zzz"})}},
		{"filter", "glob.filter", []payload.Value{s("**/*.go"), list}},
		{"decode", "json.decode", []payload.Value{s(list.String())}},
		{"encode", "json.encode", []payload.Value{list}},
		{"join", "path.join", []payload.Value{list}},
		{"line", "shell.parse", []payload.Value{s("git status --short && go test ./... 2>&1 | tail -n 20")}},
		{"commands", "shell.parse", []payload.Value{s(long("a;", 20_000))}},
		{"pipes", "shell.writes", []payload.Value{s(long("$(a)|", 8000))}},
		{"shells", "shell.runs", []payload.Value{s(long("sh -c 'a|b';", 1500)), s("rm"), s("sh")}},
		{"allowed", "shell.allowed", []payload.Value{s(long("ls -l x > y;", 1500)), payload.NewStrings([]string{"ls"})}},
		{"inside", "path.inside", []payload.Value{s("/srv/project"), s("/srv/project/../project/main.go")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := find(b, c.call)
			m := roomy()
			for b.Loop() {
				if _, err := f.Call(m, pad(f, c.args)); err != nil {
					b.Fatal(err)
				}
			}
			fuel, _ := m.Used()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fuel), "ns/fuel")
			b.ReportMetric(float64(fuel)/float64(b.N), "fuel/op")
		})
	}
}

// BenchmarkCompileCharge is the same for patterns that aren't remembered.
func BenchmarkCompileCharge(b *testing.B) {
	for name, expr := range map[string]string{
		"plain":    "rm -rf",
		"usual":    `\b(?:curl|wget)\s+[^|]*\|\s*(?:ba|z)?sh\b`,
		"fold":     `(?i)[A-\x{1e900}][B-\x{1e900}]`,
		"cyrillic": `(?i)` + strings.Repeat("[а-я]", 500),
		"latin":    `(?i)` + strings.Repeat("[a-ÿ]", 500),
		"negated":  `(?i)[` + strings.Repeat(`\W`, 2000) + `]`,
		"classes":  "[" + strings.Repeat(`\pL`, 16) + "]",
		"size":     "x{1000}y{1000}z{1000}",
		"nullable": strings.Repeat("(?:a*)*", 500),
		"branches": strings.Repeat("a|bc|", 800),
	} {
		b.Run(name, func(b *testing.B) {
			var fuel int64
			for b.Loop() {
				p, err := compilePattern(expr)
				if err != nil {
					b.Fatal(err)
				}
				p.after()
				cost := plus(parseCost(expr), p.programCost())
				fuel += cost.Fuel + cost.Bytes/meter.BytesPerFuel
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fuel), "ns/fuel")
			b.ReportMetric(float64(fuel)/float64(b.N), "fuel/op")
		})
	}
}
