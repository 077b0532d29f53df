-- album: set an item of an album aside in which nobody spoke to the bot yet; or, when somebody does, give what was set aside
-- KEYS[1] what is set aside in this group (infra.keys.albums)   KEYS[2] mark of an album that is for the bot (infra.keys.album)
-- ARGV[1] head: how what is set aside of this album begins   ARGV[2] the item; '': somebody speaks to the bot in it
-- ARGV[3] ttl, ms   ARGV[4] ttl of the mark, ms   ARGV[5] most items of a group
-- RETURNS {1: the album is for the bot, 0: the item is set aside; items of it that were set aside before, if this one calls}
local aside, mark, head, item, ttl_ms, mark_ttl_ms, most = KEYS[1], KEYS[2], unpack(ARGV)
local t = redis.call('TIME')
local now_ms = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', aside, '-inf', now_ms)

if item ~= '' then
  if redis.call('EXISTS', mark) == 1 then return { 1, {} } end
  redis.call('ZADD', aside, 'NX', now_ms + ttl_ms, head .. item)
  redis.call('ZREMRANGEBYRANK', aside, 0, -1 - most)
  redis.call('PEXPIRE', aside, ttl_ms)
  return { 0, {} }
end

redis.call('SET', mark, '1', 'PX', mark_ttl_ms)
local found = {}
for _, one in ipairs(redis.call('ZRANGE', aside, 0, -1)) do      -- they stay: the caller may die before they are in their lane
  if one:sub(1, #head) == head then found[#found + 1] = one:sub(#head + 1) end
end
return { 1, found }
