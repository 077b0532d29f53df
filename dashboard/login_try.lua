-- login_try: count one more try of a password, unless there were too many
-- KEYS[1]  counter of the address (infra.keys.login_tries)   KEYS[2]  counter of all
-- ARGV[1]  most of one address   ARGV[2]  most of all   ARGV[3]  window_ms
-- RETURNS  0: it may be tried, and is counted; else how many ms to wait
local address, all = KEYS[1], KEYS[2]
local most = { tonumber(ARGV[1]), tonumber(ARGV[2]) }
local window_ms = ARGV[3]
for at, counter in ipairs({ address, all }) do
  if tonumber(redis.call('GET', counter) or 0) >= most[at] then
    return math.max(1, redis.call('PTTL', counter))
  end
end
for _, counter in ipairs({ address, all }) do
  if redis.call('INCR', counter) == 1 then
    redis.call('PEXPIRE', counter, window_ms)
  end
end
return 0
