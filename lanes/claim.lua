-- claim: take lanes whose job is due, each with a new token, and fix what their turn is about
-- KEYS[1]  queue, zset job_id → due, ms
-- ARGV[1] lease, ms   ARGV[2] lanes wanted   ARGV[3] token prefix, unique per process   ARGV[4] items per turn
-- RETURNS {wait_ms until the next job is due or -1, claim…}; a claim is {job_id, token, turn, epoch, owner, failures,
--         deaths, {id, body, …}, {kept name, value, …}}
-- INCLUDE lane.lua
local queue, lease_ms, wanted, prefix, per_turn = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local now = now_ms()

local function count(k, field) return tonumber(redis.call('HGET', k.state, field) or 0) or 0 end

-- ids that wait, from the front: one command alone, or everything up to the next command
local function choose(k)
  local limit = per_turn
  if count(k, 'single') > 0 then limit = 1 end
  local ids, known = {}, {}
  for _, entry in ipairs(redis.call('LRANGE', k.items, 0, -1)) do
    local solo, id = entry:sub(1, 1) == '1', entry:sub(3)
    if redis.call('HEXISTS', k.bodies, id) == 0 or known[id] then
      redis.call('LREM', k.items, known[id] and -1 or 0, entry)      -- half a push, or forgotten
    else
      if #ids > 0 and solo then break end
      ids[#ids + 1], known[id] = id, true
      if solo or #ids >= limit then break end
    end
  end
  return ids
end

-- {id, body, …} of the ids that still have a body
local function with_bodies(k, ids)
  local out = {}
  for _, id in ipairs(ids) do
    local body = redis.call('HGET', k.bodies, id)
    if body then
      out[#out + 1] = id
      out[#out + 1] = body
    end
  end
  return out
end

-- the turn's items: those the first claim fixed, or newly chosen ones
local function take(k, token)
  if redis.call('HGET', k.state, 'turn') then
    local readable, ids = pcall(cjson.decode, redis.call('HGET', k.state, 'taken') or '')
    local fixed = readable and with_bodies(k, ids) or {}
    if #fixed > 0 then return fixed end
    redis.call('HDEL', k.state, 'turn', 'taken', 'open', 'deaths', 'failures')      -- forgotten, or unreadable
    redis.call('DEL', k.kept)
  end
  local ids = choose(k)
  if #ids == 0 then return {} end
  local epoch = epoch_of(redis.call('HGET', k.state, 'owner') or '')
  redis.call('HSET', k.state, 'turn', token, 'taken', cjson.encode(ids), 'epoch', epoch)
  return with_bodies(k, ids)
end

local function claim(job_id)
  local k = lane_keys(job_id)
  local left = redis.call('PTTL', k.lease)
  if left > 0 then      -- held: look again when the lease ends
    redis.call('ZADD', queue, now + left, job_id)
    return nil
  end
  if lane_wrong_type(k, queue) then error('broken') end
  local token = prefix .. ':' .. redis.call('INCR', 'koi:fence')
  local items = take(k, token)
  if #items == 0 then
    let_go(k, job_id, queue, now)
    return nil
  end
  if redis.call('HGET', k.state, 'open') then redis.call('HINCRBY', k.state, 'deaths', 1) end
  redis.call('HSET', k.state, 'open', '1')
  redis.call('HDEL', k.state, 'held_since', 'hold_until', 'not_before')
  redis.call('SET', k.lease, token, 'PX', lease_ms)
  redis.call('ZADD', queue, now + lease_ms, job_id)
  local v = redis.call('HMGET', k.state, 'turn', 'epoch', 'owner')
  return { job_id, token, v[1], v[2] or '0', v[3] or '', count(k, 'failures'), count(k, 'deaths'), items,
           redis.call('HGETALL', k.kept) }
end

local out = { -1 }
for _, job_id in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', now, 'LIMIT', 0, wanted)) do
  local whole, found = pcall(claim, job_id)
  if not whole then      -- not ours to mend, and the other lanes must go on; a full or read-only Redis raises here
    redis.call('ZADD', queue, now + 60000, job_id)
    redis.call('INCR', 'koi:count:broken_lanes')
  end
  if whole then out[#out + 1] = found end
end
local next_due = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
if next_due[2] then out[1] = math.max(0, tonumber(next_due[2]) - now) end
return out
