-- commit: end a turn: all its effects, its replies and the removal of its items in one step, once; free the lane
-- ARGV[1] job_id  [2] queue  [3] token  [4] turn  [5] epoch  [6] owner  [7] how long `done` is kept, ms
-- ARGV[8] n, then n ids of items to remove
-- ARGV[.] n, then n effects: when (always | text | item:ID), needed type, m, then m words: command, key, argument…
-- ARGV[.] n, then n pushes: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {'done', texts stored 0|1} | {'already'} | {'fenced'} | {'wrong_type', key}; but for 'done' nothing changed
-- INCLUDE lane.lua
local job_id, queue, token, turn, epoch, owner, done_ttl = unpack(ARGV, 1, 7)
local k, now, at = lane_keys(job_id), now_ms(), 8

local function word()
  at = at + 1
  return ARGV[at - 1]
end

local function list(read)
  local out = {}
  for i = 1, tonumber(word()) do out[i] = read() end
  return out
end

local removed = list(word)
local effects = list(function() return { when = word(), type = word(), words = list(word) } end)
local pushes = list(function()
  return { job_id = word(), queue = word(), item_id = word(), body = word(), owner = word(), solo = word(), hold_ms = word() }
end)

-- everything that can fail
if redis.call('GET', k.lease) ~= token then
  if redis.call('GET', k.done) == turn then return { 'already' } end
  return { 'fenced' }
end
local bad = lane_wrong_type(k, queue)
for _, e in ipairs(effects) do
  if e.type ~= 'any' then bad = bad or wrong_type({ e.words[2], e.type }) end
end
for _, p in ipairs(pushes) do
  bad = bad or lane_wrong_type(lane_keys(p.job_id), p.queue) or wrong_type({ 'koi:lanes-of:' .. p.owner, 'set' })
end
if bad then return { 'wrong_type', bad } end

-- everything that changes
local texts_wanted = epoch_of(owner) == epoch
local function is_wanted(e)
  if e.when == 'text' then return texts_wanted end
  return e.when == 'always' or redis.call('HEXISTS', k.bodies, e.when:sub(6)) == 1
end
for _, e in ipairs(effects) do
  if is_wanted(e) then redis.call(unpack(e.words)) end
end
for _, p in ipairs(pushes) do push(p, now) end
for _, id in ipairs(removed) do
  redis.call('LREM', k.items, 0, '0:' .. id)
  redis.call('LREM', k.items, 0, '1:' .. id)
  redis.call('HDEL', k.bodies, id)
end
local single = tonumber(redis.call('HGET', k.state, 'single') or 0)
if single > 1 then redis.call('HINCRBY', k.state, 'single', -1) else redis.call('HDEL', k.state, 'single') end
redis.call('HDEL', k.state, 'turn', 'taken', 'epoch', 'open', 'deaths', 'failures')
redis.call('DEL', k.kept)
let_go(k, job_id, queue, now)
redis.call('SET', k.done, turn, 'PX', done_ttl)
return { 'done', texts_wanted and 1 or 0 }
