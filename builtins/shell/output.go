package shell

import "strings"

// echo prints its arguments. Dash reads backslashes in them, bash doesn't.
func echo(w *walker, inv *invocation, st *state) (succ, fail *state) {
	if inv.out != nil {
		text, ok := joined(inv.args())
		w.spend(1 + len(text)/16)
		if ok && !strings.HasPrefix(text, "-") && !strings.Contains(text, "\\") {
			*inv.out = stdin{true, text + "\n"}
		}
	}
	return st, st
}

// formatted is what printf prints, for formats that only insert texts.
func formatted(args []field) (string, bool) {
	texts, ok := constants(args)
	if !ok || len(texts) == 0 || strings.Contains(texts[0], "%") && strings.Count(texts[0], "%") != strings.Count(texts[0], "%s") {
		return "", false
	}
	format := strings.ReplaceAll(texts[0], `\n`, "\n")
	if strings.Contains(format, `\`) {
		return "", false
	}
	rest := texts[1:]
	var out strings.Builder
	for {
		for i, part := range strings.Split(format, "%s") {
			if i > 0 && len(rest) > 0 {
				out.WriteString(rest[0])
				rest = rest[1:]
			}
			out.WriteString(part)
		}
		if len(rest) == 0 || !strings.Contains(format, "%s") {
			return out.String(), true
		}
		if out.Len() > maxValue {
			return "", false
		}
	}
}
