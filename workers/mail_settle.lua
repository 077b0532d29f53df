-- mail_settle: write down what became of the oldest mail, if the lease is still held and the mail still the same
-- KEYS[1]  list of mails (infra.keys.mails)   KEYS[2]  lease (infra.keys.once)   KEYS[3]  pause (infra.keys.once)
-- ARGV[1]  token of the lease   ARGV[2]  Mail as it was taken   ARGV[3]  as it is now, '' if it is done with
-- ARGV[4]  1 to end the lease   ARGV[5]  how long to leave the server alone, ms, 0 for not at all
-- RETURNS 1, or 0 if it was another's by now: then nothing changed
local mails, lease, pause = KEYS[1], KEYS[2], KEYS[3]
local token, before, after, ends, pause_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if redis.call('GET', lease) ~= token then return 0 end
local same = redis.call('LINDEX', mails, 0) == before
if same and after == '' then
  redis.call('LPOP', mails)
elseif same and after ~= before then
  redis.call('LSET', mails, 0, after)
end
if pause_ms > 0 then redis.call('SET', pause, '1', 'PX', pause_ms) end
if ends == '1' then redis.call('DEL', lease) end
return same and 1 or 0
