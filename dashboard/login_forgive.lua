-- login_forgive: the password was right, so what its address had tried does not count
-- KEYS[1]  counter of the address (infra.keys.login_tries)   KEYS[2]  counter of all
-- RETURNS  0
local address, all = KEYS[1], KEYS[2]
redis.call('DEL', address)
if tonumber(redis.call('GET', all) or 0) > 0 then
  redis.call('DECR', all)
end
return 0
