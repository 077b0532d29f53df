-- reserve: set the most that a call can cost aside from the person's month, once, if it fits; record.lua settles it
-- KEYS[1]  the person's month (infra.keys.spent)   KEYS[2]  reservation of the call (infra.keys.reserved)
-- ARGV[1]  amount   ARGV[2]  the most of a month; both micro-dollars   ARGV[3]  the month, "2026-11"
-- ARGV[4]  ttl of the month, ms   ARGV[5]  ttl of the reservation, ms
-- RETURNS  {1, left afterwards} | {0, left}: it does not fit
local month, reserved = KEYS[1], KEYS[2]
local amount, most, name, month_ttl_ms, reserved_ttl_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local left = most - tonumber(redis.call('HGET', month, 'microusd') or 0)
if redis.call('EXISTS', reserved) == 1 then return { 1, left } end
if amount > left then return { 0, math.max(0, left) } end
redis.call('HINCRBY', month, 'microusd', ARGV[1])
redis.call('PEXPIRE', month, month_ttl_ms)
redis.call('SET', reserved, name .. ' ' .. ARGV[1], 'PX', reserved_ttl_ms)
return { 1, left - amount }
