-- breaker_read: how the models of a chain stand; let the caller probe at most one whose wait is over
-- KEYS: two per model in the order of the chain: failures, counter; open, hash (infra.keys.breaker_*)
-- ARGV[1] now, ms; 0: Redis' clock   ARGV[2] lease of the probe, ms; 0: only look
-- RETURNS {now, then seven per model: 'closed' | 'open' | 'probe', failures, since, until, why, asked 0|1, probe lease}
-- A model is probed only if none before it is closed: that one answers, and a probe beside it would help nobody.
local now, lease_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end

local reply, may_probe = { now }, lease_ms > 0

local function say(...)
  for _, value in ipairs({ ... }) do reply[#reply + 1] = value end
end

for i = 1, #KEYS, 2 do
  local o = redis.call('HMGET', KEYS[i + 1], 'since', 'until', 'why', 'asked', 'probe')
  if not o[2] then
    say('closed', tonumber(redis.call('GET', KEYS[i]) or 0), 0, 0, '', 0, 0)
    may_probe = false
  else
    local state, probe = 'open', tonumber(o[5] or 0)
    if may_probe and tonumber(o[2]) <= now and probe <= now then
      state, probe, may_probe = 'probe', now + lease_ms, false
      redis.call('HSET', KEYS[i + 1], 'probe', probe)
    end
    say(state, 0, tonumber(o[1]), tonumber(o[2]), o[3], tonumber(o[4]), probe)
  end
end
return reply
