-- breaker_fail: a call failed: count it, open the breaker, or keep it open for longer after a failed probe
-- KEYS[1] failures, counter   KEYS[2] open, hash (infra.keys.breaker_*)
-- ARGV[1] now, ms; 0: Redis' clock   ARGV[2] why   ARGV[3] failures that open   ARGV[4] ms to open for
-- ARGV[5] ms that the service asked for, 0: none   ARGV[6] ms after which failures are forgotten
-- ARGV[7] longest ms to open for by ourselves   ARGV[8] ms that the wait is remembered after its end
-- RETURNS {now, 'closed' | 'open', failures, since, until, why, asked 0|1, probe lease}
local now, why, threshold, open_ms = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local asked_ms, window_ms, longest_ms, keep_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end

local o = redis.call('HMGET', KEYS[2], 'since', 'until', 'wait', 'asked', 'probe')
local since, until_, wait, asked, probe = tonumber(o[1]), tonumber(o[2]), tonumber(o[3]), tonumber(o[4]), tonumber(o[5] or 0)

if until_ and until_ > now then                     -- a call of before, or a last resort: only what was asked for counts
  if now + asked_ms > until_ then until_, asked = now + asked_ms, 1 end
else
  if until_ then                                    -- the probe failed
    wait = math.min(math.max(wait * 2, open_ms), longest_ms)
  else
    local failures = redis.call('INCR', KEYS[1])
    redis.call('PEXPIRE', KEYS[1], window_ms)
    if failures < threshold then return { now, 'closed', failures, 0, 0, '', 0, 0 } end
    since, wait = now, open_ms
  end
  asked = asked_ms > 0 and 1 or 0
  until_ = now + (asked_ms > 0 and asked_ms or wait)
  probe = 0
end
redis.call('HSET', KEYS[2], 'since', since, 'until', until_, 'wait', wait, 'why', why, 'asked', asked, 'probe', probe)
redis.call('PEXPIRE', KEYS[2], until_ - now + keep_ms)
redis.call('DEL', KEYS[1])
return { now, 'open', 0, since, until_, why, asked, probe }
