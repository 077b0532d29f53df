-- queue_look: what waits and runs in queues, as it is at one moment
-- KEYS[1…]  queues, zsets job_id → due, ms (infra.keys.inbox_queue, outbox_queue)
-- ARGV[1] lanes of each queue that are told in full, those due first   ARGV[2] ids told of each lane
-- RETURNS {now_ms, {lanes, items in all, lanes that are held}…, lane…}; a lane is {job_id, due as text, items, token of its lease
--         or '', ms that are left of it, turn, how many items the turn took, failures, deaths, not_before, hold_until, owner,
--         ms since the first item that no turn has taken came or -1, {`solo:id`…}}
-- INCLUDE infra/lane.lua
local most, ids_told = tonumber(ARGV[1]), tonumber(ARGV[2])
local now, sums, lanes = now_ms(), {}, {}

local function age_of(entry)
  local came = entry and redis.pcall('GET', 'koi:seen:' .. entry:sub(3))
  came = type(came) == 'string' and tonumber(came) or 1
  return came > 1 and came <= now and now - came or -1
end

local function taken_by(turn, taken)
  if not turn then return 0 end
  local readable, ids = pcall(cjson.decode, taken or '')
  return readable and type(ids) == 'table' and #ids or 0
end

local function look(job_id, due, waiting, left)
  local k = lane_keys(job_id)
  local turn, taken, failures, deaths, not_before, hold_until, owner = unpack(redis.call(
    'HMGET', k.state, 'turn', 'taken', 'failures', 'deaths', 'not_before', 'hold_until', 'owner'))
  local n = math.min(taken_by(turn, taken), waiting)
  local first = redis.call('LINDEX', k.items, left > 0 and n or 0)
  return { job_id, due, waiting, left > 0 and redis.call('GET', k.lease) or '', left, turn or '', n, failures or '0',
    deaths or '0', not_before or '0', hold_until or '0', owner or '', age_of(first), redis.call('LRANGE', k.items, 0, ids_told - 1) }
end

for q = 1, #KEYS do
  local found = redis.call('ZRANGE', KEYS[q], 0, -1, 'WITHSCORES')
  local items, held = 0, 0
  for i = 1, #found, 2 do
    local job_id = found[i]
    local waiting = redis.pcall('LLEN', lane_keys(job_id).items)
    if type(waiting) == 'number' then
      local left = redis.call('PTTL', lane_keys(job_id).lease)
      if job_id:sub(1, 5) ~= 'fold:' then items = items + waiting end
      if left > 0 then held = held + 1 end
      if i / 2 < most or left > 0 then
        local whole, lane = pcall(look, job_id, found[i + 1], waiting, left)
        if whole then lanes[#lanes + 1] = lane end
      end
    end
  end
  sums[q] = { #found / 2, items, held }
end
return { now, sums, lanes }
