-- forget: remove texts of an owner, end its sessions and raise its epoch, all in one step
-- KEYS[1] ring   KEYS[2] lanes of the owner   KEYS[3] dead letters of the owner   KEYS[4] facts of the owner
-- KEYS[5] ids of all dead letters   KEYS[6] expiry   KEYS[7] epoch   KEYS[8] claim of the update
-- KEYS[9] what this update removed; '' for no update   KEYS[10] records of its turns   KEYS[11] items of albums set aside
-- ARGV[1] owner   ARGV[2] ttl of the epoch, ms   ARGV[3] prefix of a lane's keys   ARGV[4] 'all' | 'some'
-- ARGV[5] stamp of what was seen, '' to go by values alone
-- ARGV[6] n, then n prefixes of the keys that go with a lane's session
-- ARGV[.] for 'some', three words each: 'ring' '' entry | 'item' job_id id | 'kept' job_id name | 'dead' '' id | 'fact' id fact
-- RETURNS ring entries and facts removed; -1: the update was taken before; -2: something changed since it was seen
-- INCLUDE forget_sight.lua
local ring, lanes_of, dead_of, facts, dead, expiry, epoch, claim, note, turns, albums = unpack(KEYS)
local owner, epoch_ttl_ms, lane_prefix, mode, seen_stamp, prefixes = unpack(ARGV, 1, 6)
local first_removal = 7 + prefixes

-- everything that can fail: these reads raise WRONGTYPE before anything was written
if claim ~= '' then
  if redis.call('EXISTS', claim) == 1 then return -1 end
  local removed = redis.call('GET', note)      -- done, but its process died before the update was taken
  if removed then return tonumber(removed) end
end
local jobs = redis.call('SMEMBERS', lanes_of)
redis.call('ZCARD', dead)
redis.call('ZCARD', expiry)
if not tonumber(redis.call('GET', epoch) or 0) then return redis.error_reply('WRONGTYPE ' .. epoch) end
local letters = redis.call('HKEYS', dead_of)
if mode == 'some' then
  local seen = sight(KEYS, lane_prefix)
  if seen_stamp ~= '' and stamp(seen) ~= seen_stamp then return -2 end
end

-- everything that changes; removals first, so that a full Redis can forget too
local function bury(id)
  redis.call('HDEL', dead_of, id)
  redis.call('ZREM', dead, owner .. '|' .. id)
end

local function drop_all()
  local count = redis.call('TYPE', ring).ok == 'list' and redis.call('LLEN', ring) or 0
  if redis.call('TYPE', facts).ok == 'hash' then count = count + redis.call('HLEN', facts) end
  redis.call('DEL', ring, facts)
  for _, id in ipairs(letters) do bury(id) end
  for _, job_id in ipairs(jobs) do      -- their jobs stay: whoever serves the lane finds it empty and cleans up
    local base = lane_prefix .. job_id
    redis.call('DEL', base .. ':items', base .. ':bodies', base .. ':kept')
  end
  return count
end

-- what a turn of an inbox has done it must not do again, also if nobody knows any more what it was: it stays whole
local function drop_kept(job_id, name)
  local kept = lane_prefix .. job_id .. ':kept'
  local ttl_ms = redis.call('PTTL', kept)
  if redis.call('HDEL', kept, name) == 0 or job_id:sub(1, 3) ~= 'in:' then return end
  redis.call('HSET', kept, 'forgotten', '')
  if ttl_ms > 0 then redis.call('PEXPIRE', kept, ttl_ms) end
end

local drop = {
  ring = function(_, entry) return redis.call('LREM', ring, -1, entry) end,
  fact = function(id, fact) return redis.call('HGET', facts, id) == fact and redis.call('HDEL', facts, id) or 0 end,
  dead = function(_, id) bury(id) return 0 end,
  kept = function(job_id, name) drop_kept(job_id, name) return 0 end,
  item = function(job_id, id)
    local base = lane_prefix .. job_id
    redis.call('LREM', base .. ':items', 0, '0:' .. id)
    redis.call('LREM', base .. ':items', 0, '1:' .. id)
    redis.call('HDEL', base .. ':bodies', id)
    return 0
  end,
}

local removed = 0
if mode == 'all' then removed = drop_all() end
for i = first_removal, #ARGV, 3 do removed = removed + drop[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
for _, job_id in ipairs(jobs) do
  local lane = job_id:match('^%a+:(.*)$') or job_id
  for i = 7, first_removal - 1 do
    redis.call('DEL', ARGV[i] .. lane)
    redis.call('ZREM', expiry, ARGV[i] .. lane)
  end
end
redis.call('DEL', turns, albums)
redis.call('ZREM', expiry, turns)
if redis.call('EXISTS', ring) == 0 then redis.call('ZREM', expiry, ring) end
redis.call('INCR', epoch)
redis.call('PEXPIRE', epoch, epoch_ttl_ms)
if claim ~= '' then redis.call('SET', note, removed, 'PX', 172800000) end      -- 48 h, as long as the claim
return removed
