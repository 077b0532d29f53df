-- count: count the messages of a turn against the plan's day, each once, if all that are new fit
-- KEYS[1]  the person's day (infra.keys.spent)   KEYS[2…] a mark of each message (infra.keys.counted)
-- ARGV[1]  the most of a day   ARGV[2]  ttl of a mark, ms   ARGV[3]  ttl of the day, ms
-- RETURNS  -1 they fit, or were counted before; else how many more would fit
local day, most, mark_ttl_ms, day_ttl_ms = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local new = {}
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then new[#new + 1] = KEYS[i] end
end
if #new == 0 then return -1 end
local left = most - tonumber(redis.call('HGET', day, 'messages') or 0)
if #new > left then return math.max(0, left) end
redis.call('HINCRBY', day, 'messages', #new)
redis.call('PEXPIRE', day, day_ttl_ms)
for _, mark in ipairs(new) do redis.call('SET', mark, '1', 'PX', mark_ttl_ms) end
return -1
