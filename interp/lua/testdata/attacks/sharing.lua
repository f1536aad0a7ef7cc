-- Small values that are large, or endless, when they are walked.

-- ends: budget
function attack()
    local x = {"a"}
    for _ = 1, 60 do x = {x, x} end
    return x
end
---
-- ends: budget
function attack()
    local x = {"a"}
    for _ = 1, 60 do x = {l = x, r = x} end
    return x
end
---
-- ends: budget
function attack()
    local x = {"a"}
    for _ = 1, 60 do x = {x, x} end
    return json.encode(x)
end
---
-- ends: error "deep|itself"
function attack()
    local x = {}
    x[1] = x
    return json.encode(x)
end
---
-- ends: error "deep|itself"
function attack()
    local x = {}
    x.x = x
    return x
end
---
-- ends: error "deep"
function attack()
    local x = {}
    for _ = 1, 1000 do x = {x} end
    return x
end
---
-- ends: error "deep|nest"
function attack()
    return json.decode(("["):rep(5000) .. ("]"):rep(5000))
end
---
-- ends: budget
function attack()
    local x = {}
    for i = 1, 100 do x[i] = ("a"):rep(1000) end
    while true do json.encode(x) end
end
---
-- ends: budget
function attack()
    local s = "[" .. ("1,"):rep(5000) .. "1]"
    while true do json.decode(s) end
end
---
-- ends: budget
function attack()
    local v = json.decode("[" .. ("1,"):rep(5000) .. "1]")
    while true do for i, x in ipairs(v) do end end
end
---
-- ends: budget
function attack()
    local v = json.decode('{"k": [' .. ("[1],"):rep(5000) .. "1]}")
    while true do local x = v.k[5000][1] end
end
---
-- ends: budget
function attack()
    local v = json.decode("[" .. ("1,"):rep(5000) .. "1]")
    while true do table.concat(v, ",") end
end
---
-- ends: error "deep"
function attack()
    local parts = {}
    for i = 1, 150 do parts[i] = '"k' .. i .. '":1' end
    local v = json.decode("{" .. table.concat(parts, ",") .. "}")
    while true do v = merge(v, {x = v}) end
end
---
-- ends: budget
function attack()
    local a = json.decode("[" .. ("1,"):rep(5000) .. "1]")
    local b = json.decode("[" .. ("1,"):rep(5000) .. "1]")
    while true do local same = a == b end
end
---
-- ends: budget
function attack()
    local v = json.decode('"' .. ("a"):rep(100000) .. '"')
    local w = {v}
    while true do local same = json.encode(w) == w end
end
---
-- ends: budget
function attack()
    local x = {}
    for i = 1, 100 do x = {x} end
    while true do pcall(json.encode, x) end
end
---
-- ends: budget
function attack()
    local s, t = ("a"):rep(1000000), {}
    for i = 1, 1000 do t[i] = s end
    return t
end
---
-- ends: budget
function attack()
    while true do glob.match(("*a"):rep(15) .. "b", ("a"):rep(1000)) end
end
---
-- ends: budget
function attack()
    while true do re.match("(a+)+$", ("a"):rep(5000) .. "b") end
end
---
-- ends: error "re.match|budget"
function attack()
    return re.match("((a{100}){100}){100}", "a")
end
---
-- Values that no float holds pass through, and are no numbers to calculate with.
-- ends: error "can't hold exactly"
function attack() return json.decode("12345678901234567890") + 1 end
---
-- ends: error "compare"
function attack() return json.decode("12345678901234567890") < 1 end
---
-- ends: error "can't hold exactly"
function attack() return 1 % json.decode("12345678901234567890") end
---
-- ends: error "can't hold exactly|number|exponent"
function attack() return 2 ^ json.decode("12345678901234567890") end
---
-- ends: fine
function run(ctx, call)
    local n = json.decode("12345678901234567890123456789")
    assert(n == json.decode("12345678901234567890123456789"))
    assert(n ~= json.decode("12345678901234567890123456788"))
    assert(not tostring(n):find("0x"))
    return respond{n = n}
end
---
-- ends: error "can't be a key"
function attack() return {[json.decode("12345678901234567890")] = 1} end
---
-- ends: error "can't be a key"
function attack() local t = {} rawset(t, json.decode("12345678901234567890"), 1) end
---
-- ends: error "can't be a key"
function attack() return rawget({}, json.decode("12345678901234567890")) end
---
-- A long number is paid for wherever its text is copied.
-- ends: budget
function attack()
    local n = json.decode("1" .. ("0"):rep(10000))
    local t = setmetatable({}, {__concat = function() return "" end})
    for i = 1, 1e6 do
        local a, b, c = "x" .. n, t .. "x" .. n, table.concat({n, n})
    end
end
---
-- ends: error "can't hold exactly"
function attack() return json.decode("1" .. ("0"):rep(10000)) + 1 end
---
-- ends: budget
function attack()
    local n = json.decode("1" .. ("0"):rep(10000))
    while true do local same = n == json.decode("1" .. ("0"):rep(10000)) end
end
