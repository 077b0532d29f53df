-- deliver: changes beside any turn, with items for lanes, that hold only if what they were decided by is still so
-- ARGV[1] n, then n expectations: key of a hash, field, is it there 0|1, value
-- ARGV[.] n, then n effects: when (always), needed type, m, then m words: command, key, argument…
-- ARGV[.] n, then n pushes: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {'done'} | {'changed'} | {'wrong_type', key}; but for 'done' nothing changed
-- INCLUDE lane.lua
-- INCLUDE changes.lua
at = 1
local expects, effects, pushes = list(read_expect), list(read_effect), list(read_push)

-- everything that can fail
local bad
for _, e in ipairs(expects) do bad = bad or wrong_type(e.key, 'hash') end
for _, e in ipairs(effects) do bad = bad or effect_wrong_type(e) end
for _, p in ipairs(pushes) do bad = bad or push_wrong_type(p) end
if bad then return { 'wrong_type', bad } end
if not all_as_expected(expects) then return { 'changed' } end

-- everything that changes
for _, e in ipairs(effects) do apply(e) end
for _, p in ipairs(pushes) do push(p) end
return { 'done' }
