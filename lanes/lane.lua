-- Included by every script of this folder: the keys of a lane (named as in infra/keys.py; a test compares them),
-- and the three things that several scripts do: ask whether a key can be written, queue a lane's job, push an item.

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function lane_keys(job_id)
  local base = 'koi:lane:' .. job_id
  return {
    items = base .. ':items', bodies = base .. ':bodies', state = base .. ':state', kept = base .. ':kept',
    done = base .. ':done', lease = 'arq:in-progress:' .. job_id, job = 'arq:job:' .. job_id,
  }
end

local function epoch_of(owner) return redis.call('GET', 'koi:epoch:' .. owner) or '0' end

-- the first of {key, type, key, type, …} that holds another type, or nil: Lua does not roll back, so ask before writing
local function wrong_type(pairs_)
  for i = 1, #pairs_, 2 do
    local found = redis.call('TYPE', pairs_[i]).ok
    if found ~= 'none' and found ~= pairs_[i + 1] then return pairs_[i] end
  end
  return nil
end

local function lane_wrong_type(k, queue)
  return wrong_type({ k.items, 'list', k.bodies, 'hash', k.state, 'hash', k.kept, 'hash', k.done, 'string',
                      k.lease, 'string', k.job, 'string', queue, 'zset', queue .. ':bell', 'list' })
end

local function ring_bell(queue)
  redis.call('LPUSH', queue .. ':bell', '1')
  redis.call('LTRIM', queue .. ':bell', 0, 255)
end

-- queue the job of a lane that nobody holds, for when its back-off and its wait for further parts are over
local function schedule(k, job_id, queue, now)
  local v = redis.call('HMGET', k.state, 'not_before', 'hold_until')
  local at = math.max(now, tonumber(v[1] or 0), tonumber(v[2] or 0))
  local queued = tonumber(redis.call('ZSCORE', queue, job_id) or at + 1)
  if queued <= now or queued == at then return end
  if redis.call('EXISTS', k.job) == 0 then
    local job = cjson.encode({ t = cjson.null, f = 'run_lane', a = { job_id }, et = now })
    redis.call('SET', k.job, (job:gsub('}$', ',"k":{}}')))
  end
  redis.call('ZADD', queue, at, job_id)
  ring_bell(queue)
end

-- p: job_id, queue, item_id, body, owner, solo, hold_ms. The id goes in before the body and `take` wants both, once:
-- so a push that an ACL cuts in half is mended by its repeat.
local function push(p, now)
  local k, hold_ms = lane_keys(p.job_id), tonumber(p.hold_ms)
  redis.call('RPUSH', k.items, p.solo .. ':' .. p.item_id)
  redis.call('HSET', k.bodies, p.item_id, p.body)
  if p.owner ~= '' then      -- an alert belongs to nobody and leaves the lane its owner
    redis.call('HSET', k.state, 'owner', p.owner)
    redis.call('SADD', 'koi:lanes-of:' .. p.owner, p.job_id)
    redis.call('PEXPIRE', 'koi:lanes-of:' .. p.owner, 34560000000)      -- 400 days: what waits does not expire
  end
  if hold_ms > 0 then      -- maybe only a part: wait for the rest, but at most ten times as long in all
    local since = now
    if redis.call('HGET', k.state, 'hold_until') then since = tonumber(redis.call('HGET', k.state, 'held_since')) end
    redis.call('HSET', k.state, 'held_since', since, 'hold_until', math.min(now + hold_ms, since + 10 * hold_ms))
  else
    redis.call('HDEL', k.state, 'held_since', 'hold_until')
  end
  if redis.call('EXISTS', k.lease) == 0 then schedule(k, p.job_id, p.queue, now) end
end

-- the lane is nobody's again: queue it if something waits, else leave nothing of it
local function let_go(k, job_id, queue, now)
  redis.call('DEL', k.lease)
  redis.call('ZREM', queue, job_id)
  if redis.call('LLEN', k.items) > 0 then
    schedule(k, job_id, queue, now)
    return 1
  end
  redis.call('DEL', k.job, k.state, k.bodies, k.kept)
  return 0
end
