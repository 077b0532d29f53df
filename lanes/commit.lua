-- commit: end a turn: all its effects, its replies and the removal of its items in one step, once; free the lane
-- ARGV[1] job_id  [2] queue  [3] token  [4] turn  [5] epoch  [6] owner  [7] how long `done` is kept, ms
-- ARGV[8] n, then n ids of items to remove
-- ARGV[.] n, then n effects: when (always | text | item:ID), needed type, m, then m words: command, key, argument…
-- ARGV[.] n, then n pushes: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {'done', texts stored 0|1} | {'already'} | {'fenced'} | {'wrong_type', key}; but for 'done' nothing changed
-- INCLUDE infra/lane.lua
-- INCLUDE infra/changes.lua
local job_id, queue, token, turn, epoch, owner, done_ttl = unpack(ARGV, 1, 7)
local k = lane_keys(job_id)
lanes[job_id] = k

if redis.call('GET', k.lease) ~= token then
  if redis.call('GET', k.done) == turn then return { 'already' } end
  return { 'fenced' }
end
at = 8
local removed, effects, pushes = list(word), list(read_effect), list(read_push)

-- does nothing wait but what this turn took? Then its whole lane goes, whatever type its keys are of
local function takes_all()
  local waiting, is_removed = redis.pcall('LRANGE', k.items, 0, #removed), {}
  if waiting.err or #waiting > #removed then return false end
  for _, id in ipairs(removed) do is_removed[id] = true end
  for _, entry in ipairs(waiting) do
    if not is_removed[entry:sub(3)] then return false end
  end
  for _, p in ipairs(pushes) do
    if p.job_id == job_id then return false end
  end
  return true
end

-- everything that can fail
local all, has_texts = takes_all(), false
local bad = all and wrong_type(queue, 'zset') or not all and lane_wrong_type(k, queue)
for _, e in ipairs(effects) do
  bad = bad or effect_wrong_type(e)
  if e.when == 'text' then has_texts = true end
  if e.when:sub(1, 5) == 'item:' then bad = bad or wrong_type(k.bodies, 'hash') end
end
for _, p in ipairs(pushes) do bad = bad or push_wrong_type(p) end
if bad then return { 'wrong_type', bad } end
local stale
local function forgot()
  if stale == nil then stale = is_stale(owner, epoch) end
  return stale
end
local texts_wanted = not has_texts or not forgot()
for _, p in ipairs(pushes) do p.is_unkept = p.owner == owner and forgot() end

-- everything that changes
local function is_wanted(e)
  if e.when == 'text' then return texts_wanted end
  if e.when == 'always' then return true end
  local id = e.when:sub(6)      -- a dead letter: not of what was forgotten meanwhile, or came from a turn before that
  return redis.call('HEXISTS', k.bodies, id) == 1 and redis.call('EXISTS', 'koi:unkept:' .. id) == 0
end
for _, e in ipairs(effects) do
  if is_wanted(e) then apply(e) end
end
for _, p in ipairs(pushes) do
  push(p)
  if p.is_unkept then redis.call('SET', 'koi:unkept:' .. p.item_id, '1', 'PX', 34560000000) end
end
if all then
  clear(k, job_id, queue)
else
  for _, id in ipairs(removed) do
    redis.call('LREM', k.items, 0, '0:' .. id)
    redis.call('LREM', k.items, 0, '1:' .. id)
    redis.call('HDEL', k.bodies, id)
  end
  local single = tonumber(redis.call('HGET', k.state, 'single') or 0) or 0
  if single > 1 then redis.call('HSET', k.state, 'single', single - 1) else redis.call('HDEL', k.state, 'single') end
  redis.call('HDEL', k.state, 'turn', 'taken', 'epoch', 'open', 'deaths', 'failures')
  redis.call('DEL', k.kept)
  let_go(k, job_id, queue)
end
redis.call('SET', k.done, turn, 'PX', done_ttl)
return { 'done', texts_wanted and 1 or 0 }
