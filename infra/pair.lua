-- pair: whoever sends the pairing code becomes the owner, once; wrong codes are counted
-- KEYS[1] the code (infra.keys.pairing)   KEYS[2] hash of people   KEYS[3] wrong codes of this person
-- ARGV[1] code   ARGV[2] user id   ARGV[3] Person JSON   ARGV[4] wrong codes allowed   ARGV[5] for how long, ms
-- RETURNS 'paired' | 'wrong' | 'throttled' | 'closed' (there is no code, or an owner)
local code, user_id, person, allowed, period_ms = unpack(ARGV)
local expected = redis.call('GET', KEYS[1])
if not expected then return 'closed' end
for _, raw in ipairs(redis.call('HVALS', KEYS[2])) do
  local readable, known = pcall(cjson.decode, raw)
  if readable and type(known) == 'table' and known.role == 'owner' then return 'closed' end
end
if tonumber(redis.call('GET', KEYS[3]) or 0) >= tonumber(allowed) then return 'throttled' end
if code ~= expected then
  if redis.call('INCR', KEYS[3]) == 1 then redis.call('PEXPIRE', KEYS[3], period_ms) end
  return 'wrong'
end
redis.call('HSET', KEYS[2], user_id, person)
redis.call('DEL', KEYS[1], KEYS[3])
return 'paired'
