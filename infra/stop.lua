-- stop: end the turn of a lane early: the one that is fixed or, if none is, the one that will take what waits
-- KEYS[1] state of the inbox lane, hash   [2] its items, list   [3] its bodies, hash   (infra.keys.state, items, bodies)
-- KEYS[4] infra.keys.stop of the lane   [5] infra.keys.claim_of the update
-- ARGV[1] only the turn of this id; '' for any   [2] ttl, ms   [3] infra.keys.stop_channel   [4] ttl of the claim, ms
-- RETURNS 1 if something was stopped, or the update was taken before; 0 if there is nothing to stop: then nothing changed
local state, items, bodies, stop, claim = unpack(KEYS)
local only, ttl, channel, claim_ttl = unpack(ARGV)
if redis.call('EXISTS', claim) == 1 then return 1 end

local named = redis.pcall('HGET', state, 'turn')
if type(named) == 'table' then return 0 end      -- not a hash: taking the message in will say so
if only ~= '' and named ~= only then return 0 end
if not named then      -- a message that waits, and is no command
  local first = redis.pcall('LINDEX', items, 0)
  if type(first) ~= 'string' or first:sub(1, 2) ~= '0:' then return 0 end
  named = first:sub(3)
  if redis.pcall('HEXISTS', bodies, named) ~= 1 then return 0 end
end
redis.call('SET', stop, named, 'PX', ttl)
redis.call('PUBLISH', channel, named)
redis.call('SET', claim, '1', 'PX', claim_ttl)      -- last: whoever fails before it stops again
return 1
