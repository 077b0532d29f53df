-- step: changes that hold only if what they were decided by is still so; within a turn they are made once, under a name
-- ARGV[1] job_id, '' without a turn   [2] token   [3] owner   [4] epoch   [5] name   [6] value to keep   [7] ttl_ms or 0
-- ARGV[8] n, then n expectations: key of a hash, field, is it there 0|1, value
-- ARGV[.] n, then n effects: when (always), needed type, m, then m words: command, key, argument…
-- ARGV[.] n, then n pushes: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {'done'} | {'known', value} | {'changed'} | {'forgotten'} | {'fenced'} | {'wrong_type', key}; but for 'done'
--         nothing changed
-- INCLUDE lane.lua
-- INCLUDE changes.lua
local job_id, token, owner, epoch, name, value, ttl_ms = unpack(ARGV, 1, 7)
local in_turn, k = job_id ~= '', lane_keys(job_id)

-- everything that can fail
if in_turn then
  if redis.call('GET', k.lease) ~= token then return { 'fenced' } end
  local bad = wrong_type(k.kept, 'hash')
  if bad then return { 'wrong_type', bad } end
  local kept = redis.call('HGET', k.kept, name)      -- before what is expected: it was changed by this very step
  if kept then return { 'known', kept } end
  if is_stale(owner, epoch) then return { 'forgotten' } end
end
at = 8
local expects = list(function()
  local key, field, is_there, wanted = word(), word(), word(), word()
  return { key = key, field = field, value = is_there == '1' and wanted }      -- false, as HGET says it, for none
end)
local effects, pushes = list(read_effect), list(read_push)
local bad
for _, e in ipairs(expects) do bad = bad or wrong_type(e.key, 'hash') end
for _, e in ipairs(effects) do bad = bad or effect_wrong_type(e) end
for _, p in ipairs(pushes) do bad = bad or push_wrong_type(p) end
if bad then return { 'wrong_type', bad } end
for _, e in ipairs(expects) do
  if redis.call('HGET', e.key, e.field) ~= e.value then return { 'changed' } end
end

-- everything that changes
for _, e in ipairs(effects) do redis.call(unpack(e.words)) end
for _, p in ipairs(pushes) do push(p) end
if in_turn then
  redis.call('HSET', k.kept, name, value)      -- last: whoever fails before it is not known
  if tonumber(ttl_ms) > 0 then redis.call('PEXPIRE', k.kept, ttl_ms) end
end
return { 'done' }
