-- renew: keep the leases that are still ours
-- KEYS[1]  queue
-- ARGV[1] lease, ms   ARGV[2…]  job_id, token, …
-- RETURNS {job_id…} of the lanes that are not ours any more
-- INCLUDE infra/lane.lua
local queue, lease_ms = KEYS[1], tonumber(ARGV[1])
local now, lost = now_ms(), {}
for i = 2, #ARGV, 2 do
  local lease = lane_keys(ARGV[i]).lease
  if redis.call('GET', lease) == ARGV[i + 1] then
    redis.call('PEXPIRE', lease, lease_ms)
    redis.call('ZADD', queue, now + lease_ms, ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
