-- claim: take lanes whose job is due, each with a new token, and fix what their turn is about; park those of paused bots
-- KEYS[1]  queue, zset job_id → due, ms
-- ARGV[1] lease, ms   ARGV[2] lanes wanted   ARGV[3] token prefix, unique per process   ARGV[4] items per turn
-- RETURNS {wait_ms until the next job is due or -1, claim…}; a claim is {job_id, token, turn, epoch, owner, failures,
--         deaths, {id, body, …}, {kept name, value, …}, age of the first item in ms or -1}
-- INCLUDE infra/lane.lua
local queue, lease_ms, wanted, prefix, per_turn = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local now = now_ms()
local leased = {}      -- end of lease, job_id, …

-- bodies in the order of the ids; false for what was forgotten
local function bodies_of(k, ids)
  return #ids > 0 and redis.call('HMGET', k.bodies, unpack(ids)) or {}
end

-- {id, body, …} and {id, …} of what waits, from the front: one command alone, or everything up to the next command
local function choose(k, limit)
  local entries, waiting = redis.call('LRANGE', k.items, 0, limit - 1), {}
  for i, entry in ipairs(entries) do waiting[i] = entry:sub(3) end
  local bodies, items, ids, known, stale = bodies_of(k, waiting), {}, {}, {}, false
  for i, id in ipairs(waiting) do
    if not bodies[i] or known[id] then
      redis.call('LREM', k.items, known[id] and -1 or 0, entries[i])      -- half a push, or forgotten
      stale = true
    else
      local solo = entries[i]:sub(1, 1) == '1'
      if #ids > 0 and solo then break end
      ids[#ids + 1], known[id] = id, true
      items[#items + 1] = id
      items[#items + 1] = bodies[i]
      if solo then break end
    end
  end
  if stale then return choose(k, limit) end      -- what stood behind them moved up
  return items, ids
end

-- {id, body, …} that the first claim of the turn fixed, as far as they are still there
local function fixed(k, taken)
  local readable, ids = pcall(cjson.decode, taken or '')
  local items = {}
  if not readable then return items end
  for i, body in ipairs(bodies_of(k, ids)) do
    if body then
      items[#items + 1] = ids[i]
      items[#items + 1] = body
    end
  end
  return items
end

local function count(value) return tonumber(value or 0) or 0 end

-- ms since ingest took the item; -1: it did not, it was longer ago than that is kept, or the clock jumped back
local function age_of(item_id)
  local taken = redis.pcall('GET', 'koi:seen:' .. item_id)
  taken = type(taken) == 'string' and tonumber(taken) or 1
  return taken > 1 and taken <= now and now - taken or -1
end

local function claim(job_id, token)
  local k = lane_keys(job_id)
  local left = redis.call('PTTL', k.lease)
  if left > 0 then      -- held: look again when the lease ends
    redis.call('ZADD', queue, now + left, job_id)
    return nil
  end
  local turn, taken, epoch, owner, open, failures, deaths, single, not_before, hold_until = unpack(redis.call(
    'HMGET', k.state, 'turn', 'taken', 'epoch', 'owner', 'open', 'failures', 'deaths', 'single', 'not_before', 'hold_until'))
  local kept = turn and redis.call('HGETALL', k.kept) or {}
  local items, ids = turn and fixed(k, taken) or {}, nil
  failures, deaths = count(failures), count(deaths)

  if #items == 0 then      -- a new turn, or nothing is left of the fixed one: forgotten, or unreadable
    local now_epoch = epoch_of(owner or '')
    items, ids = choose(k, count(single) > 0 and 1 or per_turn)
    if #items == 0 then return clear(k, job_id, queue) end
    if turn then
      redis.call('HDEL', k.state, 'deaths', 'failures')
      redis.call('DEL', k.kept)
    end
    turn, epoch, failures, deaths, kept = token, now_epoch, 0, 0, {}
    redis.call('HSET', k.state, 'turn', turn, 'taken', cjson.encode(ids), 'epoch', epoch, 'open', '1')
  elseif open then      -- its last holder never ended it
    deaths = deaths + 1
    redis.call('HSET', k.state, 'deaths', deaths)
  else
    redis.call('HSET', k.state, 'open', '1')
  end
  if not_before or hold_until then redis.call('HDEL', k.state, 'held_since', 'hold_until', 'not_before') end
  redis.call('SET', k.lease, token, 'PX', lease_ms)
  leased[#leased + 1] = now + lease_ms
  leased[#leased + 1] = job_id
  return { job_id, token, turn, epoch or '0', owner or '', failures, deaths, items, kept, age_of(items[1]) }
end

local out, due = { -1 }, redis.call('ZRANGEBYSCORE', queue, '-inf', now, 'LIMIT', 0, wanted)
local fence = #due > 0 and redis.call('INCRBY', 'koi:fence', #due) - #due or 0
local paused = #due > 0 and paused_bots() or {}

local function take(job_id, token)
  if is_paused(job_id, paused) then
    redis.call('ZADD', queue, redis.call('ZSCORE', queue, job_id) + PARKED_MS, job_id)
    return nil
  end
  return claim(job_id, token)
end

for i, job_id in ipairs(due) do
  local whole, found = pcall(take, job_id, prefix .. ':' .. fence + i)
  if not whole then      -- not ours to mend, and the other lanes must go on
    redis.call('ZADD', queue, now + 60000, job_id)
    redis.call('INCR', 'koi:count:broken_lanes')
  end
  if whole then out[#out + 1] = found end
end
if #leased > 0 then redis.call('ZADD', queue, unpack(leased)) end
if #due < wanted then redis.call('DEL', queue .. ':bell') end      -- nothing is left that somebody must be woken for
local next_due = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
if next_due[2] and tonumber(next_due[2]) < PARKED_MS then out[1] = math.max(0, tonumber(next_due[2]) - now) end
return out
