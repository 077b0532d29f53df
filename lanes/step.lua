-- step: changes within a turn that hold only if what they were decided by is still so; made once, under a name
-- ARGV[1] job_id   [2] token   [3] owner   [4] epoch   [5] name   [6] value to keep   [7] ttl_ms or 0
-- ARGV[8] n, then n expectations: key of a hash, field, is it there 0|1, value
-- ARGV[.] n, then n effects: when (always), needed type, m, then m words: command, key, argument…
-- RETURNS {'done'} | {'known', value} | {'changed'} | {'forgotten'} | {'fenced'} | {'wrong_type', key}; but for 'done'
--         nothing changed
-- INCLUDE infra/lane.lua
-- INCLUDE infra/changes.lua
local job_id, token, owner, epoch, name, value, ttl_ms = unpack(ARGV, 1, 7)
local k = lane_keys(job_id)

-- everything that can fail
if redis.call('GET', k.lease) ~= token then return { 'fenced' } end
local bad = wrong_type(k.kept, 'hash')
if bad then return { 'wrong_type', bad } end
local kept = redis.call('HGET', k.kept, name)      -- before what is expected: it was changed by this very step
if kept then return { 'known', kept } end
if is_stale(owner, epoch) then return { 'forgotten' } end
at = 8
local expects, effects = list(read_expect), list(read_effect)
for _, e in ipairs(expects) do bad = bad or wrong_type(e.key, 'hash') end
for _, e in ipairs(effects) do bad = bad or effect_wrong_type(e) end
if bad then return { 'wrong_type', bad } end
if not all_as_expected(expects) then return { 'changed' } end

-- everything that changes
for _, e in ipairs(effects) do apply(e) end
redis.call('HSET', k.kept, name, value)      -- last: whoever fails before it is not known
if tonumber(ttl_ms) > 0 then redis.call('PEXPIRE', k.kept, ttl_ms) end
return { 'done' }
