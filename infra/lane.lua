-- Included by every script that touches a lane, in lanes/ and here: the keys of a lane (named as in infra/keys.py; a test
-- compares them), and what several scripts do: ask whether a key can be written, queue a lane's job, push an item, free a
-- lane, ask who is paused.
-- Lua does not roll back, so all that can fail is asked before the first write. SET, DEL and PEXPIRE take any type, a read
-- that is needed anyway asks by itself, and of most lanes nothing is there yet: one EXISTS tells.

local clock_ms
local function now_ms()
  if not clock_ms then
    local t = redis.call('TIME')
    clock_ms = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return clock_ms
end

local function lane_keys(job_id)
  local base = 'koi:lane:' .. job_id
  return {
    items = base .. ':items', bodies = base .. ':bodies', state = base .. ':state', kept = base .. ':kept',
    done = base .. ':done', lease = 'arq:in-progress:' .. job_id, job = 'arq:job:' .. job_id,
  }
end

local function epoch_of(owner) return redis.call('GET', 'koi:epoch:' .. owner) or '0' end

-- has the owner forgotten since a turn was fixed in that epoch?
local function is_stale(owner, epoch) return owner ~= '' and epoch_of(owner) ~= epoch end

-- the key, if it holds another type; each is asked once
local types = {}
local function wrong_type(key, wanted)
  local found = types[key] or redis.call('TYPE', key).ok
  types[key] = found
  return found ~= 'none' and found ~= wanted and key or nil
end

-- the key for which a lane cannot be queued or its state not be written, or nil
local function lane_wrong_type(k, queue)
  return wrong_type(queue, 'zset') or wrong_type(queue .. ':bell', 'list') or
    not k.is_new and (wrong_type(k.items, 'list') or wrong_type(k.bodies, 'hash') or wrong_type(k.state, 'hash')) or nil
end

-- the key for which p cannot be pushed, or nil
local function push_wrong_type(p)
  return lane_wrong_type(p.lane, p.queue) or p.owner ~= '' and wrong_type('koi:lanes-of:' .. p.owner, 'set') or nil
end

-- A due lane of a paused bot is parked: it waits in its queue by this much later than it was due, and so keeps its place
-- among the others, its job, and all that is in it (infra.pause). What it has to send is not held back.
local PARKED_MS = 10000000000000

-- bot id, or '*' for all → true; nobody, if that cannot be read
local function paused_bots()
  local found, paused = redis.pcall('HKEYS', 'koi:paused'), {}
  if not found.err then
    for _, bot_id in ipairs(found) do paused[bot_id] = true end
  end
  return paused
end

local function is_paused(job_id, paused)
  return job_id:sub(1, 4) ~= 'out:' and (paused['*'] or paused[job_id:match('^%a+:([^:]*)')]) or false
end

-- queue the job of a lane that nobody holds
local function enqueue(k, job_id, queue, at)
  local job = '{"t":null,"f":"run_lane","a":' .. cjson.encode({ job_id }) .. ',"k":{},"et":' .. now_ms() .. '}'
  redis.call('SET', k.job, job, 'NX')
  redis.call('ZADD', queue, at, job_id)
  if redis.call('LPUSH', queue .. ':bell', '1') > 256 then redis.call('LTRIM', queue .. ':bell', 0, 255) end
end

-- when the back-off and the wait for further parts are over
local function due_at(not_before, hold_until)
  return math.max(now_ms(), tonumber(not_before or 0) or 0, tonumber(hold_until or 0) or 0)
end

-- p: job_id, queue, item_id, body, owner, solo, hold_ms, lane: its keys, `is_new` if nothing of it exists. The id goes in
-- before the body and a claim wants both, once: so a push that an ACL cuts in half is mended by its repeat.
local function push(p)
  local k, hold_ms, now = p.lane, tonumber(p.hold_ms), now_ms()
  local v = k.is_new and {} or redis.call('HMGET', k.state, 'not_before', 'hold_until', 'held_since')
  local fields, hold_until = {}, nil
  redis.call('RPUSH', k.items, p.solo .. ':' .. p.item_id)
  redis.call('HSET', k.bodies, p.item_id, p.body)
  if p.owner ~= '' then      -- an alert belongs to nobody and leaves the lane its owner
    local lanes_of = 'koi:lanes-of:' .. p.owner
    fields = { 'owner', p.owner }
    redis.call('SADD', lanes_of, p.job_id)      -- for 400 days, renewed once a day: what waits does not expire
    if redis.call('PTTL', lanes_of) < 34473600000 then redis.call('PEXPIRE', lanes_of, 34560000000) end
  end
  if hold_ms > 0 then      -- maybe only a part: wait for the rest, but at most ten times as long in all
    local since = v[2] and tonumber(v[3]) or now
    hold_until = math.min(now + hold_ms, since + 10 * hold_ms)
    fields = { 'held_since', since, 'hold_until', hold_until, unpack(fields) }
  elseif v[2] then
    redis.call('HDEL', k.state, 'held_since', 'hold_until')
  end
  if #fields > 0 then redis.call('HSET', k.state, unpack(fields)) end

  local at = due_at(v[1], hold_until)
  if k.is_new then
    k.is_new = false
    return enqueue(k, p.job_id, p.queue, at)
  end
  if redis.call('PTTL', k.lease) > 0 then return end      -- held: its end queues it
  local queued = tonumber(redis.call('ZSCORE', p.queue, p.job_id) or at + 1)
  if queued >= PARKED_MS then return end      -- the end of the pause wakes it
  if queued > now and queued ~= at then enqueue(k, p.job_id, p.queue, at) end
end

-- leave nothing of a lane in which nothing waits
local function clear(k, job_id, queue)
  redis.call('DEL', k.lease, k.items, k.bodies, k.state, k.kept, k.job)
  redis.call('ZREM', queue, job_id)
end

-- the lane is nobody's again: queue it if something waits, else clear it
local function let_go(k, job_id, queue)
  if redis.call('LLEN', k.items) == 0 then return clear(k, job_id, queue) end
  redis.call('DEL', k.lease)
  enqueue(k, job_id, queue, due_at(unpack(redis.call('HMGET', k.state, 'not_before', 'hold_until'))))
end
