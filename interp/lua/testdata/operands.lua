-- What is easily taken for something else: the count that gsub gives beside the text, and an empty table.
assert.eq(re.match("b+", ("a a"):gsub("a", "b")), true)
assert.eq(json.encode(("a a"):gsub("a", "b")), '"b b"')
assert.eq(json.encode(string.gsub("a a", "a", "b")), '"b b"')
assert.eq(text.truncate(("abcdef"):gsub("a", "b"), 3), text.truncate("bbcdef", 3))
---
text.truncate(("abc"):gsub("a", "b")) --> "argument bytes is missing$"
---
-- Lua's own functions, and functions of the file, take all values of a call as they always did.
local function count(...) return select("#", ...) end
assert.eq(count(("a"):gsub("a", "b")), 2)
assert.eq(select("#", ("a"):gsub("a", "b")), 2)
local t = {("a"):gsub("a", "b")}
assert.eq(#t, 2)
---
-- So does what the file calls like a builtin.
local function reject(...) return select("#", ...) end
assert.eq(reject(("a"):gsub("a", "b")), 2)
---
function ask(...) return select("#", ...) end
assert.eq(ask(("a"):gsub("a", "b")), 2)
---
local json = {encode = function(...) return select("#", ...) end}
assert.eq(json.encode(("a"):gsub("a", "b")), 2)
---
local string = {gsub = function() return "a", "code" end}
reject(string.gsub())
---
local why = reject
why(("a"):gsub("a", "b")) --> "^reject: argument code is number, want string; a call that comes last gives all its values, and in parentheses only its first$"
---
context("text", 1) --> "argument pin is number, want boolean; a call that comes last"
---
reject("no", {code = 1}) --> "^reject: argument code is number, want string$"
---
hook{id = "h", version = "1", kinds = {}, run = function() end} --> "argument kinds: it is object, want a list of strings; {} is an object, and array{} an empty list$"
---
hook{id = "h", version = "1", facts = {}, run = function() end} --> "want a list of strings or a function; {} is an object, and array{} an empty list$"
---
hook{id = "h", version = "1", kinds = array{}, run = function() end}
---
hook{id = {}, version = "1", run = function() end} --> "argument id: it is object, want string$"
---
glob.filter("*", {}) --> "argument names is object, want array; {} is an object, and array{} an empty list$"
---
glob.filter("*", {a = 1}) --> "argument names is object, want array$"
---
assert.eq(glob.filter("*", array{}), array{})
