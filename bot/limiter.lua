-- limiter: may one message leave now? GCRA over the bot and the chat at once: either both are charged or neither
-- KEYS[1] arrival time of the bot   KEYS[2] arrival time of the chat (infra.keys.send_limit)
-- KEYS[3] pause of the bot          KEYS[4] pause of the chat (infra.keys.send_pause)
-- ARGV[1] bot: µs between messages   ARGV[2] bot: burst, messages   ARGV[3] chat: µs between   ARGV[4] chat: burst
-- RETURNS {wait_ms for the bot, wait_ms for the chat}; {0, 0}: charged, send now
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local bot_arrival, chat_arrival, bot_pause, chat_pause = unpack(redis.call('MGET', unpack(KEYS)))

-- when the next message would be on time, and how long it is too early now, µs; further ahead than a whole burst only
-- if Redis' clock jumped back
local function look(arrival, between, burst)
  local due = math.max(tonumber(arrival or 0), now)
  if due > now + between * burst + 1000000 then due = now end
  return due + between, due - now - between * (burst - 1)
end

local bot_next, bot_early = look(bot_arrival, tonumber(ARGV[1]), tonumber(ARGV[2]))
local chat_next, chat_early = look(chat_arrival, tonumber(ARGV[3]), tonumber(ARGV[4]))
local bot_ms = math.max(0, math.ceil(bot_early / 1000), bot_pause and redis.call('PTTL', KEYS[3]) or 0)
local chat_ms = math.max(0, math.ceil(chat_early / 1000), chat_pause and redis.call('PTTL', KEYS[4]) or 0)
if bot_ms > 0 or chat_ms > 0 then return { bot_ms, chat_ms } end
local function charge(key, next_due)
  redis.call('SET', key, string.format('%.0f', next_due), 'PX', math.ceil((next_due - now) / 1000) + 1000)
end
charge(KEYS[1], bot_next)
charge(KEYS[2], chat_next)
return { 0, 0 }
