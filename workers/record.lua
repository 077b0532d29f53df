-- record: write down ended model calls, count them for their person and settle what was reserved for them, each once
-- KEYS[1]  stream of calls (infra.keys.calls)
-- KEYS[2…] of each call: its mark (infra.keys.call), the person's day and month (infra.keys.spent), what was reserved
--          for it (infra.keys.reserved)
-- ARGV[1]  records kept, about   ARGV[2…5]  ttl of a mark, of the stream, of a day, of a month, ms
-- ARGV[6…] of each call: CallRecord, JSON; what the day's counters grow by, as "answers 1 input 40"; its cost,
--          micro-dollars, "" if it is unknown, "-" if there is nothing to settle
-- RETURNS  {how many were new, micro-dollars by which calls cost more than was reserved for them}
local calls = KEYS[1]
local kept, mark_ttl_ms, calls_ttl_ms, day_ttl_ms, month_ttl_ms = unpack(ARGV, 1, 5)
local new, over = 0, 0

local function grow(period, field, n, ttl_ms)
  if redis.call('HINCRBY', period, field, n) == tonumber(n) then redis.call('PEXPIRE', period, ttl_ms) end
end

-- the cost to the day, and to the month in which it was reserved, else to this one; unknown: what was reserved stands
local function settle(day, month, reserved, cost)
  local held = redis.call('GET', reserved)
  local where, amount = (held or ''):match('^(%d+%-%d+) (%d+)$')
  if held then redis.call('DEL', reserved) end
  if not cost then return end
  if cost > 0 then grow(day, 'microusd', cost, day_ttl_ms) end
  if not amount then
    if cost > 0 then grow(month, 'microusd', cost, month_ttl_ms) end
  elseif cost - amount ~= 0 then
    over = over + math.max(0, cost - amount)
    redis.call('HINCRBY', month:sub(1, -8) .. where, 'microusd', string.format('%.0f', cost - amount))
  end
end

local type = redis.call('TYPE', calls).ok      -- what can fail, before anything changes
if type ~= 'stream' and type ~= 'none' then return redis.error_reply('WRONGTYPE ' .. calls .. ' is no stream') end
for call = 0, (#KEYS - 1) / 4 - 1 do
  local key, value = 4 * call + 2, 3 * call + 6
  if redis.call('SET', KEYS[key], '1', 'NX', 'PX', mark_ttl_ms) then
    redis.call('XADD', calls, 'MAXLEN', '~', kept, '*', 'record', ARGV[value])
    for field, n in ARGV[value + 1]:gmatch('([%a_]+) (%d+)') do grow(KEYS[key + 1], field, n, day_ttl_ms) end
    local cost = ARGV[value + 2]
    if cost ~= '-' then settle(KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], tonumber(cost)) end
    new = new + 1
  end
end
redis.call('PEXPIRE', calls, calls_ttl_ms)
return { new, over }
